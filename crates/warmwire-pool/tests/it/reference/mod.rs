//! What the pool should do, written for the reader and not for speed: vectors, searched from end
//! to end. Waiters, dials and connections have numbers, counted in order of their beginning.

use std::time::{Duration, Instant};

use warmwire_pool::{CloseReason, Counters, Keep, Limits, RefuseReason, Verdict};

mod dialling;
mod state;

pub(crate) use state::{Closed, Connection, Dial, Lease, Origin, Reference, State, Waiter};

#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Reuse(Lease),
    Open { dial: u64, waiter: u64 },
    Wait(u64),
    Refuse(RefuseReason),
}

#[derive(Debug, PartialEq)]
pub(crate) enum Polled {
    Pending,
    Open(u64),
    Ended(State),
}

impl Reference {
    pub(crate) fn new(limits: Vec<Limits>, max_total: usize) -> Self {
        let origins = limits.iter().map(Origin::unknown).collect();
        Self {
            limits,
            max_total,
            is_closed: false,
            connections: Vec::new(),
            dials: Vec::new(),
            waiters: Vec::new(),
            idle: Vec::new(),
            origins,
            totals: Counters::default(),
            closed: Vec::new(),
            closing: Vec::new(),
            begun: [0; 3],
        }
    }

    pub(crate) fn acquire(&mut self, key: usize, now: Instant) -> Answer {
        self.origins[key].known = true;
        if self.is_closed {
            return Answer::Refuse(self.refuse(key, RefuseReason::Closed));
        }
        if let Some(number) = self.lendable(key, now) {
            let lease = self.lend(number, true, now);
            self.place(number);
            return Answer::Reuse(lease);
        }
        let uncovered = self.uncovered(key, self.queue(key).len() + 1);
        let limit = self.limits[key].max_waiting;
        let rather_waits = self.prefers_wait(key) && uncovered <= limit;
        let may_dial = self.may_dial(key) && self.next_to_dial().is_none();
        if uncovered > 0 && !rather_waits && may_dial && self.make_room_at_once(key, now) {
            let dial = self.dial(key, None);
            let waiter = self.wait(key, None);
            self.find_dial(dial).waiter = Some(waiter);
            self.find_dial(dial).collected = true;
            self.settle(now);
            return Answer::Open { dial, waiter };
        }
        if uncovered > limit {
            let full = RefuseReason::QueueFull { waiting: uncovered - 1, limit };
            return Answer::Refuse(self.refuse(key, full));
        }
        self.count(key, |counters| counters.queued += 1);
        let waiter = self.wait(key, Some(now));
        self.settle(now);
        Answer::Wait(waiter)
    }

    pub(crate) fn open(&mut self, key: usize) -> Result<u64, ()> {
        self.origins[key].known = true;
        let room = self.has_room(key) && self.has_total_room();
        if self.is_closed || !self.may_dial(key) || !room {
            return Err(());
        }
        let dial = self.dial(key, None);
        self.find_dial(dial).collected = true;
        Ok(dial)
    }

    pub(crate) fn open_exclusive(&mut self, key: usize, now: Instant) -> Result<u64, ()> {
        if !self.is_closed && self.may_dial(key) {
            if !self.has_room(key)
                && let Some(&oldest) = self.origins[key].idle.last()
            {
                self.close_connection(oldest, CloseReason::Evicted, now);
            }
            self.make_room_at_once(key, now);
        }
        self.open(key)
    }

