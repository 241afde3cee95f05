//! What the reference keeps, and the rules that its inputs share.

use std::time::{Duration, Instant};

use warmwire_pool::{CloseReason, Counters, Limits, RefuseReason, Scheduling};

pub(crate) struct Reference {
    pub(crate) limits: Vec<Limits>,
    pub(crate) max_total: usize,
    pub(crate) is_closed: bool,
    pub(crate) connections: Vec<Connection>,
    pub(crate) dials: Vec<Dial>,
    pub(crate) waiters: Vec<Waiter>,
    /// Idle connections of all origins, the most recently used first.
    pub(crate) idle: Vec<u64>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) totals: Counters,
    /// What was closed in this step, in order.
    pub(crate) closed: Vec<Closed>,
    /// The connections whose place is not free yet, with their origins.
    pub(crate) closing: Vec<Leaving>,
    pub(super) begun: [u64; 3],
}

#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) number: u64,
    pub(crate) key: usize,
    /// Whether no dial of another origin has got its room under the limit over all.
    pub(crate) in_total: bool,
}

#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) known: bool,
    pub(crate) idle: Vec<u64>,
    pub(crate) partial: Vec<u64>,
    pub(crate) expected_slots: usize,
    pub(crate) failures: Option<Failures>,
    pub(crate) refill_at: Option<Instant>,
    pub(crate) counters: Counters,
}

#[derive(Clone, Default)]
pub(crate) struct Failures {
    pub(super) count: u32,
    /// Dials up to this number had begun when the last failure was counted.
    pub(super) last_dial: u64,
    pub(crate) until: Option<Instant>,
    pub(super) probe: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Closed {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) reason: CloseReason,
    /// Whether its place is free only once it is closed.
    pub(crate) has_place: bool,
}

pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) slots: usize,
    pub(crate) leased: usize,
    pub(crate) requests: u64,
    pub(super) peer_max_requests: Option<u64>,
    pub(super) opened_at: Instant,
    pub(super) last_used: Instant,
    pub(super) idle_deadline: Option<Instant>,
    pub(super) lifetime_deadline: Option<Instant>,
    pub(super) was_idle: bool,
    pub(super) retired: Option<CloseReason>,
}

pub(crate) struct Dial {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) waiter: Option<u64>,
    pub(crate) collected: bool,
    /// The last waiter that had come when it began.
    pub(super) last_waiter: u64,
    pub(crate) deadline: Option<Instant>,
    pub(crate) overdue: bool,
}

pub(crate) struct Waiter {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) state: State,
    /// Until when it prefers a freed connection to a dial.
    pub(crate) patience: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Queued,
    Leased(Lease),
    Failed(u64),
    Refused,
    /// In no list until it is polled.
    Aside,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lease {
    pub(crate) connection: u64,
    pub(crate) counted: bool,
    pub(crate) reused: bool,
    pub(crate) requests: u64,
    pub(crate) idle_since: Option<Instant>,
    pub(crate) idle_for: Duration,
}

impl Reference {
    /// Ends a step: fills in the gauges, and forgets origins with nothing left.
    pub(crate) fn finish_step(&mut self) {
        let mut sum = Counters::default();
        for key in 0..self.origins.len() {
            let of_key = |c: &&Connection| c.key == key;
            let open = self.connections.iter().filter(of_key).count();
            let active = self.connections.iter().filter(of_key).filter(|c| c.leased > 0).count();
            let leased = self.connections.iter().filter(of_key).map(|c| c.leased).sum();
            let (connecting, overdue) = (self.connecting(key), self.overdue(key));
            let closing = self.closing.iter().filter(|gone| gone.key == key).count();
            let aside = |w: &&Waiter| w.key == key && w.state == State::Aside;
            let aside = self.waiters.iter().filter(aside).count();
            let queued = self.queue(key).len();
            let waiting = self.uncovered(key, queued);
            let counters = &mut self.origins[key].counters;
            (counters.open, counters.idle, counters.active) = (open, open - active, active);
            (counters.connecting, counters.waiting) = (connecting, waiting);
            (counters.leased, counters.closing, counters.overdue) = (leased, closing, overdue);
            counters.max_active = counters.max_active.max(active);
            counters.max_waiting = counters.max_waiting.max(waiting);
            (sum.open, sum.idle) = (sum.open + open, sum.idle + open - active);
            (sum.active, sum.leased) = (sum.active + active, sum.leased + leased);
            (sum.connecting, sum.waiting) = (sum.connecting + connecting, sum.waiting + waiting);
            sum.overdue += overdue;
            let backs_off = self.origins[key].failures.as_ref().is_some_and(|f| f.until.is_some());
            let is_wanted = self.limits[key].min_idle > 0 && !self.is_closed;
            let left = open + connecting + closing + overdue + queued + aside;
            if left == 0 && !backs_off && !is_wanted {
                self.origins[key] = Origin::unknown(&self.limits[key]);
            }
        }
        sum.closing = self.leaving_in_total();
        let totals = &mut self.totals;
        (totals.open, totals.idle, totals.active) = (sum.open, sum.idle, sum.active);
        (totals.leased, totals.connecting, totals.waiting) =
            (sum.leased, sum.connecting, sum.waiting);
        (totals.closing, totals.overdue) = (sum.closing, sum.overdue);
        totals.max_active = totals.max_active.max(sum.active);
        totals.max_waiting = totals.max_waiting.max(sum.waiting);
    }

