//! The `warmwire` command.
//!
//! Exit codes: 0 done, 1 the work failed, 2 the command line or a configuration was wrong,
//! 3 `--check` found what it looked for.

mod commands;
mod failure;
mod flags;
mod output;
mod server;
mod timer;
mod units;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(failure) = flags::parse().and_then(commands::run) else { return ExitCode::SUCCESS };
    output::complain(&failure);
    failure.exit_code()
}
