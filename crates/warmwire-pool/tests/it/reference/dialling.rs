//! Who dials when: back-off, refills, preferred waits, and dials that do not end.

use std::time::{Duration, Instant};

use warmwire_pool::CloseReason;

use super::state::{Dial, Failures, Reference, State, Waiter};

/// For how long a permit waits to be collected.
const COLLECT: Duration = Duration::from_secs(1);

impl Reference {
    pub(crate) fn connect_failed(&mut self, dial: u64, backs_off: bool, jitter: f64, now: Instant) {
        let dial = self.end_dial(dial);
        self.count(dial.key, |counters| counters.open_failed += 1);
        if !dial.overdue {
            self.end_who_waited(&dial);
            if backs_off && !self.limits[dial.key].dial_backoff.is_off() {
                self.begin_backoff(&dial, jitter, now);
            } else {
                self.pause_refill(dial.key, now);
            }
        }
        self.settle(now);
    }

    fn end_who_waited(&mut self, dial: &Dial) {
        let all = self.open_of(dial.key) == 0;
        let ended: Vec<_> = self
            .queue(dial.key)
            .into_iter()
            .filter(|&waiter| {
                let earlier = waiter <= dial.last_waiter && !self.has_dial(waiter);
                dial.waiter == Some(waiter) || all && earlier
            })
            .collect();
        for waiter in ended {
            let waiter = self.find_waiter(waiter);
            (waiter.state, waiter.patience) = (State::Failed(dial.number), None);
        }
    }

    fn begin_backoff(&mut self, dial: &Dial, jitter: f64, now: Instant) {
        let last_dial = self.begun[2];
        let backoff = self.limits[dial.key].dial_backoff;
        if self.is_closed {
            return;
        }
        let failures = self.origins[dial.key].failures.get_or_insert_with(Failures::default);
        if dial.number > failures.last_dial {
            failures.count += 1;
            failures.last_dial = last_dial;
            let doubled = 2_u32.saturating_pow(failures.count - 1);
            let full = backoff.initial.saturating_mul(doubled).min(backoff.max);
            failures.until = Some(now + full - full.mul_f64(jitter / 2.0));
        }
    }

    pub(crate) fn connect_abandoned(&mut self, dial: u64, now: Instant) {
        let dial = self.end_dial(dial);
        match dial.waiter {
            Some(waiter) if self.may_dial(dial.key) => {
                let again = self.dial(dial.key, Some(waiter));
                self.find_dial(again).deadline = Some(now + COLLECT);
            }
            Some(_) => {}
            None => self.pause_refill(dial.key, now),
        }
        self.settle(now);
    }

    pub(crate) fn bound_dial(&mut self, dial: u64, deadline: Instant) {
        let dial = self.find_dial(dial);
        if !dial.overdue {
            dial.deadline = Some(deadline);
        }
    }

    /// The refill of an origin that lacks connections.
    pub(crate) fn refill(&mut self, key: usize) -> u64 {
        let dial = self.dial(key, None);
        self.find_dial(dial).collected = true;
        dial
    }

    /// Whether an origin has fewer connections ready than it should, and may dial.
    pub(crate) fn lacks(&self, key: usize) -> bool {
        !self.is_closed
            && self.origins[key].known
            && self.lack(key) > 0
            && self.origins[key].refill_at.is_none()
            && self.has_room(key)
            && self.may_dial(key)
    }

    /// Dials of an origin that began after its last failure.
    pub(crate) fn probes(&self, key: usize) -> usize {
        let last = self.origins[key].failures.as_ref().map_or(u64::MAX, |f| f.last_dial);
        let probe = |dial: &&Dial| dial.key == key && !dial.overdue && dial.number > last;
        self.dials.iter().filter(probe).count()
    }

    /// Whether a refill may begin: after those who wait.
    pub(crate) fn may_refill(&self) -> bool {
        self.next_to_dial().is_none() && self.has_total_room()
    }

    fn lack(&self, key: usize) -> usize {
        let (origin, limits) = (&self.origins[key], &self.limits[key]);
        let zero = Some(Duration::ZERO);
        if limits.idle_timeout == zero || limits.max_lifetime == zero {
            return 0;
        }
        let awaited = self.queue(key).len().div_ceil(origin.expected_slots);
        let spare = self.connecting(key).saturating_sub(awaited);
        let ready = origin.idle.len() + origin.partial.len() + spare;
        limits.min_idle.min(limits.max_idle).saturating_sub(ready)
    }

    pub(super) fn refill_pause(&self, key: usize) -> Duration {
        let backoff = self.limits[key].dial_backoff;
        if backoff.is_off() { Duration::from_secs(1) } else { backoff.max }
    }

    pub(super) fn pause_refill(&mut self, key: usize, now: Instant) {
        if self.limits[key].min_idle > 0 && !self.is_closed {
            self.origins[key].refill_at = Some(now + self.refill_pause(key));
        }
    }

    pub(super) fn may_dial(&self, key: usize) -> bool {
        let failures = &self.origins[key].failures;
        failures.as_ref().is_none_or(|f| f.until.is_none() && f.probe.is_none())
    }

    pub(super) fn prefers_wait(&self, key: usize) -> bool {
        !self.limits[key].prefer_wait.is_zero() && self.open_of(key) > 0
    }

