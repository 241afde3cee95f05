//! Why a command did not end with exit code 0.

use std::fmt;
use std::process::ExitCode;

/// The three ways to end badly, one per exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work failed: exit code 1.
    Work(anyhow::Error),
    /// The command line or a configuration was wrong: exit code 2.
    Usage(String),
    /// `--check` found what it looked for: exit code 3.
    Check(String),
}

impl Failure {
    /// A wrong command line or configuration, told in a sentence.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::Usage(sentence.into())
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Work(_) => 1,
            Self::Usage(_) => 2,
            Self::Check(_) => 3,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(error) => write!(f, "{error:#}"),
            Self::Usage(sentence) | Self::Check(sentence) => f.write_str(sentence),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Work(error)
    }
}
