//! The limits of an origin, and why each default is what it is.

use std::time::Duration;

/// What one origin may have. A connection, a waiter, a dial belong to exactly one origin; the limit
/// over all origins is the second argument of [`Pool::new`](crate::Pool::new).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Connections, counting dials in progress. Default `usize::MAX`: no limit. A limit changes
    /// what a program can do (it makes requests wait), so it is for who knows the origin to set.
    /// 0 refuses or queues every request for ever.
    pub max_connections: usize,
    /// Connections without a lease. Default 256, as agentkeepalive has it: enough that a wave of
    /// requests finds its connections again, and a bound on what an idle program holds. One more
    /// that comes back closes the least recently used. 0 closes every connection on return.
    pub max_idle: usize,
    /// How long a connection beyond `max_idle` stays after its last use. Default zero: it closes
    /// at once. More keeps the connections of waves of requests whose pauses are shorter; so many
    /// more may be idle meanwhile. It has no meaning where `max_idle` is 0.
    pub surplus_grace: Duration,
    /// Requests that wait and are not covered by a dial in progress. Default `usize::MAX`. 0
    /// refuses every request that can neither be served nor dial at once.
    pub max_waiting: usize,
    /// Connections with a free slot that are kept ready for requests to come: when there are
    /// fewer, [`Pool::refill`](crate::Pool::refill) asks for more, within the limits. Default 0.
    /// What `max_idle`, an `idle_timeout` of zero or a `max_lifetime` of zero would close at once
    /// is not asked for. Idle connections still close when their time is over, as the server
    /// would close them, and fresh ones take their place. An origin that has this is not
    /// forgotten before the pool is closed.
    pub min_idle: usize,
    /// How long a connection may be idle. Default 4 s: below the 5 s after which Node closes, the
    /// shortest default among common servers, so that no reuse meets a closing server. `None`
    /// never closes for idleness. Zero closes every connection on return.
    pub idle_timeout: Option<Duration>,
    /// The age at which a connection is not used again. Default `None`. Each connection's own is
    /// shorter by up to a tenth, see [`Opened::jitter`](crate::Opened::jitter). A busy connection
    /// retires when its leases are back.
    pub max_lifetime: Option<Duration>,
    /// Requests after which a connection is closed. Default `None`. `Some(0)` counts as 1, since
    /// a connection is opened for a request.
    pub max_requests_per_connection: Option<u64>,
    /// Which idle connection is lent first. Default [`Scheduling::Lifo`].
    pub scheduling: Scheduling,
    /// How many slots a dial is expected to bring, before the first one of this origin has told.
    /// Default 1; 0 counts as 1. Each opened connection corrects it. A new dial is granted only
    /// when more requests wait than the dials in progress are expected to serve, so that a cold
    /// burst to a multiplexing peer opens one connection.
    pub expected_slots: u32,
    /// How long a request waits for a connection to be freed before it dials, where one is open.
    /// Default zero: it dials at once, and takes whichever comes first. More spares dials where
    /// connections are freed sooner than opened. A request that `max_waiting` does not let wait
    /// dials at once.
    pub prefer_wait: Duration,
    /// For how long an origin whose dials fail is not dialled. Default [`Backoff::default`].
    pub dial_backoff: Backoff,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: usize::MAX,
            max_idle: 256,
            surplus_grace: Duration::ZERO,
            min_idle: 0,
            max_waiting: usize::MAX,
            idle_timeout: Some(Duration::from_secs(4)),
            max_lifetime: None,
            max_requests_per_connection: None,
            scheduling: Scheduling::Lifo,
            expected_slots: 1,
            prefer_wait: Duration::ZERO,
            dial_backoff: Backoff::default(),
        }
    }
}

/// The times for which an origin is not dialled after one, two, three failed dials in a row:
/// `initial`, doubled at each step up to `max`, and each shortened at random by up to a half.
///
/// After that time one dial at a time is a probe; the first that succeeds ends all of it. Dials
/// that were under way together count as one failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure. Default 50 ms: what a caller that tries again at once does not
    /// notice, and a twentieth of what a storm would do. Zero turns the back-off off.
    pub initial: Duration,
    /// At most. Default 1 s: a host that is back is found within a second. Zero turns the back-off
    /// off.
    pub max: Duration,
}

impl Backoff {
    /// No back-off: failed dials delay nothing.
    pub const OFF: Self = Self { initial: Duration::ZERO, max: Duration::ZERO };

    /// Whether failed dials delay nothing.
    pub fn is_off(&self) -> bool {
        self.initial.is_zero() || self.max.is_zero()
    }

    /// The time after so many failures. `jitter` is a number from 0 to 1.
    pub(crate) fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = self.initial.saturating_mul(doubled).min(self.max);
        full - full.mul_f64(0.5 * unit(jitter))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_millis(50), max: Duration::from_secs(1) }
    }
}

/// What a driver gives as a random number, as one from 0 to 1.
pub(crate) fn unit(random: f64) -> f64 {
    if random.is_nan() { 0.0 } else { random.clamp(0.0, 1.0) }
}

/// Which idle connection is lent first. Connections with some slots lent come before idle ones in
/// either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduling {
    /// The most recently used: after a spike the surplus stays idle and times out, and a connection
    /// lent is the least likely to have been closed by the peer.
    #[default]
    Lifo,
    /// The longest idle: spreads requests over all connections, and so keeps all of them open.
    Fifo,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_up_to_its_cap_and_jitter_halves_it_at_most() {
        let backoff = Backoff::default();
        let millis = |failures, jitter| backoff.delay(failures, jitter).as_millis();
        let schedule: Vec<_> = (1..=7).map(|failures| millis(failures, 0.0)).collect();
        assert_eq!(schedule, [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!((millis(2, 0.5), millis(2, 1.0), millis(2, 9.0)), (75, 50, 50));
        assert_eq!(millis(u32::MAX, f64::NAN), 1000);
    }
}
