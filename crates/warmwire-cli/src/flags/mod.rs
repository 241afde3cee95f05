//! The command line.
//!
//! Every flag has an environment variable: `--max-connections` is `WARMWIRE_MAX_CONNECTIONS`. The
//! flag wins over the variable, the variable over the configuration file.

mod agent;
mod bench;
mod config;
mod rpc;

pub(crate) use agent::{AgentFlags, Order};
pub(crate) use bench::{BenchFlags, LoadFlags, ServerFlags, SideChoice};
pub(crate) use rpc::{
    CallFlags, Exec, HowFlags, Payload, PeerFlags, ReceiveFlags, RpcBenchFlags, RpcCommand,
    SendFlags, ServeFlags, SocketFlags, SubFlags,
};

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// The hidden command that the embedded server's process runs.
pub(crate) const SERVER_COMMAND: &str = "bench-server";

/// Connections opened once and kept warm: measure, diagnose and fix connection reuse.
#[derive(Debug, Parser)]
#[command(name = "warmwire", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Chosen,
}

const EXIT_CODES: &str = "\
Durations read 250ms, 30s, 5m; sizes read 64KiB, 1MB.
Exit codes: 0 done, 1 the work failed, 2 the command line or a configuration was wrong, \
3 --check found what it looked for.";

/// The command that was asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Chosen {
    /// What does keep-alive save here? Sends the same load with one connection per request and with
    /// the agent
    #[command(after_help = EXIT_CODES, after_long_help = bench::EXAMPLES)]
    Bench(Box<BenchFlags>),
    /// The RPC from a shell: call methods of Warmwire, axon and pm2, expose commands, measure
    #[command(subcommand, arg_required_else_help = true, after_help = EXIT_CODES)]
    Rpc(RpcCommand),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, as troff
    Man,
    /// The embedded server of `bench`
    #[command(name = SERVER_COMMAND, hide = true)]
    BenchServer {
        /// Its configuration, as JSON
        config: String,
    },
}

/// Reads the command line, the environment and, when one is named, the configuration file.
///
/// A wrong command line ends the process here, with its reason and exit code 2, and so do
/// `--help` and `--version` with exit code 0.
///
/// # Errors
/// When the configuration file cannot be read or is wrong.
pub(crate) fn parse() -> Result<Chosen, Failure> {
    let matches = command().get_matches();
    let mut line = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Chosen::Bench(flags) = &mut line.command {
        config::complete(flags)?;
    }
    Ok(line.command)
}

/// The whole command line as clap sees it, with the environment's variables.
pub(crate) fn command() -> Command {
    CommandLine::command().mut_subcommands(with_environment)
}

fn with_environment(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        if arg.is_positional() {
            return arg;
        }
        let variable = format!("WARMWIRE_{}", arg.get_id().as_str().to_uppercase());
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let arg = arg.env(variable).hide_env_values(true);
        // So that `WARMWIRE_JSON=1` says the same as `--json`.
        if is_switch { arg.value_parser(BoolishValueParser::new()) } else { arg }
    });
    command.mut_subcommands(with_environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_of_every_command_has_a_variable_and_a_help_text() {
        let mut commands = vec![command()];
        let mut flags = 0;
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            for arg in command.get_arguments() {
                let Some(long) = arg.get_long().filter(|long| !["help", "version"].contains(long))
                else {
                    continue;
                };
                let place = format!("{} --{long}", command.get_name());
                let variable = format!("WARMWIRE_{}", long.replace('-', "_").to_uppercase());
                assert_eq!(arg.get_env().and_then(|env| env.to_str()), Some(&*variable), "{place}");
                assert!(arg.get_help().is_some(), "{place}");
                flags += 1;
            }
        }
        assert!(flags > 80, "{flags} flags of all commands");
    }
}
