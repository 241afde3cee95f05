//! Axon's bare requests.

use warmwire_amp::Value;
use warmwire_net::{Endpoint, EndpointError};

use crate::args::Args;
use crate::client::{Call, Client, ClientBuilder};
use crate::error::Error;

/// A `req` socket of axon: sends arguments to a `rep` socket, or to a server made by
/// [`ServerBuilder::reply`](crate::ServerBuilder::reply), and gets arguments back.
///
/// A [`Client`] underneath, with all that it has: many requests in flight, reconnection, deadlines,
/// the queue. A request goes to the connection with the fewest in flight.
#[derive(Clone, Debug)]
pub struct Req {
    client: Client,
}

impl Req {
    /// Connects to a `rep` socket.
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::connect`].
    pub async fn connect<E>(builder: ClientBuilder, endpoint: E) -> Result<Self, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        Ok(Self { client: builder.plain().connect(endpoint).await? })
    }

    /// Listens for `rep` sockets that connect.
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::bind`].
    pub async fn bind<E>(builder: ClientBuilder, endpoint: E) -> Result<Self, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        Ok(Self { client: builder.plain().bind(endpoint).await? })
    }

    /// Sends up to fourteen arguments, and gives the arguments of the reply: in axon the first is
    /// the error, null if there is none.
    ///
    /// # Errors
    ///
    /// As [`Client::call`]; [`ErrorKind::Value`](crate::ErrorKind::Value) for no arguments, for more
    /// than fourteen, and for a buffer that begins with `s:` or `j:`, which axon would take for
    /// something else.
    pub fn send(&self, arguments: impl Args) -> Call<Vec<Value>> {
        match arguments.into_values() {
            Ok(values) => self.client.send_plain(values),
            Err(error) => Call::failed(&self.client, error.into()),
        }
    }

    /// The client underneath, for its status, numbers, peers and end. Its calls are not understood
    /// by a `rep` socket.
    pub fn client(&self) -> &Client {
        &self.client
    }
}
