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
    origin: OriginId,
    /// Whether it counts against the limit over all origins too: a dial of another origin may have
    /// got that part.
    in_total: bool,
}

impl Closing {
    pub(crate) fn new(origin: OriginId) -> Closing {
        Closing { origin, in_total: true }
    }

    /// Ends the duty. What is left is an ordinary id, and whether the limit over all counts it.
    fn redeem(self) -> (OriginId, bool) {
        (self.origin, self.in_total)
    }
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// A connection from [`Actions::closed`] is closed now: its place goes to who waits for it.
    pub fn close_finished(&mut self, closing: Closing, now: Instant, actions: &mut Actions<K, C>) {
        let (origin, in_total) = closing.redeem();
        let origin = self.origins.find(origin.0);
        debug_assert!(origin.is_some(), "a place of another pool");
        let Some(origin) = origin else { return };
        self.origins[origin].counters.closing -= 1;
        self.totals.closing -= usize::from(in_total);
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
        if !self.origins[origin].has_room() && !self.take_place(origin, actions) {
            return false;
        }
        if self.has_total_room() || self.take_total(origin, actions) {
            return true;
        }
        let Some(oldest) = self.idle.back() else { return false };
        self.evict_oldest(oldest, now, actions);
        self.take_total(origin, actions)
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

    /// Frees the place of a connection of `origin` in `actions`, for a dial of the same origin that
    /// begins after the connection is closed.
    fn take_place(&mut self, origin: usize, actions: &mut Actions<K, C>) -> bool {
        let id = OriginId(self.origins.handle(origin));
        let own = |place: &&mut Option<Closing>| {
            place.as_ref().is_some_and(|closing| closing.in_total && closing.origin == id)
        };
        let place = actions.closed.iter_mut().map(|closed| &mut closed.closing).find(own);
        let taken = place.and_then(Option::take).is_some();
        if taken {
            self.tally(origin, |counters| counters.closing -= 1);
        }
        taken
    }

    /// As [`take_place`](Self::take_place), for room under the limit over all origins: of a
    /// connection of another origin only that part is free. What its own origin may open is for who
    /// does not know when it is closed.
    fn take_total(&mut self, origin: usize, actions: &mut Actions<K, C>) -> bool {
        if self.take_place(origin, actions) {
            return true;
        }
        let mut places = actions.closed.iter_mut().filter_map(|closed| closed.closing.as_mut());
        let Some(other) = places.find(|closing| closing.in_total) else { return false };
        other.in_total = false;
        self.totals.closing -= 1;
        true
    }
}