    pub(crate) fn poll(&mut self, waiter: u64, now: Instant) -> Polled {
        if self.find_waiter(waiter).state == State::Aside {
            self.find_waiter(waiter).state = State::Queued;
            self.settle(now);
        }
        let at = self.waiters.iter().position(|w| w.number == waiter).expect("a live waiter");
        if let State::Leased(lease) = self.waiters[at].state.clone() {
            let connection = self.find(lease.connection);
            let alone = connection.leased == 1;
            let spoilt = connection.retired.or(connection.expired(now).filter(|_| alone));
            if let Some(reason) = spoilt.filter(|_| lease.reused && !self.is_closed) {
                self.waiters[at].state = State::Queued;
                self.release(&lease, Verdict::Unused(reason), now);
            }
        }
        let offered =
            self.dials.iter_mut().find(|dial| dial.waiter == Some(waiter) && !dial.collected);
        if let Some(dial) = offered {
            dial.collected = true;
            dial.deadline = None;
            return Polled::Open(dial.number);
        }
        if self.waiters[at].state == State::Queued {
            return Polled::Pending;
        }
        let mut state = self.waiters.remove(at).state;
        if let State::Leased(lease) = &mut state {
            lease.idle_for = lease.idle_since.map_or(Duration::ZERO, |since| now - since);
        }
        Polled::Ended(state)
    }

    pub(crate) fn cancel(&mut self, waiter: u64, now: Instant) {
        let at = self.waiters.iter().position(|w| w.number == waiter).expect("a live waiter");
        let waiter = self.waiters.remove(at);
        match waiter.state {
            State::Queued => {
                self.leave_dial(waiter.number);
                self.count(waiter.key, |counters| counters.cancelled += 1);
            }
            State::Leased(lease) => {
                self.count(waiter.key, |counters| counters.cancelled += 1);
                self.release(&lease, Verdict::Untouched, now);
            }
            State::Aside => self.count(waiter.key, |counters| counters.cancelled += 1),
            State::Failed(_) | State::Refused => {}
        }
        self.settle(now);
    }

    pub(crate) fn connected(&mut self, dial: u64, slots: u32, jitter: f64, now: Instant) -> u64 {
        match self.enter(dial, slots, jitter, now) {
            Ok(number) if self.is_closed => {
                self.close_connection(number, CloseReason::Shutdown, now);
                self.settle(now);
                number
            }
            Ok(number) => {
                self.serve(number, now);
                self.settle(now);
                number
            }
            Err(number) => {
                self.settle(now);
                number
            }
        }
    }

    pub(crate) fn connected_exclusive(
        &mut self,
        dial: u64,
        slots: u32,
        jitter: f64,
        now: Instant,
    ) -> Option<Lease> {
        let lease = match self.enter(dial, slots, jitter, now) {
            Ok(number) if self.is_closed => {
                self.close_connection(number, CloseReason::Shutdown, now);
                None
            }
            Ok(number) => {
                let lease = self.lend(number, true, now);
                self.serve(number, now);
                Some(lease)
            }
            Err(_) => None,
        };
        self.settle(now);
        lease
    }

    /// The number of a new connection, as an error if it is turned away.
    fn enter(&mut self, dial: u64, slots: u32, jitter: f64, now: Instant) -> Result<u64, u64> {
        let Dial { key, overdue, .. } = self.end_dial(dial);
        self.origins[key].failures = None;
        self.origins[key].refill_at = None;
        let number = self.number(0);
        self.count(key, |counters| {
            counters.opened += 1;
            counters.connect_time += Duration::from_millis(10);
        });
        if overdue && !(self.has_room(key) && self.has_total_room()) {
            let reason = CloseReason::Overdue;
            self.count(key, |counters| {
                counters.closed += 1;
                counters.closed_by_reason[reason.index()] += 1;
            });
            self.closed.push(Closed { number, key, reason, has_place: false });
            return Err(number);
        }
        let limits = self.limits[key];
        let slots = slots.max(1) as usize;
        self.origins[key].expected_slots = slots;
        self.connections.push(Connection {
            number,
            key,
            slots,
            leased: 0,
            requests: 0,
            peer_max_requests: None,
            opened_at: now,
            last_used: now,
            idle_deadline: limits.idle_timeout.map(|timeout| now + timeout),
            lifetime_deadline: limits
                .max_lifetime
                .map(|max| now + max - max.mul_f64(jitter / 10.0)),
            was_idle: false,
            retired: None,
        });
        let open = self.connections.iter().filter(|c| c.key == key).count();
        self.origins[key].counters.max_open = self.origins[key].counters.max_open.max(open);
        self.totals.max_open = self.totals.max_open.max(self.connections.len());
        Ok(number)
    }

