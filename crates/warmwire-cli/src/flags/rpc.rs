//! The flags of `warmwire rpc`.

use std::num::NonZeroU32;

use clap::{Args, Subcommand, ValueEnum};
use warmwire::rpc::Endpoint;

use crate::units::Span;

pub(crate) const ENDPOINTS: &str = "\
ENDPOINT is a port (all interfaces of this machine), tcp://host:port, tls://host:port, \
unix:///path or unix:@abstract.";

/// What to do with an RPC peer.
#[derive(Debug, Subcommand)]
pub(crate) enum RpcCommand {
    /// Call a method and print its result as JSON
    #[command(after_help = ENDPOINTS)]
    Call(CallFlags),
    /// List the methods of a server
    #[command(after_help = ENDPOINTS)]
    Methods(PeerFlags),
    /// Ask whether anybody is there, and how long the answer takes
    #[command(after_help = ENDPOINTS)]
    Ping(PeerFlags),
    /// Expose commands as methods
    #[command(after_help = ENDPOINTS)]
    Serve(ServeFlags),
    /// Measure calls: sequential, pipelined and over five connections, small and large
    #[command(name = "bench", after_help = ENDPOINTS)]
    Bench(RpcBenchFlags),
    /// Send each line of standard input, a JSON message, to one pull socket
    #[command(after_help = ENDPOINTS)]
    Push(SendFlags),
    /// Print what push sockets send, a JSON message a line
    #[command(after_help = ENDPOINTS)]
    Pull(ReceiveFlags),
    /// Publish each line of standard input, a JSON array that begins with the topic, to all sub
    /// sockets; waits for the first of them
    #[command(after_help = ENDPOINTS)]
    Pub(SendFlags),
    /// Print what pub sockets publish, a JSON document a line
    #[command(after_help = ENDPOINTS)]
    Sub(SubFlags),
}

/// One end of a one-way socket.
#[derive(Args, Debug)]
pub(crate) struct SocketFlags {
    /// Where the other end listens, or this one with --bind
    pub(crate) endpoint: Endpoint,
    /// Listen in place of connecting
    #[arg(long)]
    pub(crate) bind: bool,
    /// A file with the roots to trust for tls://, in PEM [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<std::path::PathBuf>,
    /// Standard output is JSON in any case
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SendFlags {
    #[command(flatten)]
    pub(crate) socket: SocketFlags,
}

#[derive(Args, Debug)]
pub(crate) struct ReceiveFlags {
    #[command(flatten)]
    pub(crate) socket: SocketFlags,
    /// End after so many messages [default: when interrupted]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct SubFlags {
    #[command(flatten)]
    pub(crate) receive: ReceiveFlags,
    /// Which topics; * stands for one character or more [default: all]
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
}

/// Which peer, and how.
#[derive(Args, Debug)]
pub(crate) struct PeerFlags {
    /// Where the peer listens
    pub(crate) endpoint: Endpoint,
    #[command(flatten)]
    pub(crate) how: HowFlags,
}

#[derive(Args, Debug)]
pub(crate) struct HowFlags {
    /// How long connecting and each call may take
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    pub(crate) timeout: Span,
    /// A file with the roots to trust for tls://, in PEM [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<std::path::PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CallFlags {
    /// Where the server listens
    pub(crate) endpoint: Endpoint,
    /// The method
    pub(crate) method: String,
    /// Its arguments: JSON, or text where it is not valid JSON; @FILE the bytes of a file, - those
    /// of standard input
    #[arg(allow_negative_numbers = true, value_name = "ARG")]
    pub(crate) arguments: Vec<String>,
    /// Print the result's bytes or text as they are
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Call so many times and print a table of the latencies
    #[arg(long, value_name = "N")]
    pub(crate) repeat: Option<NonZeroU32>,
    /// Calls at once, with --repeat
    #[arg(long, default_value = "1", value_name = "C", requires = "repeat")]
    pub(crate) concurrency: NonZeroU32,
    #[command(flatten)]
    pub(crate) how: HowFlags,
}

#[derive(Args, Debug)]
pub(crate) struct ServeFlags {
    /// Where to listen
    pub(crate) endpoint: Endpoint,
    /// Expose a command: each call runs it by the shell, with the arguments as a JSON array on its
    /// standard input; its standard output is the result
    #[arg(long, value_name = "NAME=COMMAND", value_parser = exec)]
    pub(crate) exec: Vec<Exec>,
    /// Expose echo, count, sleep (milliseconds) and fail, for tests
    #[arg(long)]
    pub(crate) echo: bool,
    /// Commands that run at once for one peer
    #[arg(long, default_value = "16", value_name = "N")]
    pub(crate) max_in_flight: NonZeroU32,
    /// The mode of a Unix socket's file, such as 660 [default: as the umask leaves]
    #[arg(long, value_name = "OCTAL", value_parser = octal)]
    pub(crate) mode: Option<u32>,
    /// Let other machines run the commands
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Tell where it listens as one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RpcBenchFlags {
    /// A server that exposes echo [default: one of its own, over TCP and a Unix socket]
    pub(crate) endpoint: Option<Endpoint>,
    /// How long each figure is measured
    #[arg(long, default_value = "500ms", value_name = "DURATION")]
    pub(crate) duration: Span,
    /// What is sent there and back
    #[arg(long, value_enum, default_value_t = Payload::Buffer)]
    pub(crate) payload: Payload,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `rpc bench` sends there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Payload {
    /// Raw bytes
    Buffer,
    /// A string, which travels as JSON
    Text,
}

/// A command that is a method.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    pub(crate) name: String,
    pub(crate) command: String,
}

fn exec(text: &str) -> Result<Exec, String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.trim().is_empty() => {
            Ok(Exec { name: name.to_owned(), command: command.to_owned() })
        }
        _ => Err("write NAME=COMMAND, such as upper='tr a-z A-Z'".to_owned()),
    }
}

fn octal(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text.strip_prefix("0o").unwrap_or(text), 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("write an octal mode of at most 777, such as 660".to_owned()),
    }
}
