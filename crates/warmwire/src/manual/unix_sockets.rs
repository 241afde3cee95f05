//! HTTP over Unix sockets.
//!
//! A URL has no place for the path of a socket. There are three ways to give it:
//!
//! | for | by | `Host` |
//! |---|---|---|
//! | all requests of an origin | [`Agent::origin("unix:/path")`](crate::Agent::origin) | `localhost` |
//! | one request | [`RequestBuilder::unix_socket`](crate::http::RequestBuilder::unix_socket) | the URL's |
//! | every request of an agent | [`AgentBuilder::unix_socket`](crate::http::AgentBuilder::unix_socket) | the URL's |
//!
//! ```no_run
//! use warmwire::Agent;
//!
//! # async fn example() -> Result<(), warmwire::Error> {
//! let agent = Agent::new();
//! let docker = agent.origin("unix:/run/docker.sock")?;
//! let version = docker.get("/version").send().await?.text().await?;
//!
//! // The same socket, and so the same connections.
//! let request = agent.get("http://docker/info").unix_socket("/run/docker.sock");
//! let info = request.send().await?.text().await?;
//! # Ok(())
//! # }
//! ```
//!
//! One socket is one origin, whatever hosts the URLs name: its limits, its connections and its row
//! in the statistics are under the name `unix:/run/docker.sock`. With `https` the host counts too,
//! since the server's certificate must be for it.
//!
//! On Linux a path that begins with `@` names an abstract socket. Options of TCP do not apply,
//! and [`remote_address`](crate::http::ConnectionInfo::remote_address) is `None`. A socket that
//! nobody listens on gives [`ConnectionRefused`](crate::http::ErrorKind::ConnectionRefused), a path
//! at which there is none [`Connect`](crate::http::ErrorKind::Connect).
