//! The agent's options as flags, and as keys of a configuration file.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::units::{Size, Span};

/// Every option of the agent; what is `None` keeps the agent's default.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AgentFlags {
    /// TOML file with the agent's options, named as these flags (`max_connections = 50`,
    /// `idle_timeout = "30s"`); flags win over it
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,

    /// Connections per origin, at least 1 [default: the concurrency; 50 with --rate]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_connections: Option<usize>,

    /// Connections over all origins, at least 1 [default: no limit]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_total_connections: Option<usize>,

    /// Idle connections kept per origin [default: --max-connections]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_idle: Option<usize>,

    /// Requests that may wait for a connection per origin; one more fails as `queue_full` [default:
    /// no limit]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_waiting: Option<usize>,

    /// How long a request may wait for a connection [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) acquire_timeout: Option<Span>,

    /// How long a connection may be idle [default: 5m, so that it outlives the other side's part of
    /// a round]
    #[arg(long, value_name = "DURATION")]
    pub(crate) idle_timeout: Option<Span>,

    /// The longest idle time that a server's Keep-Alive header can ask for [default: 10m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) max_idle_timeout: Option<Span>,

    /// Age beyond which a connection is not reused; each one's own is shorter by up to a tenth
    /// [default: no limit]
    #[arg(long, value_name = "DURATION")]
    pub(crate) max_lifetime: Option<Span>,

    /// Requests after which a connection is closed, at least 1 [default: no limit]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_requests_per_connection: Option<u64>,

    /// Time for DNS, TCP and TLS together [default: 10s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) connect_timeout: Option<Span>,

    /// Time until the response's head is in [default: 5m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) response_timeout: Option<Span>,

    /// Time between two pieces of a body [default: 5m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) read_timeout: Option<Span>,

    /// Time for the whole exchange, waiting included [default: none]
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<Span>,

    /// Idle time after which TCP probes the peer, at least 1s [default: 15s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) tcp_keepalive: Option<Span>,

    /// Time between two probes of TCP, at least 1s [default: 15s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) tcp_keepalive_interval: Option<Span>,

    /// Probes that may stay unanswered before TCP gives a connection up [default: 3]
    #[arg(long, value_name = "COUNT")]
    pub(crate) tcp_keepalive_count: Option<u32>,

    /// Send small segments at once (TCP_NODELAY) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub(crate) tcp_nodelay: Option<bool>,

    /// Which idle connection is taken: the last one used, or the first [default: lifo]
    #[arg(long, value_name = "ORDER")]
    pub(crate) scheduling: Option<Order>,

    /// Connect to this Unix socket; the URL gives Host and path
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,

    /// Local address to connect from [default: the system's choice]
    #[arg(long, value_name = "IP")]
    pub(crate) local_address: Option<IpAddr>,

    /// How long one address of a name may be silent before the next is tried beside it, at least
    /// 10ms [default: 250ms]
    #[arg(long, value_name = "DURATION")]
    pub(crate) happy_eyeballs_delay: Option<Span>,

    /// How long a body waits for `100 Continue` when the request has `Expect: 100-continue`
    /// [default: 1s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) expect_continue_timeout: Option<Span>,

    /// Length of a response's head, at most [default: 64KiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_response_head: Option<Size>,

    /// Lines of a response's header, at most [default: 100]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_response_headers: Option<usize>,

    /// TLS sessions kept for resumption, 0 for none [default: 256]
    #[arg(long, value_name = "COUNT")]
    pub(crate) tls_sessions: Option<usize>,

    /// PEM file of the certificates to trust [default: the platform's]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_roots: Option<PathBuf>,

    /// The User-Agent header [default: warmwire/ and the version]
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
}

/// The order in which idle connections are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// The one used last: few stay warm, the others time out.
    Lifo,
    /// The one used first: all stay warm.
    Fifo,
}

impl AgentFlags {
    /// Takes from `file` what neither a flag nor a variable gave.
    pub(super) fn complete_from(&mut self, file: Self) {
        macro_rules! take {
            ($($field:ident)*) => { $( if self.$field.is_none() { self.$field = file.$field; } )* };
        }
        take! {
            max_connections max_total_connections max_idle max_waiting acquire_timeout idle_timeout
            max_idle_timeout max_lifetime max_requests_per_connection connect_timeout
            response_timeout read_timeout timeout tcp_keepalive tcp_nodelay scheduling unix_socket
            local_address
            tcp_keepalive_interval tcp_keepalive_count happy_eyeballs_delay expect_continue_timeout
            max_response_head max_response_headers tls_sessions tls_roots user_agent
        }
    }
}