    fn has_dial(&self, waiter: u64) -> bool {
        self.dials.iter().any(|dial| dial.waiter == Some(waiter))
    }

    /// The first waiter of an origin without a dial, if it should get one.
    fn wants_dial(&self, key: usize) -> Option<u64> {
        let queue = self.queue(key);
        let may = self.uncovered(key, queue.len()) > 0 && self.has_room(key) && self.may_dial(key);
        let first = queue.into_iter().find(|&waiter| !self.has_dial(waiter)).filter(|_| may)?;
        let patient = |w: &Waiter| w.number == first && w.patience.is_some();
        (!(self.prefers_wait(key) && self.waiters.iter().any(patient))).then_some(first)
    }

    /// Who should dial as soon as the limit over all origins allows.
    pub(crate) fn next_to_dial(&self) -> Option<(usize, u64)> {
        let first = |key| self.wants_dial(key).map(|waiter| (key, waiter));
        (0..self.limits.len()).filter_map(first).min_by_key(|&(_, waiter)| waiter)
    }

    /// Gives permits to waiters without a dial in order of arrival, while the limits allow.
    pub(super) fn offer_dials(&mut self, now: Instant) {
        if self.is_closed {
            return;
        }
        while let Some((key, waiter)) = self.next_to_dial() {
            if !self.has_total_room() {
                if self.leaving_in_total() == 0
                    && let Some(&oldest) = self.idle.last()
                {
                    self.close_connection(oldest, CloseReason::MaxTotal, now);
                }
                return;
            }
            let dial = self.dial(key, Some(waiter));
            self.find_dial(dial).deadline = Some(now + COLLECT);
            self.find_waiter(waiter).patience = None;
        }
    }

    /// Failures are of no concern when nobody is left who would dial.
    pub(super) fn forget_failures(&mut self) {
        for key in 0..self.origins.len() {
            let waiting = self.uncovered(key, self.queue(key).len());
            if waiting == 0 && self.lack(key) == 0 && self.may_dial(key) {
                self.origins[key].failures = None;
            }
        }
    }

    /// What is due but for idle connections.
    pub(super) fn ring_timers(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        for origin in &mut self.origins {
            if let Some(failures) = origin.failures.as_mut().filter(|f| due(f.until)) {
                failures.until = None;
            }
            origin.refill_at = origin.refill_at.filter(|&at| at > now);
        }
        for waiter in &mut self.waiters {
            waiter.patience = waiter.patience.filter(|&at| at > now);
        }
        let overdue: Vec<_> =
            self.dials.iter().filter(|d| due(d.deadline)).map(|d| d.number).collect();
        for number in overdue {
            self.give_up_dial(number);
        }
    }

    fn give_up_dial(&mut self, number: u64) {
        let dial = self.find_dial(number);
        (dial.overdue, dial.deadline) = (true, None);
        let (key, collected, waiter) = (dial.key, dial.collected, dial.waiter.take());
        self.end_probe(key, number);
        if !collected {
            self.end_dial(number);
        }
        if let Some(waiter) = waiter {
            self.find_waiter(waiter).state = State::Aside;
        }
    }

    fn end_probe(&mut self, key: usize, dial: u64) {
        if let Some(failures) = &mut self.origins[key].failures {
            failures.probe = failures.probe.filter(|&probe| probe != dial);
        }
    }

    pub(super) fn connecting(&self, key: usize) -> usize {
        self.dials.iter().filter(|dial| dial.key == key && !dial.overdue).count()
    }

    pub(super) fn overdue(&self, key: usize) -> usize {
        self.dials.iter().filter(|dial| dial.key == key && dial.overdue).count()
    }

    pub(super) fn dial(&mut self, key: usize, waiter: Option<u64>) -> u64 {
        let number = self.number(2);
        let last_waiter = self.begun[1];
        if let Some(failures) = &mut self.origins[key].failures {
            failures.probe = Some(number);
        }
        let dial = Dial {
            number,
            key,
            waiter,
            collected: false,
            last_waiter,
            deadline: None,
            overdue: false,
        };
        self.dials.push(dial);
        number
    }

    pub(super) fn end_dial(&mut self, number: u64) -> Dial {
        let at = self.dials.iter().position(|dial| dial.number == number).expect("a live dial");
        let dial = self.dials.remove(at);
        self.end_probe(dial.key, number);
        dial
    }

    /// A waiter leaves: its dial goes on for others, its permit does not if it was not collected.
    pub(super) fn leave_dial(&mut self, waiter: u64) {
        let Some(at) = self.dials.iter().position(|dial| dial.waiter == Some(waiter)) else {
            return;
        };
        match self.dials[at].collected {
            true => self.dials[at].waiter = None,
            false => _ = self.end_dial(self.dials[at].number),
        }
    }

    /// Every time at which something other than an idle connection needs a look.
    pub(crate) fn timers(&self) -> Vec<Instant> {
        let dials = self.dials.iter().filter_map(|dial| dial.deadline);
        let patience = self.waiters.iter().filter_map(|waiter| waiter.patience);
        let backoffs = self.origins.iter().filter_map(|o| o.failures.as_ref()?.until);
        let refills = self.origins.iter().filter_map(|o| o.refill_at);
        dials.chain(patience).chain(backoffs).chain(refills).collect()
    }
}
