//! Settings from files and from the environment.
//!
//! Everything about an agent that is plain data can come from TOML, JSON or environment variables.
//! [`AgentConfig`] is what was read; [`AgentBuilder::config`] sets it. The order of calls decides:
//! what is set later, by a file or by an option, is what holds.
//!
#![cfg_attr(feature = "toml", doc = "```")]
#![cfg_attr(not(feature = "toml"), doc = "```ignore")]
//! use warmwire::Agent;
//! use warmwire::http::AgentConfig;
//!
//! # fn main() -> Result<(), warmwire::Error> {
//! let file = r#"
//!     max_connections = 50          # to each origin
//!     max_total_connections = 200
//!     idle_timeout = "30s"
//!     max_lifetime = "10m"
//!     redirects = 5
//!     dial_backoff = ["100ms", "5s"] # an option with two arguments
//!
//!     [origin."https://api.example.com"]
//!     max_connections = 10
//!     response_timeout = "20s"
//!
//!     [origin."unix:/run/docker.sock"]
//!     response_timeout = "off"
//! "#;
//! let mut config = AgentConfig::from_toml(file)?;
//! config.merge(AgentConfig::from_env()?); // WARMWIRE_MAX_CONNECTIONS=20
//! let agent = Agent::builder().config(config).build()?;
//! # drop(agent);
//! # Ok(())
//! # }
//! ```
//!
//! JSON has the same names: `{"max_connections": 50, "origin": {"https://api.example.com": {…}}}`. As
//! a part of a program's own settings, `AgentConfig` is what serde deserialises. It serialises with
//! the names of Warmwire, for a look at what is in force.
//!
//! # Values
//!
//! | kind | written | |
//! |---|---|---|
//! | time | `"30s"`, `"250ms"`, `"1h30m"`, `"1.5s"` | units `d`, `h`, `m`, `s`, `ms`, `us`, `ns`; a number without one is an error |
//! | timer | a time, or `"off"` | |
//! | limit | a whole number, or `"unlimited"` | |
//! | share | a number from 0 to 1 | |
//! | switch | `true`, `false` | in a variable `1` and `0` too |
//! | two arguments | `["100ms", "5s"]` | in a variable `100ms,5s` |
//! | `scheduling` | `"lifo"`, `"fifo"` | |
//! | `spread` | `"least-connections"`, `"in-order"` | |
//! | `http_version` | `"negotiate"`, `"http1"`, `"http2"` | |
//! | `redirects` | a whole number, or `"off"` | |
//! | `proxy` | a URL, `"environment"`, or `"off"` | |
//! | `no_proxy` | `"localhost, .example.com, 10.0.0.0/8"` | as the variable `NO_PROXY`, or a list of such texts |
//! | files | a path | relative to the directory in which the program runs; read when the agent is built |
//! | `default_headers` | a table of names and texts | taken for secrets: not logged, not sent on by a redirect |
//!
//! Settings are named as the options of the builder; [`defaults`](super::defaults) lists them, and
//! [`per_origin`](super::per_origin) says which can stand under an origin. Of options that hold more
//! than data these parts are settings:
//!
//! | setting | of the option | under an origin | what |
//! |---|---|---|---|
//! | `tls_roots` | `tls` | yes | PEM file of the roots to trust, and no longer the platform's |
//! | `tls_extra_roots` | `tls` | yes | PEM file of roots to trust too |
//! | `tls_client_certificate` | `tls` | yes | two PEM files: the certificate's chain, and its key |
//! | `no_proxy` | `proxy` | | hosts to reach without the proxy |
//! | `proxy_loopback` | `proxy` | | switch: loopback hosts go through the proxy too |
//! | `redirects_allow_https_to_http` | `redirects` | yes | switch, of redirects that are followed |
//! | `redirects_allow_leaving_unix_socket` | `redirects` | yes | switch, of redirects that are followed |
//!
//! They change what the option has been set to so far. The rest is code and stays with the program:
//! other TLS settings, rules by closures, resolvers, connectors, callbacks.
//!
//! # Environment
//!
//! `WARMWIRE_` and the name in upper case. Settings of single origins and `default_headers` are for
//! files. A variable that begins so and is none is an error; empty ones are passed over, and so are
//! `WARMWIRE_SERVICE_…` and `WARMWIRE_PORT…`, which Kubernetes sets by itself where a service has the
//! name `warmwire`.
//!
//! # Names of other clients
//!
//! A file that was written for agentkeepalive or undici is understood. Numbers are milliseconds there,
//! and text has a unit as `"30s"` or `"1 minute"`.
//!
//! | here | agentkeepalive | undici |
//! |---|---|---|
//! | `max_connections` | `maxSockets` | `connections` |
//! | `max_total_connections` | `maxTotalSockets` | |
//! | `max_idle` | `maxFreeSockets` | |
//! | `idle_timeout` | `freeSocketTimeout` (0: a year) | `keepAliveTimeout` |
//! | `max_idle_timeout` | | `keepAliveMaxTimeout` |
//! | `max_lifetime` | `socketActiveTTL` (0: off) | `clientTtl` |
//! | `max_requests_per_connection` | | `maxRequestsPerClient` |
//! | `response_timeout` | | `headersTimeout` (0: off) |
//! | `read_timeout` | `timeout`: write `read_timeout` | `bodyTimeout` (0: off) |
//! | `connect_timeout` | | `connectTimeout`, `connect.timeout` (0: off) |
//! | `keep_alive` | `keepAlive` | `pipelining` (0 or 1) |
//! | `tcp_keepalive` | `keepAliveMsecs` | `connect.keepAliveInitialDelay` |
//! | `http_version` | | `allowH2` |
//! | `http2_max_streams` | | `maxConcurrentStreams` |
//! | `scheduling` | `scheduling` | |
//! | `redirects` | | `maxRedirections` (0: off) |
//! | `max_response_head` | | `maxHeaderSize` |
//! | `happy_eyeballs_delay` | | `autoSelectFamilyAttemptTimeout` |
//! | `local_address`, `unix_socket` | | `localAddress`, `socketPath` |
//!
//! `timeout` is the one name that means two things: the whole exchange here, the wait for the next
//! byte in agentkeepalive. As a number, or next to agentkeepalive's other names, it is an error.
//!
//! # Errors
//!
//! Nothing is passed over and nothing guessed:
//!
//! ```
//! use warmwire::http::AgentConfig;
//!
//! let told = |json| AgentConfig::from_json(json).unwrap_err().to_string();
//! assert_eq!(
//!     told(r#"{"maxSocket": 10}"#),
//!     "configuration: \"maxSocket\" is no setting; did you mean maxSockets?"
//! );
//! assert_eq!(
//!     told(r#"{"idle_timeout": 30}"#),
//!     "configuration: idle_timeout = 30: \
//!      allowed is a time with its unit, as \"30s\", \"250ms\" or \"1h30m\""
//! );
//! assert_eq!(
//!     told(r#"{"maxSockets": 5, "max_connections": 10}"#),
//!     "configuration: max_connections and maxSockets are the same setting, max_connections"
//! );
//! ```
//!
//! In TOML they begin with line and column. What depends on more than one setting, as `min_idle` above
//! `max_connections`, is told by `build`.
//!
//! [`AgentConfig`]: crate::http::AgentConfig
//! [`AgentBuilder::config`]: crate::http::AgentBuilder::config
