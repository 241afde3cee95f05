//! A light RPC over TCP, TLS and Unix sockets, in the bytes of npm's axon, axon-rpc and pm2.
//!
//! ```
//! use warmwire_rpc::{Client, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), warmwire_rpc::Error> {
//! let server = Server::builder()
//!     .expose("add", |a: f64, b: f64| async move { Ok(a + b) })
//!     .bind("tcp://127.0.0.1:0") // also a port number, or "unix:///path"
//!     .await?;
//!
//! let client = Client::connect(server.local_address()).await?;
//! let sum: f64 = client.call("add", (1.5, 2.0)).await?;
//! assert_eq!(sum, 3.5);
//! # server.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # How a call ends
//!
//! Every call ends, and ends once.
//!
//! | end | when | was it sent? |
//! |---|---|---|
//! | its result | the method answered | yes |
//! | [`ErrorKind::Fault`] | the method refused, panicked, does not exist, or got wrong arguments | yes |
//! | [`ErrorKind::Timeout`] | its time was over; it is not sent later | [`was_sent`](Error::was_sent) |
//! | [`ErrorKind::Disconnected`] | its connection ended, and at once when it did | [`was_sent`](Error::was_sent) |
//! | [`ErrorKind::QueueFull`] | more calls waited than may | no |
//! | [`ErrorKind::Closed`] | the client was closed | no |
//! | [`ErrorKind::TooLarge`], [`ErrorKind::Value`] | it, or its result, does not fit | as the text says |
//!
//! A call whose end says [`Sent::No`] can be made again without harm. One that was perhaps sent may
//! have run, and is sent again only if it is [marked](Call::idempotent).
//!
//! # What calls carry
//!
//! Everything that serde knows, and [`Value`] for what is not known before: JavaScript's values and
//! buffers. Between two Warmwire ends nothing is lost. A peer that speaks axon gets what Node's own
//! packages would send: `undefined` becomes null, a buffer its JSON form, `NaN` null, and a number
//! beyond 2⁵³ is rounded over there. Which of the two the peer is shows with its first answer; until
//! then calls are written so that both understand them. `docs/wire.md` of the repository has the
//! bytes.
//!
//! # With Node
//!
//! A [`Client`] calls servers of axon-rpc and pm2-axon-rpc, a [`Server`] answers their clients. Give
//! such a server exactly the arguments that its function names: with fewer, its callback gets into
//! the wrong place and the process dies. Every method of a pm2 daemon takes one: `({},)`.
//!
//! # Who may call
//!
//! A port number listens on all interfaces, as in axon: say `tcp://127.0.0.1:8888` for this machine
//! alone. On a Unix socket the file's [mode](ServerBuilder::mode) and the kernel's word on
//! [who connects](ServerBuilder::allowed_uids) decide, on `tls://` the
//! [certificates](ServerTls::with_client_roots) that peers must show. Plain TCP has neither.

mod args;
pub mod client;
mod error;
mod req;
pub mod server;
pub mod sockets;
mod wire;

pub use args::Args;
pub use client::{Call, Client, ClientBuilder, ClientStats, Event, QueuePolicy, Status};
pub use error::{Error, ErrorKind, Sent};
pub use req::Req;
pub use server::{Context, Handler, Server, ServerBuilder, ServerStats};
pub use warmwire_amp::{Fault, Number, Object, Value, ValueError, from_value, to_value};
pub use warmwire_net::{Credentials, Endpoint, EndpointError, Peer, ServerTls, Tls};
use warmwire_net::{ListenOptions, Listener};

/// A length on the wire has 32 bits, and a message has lengths besides its arguments.
const LARGEST_MESSAGE: usize = u32::MAX as usize;

/// Listens on `endpoint`.
async fn listen(endpoint: &Endpoint, options: &ListenOptions) -> Result<Listener, Error> {
    Listener::bind(endpoint, options).await.map_err(|error| {
        Error::new(ErrorKind::Bind, format!("cannot listen on {error}")).with_source(error)
    })
}

/// What a caller gave as an endpoint.
fn endpoint<E>(endpoint: E) -> Result<Endpoint, Error>
where
    E: TryInto<Endpoint>,
    E::Error: Into<EndpointError>,
{
    endpoint.try_into().map_err(|error| {
        let error = error.into();
        Error::new(ErrorKind::Endpoint, error.to_string()).with_source(error)
    })
}
