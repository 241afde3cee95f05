//! A dial whose connection goes to the request that made it, past the queue.
//!
//! For a request that is sent again since its reused connection turned out to be dead: it must
//! get a fresh connection, and another idle one, or one that another request gives back, may be
//! as dead as the first.

use std::hash::Hash;
use std::time::Instant;

use crate::acquire::RefuseReason;
use crate::actions::Actions;
use crate::connect::Opened;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::token::{Lease, OriginId, Permit};
use crate::waiters::Dial;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for a permit whose connection will be lent by
    /// [`connected_exclusive`](Self::connected_exclusive). Where a limit is in the way, the
    /// longest idle connection makes room: of this origin, or of any for the limit over all.
    ///
    /// # Errors
    /// [`RefuseReason::NoRoom`] when every connection under the limit is in use or being opened:
    /// then one that comes back is as good as fresh, so [`acquire`](Self::acquire) serves.
    /// [`RefuseReason::BackingOff`] while the origin's dials fail.
    pub fn open_exclusive(
        &mut self,
        origin: OriginId,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Result<Permit, RefuseReason> {
        let Some(index) = self.origins.find(origin.0) else {
            return Err(RefuseReason::UnknownOrigin);
        };
        if !self.closed && self.origins[index].may_dial() {
            if !self.origins[index].has_room()
                && let Some(oldest) = self.origins[index].idle.back()
            {
                self.remove_connection(oldest, CloseReason::Evicted, now, actions);
            }
            self.make_room_at_once(index, now, actions);
        }
        self.open(origin, now)
    }

    /// An exclusive dial has given a connection: the first lease of it. It is closed at once, and
    /// there is no lease, in a closed pool, and when the dial was
    /// [overdue](Self::bound_dial) and its room is taken.
    pub fn connected_exclusive(
        &mut self,
        permit: Permit,
        connection: C,
        opened: Opened,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Option<Lease> {
        let Dial { origin, overdue, .. } = self.finish_dial(permit.redeem())?;
        self.end_backoff(origin);
        self.resume_refill(origin);
        if !self.admits(origin, overdue) {
            self.turn_away(origin, connection, opened, now, actions);
            self.settle(origin, now, actions);
            return None;
        }
        let handle = self.enter(origin, connection, opened, now);
        if self.closed {
            self.remove_connection(handle.index, CloseReason::Shutdown, now, actions);
            self.settle(origin, now, actions);
            return None;
        }
        let lease = self.lend(handle.index, true, now);
        self.offer_slots(handle.index, now, actions);
        self.settle(origin, now, actions);
        Some(lease)
    }
}
