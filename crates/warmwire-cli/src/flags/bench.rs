//! The flags of `warmwire bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::AgentFlags;
use crate::server::TlsVersion;
use crate::units::{Percent, Size, Span};

pub(super) const EXAMPLES: &str = "\
Examples:
  warmwire bench
      What a connection per request costs on this machine.
  warmwire bench --max-connections 50 --concurrency 60 --requests 60000 --delay 5ms
      The benchmark of agentkeepalive.
  warmwire bench --tls --rtt 25ms --rate 80 --report out.html
      A payment API as a service sees it, as a page.
  warmwire bench --http2 --tls --rtt 25ms
      Many requests on one HTTP/2 connection, and an HTTP/2 connection for each.
  warmwire bench https://api.example.com/health --requests 200 --concurrency 4 --check 30%
      A real server; exit code 3 when keep-alive saves less than 30 % of the median.

Durations read 250ms, 30s, 5m; sizes read 64KiB, 1MB.
Exit codes: 0 done, 1 the work failed, 2 the command line or a configuration was wrong, \
3 --check found what it looked for.";

/// All flags of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchFlags {
    /// The URL to send requests to; without it, a server is started on loopback
    pub(crate) url: Option<String>,

    #[command(flatten, next_help_heading = "Embedded server (without a URL)")]
    pub(crate) server: ServerFlags,

    #[command(flatten, next_help_heading = "Load")]
    pub(crate) load: LoadFlags,

    #[command(
        flatten,
        next_help_heading = "Agent (both sides; `without` opens a connection per request)"
    )]
    pub(crate) agent: AgentFlags,

    #[command(flatten, next_help_heading = "Output")]
    pub(crate) output: OutputFlags,
}

/// The embedded server and the wire to it.
#[derive(Debug, Default, Args)]
pub(crate) struct ServerFlags {
    /// Time the server takes for an answer [default: 0s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) delay: Option<Span>,

    /// Length of an answer's body, at most 1GiB [default: 256B]
    #[arg(long, value_name = "SIZE")]
    pub(crate) body: Option<Size>,

    /// Serve HTTPS, with a certificate made at start
    #[arg(long)]
    pub(crate) tls: bool,

    /// TLS version to speak, 1.2 or 1.3; turns --tls on. With an https URL: the only version
    /// offered [default: 1.3]
    #[arg(long, value_name = "VERSION")]
    pub(crate) tls_version: Option<TlsVersion>,

    /// Speak HTTP/2 and nothing else: by ALPN with TLS, by prior knowledge (h2c) without. With a
    /// URL: the only version offered [default: HTTP/1.1; what the server chooses with an https URL]
    #[arg(long)]
    pub(crate) http2: bool,

    /// Simulate a round trip: a connect waits for one, each direction of the wire is late by half
    /// of one; at most 10s [default: 0s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) rtt: Option<Span>,

    /// Simulate a name look-up of this length for every new connection; at most 10s [default: none]
    #[arg(long, value_name = "DURATION")]
    pub(crate) dns: Option<Span>,
}

/// What is sent, how fast and how often.
#[derive(Debug, Args)]
pub(crate) struct LoadFlags {
    /// Requests of each side; with --duration, whichever ends first [default: as many as --duration
    /// allows]
    #[arg(long, value_name = "COUNT")]
    pub(crate) requests: Option<u64>,

    /// How long each side sends [default: 10s without --requests]
    #[arg(long, value_name = "DURATION")]
    pub(crate) duration: Option<Span>,

    /// Requests at once (closed loop: each is sent when one before it is done), 1 to 100000
    /// [default: 60]
    #[arg(long, value_name = "COUNT")]
    pub(crate) concurrency: Option<usize>,

    /// Requests per second (open loop: each is sent when it is due, and its latency counts from
    /// then, so that a stall is not hidden)
    #[arg(long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<f64>,

    /// With --rate: requests under way at once; one that is due beyond this is not sent and fails
    /// as `overrun` [default: 10000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_in_flight: Option<usize>,

    /// Requests that each side sends before the first round, without measuring them; the
    /// connections they open do count
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) warmup: u64,

    /// Rounds: in each, both sides send their share, in alternating order, so that drift hits both
    /// alike; 1 to 1000
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub(crate) rounds: u32,

    /// Which side to measure
    #[arg(long, value_enum, default_value_t = SideChoice::Both)]
    pub(crate) side: SideChoice,

    /// Let the side without keep-alive resume TLS sessions; by default each of its handshakes is
    /// full, as in a program that runs once per request
    #[arg(long)]
    pub(crate) resume: bool,

    /// Request method
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,

    /// Request header, `Name: value`; may be given several times (in the variable: one)
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,

    /// File whose bytes are sent as the body of every request
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
}

/// Which sides are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SideChoice {
    /// One connection per request only.
    Without,
    /// The agent with keep-alive only.
    With,
    /// Both, interleaved.
    Both,
}

/// Where the numbers go.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// Print one JSON document on standard output and nothing else
    #[arg(long)]
    pub(crate) json: bool,

    /// Write one self-contained HTML page with the numbers and plots
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Exit with code 3 when the saving at the median is smaller than this, such as 30%
    #[arg(long, value_name = "PERCENT")]
    pub(crate) check: Option<Percent>,

    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}
