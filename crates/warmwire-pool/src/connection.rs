//! What the pool keeps for one connection, and what that says about it.

use std::time::Instant;

use crate::list::{Linked, Links};
use crate::origin::{OriginIdle, OriginPartial};
use crate::place::Place;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, OriginId};

/// One open connection, as [`Pool::connections`](crate::Pool::connections) and
/// [`Pool::evict`](crate::Pool::evict) show it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConnectionView<'a, C> {
    /// Its id.
    pub id: ConnectionId,
    /// Its origin.
    pub origin: OriginId,
    /// What the driver gave to [`connected`](crate::Pool::connected).
    pub connection: &'a C,
    /// When its dial was finished.
    pub opened_at: Instant,
    /// Since when nobody uses it; `None` while it is lent.
    pub idle_since: Option<Instant>,
    /// Since when somebody uses it; `None` while it is idle.
    pub in_use_since: Option<Instant>,
    /// Slots that it lends in all.
    pub slots: usize,
    /// Slots that are lent now.
    pub leased: usize,
    /// Requests that it took, those in progress included.
    pub requests: u64,
}

/// Marks the list of all idle connections of all origins, the most recently used first.
#[derive(Debug)]
pub(crate) enum AllIdle {}

#[derive(Debug)]
pub(crate) struct Connection<C> {
    pub(crate) inner: C,
    pub(crate) origin: usize,
    pub(crate) place: Place,
    pub(crate) slots: usize,
    pub(crate) leased: usize,
    pub(crate) requests: u64,
    pub(crate) max_requests: u64,
    /// The count of requests at which the peer said that it would take no more.
    pub(crate) peer_max_requests: u64,
    pub(crate) opened_at: Instant,
    /// When it was lent while nobody used it.
    pub(crate) lent_at: Instant,
    /// When the last use ended, or the dial.
    pub(crate) last_used: Instant,
    pub(crate) idle_deadline: Option<Instant>,
    pub(crate) lifetime_deadline: Option<Instant>,
    /// When it closes if more are idle than may be; set for the least recently used one then.
    pub(crate) surplus_at: Option<Instant>,
    /// Whether it has been idle, so that whoever gets it did not wait for its handshake.
    pub(crate) was_idle: bool,
    /// Set when it must not be lent again: it closes for this reason when its leases are back.
    pub(crate) retired: Option<CloseReason>,
    /// The time of its entry among the alarms, if it has one.
    pub(crate) alarm: Option<Instant>,
    pub(crate) origin_links: Links,
    pub(crate) all_idle_links: Links,
}

impl<C> Connection<C> {
    pub(crate) fn may_lend(&self) -> bool {
        self.leased < self.slots && self.retired.is_none() && self.exhausted().is_none()
    }

    /// Where it belongs by what is lent of it.
    pub(crate) fn due_place(&self) -> Place {
        match self.leased {
            0 => Place::Idle,
            _ if self.may_lend() => Place::Partial,
            _ => Place::Busy,
        }
    }

    pub(crate) fn exhausted(&self) -> Option<CloseReason> {
        if self.requests >= self.peer_max_requests {
            Some(CloseReason::PeerAsked)
        } else if self.requests >= self.max_requests {
            Some(CloseReason::MaxRequests)
        } else {
            None
        }
    }

    fn outlived(&self, now: Instant) -> bool {
        self.lifetime_deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn retire_if_outlived(&mut self, now: Instant) {
        if self.outlived(now) {
            self.retire(CloseReason::MaxLifetime);
        }
    }

    /// Which of its deadlines has come while nobody uses it.
    pub(crate) fn expired(&self, now: Instant) -> Option<CloseReason> {
        let deadline = self.expiry().filter(|&expiry| expiry <= now)?;
        let idle = self.idle_deadline == Some(deadline);
        Some(if idle { CloseReason::IdleTimeout } else { CloseReason::MaxLifetime })
    }

    /// When it expires if nobody uses it.
    fn expiry(&self) -> Option<Instant> {
        earlier(self.idle_deadline, self.lifetime_deadline)
    }

    /// When it needs a look if nobody uses it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earlier(self.expiry(), self.surplus_at)
    }

    /// Marks it as not to be lent again. The first reason stays.
    pub(crate) fn retire(&mut self, reason: CloseReason) {
        self.retired.get_or_insert(reason);
    }
}

impl<C> Linked<AllIdle> for Connection<C> {
    fn links(&self) -> &Links {
        &self.all_idle_links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.all_idle_links
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

// A connection is in one list of its origin at most, so both use the same links.
impl<C> Linked<OriginIdle> for Connection<C> {
    fn links(&self) -> &Links {
        &self.origin_links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.origin_links
    }
}

impl<C> Linked<OriginPartial> for Connection<C> {
    fn links(&self) -> &Links {
        &self.origin_links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.origin_links
    }
}
