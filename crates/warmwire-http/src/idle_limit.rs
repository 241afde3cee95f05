//! The idle time after which an origin's server closes connections, learned from when it did.
//!
//! A server that closes idle connections by a timer closes them all at about the same idle age. One
//! that is restarted, or a network that goes away, closes them at one moment and at any age. So an
//! idle limit is learned from **two** connections whose idle times did not overlap and ended at about
//! the same age: nothing else that is likely does that. Connections whose idle times overlapped count
//! as one, and if their ages differ, as none; what had been learned from the first of them is taken
//! back.
//!
//! A connection that outlives the limit can no longer be seen, since the agent closes before. So what
//! was learned holds for a time only, and is then tried again: the next close by the server at that
//! age brings it back at once, for twice as long, and a connection that is used at a higher age ends
//! it.
//!
//! A server that closes right after a response, without saying so, has no idle limit: it keeps no
//! connections, and each reuse would be a race. Three connections in a row that it ended so, with no
//! reuse that went well in between, teach to keep none, for as long as a limit holds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Below this no server has an idle limit: it closes for another reason, and soon after a response.
const SHORTEST: Duration = Duration::from_millis(100);

/// An end so soon after a response is the response's doing, and no timer's.
const AT_ONCE: Duration = Duration::from_millis(10);

/// Connections in a row that end at once after their only response before none is kept.
const IN_A_ROW: u32 = 3;

/// How long what was learned holds at first, or ten times the limit if that is more.
const HOLD: Duration = Duration::from_secs(10 * 60);

/// How long it holds at most, however often it was confirmed.
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// The margin below an idle limit: what a request needs to arrive before the server's clock says so.
/// A second, or a tenth of a short limit.
pub(crate) fn less_margin(limit: Duration) -> Duration {
    limit.saturating_sub(Duration::from_secs(1).min(limit / 10))
}

/// What was learned of one origin.
#[derive(Debug)]
pub(crate) struct IdleLimit {
    /// What the times below count from.
    began: Instant,
    /// How long a connection may be idle, in nanoseconds, and until when that holds.
    limit: AtomicU64,
    until: AtomicU64,
    /// The idle age whose survival shows that what was seen was no idle limit.
    disproof: AtomicU64,
    lessons: Mutex<Lessons>,
}

const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Lessons {
    last: Option<End>,
    learned: Option<Learned>,
    /// What was learned before `last`, in case that it turns out to mean nothing.
    before: Option<Learned>,
    /// Connections in a row that ended at once after their only response, and when the last did.
    at_once: u32,
    at_once_last: Option<Instant>,
}

/// The end of an idle time, or of several that overlapped.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Instant,
    /// `None` if they ended at ages that no idle limit explains.
    age: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Learned {
    age: Duration,
    until: Instant,
    hold: Duration,
}

impl Default for IdleLimit {
    fn default() -> Self {
        IdleLimit {
            // Only differences of the clock count, so that its own start is as good as any.
            began: tokio::time::Instant::now().into_std(),
            limit: NONE.into(),
            until: 0.into(),
            disproof: NONE.into(),
            lessons: Mutex::default(),
        }
    }
}

impl IdleLimit {
    /// How long a connection may be idle by what was learned: the limit less the margin.
    pub(crate) fn get(&self, now: Instant) -> Option<Duration> {
        let limit = self.limit.load(Ordering::Relaxed);
        let holds = limit != NONE && self.since_began(now) < self.until.load(Ordering::Relaxed);
        holds.then(|| Duration::from_nanos(limit))
    }

    /// Whether forgetting the origin would lose something.
    pub(crate) fn knows(&self, now: Instant) -> bool {
        let lessons = self.lock();
        let recent = |end: &End| now.saturating_duration_since(end.at) < HOLD;
        lessons.learned.is_some() || lessons.last.as_ref().is_some_and(recent)
    }

    /// The peer has ended a connection that had been idle for `age`.
    pub(crate) fn ended(&self, age: Duration, now: Instant) {
        if age >= SHORTEST {
            self.change(|lessons| lessons.ended(age, now));
        }
    }

    /// The peer has ended a connection after its only response, and no request was lost to that.
    pub(crate) fn ended_after_one(&self, age: Duration, now: Instant) {
        if age < AT_ONCE {
            self.change(|lessons| lessons.ended_at_once(age, now));
        }
    }

    /// A connection was used that had been idle for `age`.
    pub(crate) fn survived(&self, age: Duration) {
        // Rare: without a lesson there is nothing to disprove.
        if nanos(age) > self.disproof.load(Ordering::Relaxed) {
            self.change(|lessons| lessons.survived(age));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Lessons)) {
        let mut lessons = self.lock();
        change(&mut lessons);
        let limit = lessons.learned.map_or(NONE, |learned| nanos(less_margin(learned.age)));
        let until = lessons.learned.map_or(0, |learned| self.since_began(learned.until));
        let disproof = lessons.disproof().map_or(NONE, nanos);
        self.limit.store(limit, Ordering::Relaxed);
        self.until.store(until, Ordering::Relaxed);
        self.disproof.store(disproof, Ordering::Relaxed);
    }

