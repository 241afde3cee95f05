//! The calls that wait for their replies on one connection.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use hashbrown::HashMap;

/// Deadlines of ended calls that may lie about before they are cleared away.
const SLACK: usize = 64;

/// Calls in flight, by id and by deadline. `T` is what is done with the reply.
///
/// Knows no clock: the time is an argument. Every operation is O(1) for calls whose deadlines come
/// in the order of the calls, which is so with one timeout for all, and O(log n) otherwise.
#[derive(Debug)]
pub struct CallTable<T> {
    next: u64,
    calls: HashMap<u64, T>,
    /// With those of calls that have ended, which are cleared away once they are the greater part.
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
}

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        Self { next: 0, calls: HashMap::new(), deadlines: BinaryHeap::new() }
    }
}

impl<T> CallTable<T> {
    /// Enters a call and returns its id, which no other call of this table ever had.
    pub fn insert(&mut self, call: T, deadline: Option<Instant>) -> u64 {
        let id = self.next_id();
        self.calls.insert(id, call);
        if let Some(deadline) = deadline {
            self.clear_away();
            self.deadlines.push(Reverse((deadline, id)));
        }
        id
    }

    /// An id of its own for a message that nobody waits for.
    pub fn next_id(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Takes a call out: its reply came, or nobody waits for it any more.
    pub fn remove(&mut self, id: u64) -> Option<T> {
        self.calls.remove(&id)
    }

    /// Takes out one call whose deadline has passed.
    pub fn expire(&mut self, now: Instant) -> Option<(u64, T)> {
        while let Some(&Reverse((deadline, id))) = self.deadlines.peek() {
            if deadline > now && self.calls.contains_key(&id) {
                return None;
            }
            self.deadlines.pop();
            if let Some(call) = self.calls.remove(&id) {
                return Some((id, call));
            }
        }
        None
    }

    /// When [`expire`](Self::expire) has something to do again. May be too early, never too late.
    pub fn next_deadline(&self) -> Option<Instant> {
        let earliest = self.deadlines.peek().map(|Reverse((deadline, _))| *deadline);
        earliest.filter(|_| !self.calls.is_empty())
    }

    /// Takes out all calls: the connection has ended.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.deadlines.clear();
        std::mem::take(&mut self.calls).into_values()
    }

    /// Calls in flight.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no call is in flight.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn clear_away(&mut self) {
        if self.deadlines.len() > 2 * self.calls.len() + SLACK {
            let calls = &self.calls;
            self.deadlines.retain(|Reverse((_, id))| calls.contains_key(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_expire_at_their_deadlines_and_only_if_they_are_still_there() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut table = CallTable::default();
        let late = table.insert("late", Some(at(9)));
        let answered = table.insert("answered", Some(at(1)));
        let early = table.insert("early", Some(at(2)));
        let never = table.insert("never", None);
        assert_eq!(table.remove(answered), Some("answered"));
        assert_eq!(table.remove(answered), None);
        assert_eq!(table.expire(at(1)), None);
        assert_eq!(table.next_deadline(), Some(at(2)));
        assert_eq!(table.expire(at(9)), Some((early, "early")));
        assert_eq!(table.expire(at(9)), Some((late, "late")));
        assert_eq!(table.expire(at(99)), None);
        assert_eq!(table.next_deadline(), None);
        assert_eq!(table.remove(never), Some("never"));
    }

    #[test]
    fn ended_calls_leave_no_deadlines_behind() {
        let start = Instant::now();
        let mut table = CallTable::default();
        let hanging = table.insert((), Some(start));
        for second in 0..10_000 {
            let id = table.insert((), Some(start + Duration::from_secs(second)));
            table.remove(id);
        }
        assert!(table.deadlines.len() < 2 * SLACK + 4, "{}", table.deadlines.len());
        assert_eq!(table.expire(start), Some((hanging, ())));
    }

    #[test]
    fn an_ended_connection_gives_its_calls_back() {
        let mut table = CallTable::default();
        table.insert(1, Some(Instant::now()));
        table.insert(2, None);
        let mut calls: Vec<_> = table.drain().collect();
        calls.sort_unstable();
        assert_eq!(calls, [1, 2]);
        assert!(table.is_empty() && table.next_deadline().is_none());
    }
}
