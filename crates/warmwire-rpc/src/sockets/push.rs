//! Each message to one peer.

use std::sync::Arc;

use bytes::Bytes;
use warmwire_net::{Endpoint, EndpointError};

use super::SocketStats;
use super::builder::{FullPolicy, SocketBuilder};
use super::core::Core;
use crate::args::Args;
use crate::error::{Error, ErrorKind};

/// A `push` socket of axon: gives each message to one of its peers, in turn, leaving out those that
/// are behind.
///
/// Messages wait, within the limits, while no peer has room. Those that a peer did not get because
/// its connection ended before they were written go to another one.
#[derive(Debug)]
pub struct Push {
    core: Arc<Core>,
}

impl Push {
    pub(super) fn new(core: Core) -> Self {
        Self { core: Arc::new(core) }
    }

    /// A socket to be described.
    pub fn builder() -> SocketBuilder {
        SocketBuilder::default()
    }

    /// Sends a message of up to fifteen arguments: returns when a peer's queue, or that of the
    /// messages which wait for one, has it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::QueueFull`] with another policy than [`Wait`](FullPolicy::Wait),
    /// [`Closed`](ErrorKind::Closed), [`TooLarge`](ErrorKind::TooLarge), and
    /// [`Value`](ErrorKind::Value) for no arguments, too many, or a buffer that axon would take for
    /// text or JSON.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it is not sent.
    pub async fn send(&self, arguments: impl Args) -> Result<(), Error> {
        let frame = self.core.encode(arguments.into_values()?)?;
        loop {
            // Before the look, so that what happens after it is noticed.
            let room = self.core.room.notified();
            let mut room = std::pin::pin!(room);
            room.as_mut().enable();
            if self.offer(&frame)? {
                return Ok(());
            }
            room.await;
        }
    }

    /// Gives the message to a peer or to the queue. Returns whether one has it.
    fn offer(&self, frame: &Bytes) -> Result<bool, Error> {
        let limits = self.core.limits();
        let mut state = self.core.lock();
        if state.closed {
            return Err(Error::new(ErrorKind::Closed, "the socket was closed"));
        }
        if state.waiting.is_empty()
            && let Some(peer) = state.next_with_room(frame.len(), limits)
        {
            peer.push(frame.clone());
            return Ok(true);
        }
        let is_full = |messages: usize, bytes: usize| {
            messages > 0 && (messages >= limits.0 || bytes + frame.len() > limits.1)
        };
        while is_full(state.waiting.len(), state.waiting_bytes) {
            match self.core.options.policy {
                FullPolicy::Wait => return Ok(false),
                FullPolicy::DropOld => {
                    let oldest = state.waiting.pop_front();
                    state.waiting_bytes -= oldest.map_or(0, |oldest| oldest.len());
                    self.core.counters.dropped.add(1);
                }
                FullPolicy::DropNew | FullPolicy::Disconnect => {
                    self.core.counters.dropped.add(1);
                    let text = format!("{} messages wait already", state.waiting.len());
                    return Err(Error::new(ErrorKind::QueueFull, text));
                }
            }
        }
        state.waiting_bytes += frame.len();
        state.waiting.push_back(frame.clone());
        Ok(true)
    }
}

super::common!(Push);