    fn since_began(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.began))
    }

    fn lock(&self) -> MutexGuard<'_, Lessons> {
        self.lessons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nanos(duration: Duration) -> u64 {
    // 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(NONE - 1)
}

impl Lessons {
    fn ended(&mut self, age: Duration, now: Instant) {
        let began = now.checked_sub(age).unwrap_or(now);
        match self.last {
            Some(last) if began < last.at => self.ended_together(last, age, now),
            last => {
                let earlier = last.and_then(|last| agreed(last.age?, age));
                let known = self.learned.and_then(|learned| agreed(learned.age, age));
                self.before = self.learned;
                if let Some(age) = earlier.or(known) {
                    self.learn(age, now);
                }
                self.last = Some(End { at: now, age: Some(age) });
            }
        }
    }

    fn ended_at_once(&mut self, age: Duration, now: Instant) {
        let began = now.checked_sub(age).unwrap_or(now);
        // As a restart ends them: idle at one moment.
        let together = self.at_once_last.is_some_and(|last| began < last);
        self.at_once_last = Some(now);
        if together {
            return;
        }
        self.at_once += 1;
        let known = self.learned.is_some_and(|learned| learned.age.is_zero());
        if known || self.at_once >= IN_A_ROW {
            self.at_once = 0;
            self.learn(Duration::ZERO, now);
        }
    }

    /// One cause may have ended this one and the last.
    fn ended_together(&mut self, last: End, age: Duration, now: Instant) {
        let age = last.age.and_then(|other| agreed(other, age));
        match (age, &mut self.learned) {
            (None, learned) => *learned = self.before,
            (Some(age), Some(learned)) if agreed(learned.age, age).is_some() => {
                learned.age = learned.age.min(age);
            }
            _ => {}
        }
        self.last = Some(End { at: last.at.max(now), age });
    }

    fn learn(&mut self, age: Duration, now: Instant) {
        let first = HOLD.max(age.saturating_mul(10));
        let again = self.learned.filter(|learned| agreed(learned.age, age).is_some());
        let hold = match again {
            None => first,
            // Seen within its time, by a connection that was idle already: nothing new.
            Some(learned) if now < learned.until => learned.hold,
            Some(learned) => learned.hold.saturating_mul(2).min(LONGEST_HOLD.max(first)),
        };
        let age = again.map_or(age, |learned| learned.age.min(age));
        self.learned = Some(Learned { age, until: now + hold, hold });
    }

    fn survived(&mut self, age: Duration) {
        let disproved = |other: Duration| age > other + tolerance(other);
        self.learned = self.learned.filter(|learned| !disproved(learned.age));
        self.before = self.before.filter(|learned| !disproved(learned.age));
        self.last = self.last.filter(|last| !last.age.is_some_and(disproved));
        self.at_once = 0;
    }

    fn disproof(&self) -> Option<Duration> {
        let at_once = (self.at_once > 0).then_some(Duration::ZERO);
        let last = self.last.and_then(|last| last.age);
        let ages = [at_once, last, self.learned.map(|learned| learned.age)];
        ages.into_iter().flatten().min().map(|age| age + tolerance(age))
    }
}

/// The lower of two ages if they may come of one limit.
fn agreed(one: Duration, other: Duration) -> Option<Duration> {
    let (low, high) = (one.min(other), one.max(other));
    (high - low <= tolerance(low)).then_some(low)
}

