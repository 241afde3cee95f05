//! From an origin to a connection: reuse, wait, dial.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::{Instant, sleep_until};
use warmwire_pool::{CloseReason, RefuseReason, Verdict};

use crate::core::{Acquired, ConnectionLease, Core, DialPermit, QueuePlace, origin_again};
use crate::dial::{self, DialPhase};
use crate::error::{Error, ErrorKind, Phase, Sent};
use crate::event::Event;
use crate::key::OriginName;
use crate::names;
use crate::pooled::Granted;
use crate::reaper;
use crate::release;
use crate::response::{ConnectionInfo, Timings};
use crate::stats;
use crate::trace::{Timer, Trace, deadline, earlier};

/// A connection that was idle for less than this is not looked at if losing it costs nothing, that
/// is if the request can be sent again.
///
/// It was looked at when it became idle. A second look right after that costs a system call, and
/// saves one repeat where the server closes just then.
const JUST_USED: std::time::Duration = std::time::Duration::from_millis(1);

/// Gets a connection for the request that `trace` describes; `acquired` is the pool's first
/// answer. `repeatable` says whether the request would be sent again if the connection turned out
/// to be stale.
///
/// # Cancel safety
///
/// Dropping the future leaves the queue; a dial that it began goes on for the pool.
pub(crate) async fn checkout(
    core: &Arc<Core>,
    trace: &mut Trace,
    mut acquired: Acquired,
    repeatable: bool,
) -> Result<ConnectionLease, Error> {
    let mut reluctant = true;
    loop {
        let mut waited = true;
        let lease = match acquired {
            Acquired::Lease(lease) if reluctant && is_risky(&lease, trace) => {
                reluctant = false;
                release::give_back(lease);
                match Box::pin(dial_past_queue(core, trace)).await {
                    Some(lease) => lease,
                    // Better the risk than no connection.
                    None => {
                        acquired = ask(core, trace);
                        continue;
                    }
                }
            }
            Acquired::Lease(lease) => {
                waited = false;
                lease
            }
            Acquired::Open(permit, place) => {
                let phase = dial_for(core, trace, permit);
                Box::pin(wait(core, trace, place, Some(phase))).await?
            }
            Acquired::Wait(place) => {
                reaper::bring_here(core);
                core.hooks
                    .observer
                    .report(|| Event::Queued { origin: OriginName::new(&trace.key) });
                Box::pin(wait(core, trace, place, None)).await?
            }
            Acquired::Refused(reason) => return Err(refused(core, trace, reason)),
        };
        if let Some(mut lease) = usable(lease, trace, repeatable) {
            note(trace, &mut lease, if waited { Instant::now() } else { trace.started });
            return Ok(lease);
        }
        acquired = ask(core, trace);
    }
}

fn dial_for(core: &Arc<Core>, trace: &Trace, permit: DialPermit) -> DialPhase {
    let phase = DialPhase::new();
    dial::spawn(core, trace.key.clone(), trace.timeouts.connect, permit, phase.clone(), None);
    phase
}

fn ask(core: &Arc<Core>, trace: &mut Trace) -> Acquired {
    core.acquire(Instant::now().into_std(), |pool| origin_again(pool, &mut trace.key))
}

/// Opens a fresh connection past the queue, for a request that is sent again since its first one
/// was stale. Where every connection is in use, one that comes back is as good.
pub(crate) async fn checkout_fresh(
    core: &Arc<Core>,
    trace: &mut Trace,
) -> Result<ConnectionLease, Error> {
    let permit = core.open_exclusive(|pool| origin_again(pool, &mut trace.key));
    stats::count(core, &trace.key, |all| &all.retries);
    match permit {
        Ok(permit) => match dial_alone(core, trace, permit).await? {
            Some(mut lease) => {
                note(trace, &mut lease, Instant::now());
                Ok(lease)
            }
            // The agent is closed, or the dial took so long that its room was given away.
            None => queue_again(core, trace).await,
        },
        // Where no dial may begin, whatever comes first is as good.
        Err(RefuseReason::NoRoom { .. } | RefuseReason::BackingOff) => {
            queue_again(core, trace).await
        }
        Err(reason) => Err(refused(core, trace, reason)),
    }
}

/// Opens a fresh connection past the queue if one can be had.
async fn dial_past_queue(core: &Arc<Core>, trace: &mut Trace) -> Option<ConnectionLease> {
    let permit = core.open_exclusive(|pool| origin_again(pool, &mut trace.key)).ok()?;
    dial_alone(core, trace, permit).await.ok()?
}

/// Dials for this request alone, within its whole time.
async fn dial_alone(
    core: &Arc<Core>,
    trace: &Trace,
    permit: DialPermit,
) -> Result<Option<ConnectionLease>, Error> {
    let phase = DialPhase::new();
    let dialling = dial::exclusive(core, &trace.key, trace.timeouts.connect, permit, &phase);
    let dialled = match trace.total_deadline() {
        None => dialling.await,
        Some(at) => match tokio::time::timeout_at(at, dialling).await {
            Ok(dialled) => dialled,
            Err(_) => {
                return Err(trace.timed_out(core, Timer::Total, Phase::Connect, Sent::Maybe));
            }
        },
    };
    dialled.map_err(|error| trace.error(error.into_error()))
}

/// Whether the connection may turn out stale and the request could not be sent again then, since the
/// origin's `retry_budget` is spent: a fresh one costs a handshake and no request.
fn is_risky(lease: &ConnectionLease, trace: &Trace) -> bool {
    lease.lease().reused() && !lease.is_shared() && trace.key.memory().retries.is_spent()
}

