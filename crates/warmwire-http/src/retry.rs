//! The retry rule: what is sent again when its connection was lost, and what became of it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::time::Instant;

use crate::body::Body;
use crate::checkout::{checkout_again, checkout_fresh};
use crate::core::{ConnectionLease, Core};
use crate::error::{Error, Sent};
use crate::event::Event;
use crate::h2;
use crate::key::{HttpCounters, OriginName};
use crate::observe;
use crate::release;
use crate::response::Response;
use crate::retry_budget::Requests;
use crate::send::{Failed, RequestParts, exchange};
use crate::stats;
use crate::trace::Trace;

/// A connection that was lost before a byte of the response came.
pub(crate) struct Loss {
    /// Whether the request itself cannot be the cause: the connection was reused, so it was a race
    /// with an idle server, or the request was only too early.
    excused: bool,
    /// Of the origin, up to now.
    requests: Requests,
}

impl Loss {
    /// Of the lease that is about to be given back; what there is to learn of it is learned.
    pub(crate) fn of(lease: &ConnectionLease) -> Loss {
        let reused = lease.lease().reused();
        // HTTP/2's connections are watched by a task, and so are not lost to an idle limit.
        if reused && !lease.is_shared() {
            release::idle_time_ended(lease);
        }
        Loss::with(lease, reused)
    }

    /// Of a connection that is given up since its server does not take a request as early data.
    pub(crate) fn too_early(lease: &ConnectionLease) -> Loss {
        Loss::with(lease, true)
    }

    fn with(lease: &ConnectionLease, excused: bool) -> Loss {
        let origin = lease.lease().origin();
        let count = lease.pooled().read(|pool| pool.counters(origin).map_or(0, |of| of.requests));
        let requests = Requests { incarnation: origin.number(), count };
        Loss { excused, requests }
    }
}

/// Why a request whose connection was lost is not sent again.
#[derive(Clone, Copy)]
enum Obstacle {
    Fresh,
    NotIdempotent,
    BodyTaken,
    OverBudget,
}

impl Obstacle {
    fn counter(self, all: &HttpCounters) -> &AtomicU64 {
        match self {
            Obstacle::Fresh => &all.lost_fresh,
            Obstacle::NotIdempotent => &all.lost_not_idempotent,
            Obstacle::BodyTaken => &all.lost_body_taken,
            Obstacle::OverBudget => &all.lost_over_budget,
        }
    }

    fn text(self) -> Option<&'static str> {
        match self {
            // Nobody would expect it.
            Obstacle::Fresh => None,
            Obstacle::NotIdempotent => Some("not sent again, since it is not marked as idempotent"),
            Obstacle::BodyTaken => Some("not sent again, since its body was a stream"),
            Obstacle::OverBudget => Some("not sent again, since the retry_budget is spent"),
        }
    }
}

/// Sends the request again if the retry rule allows it: once, on a fresh connection, after a
/// failure on a reused one before a byte of the response came.
pub(crate) async fn repeat(
    core: &Arc<Core>,
    request: &RequestParts,
    spare: Option<Body>,
    mut trace: Trace,
    mut failed: Box<Failed>,
) -> Result<Response, Error> {
    if failed.unprocessed {
        match h2::replay(core, request, spare.as_ref(), &mut trace, failed).await {
            Ok(response) => return Ok(response),
            Err(last) => failed = last,
        }
    }
    let Failed { error, loss, shared, unused_body, .. } = *failed;
    let Some(loss) = loss else { return Err(error) };
    // A stream of which nothing was taken can still be sent; any other body needs its copy.
    let body = match allow(request, &trace, &loss, error.sent(), unused_body.or(spare)) {
        Ok(body) => body,
        Err(obstacle) => {
            stats::count(core, &trace.key, |all| obstacle.counter(all));
            return Err(match obstacle.text() {
                Some(why) => error.with_remark(why),
                None => error,
            });
        }
    };
    tell(core, &trace);
    let first = error.sent();
    trace.connection = None;
    let lease = match shared {
        false => checkout_fresh(core, &mut trace).await,
        // The others that were on the lost connection share the next one.
        true => checkout_again(core, &mut trace).await,
    };
    let end = match lease {
        Ok(lease) => exchange(core, lease, request, body, &mut trace, false)
            .await
            .map_err(|failed| failed.error),
        Err(error) => Err(error),
    };
    stats::count(core, &trace.key, |all| match end {
        Ok(_) => &all.retries_succeeded,
        Err(_) => &all.retries_failed,
    });
    // What the first attempt may have brought about is not undone by how the second one ends.
    end.map_err(|error| match error.sent() {
        Sent::No => error.with_sent(first),
        Sent::Maybe | Sent::Yes => error,
    })
}

/// Tells that the request is sent again.
pub(crate) fn tell(core: &Core, trace: &Trace) {
    observe::retried(&trace.key);
    observe::resent();
    if let Some(connection) = &trace.connection {
        core.hooks.observer.report(|| Event::Retried {
            origin: OriginName::new(&trace.key),
            connection: connection.id(),
        });
    }
}

fn allow(
    request: &RequestParts,
    trace: &Trace,
    loss: &Loss,
    sent: Sent,
    body: Option<Body>,
) -> Result<Body, Obstacle> {
    let key = &trace.key;
    if !loss.excused {
        return Err(Obstacle::Fresh);
    }
    if sent != Sent::No && !request.is_idempotent(key) {
        return Err(Obstacle::NotIdempotent);
    }
    let body = body.ok_or(Obstacle::BodyTaken)?;
    let now = Instant::now().into_std();
    match key.memory().retries.take(key.policy().retry_budget, loss.requests, now) {
        true => Ok(body),
        false => Err(Obstacle::OverBudget),
    }
}
