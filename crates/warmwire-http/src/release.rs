//! An exchange is over: its connection is kept or closed.

use std::time::Duration;

use tokio::time::Instant;
use warmwire_h1::{CloseReason as H1Reason, KeepAlive, Verdict as H1Verdict};
use warmwire_pool::{CloseReason, Keep, Verdict};

use crate::core::ConnectionLease;
use crate::event::Event;
use crate::idle_limit::less_margin;
use crate::key::{Key, OriginName};
use crate::upgrade::Upgraded;

/// Gives the connection back as its exchange's verdict says.
pub(crate) fn release(mut lease: ConnectionLease, key: &Key, now: Instant) {
    key.memory().idle_limit.survived(lease.lease().idle_for());
    let verdict = decide(&mut lease, key, now);
    if matches!(verdict, Verdict::Keep(_)) {
        lease
            .pooled()
            .hooks
            .observer
            .report(|| Event::Released { origin: OriginName::new(key), connection: lease.id() });
    }
    lease.release_at(now.into_std(), verdict);
}

/// Takes a connection whose server has switched to another protocol out of the pool, where it is
/// closed.
pub(crate) fn upgrade(mut lease: ConnectionLease, key: &Key, now: Instant) -> Option<Upgraded> {
    key.memory().idle_limit.survived(lease.lease().idle_for());
    let conn = lease.connection.conn.take();
    lease.release_at(now.into_std(), Verdict::Close(CloseReason::Upgraded));
    conn.map(|conn| Upgraded::new(*conn))
}

/// Gives an idle connection back that was not used, or closes it if what happened on it means that it
/// is of no more use.
pub(crate) fn give_back(mut lease: ConnectionLease) {
    let found = lease.conn_mut().go_idle();
    if found.is_err() {
        seen_ended(&lease);
    }
    lease.release(match found {
        Ok(()) => Verdict::Untouched,
        Err(reason) => Verdict::Unused(reason),
    });
}

/// Learns from an idle time whose end by the peer was seen before a request was lost to it.
pub(crate) fn seen_ended(lease: &ConnectionLease) {
    idle_time_ended(lease);
    let known = lease.lease();
    if known.requests() == 1 {
        ended_after_one(lease, known.idle_for(), Instant::now());
    }
}

fn ended_after_one(lease: &ConnectionLease, idle_for: Duration, now: Instant) {
    let key = lease.established().origin.key();
    if key.policy().learn_idle_limit {
        key.memory().idle_limit.ended_after_one(idle_for, now.into_std());
    }
}

/// Learns from an idle time that the peer has ended.
pub(crate) fn idle_time_ended(lease: &ConnectionLease) {
    let (known, key) = (lease.lease(), lease.established().origin.key());
    // Before a connection's first request servers have other timers.
    if key.policy().learn_idle_limit && known.requests() > 0 {
        key.memory().idle_limit.ended(known.idle_for(), Instant::now().into_std());
    }
}

fn decide(lease: &mut ConnectionLease, key: &Key, now: Instant) -> Verdict {
    let verdict = lease.conn().wire.exchange.verdict();
    let keep = match verdict {
        H1Verdict::Reuse(_) if !lease.pooled().hooks.config.keep_alive => {
            return Verdict::Close(CloseReason::CallerAsked);
        }
        H1Verdict::Reuse(hint) => {
            let keep = hinted(hint, key.policy().max_idle_timeout);
            match key.memory().idle_limit.get(now.into_std()) {
                Some(learned) => at_most(keep, learned, key.policy().limits.idle_timeout),
                None => keep,
            }
        }
        // Only a response's head can say so, and `upgrade` takes it from there.
        H1Verdict::Upgraded => return Verdict::Close(CloseReason::Upgraded),
        H1Verdict::Close(reason) => return Verdict::Close(translate(reason)),
    };
    match lease.conn_mut().go_idle() {
        Ok(()) => Verdict::Keep(keep),
        Err(reason) => {
            if lease.lease().requests() == 0 {
                ended_after_one(lease, Duration::ZERO, now);
            }
            Verdict::Close(reason)
        }
    }
}

/// What the server's `Keep-Alive` header means for the pool.
///
/// The server starts its clock when it has sent the response and closes when its clock says so;
/// the margin is what the request needs to arrive before that: a second, or a tenth of a short
/// time. `max=1` allows one more request, but some servers count the one that was just answered,
/// so it is not taken up.
fn hinted(hint: KeepAlive, cap: Duration) -> Keep {
    let idle_timeout = hint.timeout.map(|timeout| less_margin(timeout).min(cap));
    let requests_left = hint.max.map(|max| if max <= 1 { 0 } else { max });
    Keep { idle_timeout, requests_left }
}

/// What was learned of the server lowers what it says, and what the agent would do by itself.
fn at_most(keep: Keep, learned: Duration, default: Option<Duration>) -> Keep {
    let otherwise = keep.idle_timeout.or(default).unwrap_or(Duration::MAX);
    Keep { idle_timeout: Some(otherwise.min(learned)), ..keep }
}

fn translate(reason: H1Reason) -> CloseReason {
    match reason {
        H1Reason::ServerAsked | H1Reason::Http10 | H1Reason::UntilClose => CloseReason::PeerAsked,
        H1Reason::ClientAsked => CloseReason::CallerAsked,
        H1Reason::SurplusBytes(_) => CloseReason::Unsolicited,
        H1Reason::ResponseIncomplete => CloseReason::BodyDropped,
        H1Reason::RequestIncomplete => CloseReason::RequestUnfinished,
        _ => CloseReason::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f024_margin_is_a_second_or_a_tenth_and_the_cap_holds() {
        let cap = Duration::from_secs(600);
        let idle = |millis: u64| {
            let hint = KeepAlive { timeout: Some(Duration::from_millis(millis)), max: None };
            hinted(hint, cap).idle_timeout.expect("a hint").as_millis()
        };
        assert_eq!(idle(60_000), 59_000);
        assert_eq!(idle(5_000), 4_500);
        assert_eq!(idle(2_000), 1_800);
        assert_eq!(idle(0), 0);
        assert_eq!(idle(3_600_000), 600_000);
    }

    #[test]
    fn f008_max_of_one_or_none_is_not_kept() {
        let left = |max| hinted(KeepAlive { timeout: None, max }, Duration::MAX).requests_left;
        assert_eq!(left(Some(0)), Some(0));
        assert_eq!(left(Some(1)), Some(0));
        assert_eq!(left(Some(99)), Some(99));
        assert_eq!(left(None), None);
    }
}
