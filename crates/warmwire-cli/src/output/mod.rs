//! What people and programs read.

mod facts;
mod histogram;
pub(crate) mod report;
mod svg;
mod table;
pub(crate) mod text;

use std::io::{self, Write};

use anyhow::Context;
use serde::Serialize;

use crate::failure::Failure;

/// Prints `value` as the one JSON document on standard output.
///
/// # Errors
/// When standard output cannot be written to.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    print(&text)
}

/// Writes to standard output. A reader that has gone (`| head`) is no failure.
///
/// # Errors
/// When standard output cannot be written to.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; where that cannot be written to, nobody can be told.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Tells why the command did not end with exit code 0.
pub(crate) fn complain(failure: &Failure) {
    let (word, hint) = match failure {
        Failure::Work(_) => ("error", ""),
        Failure::Usage(_) => ("error", "\n\nFor more information, try '--help'."),
        Failure::Check(_) => ("check", ""),
    };
    note(&format!("{word}: {failure}{hint}"));
}