/// Asks for a connection as a new request would, for one that is sent again.
pub(crate) async fn checkout_again(
    core: &Arc<Core>,
    trace: &mut Trace,
) -> Result<ConnectionLease, Error> {
    stats::count(core, &trace.key, |all| &all.retries);
    queue_again(core, trace).await
}

async fn queue_again(core: &Arc<Core>, trace: &mut Trace) -> Result<ConnectionLease, Error> {
    let acquired = ask(core, trace);
    checkout(core, trace, acquired, false).await
}

/// The connection if it is fit for use; otherwise it is closed.
fn usable(mut lease: ConnectionLease, trace: &Trace, repeatable: bool) -> Option<ConnectionLease> {
    if lease.is_shared() {
        return usable_stream(lease);
    }
    let known = lease.lease();
    let just_used = repeatable && known.idle_for() < JUST_USED;
    let look = known.reused() && (!just_used || trace.key.memory().retries.is_wary());
    let conn = lease.conn_mut();
    let settled = conn.settle_here().map_err(|_| CloseReason::Failed);
    let found = match settled {
        Ok(_) if look => conn.look().inspect_err(|_| release::seen_ended(&lease)),
        other => other.map(|_| ()),
    };
    if settled == Ok(true) {
        reaper::bring_here(lease.pooled());
    }
    match found {
        Ok(()) => Some(lease),
        Err(reason) => {
            lease.release(Verdict::Unused(reason));
            None
        }
    }
}

/// An HTTP/2 connection has a task that watches it, so there is nothing to be looked at.
fn usable_stream(lease: ConnectionLease) -> Option<ConnectionLease> {
    lease.stream().visit();
    if lease.stream().is_open() {
        return Some(lease);
    }
    lease.release(Verdict::Unused(CloseReason::ClosedByPeer));
    None
}

/// Writes down which connection the request got and what it waited for it.
fn note(trace: &mut Trace, lease: &mut ConnectionLease, now: Instant) {
    let waited = now.duration_since(trace.started);
    trace.acquired = now;
    let known = lease.lease();
    let established = lease.established().clone();
    let mut timings = Timings::default();
    if !known.reused() {
        let phases = established.phases;
        timings.set_phases(phases);
    }
    timings.queued = waited.saturating_sub(timings.waited());
    trace.timings = timings;
    trace.connection = Some(ConnectionInfo {
        id: known.connection(),
        reused: known.reused(),
        age: now.into_std().saturating_duration_since(known.opened_at()),
        idle: known.idle_for(),
        requests: known.requests(),
        established,
    });
    names::note_use(lease, now);
    let known = lease.lease();
    let (id, reused) = (known.connection(), known.reused());
    match lease.is_shared() {
        false => lease.conn().open.busy(reused, trace.timings.queued),
        true => lease.stream_mut().begin(reused, trace.timings.queued),
    }
    lease.pooled().hooks.observer.report(|| Event::Acquired {
        origin: OriginName::new(&trace.key),
        connection: id,
        reused,
        waited,
    });
}

/// Waits in the queue, dialling when there is room to.
async fn wait(
    core: &Arc<Core>,
    trace: &mut Trace,
    mut place: QueuePlace,
    mut dialling: Option<DialPhase>,
) -> Result<ConnectionLease, Error> {
    let began = Instant::now();
    loop {
        // While a connection is being opened, the connect timeout is what bounds the wait.
        let queue =
            deadline(began, trace.timeouts.acquire, Timer::Acquire).filter(|_| dialling.is_none());
        let total = trace.total_deadline().map(|at| (at, Timer::Total));
        let granted = match earlier(queue, total) {
            None => std::future::poll_fn(|cx| place.poll(cx)).await,
            Some((at, timer)) => {
                let mut sleep = std::pin::pin!(sleep_until(at));
                let first = std::future::poll_fn(|cx: &mut Context<'_>| {
                    if let Poll::Ready(granted) = place.poll(cx) {
                        return Poll::Ready(Some(granted));
                    }
                    ready!(sleep.as_mut().poll(cx));
                    Poll::Ready(None)
                });
                let Some(granted) = first.await else {
                    trace.timings.queued = trace.started.elapsed();
                    let phase = dialling.as_ref().map_or(Phase::Queue, DialPhase::get);
                    // Told while the place is still held, so that the text counts it.
                    return Err(trace.timed_out(core, timer, phase, Sent::No));
                };
                granted
            }
        };
        match granted {
            Granted::Lease(lease) => return Ok(lease),
            Granted::Open(permit) => {
                if dialling.is_some() {
                    // The dial before died without a word: its runtime is being shut down. It
                    // must get the chance to drop this task too, or the two would go in circles.
                    tokio::task::yield_now().await;
                }
                dialling = Some(dial_for(core, trace, permit));
            }
            Granted::Failed(error) => {
                let mut timings = Timings::default();
                if dialling.is_some() {
                    timings.set_phases(error.phases());
                }
                timings.queued = trace.started.elapsed().saturating_sub(timings.waited());
                trace.timings = timings;
                return Err(trace.error(error.into_error()));
            }
            Granted::Refused(reason) => return Err(refused(core, trace, reason)),
        }
    }
}

fn refused(core: &Core, trace: &Trace, reason: RefuseReason) -> Error {
    let (kind, text) = match reason {
        RefuseReason::QueueFull { limit, .. } => {
            let situation = stats::situation(core, &trace.key);
            let text =
                format!("the queue is full (max_waiting = {limit}): connections: {situation}");
            (ErrorKind::QueueFull, text)
        }
        RefuseReason::Closed => (ErrorKind::Closed, "the agent is closed".into()),
        other => (ErrorKind::Closed, other.to_string()),
    };
    trace.error(Error::new(kind, Phase::Queue, text))
}
