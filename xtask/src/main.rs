//! Repository chores: the rules that no compiler checks.
//!
//! `cargo xtask deps` checks who imports whom, `cargo xtask tidy` the form of files, and
//! `cargo xtask field-cases` writes the table of covered field cases. All three are also tests of
//! this crate, so that a plain `cargo test` knows no fewer rules than CI.

mod field_cases;
mod imports;
mod purity;
mod repository;
mod tidy;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repository::Repository;

const USAGE: &str = "usage: cargo xtask deps | tidy | field-cases";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    match run(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done when the error cannot be shown either.
            let _ = writeln!(std::io::stderr(), "{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str) -> Result<()> {
    let repository = Repository::find()?;
    match command {
        "deps" => {
            settle(&imports::check(&repository)?)?;
            settle(&purity::check(&repository)?)
        }
        "tidy" => settle(&tidy::check(&repository)?),
        "field-cases" => field_cases::write(&repository),
        _ => bail!(USAGE),
    }
}

/// An error that lists all `faults`, if there are any.
fn settle(faults: &[String]) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}\n{} in all", faults.join("\n"), faults.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_answered_with_the_usage() {
        assert_eq!(run("dep").unwrap_err().to_string(), USAGE);
    }

    #[test]
    fn every_fault_is_listed() {
        let error = settle(&["one".to_owned(), "two".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "one\ntwo\n2 in all");
    }
}