    /// The waiters of an origin that have not ended, in order of arrival.
    pub(crate) fn queue(&self, key: usize) -> Vec<u64> {
        let queued = self.waiters.iter().filter(|w| w.key == key && w.state == State::Queued);
        queued.map(|waiter| waiter.number).collect()
    }

    pub(crate) fn has_total_room(&self) -> bool {
        let dials = self.dials.iter().filter(|dial| !dial.overdue).count();
        self.connections.len() + dials + self.leaving_in_total() < self.max_total
    }

    pub(crate) fn leaving_in_total(&self) -> usize {
        self.closing.iter().filter(|gone| gone.in_total).count()
    }

    /// The number of the connection that was opened last.
    pub(crate) fn last_connection(&self) -> u64 {
        self.begun[0]
    }

    /// The earliest deadline of an idle connection.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let expiries = self.idle.iter().filter_map(|&number| self.find(number).deadline());
        let surplus = (0..self.origins.len()).filter_map(|key| {
            Some(self.find(self.surplus(key)?).last_used + self.limits[key].surplus_grace)
        });
        expiries.chain(surplus).min()
    }

    /// The least recently used idle connection if there are more than may be.
    pub(crate) fn surplus(&self, key: usize) -> Option<u64> {
        let idle = &self.origins[key].idle;
        idle.last().copied().filter(|_| idle.len() > self.limits[key].max_idle)
    }

    pub(crate) fn has_grace(&self, key: usize) -> bool {
        !self.limits[key].surplus_grace.is_zero() && self.limits[key].max_idle > 0
    }

    /// Closes what is too much and was not used for its grace.
    pub(super) fn close_surplus(&mut self, key: usize, now: Instant) {
        while let Some(oldest) = self.surplus(key)
            && now - self.find(oldest).last_used >= self.limits[key].surplus_grace
        {
            self.close_connection(oldest, CloseReason::MaxIdle, now);
        }
    }

    pub(super) fn number(&mut self, kind: usize) -> u64 {
        self.begun[kind] += 1;
        self.begun[kind]
    }

    pub(super) fn refuse(&mut self, key: usize, reason: RefuseReason) -> RefuseReason {
        self.count(key, |counters| counters.refused += 1);
        reason
    }

    pub(super) fn count(&mut self, key: usize, count: impl Fn(&mut Counters)) {
        count(&mut self.origins[key].counters);
        count(&mut self.totals);
    }

    /// A waiter that has a dial, or else one that comes at `now`.
    pub(super) fn wait(&mut self, key: usize, now: Option<Instant>) -> u64 {
        let number = self.number(1);
        let preferred = self.limits[key].prefer_wait;
        let patience = now.filter(|_| !preferred.is_zero()).map(|now| now + preferred);
        self.waiters.push(Waiter { number, key, state: State::Queued, patience });
        number
    }

    pub(super) fn find_dial(&mut self, number: u64) -> &mut Dial {
        self.dials.iter_mut().find(|dial| dial.number == number).expect("a live dial")
    }

    pub(super) fn find_waiter(&mut self, number: u64) -> &mut Waiter {
        self.waiters.iter_mut().find(|waiter| waiter.number == number).expect("a live waiter")
    }

    pub(crate) fn find(&self, number: u64) -> &Connection {
        self.connections.iter().find(|c| c.number == number).expect("a live connection")
    }

    pub(super) fn find_mut(&mut self, number: u64) -> &mut Connection {
        self.connections.iter_mut().find(|c| c.number == number).expect("a live connection")
    }

    pub(super) fn open_of(&self, key: usize) -> usize {
        self.connections.iter().filter(|c| c.key == key).count()
    }

    pub(crate) fn has_room(&self, key: usize) -> bool {
        let closing = self.closing.iter().filter(|gone| gone.key == key).count();
        let taken = self.open_of(key) + self.connecting(key) + closing;
        taken < self.limits[key].max_connections
    }

    pub(super) fn make_room_at_once(&mut self, key: usize, now: Instant) -> bool {
        if !self.has_room(key) && !self.take_place(key) {
            return false;
        }
        if self.has_total_room() || self.take_total(key) {
            return true;
        }
        let Some(&oldest) = self.idle.last() else { return false };
        self.close_connection(oldest, CloseReason::MaxTotal, now);
        self.take_total(key)
    }

    /// The place of a connection that is closed before the call's permit is used.
    fn take_place(&mut self, key: usize) -> bool {
        let Some(gone) = self.leaving_now(|gone| gone.key == key) else { return false };
        let number = gone.number;
        self.closing.retain(|other| other.number != number);
        let closed = self.closed.iter_mut().find(|closed| closed.number == number);
        closed.expect("it closes in this step").has_place = false;
        true
    }

    /// Of another origin's connection, only the room under the limit over all.
    fn take_total(&mut self, key: usize) -> bool {
        self.take_place(key)
            || self.leaving_now(|_| true).is_some_and(|gone| {
                gone.in_total = false;
                true
            })
    }

    /// The first that leaves in this step.
    fn leaving_now(&mut self, wanted: impl Fn(&Leaving) -> bool) -> Option<&mut Leaving> {
        let closed = &self.closed;
        let now = |number| closed.iter().any(|closed| closed.number == number && closed.has_place);
        self.closing.iter_mut().find(|gone| gone.in_total && now(gone.number) && wanted(gone))
    }

    pub(crate) fn close_finished(&mut self, number: u64, now: Instant) {
        let before = self.closing.len();
        self.closing.retain(|gone| gone.number != number);
        assert_eq!(self.closing.len() + 1, before, "{number} was closing");
        self.settle(now);
    }

    pub(super) fn uncovered(&self, key: usize, waiters: usize) -> usize {
        waiters.saturating_sub(self.connecting(key) * self.origins[key].expected_slots)
    }

    /// Free slots, then room go to who waits for them.
    pub(super) fn settle(&mut self, now: Instant) {
        for key in 0..self.origins.len() {
            while !self.queue(key).is_empty()
                && let Some(number) = self.lendable(key, now)
            {
                self.serve(number, now);
            }
        }
        self.forget_failures();
        self.offer_dials(now);
    }

    pub(super) fn lendable(&mut self, key: usize, now: Instant) -> Option<u64> {
        while let Some(&number) = self.origins[key].partial.first() {
            self.retire_if_outlived(number, now);
            if self.find(number).may_lend(&self.limits[key]) {
                return Some(number);
            }
            self.place(number);
        }
        loop {
            let idle = &self.origins[key].idle;
            let &number = match self.limits[key].scheduling {
                Scheduling::Lifo => idle.first(),
                Scheduling::Fifo => idle.last(),
            }?;
            match self.find(number).expired(now) {
                Some(reason) => self.close_connection(number, reason, now),
                None => return Some(number),
            }
        }
    }

    pub(super) fn lend(&mut self, number: u64, counted: bool, now: Instant) -> Lease {
        let connection = self.find_mut(number);
        let reused = connection.was_idle || connection.requests > 0;
        let idle_since = (reused && connection.leased == 0).then_some(connection.last_used);
        let requests = connection.requests;
        connection.leased += 1;
        connection.requests += u64::from(counted);
        let key = connection.key;
        self.count(key, |counters| {
            counters.requests += u64::from(counted);
            counters.reused += u64::from(counted && reused);
        });
        let idle_for = idle_since.map_or(Duration::ZERO, |since| now - since);
        Lease { connection: number, counted, reused, requests, idle_since, idle_for }
    }

    pub(super) fn serve(&mut self, number: u64, now: Instant) {
        let key = self.find(number).key;
        while let Some(&waiter) = self.queue(key).first()
            && self.find(number).may_lend(&self.limits[key])
        {
            let lease = self.lend(number, true, now);
            self.leave_dial(waiter);
            self.find_waiter(waiter).state = State::Leased(lease);
            self.find_waiter(waiter).patience = None;
        }
        self.place(number);
        if let Some(oldest) = self.surplus(key).filter(|_| !self.has_grace(key)) {
            self.close_connection(oldest, CloseReason::MaxIdle, now);
        }
    }

    pub(super) fn keep_or_close(&mut self, number: u64, now: Instant) {
        let connection = self.find(number);
        let exhausted = connection.exhausted(&self.limits[connection.key]);
        let over = connection.retired.or(exhausted).or(connection.expired(now));
        match over.filter(|_| connection.leased == 0) {
            Some(reason) => self.close_connection(number, reason, now),
            None => {
                self.retire_if_outlived(number, now);
                self.serve(number, now);
            }
        }
    }

    pub(super) fn retire_if_outlived(&mut self, number: u64, now: Instant) {
        let connection = self.find_mut(number);
        if connection.lifetime_deadline.is_some_and(|deadline| deadline <= now) {
            connection.retired.get_or_insert(CloseReason::MaxLifetime);
        }
    }

    pub(super) fn place(&mut self, number: u64) {
        let connection = self.find(number);
        let key = connection.key;
        let idle = connection.leased == 0;
        let partial = !idle && connection.may_lend(&self.limits[key]);
        if idle != self.idle.contains(&number) {
            self.unlist(number);
            if idle {
                self.find_mut(number).was_idle = true;
                let last_used = self.find(number).last_used;
                let older = |&back: &u64| self.find(back).last_used > last_used;
                let fifo = self.limits[key].scheduling == Scheduling::Fifo;
                let to_back = fifo && self.origins[key].idle.last().is_some_and(older);
                let list = &mut self.origins[key].idle;
                list.insert(if to_back { list.len() } else { 0 }, number);
                self.idle.insert(0, number);
            }
        }
        if partial != self.origins[key].partial.contains(&number) {
            self.origins[key].partial.retain(|&other| other != number);
            if partial {
                self.origins[key].partial.insert(0, number);
            }
        }
    }

    fn unlist(&mut self, number: u64) {
        let key = self.find(number).key;
        self.idle.retain(|&other| other != number);
        self.origins[key].idle.retain(|&other| other != number);
        self.origins[key].partial.retain(|&other| other != number);
    }

    pub(super) fn close_connection(&mut self, number: u64, reason: CloseReason, now: Instant) {
        let Connection { key, requests, opened_at, .. } = *self.find(number);
        if requests == 0 && now - opened_at < self.refill_pause(key) {
            self.pause_refill(key, now);
        }
        self.unlist(number);
        self.connections.retain(|connection| connection.number != number);
        self.closed.push(Closed { number, key, reason, has_place: true });
        self.closing.push(Leaving { number, key, in_total: true });
        self.count(key, |counters| {
            counters.closed += 1;
            counters.closed_by_reason[reason.index()] += 1;
        });
    }
}

