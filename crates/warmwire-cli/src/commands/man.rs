//! `warmwire man`.

use anyhow::Context;
use clap::Command;

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
    for subcommand in command.get_subcommands() {
        section(subcommand, &mut text).context("cannot make the manual page")?;
    }
    output::print(&text)
}

/// A command and the commands within it.
fn section(command: &Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Ok(());
    }
    let title = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    text.extend_from_slice(format!(".SH \"{title}\"\n").as_bytes());
    let page = clap_mangen::Man::new(command.clone());
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    command.get_subcommands().try_for_each(|inner| section(inner, text))
}
