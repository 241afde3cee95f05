//! Each message to all peers.

use std::sync::Arc;

use bytes::Bytes;
use warmwire_amp::Value;
use warmwire_net::{Endpoint, EndpointError};

use super::SocketStats;
use super::builder::{FullPolicy, SocketBuilder};
use super::core::Core;
use super::peer::Peer;
use crate::args::Args;
use crate::error::{Error, ErrorKind};

/// A `pub` socket of axon: gives each message to every peer that is connected.
///
/// It never waits for one of them: a peer that is behind by more than the limits loses messages, or
/// its connection, as the policy says (F014). Peers that are not connected get nothing.
#[derive(Debug)]
pub struct Pub {
    core: Arc<Core>,
}

impl Pub {
    pub(super) fn new(mut core: Core) -> Self {
        core.publishes();
        Self { core: Arc::new(core) }
    }

    /// A socket to be described.
    pub fn builder() -> SocketBuilder {
        SocketBuilder::default()
    }

    /// Sends `topic` and up to fourteen arguments to every peer, and returns for how many it was.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`], [`TooLarge`](ErrorKind::TooLarge), and [`Value`](ErrorKind::Value) for
    /// too many arguments, or a buffer that axon would take for text or JSON.
    pub fn publish(&self, topic: &str, arguments: impl Args) -> Result<usize, Error> {
        let mut values = arguments.into_values()?;
        values.insert(0, Value::from(topic));
        let frame = self.core.encode(values)?;
        let state = self.core.lock();
        if state.closed {
            return Err(Error::new(ErrorKind::Closed, "the socket was closed"));
        }
        Ok(state.peers.iter().filter(|peer| self.give(peer, &frame)).count())
    }

    /// Gives a message to one peer. Returns whether it took it.
    fn give(&self, peer: &Peer, frame: &Bytes) -> bool {
        let dropped = &self.core.counters.dropped;
        while !peer.has_room(frame.len(), self.core.limits()) {
            dropped.add(1);
            match self.core.options.policy {
                FullPolicy::Wait | FullPolicy::DropOld if peer.drop_oldest() => {}
                FullPolicy::Disconnect => {
                    peer.ending.cancel();
                    return false;
                }
                _ => return false,
            }
        }
        peer.push(frame.clone());
        true
    }
}

super::common!(Pub);
