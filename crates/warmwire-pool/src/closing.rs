//! A connection that has left the pool keeps its place until it is closed.
//!
//! It is closed after the lock is released. If its place were free before that, the server could
//! count one connection more than the limits allow.

use std::hash::Hash;
use std::time::Instant;

use crate::actions::Actions;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::token::OriginId;

/// The place of a connection that is being closed, and the duty to say when it is.
///
/// It counts against every limit until it goes back by
/// [`Pool::close_finished`](crate::Pool::close_finished).
#[derive(Debug)]
#[must_use = "the place counts against the limits until it is given back"]
pub struct Closing {
    pub(crate) origin: OriginId,
}

impl Closing {
    /// Ends the duty.
    fn redeem(self) -> OriginId {
        self.origin
    }
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// A connection from [`Actions::closed`] is closed now: its place goes to who waits for it.
    pub fn close_finished(&mut self, closing: Closing, now: Instant, actions: &mut Actions<K, C>) {
        let origin = self.origins.find(closing.redeem().0);
        debug_assert!(origin.is_some(), "a place of another pool");
        let Some(origin) = origin else { return };
        self.tally(origin, |counters| counters.closing -= 1);
        self.settle(origin, now, actions);
    }

    /// Whether a dial may begin as soon as the driver has done what is in `actions`: besides room
    /// that is free, there is that of connections which it is about to close, and for the limit
    /// over all origins that of the connection which is idle the longest.
    pub(crate) fn make_room_at_once(
        &mut self,
        origin: usize,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> bool {
        if !self.origins[origin].has_room() && !self.take_place(origin, true, actions) {
            return false;
        }
        if self.has_total_room() || self.take_place(origin, false, actions) {
            return true;
        }
        let Some(oldest) = self.idle.back() else { return false };
        self.evict_oldest(oldest, now, actions);
        self.take_place(origin, false, actions)
    }

    /// Has the connection that is idle the longest closed for a waiter of whatever origin.
    /// One at a time: its place is not free yet.
    pub(crate) fn make_room_soon(&mut self, now: Instant, actions: &mut Actions<K, C>) {
        if self.totals.closing == 0
            && let Some(oldest) = self.idle.back()
        {
            self.evict_oldest(oldest, now, actions);
        }
    }

    fn evict_oldest(&mut self, oldest: usize, now: Instant, actions: &mut Actions<K, C>) {
        let origin = self.connections[oldest].origin;
        self.remove_connection(oldest, CloseReason::MaxTotal, now, actions);
        self.review(origin);
    }

    /// Frees the place of a connection in `actions`, of this origin or of any, for a dial of
    /// `origin` that begins after the connection is closed.
    pub(crate) fn take_place(
        &mut self,
        origin: usize,
        own: bool,
        actions: &mut Actions<K, C>,
    ) -> bool {
        let id = OriginId(self.origins.handle(origin));
        let mut places = actions.closed.iter_mut().map(|closed| &mut closed.closing);
        let place =
            places.find(|place| place.as_ref().is_some_and(|closing| !own || closing.origin == id));
        let Some(closing) = place.and_then(Option::take) else { return false };
        let Some(left) = self.origins.find(closing.redeem().0) else { return false };
        self.tally(left, |counters| counters.closing -= 1);
        if left != origin {
            self.review(left);
            self.forget_if_empty(left);
        }
        true
    }
}
