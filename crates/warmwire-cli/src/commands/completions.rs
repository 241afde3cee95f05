//! `warmwire completions`.

use clap_complete::Shell;

use crate::flags;
use crate::output;

/// Prints the completions for `shell`.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn run(shell: Shell) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut flags::command(), "warmwire", &mut text);
    output::print(&text)
}
