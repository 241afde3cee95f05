//! What the pool should do, written for the reader and not for speed: vectors, searched from end
//! to end. Waiters, dials and connections have numbers, counted in order of their beginning.

use std::time::{Duration, Instant};

use warmwire_pool::{CloseReason, Counters, Keep, Limits, RefuseReason, Scheduling, Verdict};

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
    /// What was closed, in order.
    pub(crate) closed: Vec<(u64, CloseReason)>,
    begun: [u64; 3],
}

#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) known: bool,
    pub(crate) idle: Vec<u64>,
    pub(crate) partial: Vec<u64>,
    pub(crate) expected_slots: usize,
    pub(crate) counters: Counters,
}

pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) slots: usize,
    pub(crate) leased: usize,
    pub(crate) requests: u64,
    peer_max_requests: Option<u64>,
    last_used: Instant,
    idle_deadline: Option<Instant>,
    lifetime_deadline: Option<Instant>,
    was_idle: bool,
    retired: Option<CloseReason>,
}

pub(crate) struct Dial {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) waiter: Option<u64>,
    pub(crate) collected: bool,
}

pub(crate) struct Waiter {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Queued,
    Leased(Lease),
    Failed(u64),
    Refused,
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
        if uncovered > 0 && self.has_room(key) && self.make_total_room() {
            let dial = self.dial(key, None);
            let waiter = self.wait(key);
            self.find_dial(dial).waiter = Some(waiter);
            self.find_dial(dial).collected = true;
            return Answer::Open { dial, waiter };
        }
        let limit = self.limits[key].max_waiting;
        if uncovered > limit {
            let full = RefuseReason::QueueFull { waiting: uncovered - 1, limit };
            return Answer::Refuse(self.refuse(key, full));
        }
        self.count(key, |counters| counters.queued += 1);
        Answer::Wait(self.wait(key))
    }

    pub(crate) fn open(&mut self, key: usize) -> Result<u64, ()> {
        self.origins[key].known = true;
        if self.is_closed || !self.has_room(key) || !self.has_total_room() {
            self.count(key, |counters| counters.refused += 1);
            return Err(());
        }
        let dial = self.dial(key, None);
        self.find_dial(dial).collected = true;
        Ok(dial)
    }

    pub(crate) fn poll(&mut self, waiter: u64, now: Instant) -> Polled {
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
            State::Failed(_) | State::Refused => {}
        }
        self.settle(now);
    }

    pub(crate) fn connected(&mut self, dial: u64, slots: u32, jitter: f64, now: Instant) -> u64 {
        let key = self.end_dial(dial).key;
        let number = self.number(0);
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
        self.count(key, |counters| {
            counters.opened += 1;
            counters.connect_time += Duration::from_millis(10);
        });
        if self.is_closed {
            self.close_connection(number, CloseReason::Shutdown);
        } else {
            self.serve(number, now);
        }
        self.settle(now);
        number
    }

    pub(crate) fn connect_failed(&mut self, dial: u64, now: Instant) {
        let dial = self.end_dial(dial);
        self.count(dial.key, |counters| counters.open_failed += 1);
        if let Some(waiter) = dial.waiter {
            self.find_waiter(waiter).state = State::Failed(dial.number);
        }
        self.settle(now);
    }

    pub(crate) fn connect_abandoned(&mut self, dial: u64, now: Instant) {
        let dial = self.end_dial(dial);
        if let Some(waiter) = dial.waiter {
            self.dial(dial.key, Some(waiter));
        }
        self.settle(now);
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
            self.close_connection(number, reason);
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
        for number in self.idle.clone() {
            if let Some(reason) = self.find(number).expired(now) {
                self.close_connection(number, reason);
            }
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
        for waiter in self.waiters.iter_mut().filter(|w| w.state == State::Queued) {
            waiter.state = State::Refused;
        }
        self.dials.retain(|dial| dial.collected);
        for dial in &mut self.dials {
            dial.waiter = None;
        }
        self.retire_all(CloseReason::Shutdown, now, |_| true);
    }

    /// Ends a step: fills in the gauges, and forgets origins with nothing left.
    pub(crate) fn finish_step(&mut self) {
        let mut sum = Counters::default();
        for key in 0..self.origins.len() {
            let of_key = |c: &&Connection| c.key == key;
            let open = self.connections.iter().filter(of_key).count();
            let active = self.connections.iter().filter(of_key).filter(|c| c.leased > 0).count();
            let leased = self.connections.iter().filter(of_key).map(|c| c.leased).sum();
            let connecting = self.dials.iter().filter(|dial| dial.key == key).count();
            let queued = self.queue(key).len();
            let waiting = self.uncovered(key, queued);
            let counters = &mut self.origins[key].counters;
            (counters.open, counters.idle, counters.active) = (open, open - active, active);
            (counters.connecting, counters.waiting) = (connecting, waiting);
            counters.leased = leased;
            counters.max_active = counters.max_active.max(active);
            counters.max_waiting = counters.max_waiting.max(waiting);
            (sum.open, sum.idle) = (sum.open + open, sum.idle + open - active);
            (sum.active, sum.leased) = (sum.active + active, sum.leased + leased);
            (sum.connecting, sum.waiting) = (sum.connecting + connecting, sum.waiting + waiting);
            if open + connecting + queued == 0 {
                self.origins[key] = Origin::unknown(&self.limits[key]);
            }
        }
        let totals = &mut self.totals;
        (totals.open, totals.idle, totals.active) = (sum.open, sum.idle, sum.active);
        (totals.leased, totals.connecting, totals.waiting) =
            (sum.leased, sum.connecting, sum.waiting);
        totals.max_active = totals.max_active.max(sum.active);
        totals.max_waiting = totals.max_waiting.max(sum.waiting);
    }

    /// The waiters of an origin that have not ended, in order of arrival.
    pub(crate) fn queue(&self, key: usize) -> Vec<u64> {
        let queued = self.waiters.iter().filter(|w| w.key == key && w.state == State::Queued);
        queued.map(|waiter| waiter.number).collect()
    }

    /// Whether an origin has waiters that no dial in progress is expected to serve, and may dial.
    pub(crate) fn wants_dial(&self, key: usize) -> bool {
        self.uncovered(key, self.queue(key).len()) > 0 && self.has_room(key)
    }

    pub(crate) fn has_total_room(&self) -> bool {
        self.connections.len() + self.dials.len() < self.max_total
    }

    /// The earliest deadline of an idle connection.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.idle.iter().filter_map(|&number| self.find(number).deadline()).min()
    }

    fn number(&mut self, kind: usize) -> u64 {
        self.begun[kind] += 1;
        self.begun[kind]
    }

    fn refuse(&mut self, key: usize, reason: RefuseReason) -> RefuseReason {
        self.count(key, |counters| counters.refused += 1);
        reason
    }

    fn count(&mut self, key: usize, count: impl Fn(&mut Counters)) {
        count(&mut self.origins[key].counters);
        count(&mut self.totals);
    }

    fn wait(&mut self, key: usize) -> u64 {
        let number = self.number(1);
        self.waiters.push(Waiter { number, key, state: State::Queued });
        number
    }

    fn dial(&mut self, key: usize, waiter: Option<u64>) -> u64 {
        let number = self.number(2);
        self.dials.push(Dial { number, key, waiter, collected: false });
        number
    }

    fn end_dial(&mut self, number: u64) -> Dial {
        let at = self.dials.iter().position(|dial| dial.number == number).expect("a live dial");
        self.dials.remove(at)
    }

    /// A waiter leaves: its dial goes on for others, its permit does not if it was not collected.
    fn leave_dial(&mut self, waiter: u64) {
        self.dials.retain(|dial| dial.waiter != Some(waiter) || dial.collected);
        for dial in self.dials.iter_mut().filter(|dial| dial.waiter == Some(waiter)) {
            dial.waiter = None;
        }
    }

    fn find_dial(&mut self, number: u64) -> &mut Dial {
        self.dials.iter_mut().find(|dial| dial.number == number).expect("a live dial")
    }

    fn find_waiter(&mut self, number: u64) -> &mut Waiter {
        self.waiters.iter_mut().find(|waiter| waiter.number == number).expect("a live waiter")
    }

    pub(crate) fn find(&self, number: u64) -> &Connection {
        self.connections.iter().find(|c| c.number == number).expect("a live connection")
    }

    fn find_mut(&mut self, number: u64) -> &mut Connection {
        self.connections.iter_mut().find(|c| c.number == number).expect("a live connection")
    }

    fn has_room(&self, key: usize) -> bool {
        let open = self.connections.iter().filter(|c| c.key == key).count();
        let dials = self.dials.iter().filter(|dial| dial.key == key).count();
        open + dials < self.limits[key].max_connections
    }

    fn make_total_room(&mut self) -> bool {
        if !self.has_total_room()
            && let Some(&oldest) = self.idle.last()
        {
            self.close_connection(oldest, CloseReason::MaxTotal);
        }
        self.has_total_room()
    }

    fn uncovered(&self, key: usize, waiters: usize) -> usize {
        let dials = self.dials.iter().filter(|dial| dial.key == key).count();
        waiters.saturating_sub(dials * self.origins[key].expected_slots)
    }

    /// Free slots, then room go to who waits for them.
    fn settle(&mut self, now: Instant) {
        for key in 0..self.origins.len() {
            while !self.queue(key).is_empty()
                && let Some(number) = self.lendable(key, now)
            {
                self.serve(number, now);
            }
        }
        self.offer_dials();
    }

    /// Gives permits to waiters without a dial in order of arrival, while the limits allow.
    fn offer_dials(&mut self) {
        if self.is_closed {
            return;
        }
        let next = |reference: &Self| {
            let undialled = |waiter: &&Waiter| {
                waiter.state == State::Queued
                    && reference.wants_dial(waiter.key)
                    && reference.dials.iter().all(|dial| dial.waiter != Some(waiter.number))
            };
            reference.waiters.iter().find(undialled).map(|waiter| (waiter.key, waiter.number))
        };
        while let Some((key, waiter)) = next(self) {
            if !self.make_total_room() {
                return;
            }
            self.dial(key, Some(waiter));
        }
    }

    fn lendable(&mut self, key: usize, now: Instant) -> Option<u64> {
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
                Some(reason) => self.close_connection(number, reason),
                None => return Some(number),
            }
        }
    }

    fn lend(&mut self, number: u64, counted: bool, now: Instant) -> Lease {
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

    fn serve(&mut self, number: u64, now: Instant) {
        let key = self.find(number).key;
        while let Some(&waiter) = self.queue(key).first()
            && self.find(number).may_lend(&self.limits[key])
        {
            let lease = self.lend(number, true, now);
            self.leave_dial(waiter);
            self.find_waiter(waiter).state = State::Leased(lease);
        }
        self.place(number);
        if self.origins[key].idle.len() > self.limits[key].max_idle
            && let Some(&oldest) = self.origins[key].idle.last()
        {
            self.close_connection(oldest, CloseReason::MaxIdle);
        }
    }

    fn keep_or_close(&mut self, number: u64, now: Instant) {
        let connection = self.find(number);
        let exhausted = connection.exhausted(&self.limits[connection.key]);
        let over = connection.retired.or(exhausted).or(connection.expired(now));
        match over.filter(|_| connection.leased == 0) {
            Some(reason) => self.close_connection(number, reason),
            None => {
                self.retire_if_outlived(number, now);
                self.serve(number, now);
            }
        }
    }

    fn retire_if_outlived(&mut self, number: u64, now: Instant) {
        let connection = self.find_mut(number);
        if connection.lifetime_deadline.is_some_and(|deadline| deadline <= now) {
            connection.retired.get_or_insert(CloseReason::MaxLifetime);
        }
    }

    fn place(&mut self, number: u64) {
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

    fn close_connection(&mut self, number: u64, reason: CloseReason) {
        let key = self.find(number).key;
        self.unlist(number);
        self.connections.retain(|connection| connection.number != number);
        self.closed.push((number, reason));
        self.count(key, |counters| {
            counters.closed += 1;
            counters.closed_by_reason[reason.index()] += 1;
        });
    }
}

impl Origin {
    fn unknown(limits: &Limits) -> Self {
        Self {
            known: false,
            idle: Vec::new(),
            partial: Vec::new(),
            expected_slots: limits.expected_slots.max(1) as usize,
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
