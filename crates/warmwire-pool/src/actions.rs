//! What the driver must do after it has unlocked the pool.

use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use crate::closing::Closing;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, OriginId};

/// Things that may block or call back, and so must not happen under the pool's lock.
///
/// One value is passed to a call, or to several in a row; empty it after unlocking and before
/// dialling with a permit that the calls gave: close what is in `closed` and
/// [say so](crate::Pool::close_finished), then wake. Making one allocates nothing.
#[derive(Debug)]
#[must_use = "connections stay open and tasks asleep until the actions are carried out"]
pub struct Actions<K, C> {
    /// Connections that have left the pool, in order.
    pub closed: SmallVec<[Closed<K, C>; 1]>,
    /// Tasks whose waiter has something to collect by
    /// [`poll_waiter`](crate::Pool::poll_waiter).
    pub wake: SmallVec<[Waker; 1]>,
}

impl<K, C> Actions<K, C> {
    /// Nothing to do.
    pub fn new() -> Self {
        Self { closed: SmallVec::new(), wake: SmallVec::new() }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.wake.is_empty()
    }

    /// Wakes the tasks. Call it after unlocking.
    pub fn wake_all(&mut self) {
        for waker in self.wake.drain(..) {
            waker.wake();
        }
    }
}

impl<K, C> Default for Actions<K, C> {
    fn default() -> Self {
        Self::new()
    }
}

/// A connection that has left the pool.
#[derive(Debug)]
pub struct Closed<K, C> {
    /// What the driver gave to [`connected`](crate::Pool::connected).
    pub connection: C,
    /// Its id, which finds nothing any more.
    pub id: ConnectionId,
    /// Its origin, which may be forgotten by now.
    pub origin: OriginId,
    /// The key of its origin.
    pub key: K,
    /// Why it was closed.
    pub reason: CloseReason,
    /// Requests that it took.
    pub requests: u64,
    /// Time since it was opened.
    pub age: Duration,
    /// Time since it was last used.
    pub idle: Duration,
    /// Its place under the limits, to be given back when it is closed. `None` if it has none: it
    /// went to a permit that the same call gave.
    pub closing: Option<Closing>,
}
