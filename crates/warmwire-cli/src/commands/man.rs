//! `warmwire man`.

use anyhow::Context;

use crate::flags;
use crate::output;

/// Prints the manual page, every command in a section of its own.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn run() -> anyhow::Result<()> {
    let mut command = flags::command();
    command.build();
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(command.clone());
    page.render(&mut text).context("cannot make the manual page")?;
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        if subcommand.get_name() == "help" {
            continue;
        }
        let title =
            subcommand.get_bin_name().unwrap_or_else(|| subcommand.get_name()).to_uppercase();
        text.extend_from_slice(format!(".SH \"{title}\"\n").as_bytes());
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_description_section(&mut text).context("cannot make the manual page")?;
        page.render_options_section(&mut text).context("cannot make the manual page")?;
    }
    output::print(&text)
}
