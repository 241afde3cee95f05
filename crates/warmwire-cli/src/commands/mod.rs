//! What each command does.

mod bench;
mod completions;
mod interrupt;
mod man;
mod measure;
mod rpc;

use anyhow::Context;

use crate::failure::Failure;
use crate::flags::Chosen;

pub(crate) use bench::{BUCKETS_PER_DECADE, Side, prediction, result};

/// Does what the command line asks for.
///
/// # Errors
/// Says which exit code the process ends with.
pub(crate) fn run(chosen: Chosen) -> Result<(), Failure> {
    match chosen {
        Chosen::Bench(flags) => bench::run(&flags),
        Chosen::Rpc(command) => rpc::run(&command),
        Chosen::Completions { shell } => Ok(completions::run(shell)?),
        Chosen::Man => Ok(man::run()?),
        Chosen::BenchServer { config } => {
            let config =
                serde_json::from_str(&config).context("the server's configuration is wrong")?;
            Ok(crate::server::run(config)?)
        }
    }
}
