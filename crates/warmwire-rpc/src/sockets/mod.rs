//! Axon's one-way sockets: push and pull, pub and sub.
//!
//! Each may listen, connect, or both, and has any number of peers. [`Push`] gives each message to one
//! peer, [`Pub`] to all; [`Pull`] and [`Sub`] receive, the latter what its patterns match. The bytes
//! are those of axon and pm2-axon, so the other end may be Node: pm2's `pub.sock` is a [`Sub`]'s.
//!
//! Nothing is kept without a bound: what waits for a peer is limited in messages and in bytes, and
//! whoever receives reads no faster than its messages are taken. A message that was written to a
//! connection which then ends is lost, as one-way messages are; who must know calls a method.

/// What every kind of socket can do.
macro_rules! common {
    ($socket:ident) => {
        impl $socket {
            /// Listens on one more endpoint, and returns it with the port that the system chose.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if it is written wrongly,
            /// [`ErrorKind::Bind`](crate::ErrorKind::Bind) if the system does not let it listen.
            pub async fn bind<E>(&self, endpoint: E) -> Result<Endpoint, Error>
            where
                E: TryInto<Endpoint>,
                E::Error: Into<EndpointError>,
            {
                self.core.bind(endpoint).await
            }

            /// Connects to one more endpoint, in the background and again after each loss.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if it is written wrongly.
            pub fn connect<E>(&self, endpoint: E) -> Result<(), Error>
            where
                E: TryInto<Endpoint>,
                E::Error: Into<EndpointError>,
            {
                self.core.connect(endpoint)
            }

            /// Ends the connection to an endpoint, and the attempts to make another. Returns
            /// whether it was connected to.
            pub fn disconnect(&self, endpoint: &Endpoint) -> bool {
                self.core.disconnect(endpoint)
            }

            /// What it has counted.
            pub fn stats(&self) -> SocketStats {
                self.core.stats()
            }

            /// Writes what its peers have to get still, closes the connections and ends. What waits
            /// for a peer to come is dropped.
            ///
            /// # Cancel safety
            ///
            /// Dropped, the socket ends at once.
            pub async fn close(self) {
                self.core.close().await;
            }
        }

        impl Drop for $socket {
            fn drop(&mut self) {
                self.core.end();
            }
        }
    };
}
use common;

mod builder;
mod core;
mod pattern;
mod peer;
mod publish;
mod push;
mod receive;

pub use builder::{FullPolicy, SocketBuilder};
pub use publish::Pub;
pub use push::Push;
pub use receive::{Publication, Pull, Sub};

/// What a socket has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketStats {
    /// Peers that are connected.
    pub peers: usize,
    /// Messages that wait for a peer, or to be written to one.
    pub waiting: usize,
    /// Messages that were handed to a connection; one for each peer that it was for.
    pub sent: u64,
    /// Messages that came.
    pub received: u64,
    /// Messages that were dropped because a queue was full, or a peer went before they were
    /// written.
    pub dropped: u64,
    /// Messages that came and could not be read.
    pub unreadable: u64,
}