/// How far apart two idle ages of one limit may be: servers look at their idle connections every so
/// often, at a limit of seconds about every second.
fn tolerance(age: Duration) -> Duration {
    age / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    struct Origin {
        limit: IdleLimit,
        start: Instant,
    }

    impl Origin {
        fn new() -> Origin {
            let limit = IdleLimit::default();
            Origin { start: limit.began, limit }
        }

        fn ended(&self, at: u64, age: u64) {
            self.limit.ended(ms(age), self.start + ms(at));
        }

        fn at(&self, at: u64) -> Option<u128> {
            self.limit.get(self.start + ms(at)).map(|limit| limit.as_millis())
        }
    }

    #[test]
    fn f003_two_ends_at_about_one_age_teach_and_one_does_not() {
        for (age, wanted) in [(5_000, 4_500), (20_000, 19_000), (400_000, 399_000), (200, 180)] {
            let origin = Origin::new();
            origin.ended(age, age);
            assert_eq!(origin.at(age), None);
            origin.ended(3 * age, age + age / 10);
            assert_eq!(origin.at(3 * age), Some(wanted));
        }
        let origin = Origin::new();
        origin.ended(5_000, 5_000);
        origin.ended(15_000, 9_000);
        assert_eq!(origin.at(15_000), None, "two ages that no one limit explains");
    }

    #[test]
    fn f003_a_restart_teaches_nothing_however_many_connections_it_ends() {
        let origin = Origin::new();
        for age in [1_000, 1_001, 1_100, 2_500, 2_501, 1_000, 3_900] {
            origin.ended(10_000, age);
        }
        assert_eq!(origin.at(10_000), None);
        origin.ended(20_000, 3_900);
        assert_eq!(origin.at(20_000), None);
    }

    /// The first end of a restart may agree by chance with one of before.
    #[test]
    fn f003_what_a_restart_seemed_to_teach_is_taken_back() {
        let origin = Origin::new();
        origin.ended(3_000, 3_000);
        origin.ended(60_000, 3_000);
        assert!(origin.at(60_000).is_some());
        origin.ended(60_001, 1_000);
        assert_eq!(origin.at(60_001), None);
        // And what was known before it is kept.
        let origin = Origin::new();
        origin.ended(5_000, 5_000);
        origin.ended(15_000, 5_000);
        origin.ended(30_000, 4_900);
        origin.ended(30_001, 1_000);
        assert_eq!(origin.at(30_001), Some(4_500));
    }

    #[test]
    fn f003_a_wave_that_ends_at_one_age_counts_once() {
        let origin = Origin::new();
        for n in 0..10 {
            origin.ended(5_000 + n, 5_000);
        }
        assert_eq!(origin.at(5_010), None);
        for n in 0..10 {
            origin.ended(15_000 + n, 5_000 - n);
        }
        assert_eq!(origin.at(15_010), Some(4_491), "the lowest age counts");
    }

    #[test]
    fn what_was_learned_ends_comes_back_for_longer_and_is_disproved_by_survival() {
        let origin = Origin::new();
        origin.ended(5_000, 5_000);
        origin.ended(15_000, 5_000);
        let hold = HOLD.as_millis() as u64;
        assert_eq!(origin.at(15_000 + hold - 1), Some(4_500));
        assert_eq!(origin.at(15_000 + hold), None);
        // One end is enough to bring it back.
        let again = 20_000 + hold;
        origin.ended(again, 5_100);
        assert_eq!(origin.at(again + 2 * hold - 1), Some(4_500));
        assert_eq!(origin.at(again + 2 * hold), None);
        // The server has got another limit.
        origin.limit.survived(ms(5_900));
        assert_eq!(origin.at(again), Some(4_500), "so near it proves nothing");
        origin.limit.survived(ms(6_200));
        assert_eq!(origin.at(again), None);
        assert!(!origin.limit.knows(origin.start + ms(again)));
    }

    #[test]
    fn a_connection_that_lives_longer_refutes_a_single_end() {
        let origin = Origin::new();
        origin.ended(2_000, 2_000);
        origin.limit.survived(ms(3_000));
        origin.ended(9_000, 2_000);
        assert_eq!(origin.at(9_000), None);
    }

    #[test]
    fn ends_right_after_a_response_are_no_idle_limit() {
        let origin = Origin::new();
        for n in 1..10 {
            origin.ended(1_000 * n, 99);
        }
        assert_eq!(origin.at(10_000), None);
    }

    #[test]
    fn f003_a_server_that_keeps_no_connection_is_known_after_three() {
        let soon = |origin: &Origin, at| {
            origin.limit.ended_after_one(ms(1), origin.start + ms(at));
        };
        let origin = Origin::new();
        soon(&origin, 1_000);
        soon(&origin, 2_000);
        assert_eq!(origin.at(2_000), None);
        soon(&origin, 3_000);
        assert_eq!(origin.at(3_000), Some(0));
        let hold = HOLD.as_millis() as u64;
        assert_eq!(origin.at(3_000 + hold), None, "it is tried again");
        soon(&origin, 4_000 + hold);
        assert_eq!(origin.at(4_000 + 3 * hold - 1), Some(0), "once is enough then");
        origin.limit.survived(ms(1));
        assert_eq!(origin.at(4_000 + hold), None);

        let origin = Origin::new();
        for at in [1_000, 1_000, 1_000, 1_000, 2_000] {
            soon(&origin, at);
        }
        assert_eq!(origin.at(2_000), None, "a restart ends many at one moment");
        origin.limit.survived(ms(1));
        soon(&origin, 3_000);
        assert_eq!(origin.at(3_000), None, "a reuse went well");
    }

    #[test]
    fn a_lower_limit_takes_the_place_of_a_higher_one() {
        let origin = Origin::new();
        for at in [60_000, 120_001] {
            origin.ended(at, 60_000);
        }
        assert_eq!(origin.at(120_001), Some(59_000));
        for at in [130_000, 140_000] {
            origin.ended(at, 5_000);
        }
        assert_eq!(origin.at(140_000), Some(4_500));
    }
}
