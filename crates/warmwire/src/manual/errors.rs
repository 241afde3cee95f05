//! Errors: what to do about which.
//!
//! There is one type, [`Error`](crate::http::Error). Its text is for people: it says which limit or
//! timer was hit, its value, and what the pool was doing. Programs ask:
//!
//! | question | method |
//! |---|---|
//! | what failed? | [`kind()`](crate::http::Error::kind) |
//! | during what? | [`phase()`](crate::http::Error::phase) |
//! | may the server have acted on it? | [`sent()`](crate::http::Error::sent), see [`reuse`](super::reuse) |
//! | was it one of the timers? | [`is_timeout()`](crate::http::Error::is_timeout) |
//! | where to, on which connection, how long? | [`origin()`](crate::http::Error::origin), [`connection()`](crate::http::Error::connection), [`timings()`](crate::http::Error::timings), [`elapsed()`](crate::http::Error::elapsed) |
//! | what lay below? | `source()` |
//!
//! # Who can do something about it
//!
//! | kinds | whose | what helps |
//! |---|---|---|
//! | `InvalidRequest`, `InvalidConfig`, `RequestBody`, `Decode` | the caller | a change of the program; again is the same |
//! | `Redirect` | the server, or the policy | see [`redirects`](super::redirects) |
//! | `Closed` | the caller | the agent was closed on purpose |
//! | `QueueFull`, `AcquireTimeout` | the load, or responses that are held | fewer requests at once, a higher limit, reading or dropping responses; see [`limits`](super::limits) |
//! | `Dns`, `ConnectionRefused`, `Connect`, `ConnectTimeout` | the network, or the server is down | later; nothing was sent |
//! | `ProxyUnreachable`, `ProxyAuthentication`, `ProxyRefused` | the proxy, or its settings | see [`proxies`](super::proxies); nothing was sent to the server |
//! | `CertificateExpired`, `CertificateWrongName`, `CertificateUnknownIssuer`, `CertificatePin`, `Certificate`, `Tls` | the server's set-up, or the settings of trust | a person |
//! | `ResponseTimeout`, `ReadTimeout`, `Timeout` | a slow server, or a short limit | see `sent()` before trying again |
//! | `ConnectionClosed` | the server went away before it answered | see `sent()` before trying again |
//! | `ResponseCut`, `InvalidResponse` | the server | the connection is closed, the agent goes on |
//!
//! A response with a status such as 503 is no error: the exchange went well.
//!
//! ```no_run
//! use warmwire::http::{ErrorKind, Sent};
//!
//! # async fn example(agent: warmwire::Agent) {
//! match agent.post("https://api.example.com/v1/charges").body("amount=100").send().await {
//!     Ok(response) => println!("{}", response.status()),
//!     Err(error) if error.sent() == Sent::No => println!("safe to try again: {error}"),
//!     Err(error) if error.kind() == ErrorKind::ResponseTimeout => {
//!         println!("the charge may have been made: {error}");
//!     }
//!     Err(error) => println!("{error}"),
//! }
//! # }
//! ```
//!
//! [`ErrorKind`](crate::http::ErrorKind) and [`Phase`](crate::http::Phase) have names in snake case
//! for labels of metrics. More kinds may be added: match with an arm for the rest.