    pub(crate) fn release(&mut self, lease: &Lease, verdict: Verdict, now: Instant) {
        let key = self.find(lease.connection).key;
        let idle_timeout = self.limits[key].idle_timeout;
        let connection = self.find_mut(lease.connection);
        connection.leased -= 1;
        let mut counts = lease.counted;
        match verdict {
            Verdict::Keep(Keep { idle_timeout: asked, requests_left }) => {
                connection.last_used = now;
                connection.idle_deadline = asked.or(idle_timeout).map(|timeout| now + timeout);
                if let Some(left) = requests_left {
                    connection.peer_max_requests = Some(connection.requests + left);
                }
                if asked == Some(Duration::ZERO) {
                    connection.retired.get_or_insert(CloseReason::PeerAsked);
                }
            }
            Verdict::Close(reason) => {
                connection.last_used = now;
                connection.retired.get_or_insert(reason);
            }
            Verdict::Unused(reason) => {
                counts = false;
                connection.retired.get_or_insert(reason);
            }
            Verdict::Untouched => counts = false,
        }
        if lease.counted && !counts {
            connection.requests -= 1;
            self.count(key, |counters| {
                counters.requests -= 1;
                counters.reused -= u64::from(lease.reused);
            });
        }
        self.keep_or_close(lease.connection, now);
        self.settle(now);
    }

    pub(crate) fn closed_by_peer(&mut self, number: u64, reason: CloseReason, now: Instant) {
        let Some(connection) = self.connections.iter_mut().find(|c| c.number == number) else {
            return;
        };
        if connection.leased == 0 {
            self.close_connection(number, reason, now);
        } else {
            connection.retired.get_or_insert(reason);
            self.place(number);
        }
        self.settle(now);
    }

    pub(crate) fn set_slots(&mut self, number: u64, slots: u32, now: Instant) {
        let Some(connection) = self.connections.iter_mut().find(|c| c.number == number) else {
            return;
        };
        let slots = slots.max(1) as usize;
        connection.slots = slots;
        let (key, leased) = (connection.key, connection.leased);
        self.origins[key].expected_slots = slots;
        if leased > 0 {
            self.retire_if_outlived(number, now);
            self.serve(number, now);
        }
        self.settle(now);
    }

    pub(crate) fn lease_idle(&mut self, number: u64, now: Instant) -> Option<Lease> {
        if !self.idle.contains(&number) {
            return None;
        }
        let lease = self.lend(number, false, now);
        self.place(number);
        Some(lease)
    }

    pub(crate) fn expire(&mut self, now: Instant) {
        self.ring_timers(now);
        for number in self.idle.clone() {
            if let Some(reason) = self.find(number).expired(now) {
                self.close_connection(number, reason, now);
            }
        }
        for key in 0..self.origins.len() {
            self.close_surplus(key, now);
        }
        self.settle(now);
    }

    pub(crate) fn retire_all(
        &mut self,
        reason: CloseReason,
        now: Instant,
        chosen: impl Fn(&Connection) -> bool,
    ) -> usize {
        let chosen: Vec<_> =
            self.connections.iter().filter(|c| chosen(c)).map(|c| c.number).collect();
        for &number in &chosen {
            self.closed_by_peer(number, reason, now);
        }
        chosen.len()
    }

    pub(crate) fn close(&mut self, now: Instant) {
        self.is_closed = true;
        let waits = |w: &&mut Waiter| matches!(w.state, State::Queued | State::Aside);
        for waiter in self.waiters.iter_mut().filter(waits) {
            (waiter.state, waiter.patience) = (State::Refused, None);
        }
        for origin in &mut self.origins {
            (origin.failures, origin.refill_at) = (None, None);
        }
        self.dials.retain(|dial| dial.collected);
        for dial in &mut self.dials {
            dial.waiter = None;
        }
        self.retire_all(CloseReason::Shutdown, now, |_| true);
    }
}
