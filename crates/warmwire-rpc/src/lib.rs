//! A light RPC over TCP, TLS and Unix sockets, in the bytes of npm's axon, axon-rpc and pm2.

mod args;
pub mod client;
mod error;
pub mod server;
mod wire;

pub use args::Args;
pub use client::{Call, Client, ClientBuilder, ClientStats, Event, QueuePolicy, Status};
pub use error::{Error, ErrorKind, Sent};
pub use server::{Context, Handler, Server, ServerBuilder, ServerStats};
pub use warmwire_amp::{Fault, Number, Object, Value, ValueError, from_value, to_value};
pub use warmwire_net::{Credentials, Endpoint, EndpointError, Peer, ServerTls, Tls};

/// A length on the wire has 32 bits, and a message has lengths besides its arguments.
const LARGEST_MESSAGE: usize = u32::MAX as usize;

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
