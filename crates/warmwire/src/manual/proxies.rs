//! Proxies: which one, what it is asked, and what its errors say.
//!
//! ```
//! use warmwire::Agent;
//! use warmwire::http::{Proxy, ProxyRules};
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // One for everything but what is near.
//! let company = Proxy::parse("http://proxy.example:3128")?.credentials("me", "secret")?;
//! let agent = Agent::builder()
//!     .proxy(ProxyRules::all(company).except("intern.example, 10.0.0.0/8"))
//!     // Another way, or none, for one origin.
//!     .for_origin("https://api.example.com", |origin| origin.proxy(None))
//!     .build()?;
//! // Those of the environment, as curl reads it.
//! let agent = Agent::builder().proxy(Proxy::from_env()).build()?;
//! // Another one for one request.
//! let tor = Proxy::parse("socks5h://127.0.0.1:9050")?;
//! let request = agent.get("http://service.onion/").proxy(tor);
//! # Ok(())
//! # }
//! ```
//!
//! # What is spoken
//!
//! | proxy | `https://` | `http://` | who looks the server's name up |
//! |---|---|---|---|
//! | `http://`, `https://` | a tunnel (`CONNECT`) | the request itself, with its whole URL | the proxy |
//! | the same with [`tunnel_http`] | a tunnel | a tunnel | the proxy |
//! | `socks5://`, `socks4://` | a tunnel | a tunnel | this program |
//! | `socks5h://`, `socks4a://` | a tunnel | a tunnel | the proxy |
//!
//! With `https://` the way to the proxy is encrypted too; its certificate is checked against the
//! platform's roots, or those of [`Proxy::tls`].
//!
//! # The environment is not read by default
//!
//! Who can set a variable of a process, or a `.env` file that it reads, would else decide through
//! whom payments go. One call turns it on: `.proxy(Proxy::from_env())`. What it reads is at
//! [`ProxyRules::from_env`].
//!
//! Unix sockets are never reached through a proxy. Loopback hosts are only if a request or a closure
//! names the proxy, or with [`ProxyRules::loopback`]: to the proxy, `localhost` would be itself.
//!
//! # The pool
//!
//! A connection through a proxy is a connection: it is kept, counted and timed as any other. Limits
//! are **per server**, not per proxy: ten tunnels to one server are in no other server's way. All
//! tunnels together are bounded by [`max_total_connections`].
//!
//! Requests share a connection only through an equal proxy: the same address, protocol, credentials
//! and settings. In statistics a request's own proxy stands behind the origin: `https://a.example via
//! http://proxy:3128`, with a tag such as `#1f2e3d4c` that tells several users of one proxy apart.
//!
//! [`ConnectionInfo::proxy`] says which proxy a response came through, `timings().proxy` how long it
//! took to open the way.
//!
//! # Errors
//!
//! | what happened | kind | phase |
//! |---|---|---|
//! | the proxy is not there, or speaks something else, or its certificate is bad | `ProxyUnreachable` | `Proxy` |
//! | it wants (other) credentials | `ProxyAuthentication` | `Proxy` |
//! | it does not reach the server, or does not want to: 403, 502, a SOCKS reply | `ProxyRefused` | `Proxy` |
//! | it does not answer | `ConnectTimeout` | `Proxy` |
//! | the tunnel is open and the server's TLS fails | as without a proxy | `Tls` |
//!
//! [`Error::proxy_response`] has an HTTP proxy's status, headers and the first 8 KiB of its body. What
//! an error's text and `Debug` show holds neither credentials nor that body.
//!
//! Where a proxy forwards `http://` requests there is one stream of answers, and a proxy's 502 cannot
//! be told from the server's: it is a response. A 407 is what only proxies say, and becomes
//! `ProxyAuthentication`, in the phase `Head`.
//!
//! [`tunnel_http`]: crate::http::Proxy::tunnel_http
//! [`Proxy::tls`]: crate::http::Proxy::tls
//! [`ProxyRules::from_env`]: crate::http::ProxyRules::from_env
//! [`ProxyRules::loopback`]: crate::http::ProxyRules::loopback
//! [`max_total_connections`]: crate::http::AgentBuilder::max_total_connections
//! [`ConnectionInfo::proxy`]: crate::http::ConnectionInfo::proxy
//! [`Error::proxy_response`]: crate::http::Error::proxy_response