impl Origin {
    pub(super) fn unknown(limits: &Limits) -> Self {
        Self {
            known: false,
            idle: Vec::new(),
            partial: Vec::new(),
            expected_slots: limits.expected_slots.max(1) as usize,
            failures: None,
            refill_at: None,
            counters: Counters::default(),
        }
    }
}

impl Connection {
    pub(crate) fn may_lend(&self, limits: &Limits) -> bool {
        self.leased < self.slots && self.retired.is_none() && self.exhausted(limits).is_none()
    }

    pub(crate) fn expired(&self, now: Instant) -> Option<CloseReason> {
        let deadline = self.deadline().filter(|&deadline| deadline <= now)?;
        let idle = self.idle_deadline == Some(deadline);
        Some(if idle { CloseReason::IdleTimeout } else { CloseReason::MaxLifetime })
    }

    fn deadline(&self) -> Option<Instant> {
        self.idle_deadline.into_iter().chain(self.lifetime_deadline).min()
    }

    fn exhausted(&self, limits: &Limits) -> Option<CloseReason> {
        if self.peer_max_requests.is_some_and(|max| self.requests >= max) {
            return Some(CloseReason::PeerAsked);
        }
        let max = limits.max_requests_per_connection?;
        (self.requests >= max.max(1)).then_some(CloseReason::MaxRequests)
    }
}
