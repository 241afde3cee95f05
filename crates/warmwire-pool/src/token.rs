//! What the driver holds: ids that may go stale, and tokens that carry a duty.

use std::fmt;
use std::time::{Duration, Instant};

use crate::arena::Handle;

/// Names an origin until the pool forgets it. A stale id finds nothing, never another origin.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OriginId(pub(crate) Handle);

impl OriginId {
    /// A number that no other origin of the pool ever has, nor the same one after it was
    /// forgotten.
    pub fn number(self) -> u64 {
        self.0.serial
    }
}

impl fmt::Debug for OriginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OriginId({})", self.0.serial)
    }
}

/// Names a connection: 1, 2, 3 and so on for the life of the pool, in the order in which they were
/// opened, over all origins. `Display` prints the number. A stale id finds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub(crate) Handle);

impl ConnectionId {
    /// The number that `Display` prints.
    pub fn number(self) -> u64 {
        self.0.serial
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serial.fmt(f)
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({})", self.0.serial)
    }
}

/// Names a request in a queue, from [`Acquire::Open`](crate::Acquire::Open) or
/// [`Acquire::Wait`](crate::Acquire::Wait) until a [`Grant`](crate::Grant) that ends it, or
/// [`Pool::cancel`](crate::Pool::cancel).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaiterId(pub(crate) Handle);

/// The right and the duty to dial once.
///
/// It counts against every limit until it goes back by exactly one of
/// [`connected`](crate::Pool::connected), [`connect_failed`](crate::Pool::connect_failed) and
/// [`connect_abandoned`](crate::Pool::connect_abandoned).
#[derive(Debug)]
#[must_use = "a permit counts against the limits until it is given back"]
pub struct Permit {
    pub(crate) dial: Handle,
    pub(crate) origin: OriginId,
}

impl Permit {
    /// The origin to dial.
    pub fn origin(&self) -> OriginId {
        self.origin
    }

    /// Ends the duty. What is left is an ordinary id.
    pub(crate) fn redeem(self) -> Handle {
        self.dial
    }
}

/// One slot of one connection, lent.
///
/// It goes back by [`Pool::release`](crate::Pool::release). The connection stays open and in the
/// pool until then, whatever else happens to it.
#[derive(Debug)]
#[must_use = "a lease holds its slot until it is released"]
pub struct Lease {
    pub(crate) connection: ConnectionId,
    pub(crate) origin: OriginId,
    /// Whether it stands for a request, and not for a look.
    pub(crate) counted: bool,
    pub(crate) reused: bool,
    pub(crate) requests: u64,
    pub(crate) opened_at: Instant,
    /// Whether nobody else had it.
    pub(crate) was_idle: bool,
    pub(crate) idle_for: Duration,
}

impl Lease {
    /// The connection that was lent.
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// The connection's origin.
    pub fn origin(&self) -> OriginId {
        self.origin
    }

    /// Whether the connection was lent or idle before, so that this request did not pay for a
    /// handshake: false only for the first lease of a finished dial that went straight to a waiter.
    pub fn reused(&self) -> bool {
        self.reused
    }

    /// Requests that the connection took before this one.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// When the dial was finished.
    pub fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// How long nobody had used the connection when the driver got this lease. Zero when it is
    /// fresh, or shared with other leases.
    pub fn idle_for(&self) -> Duration {
        self.idle_for
    }

    /// Ends the duty.
    pub(crate) fn redeem(self) -> Returned {
        Returned { connection: self.connection, counted: self.counted, reused: self.reused }
    }
}

/// What the pool must know of a lease that came back.
pub(crate) struct Returned {
    pub(crate) connection: ConnectionId,
    pub(crate) counted: bool,
    pub(crate) reused: bool,
}
