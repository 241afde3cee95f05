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

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for a permit whose connection will be lent by
    /// [`connected_exclusive`](Self::connected_exclusive). Where a limit is in the way, the
    /// longest idle connection makes room: of this origin, or of any for the limit over all.
    ///
    /// # Errors
    /// [`RefuseReason::NoRoom`] when every connection under the limit is in use or being opened:
    /// then one that comes back is as good as fresh, so [`acquire`](Self::acquire) serves.
    pub fn open_exclusive(
        &mut self,
        origin: OriginId,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Result<Permit, RefuseReason> {
        let Some(index) = self.origins.find(origin.0) else {
            return Err(RefuseReason::UnknownOrigin);
        };
        if !self.closed
            && !self.origins[index].has_room()
            && let Some(oldest) = self.origins[index].idle.back()
        {
            self.remove_connection(oldest, CloseReason::Evicted, now, actions);
        }
        if !self.closed && self.origins[index].has_room() && !self.has_total_room() {
            self.make_total_room_beside(index, now, actions);
        }
        self.open(origin)
    }

    /// An exclusive dial has given a connection: the first lease of it. In a closed pool it is
    /// closed at once and there is no lease.
    pub fn connected_exclusive(
        &mut self,
        permit: Permit,
        connection: C,
        opened: Opened,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Option<Lease> {
        let (origin, _) = self.finish_dial(permit.redeem())?;
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

    /// As `make_total_room`, for a caller that has not begun its dial: its own origin may be left
    /// with nothing for a moment and must not be forgotten.
    fn make_total_room_beside(&mut self, own: usize, now: Instant, actions: &mut Actions<K, C>) {
        let Some(index) = self.idle.back() else { return };
        let origin = self.connections[index].origin;
        self.remove_connection(index, CloseReason::MaxTotal, now, actions);
        if origin != own {
            self.forget_if_empty(origin);
        }
    }
}
