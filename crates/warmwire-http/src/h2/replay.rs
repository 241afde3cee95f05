//! Requests that the server has not looked at, sent again.

use std::sync::Arc;

use crate::body::Body;
use crate::checkout::checkout_again;
use crate::core::Core;
use crate::response::Response;
use crate::retry;
use crate::send::{Failed, RequestParts, exchange};
use crate::stats;
use crate::trace::Trace;

/// How often one request is sent again: enough for servers that are restarted one after the other,
/// and an end where every one of them refuses.
const REPLAYS: usize = 4;

/// Sends a request again that the server says it has not processed (RFC 9113, 8.7), whatever its
/// method, if its body can be. The failure of the last attempt otherwise.
///
/// It goes to the queue like a new one: many streams of one connection end together, and one new
/// connection is to carry them all.
pub(crate) async fn replay(
    core: &Arc<Core>,
    request: &RequestParts,
    spare: Option<&Body>,
    trace: &mut Trace,
    mut failed: Box<Failed>,
) -> Result<Response, Box<Failed>> {
    for _ in 0..REPLAYS {
        let copy = || spare.and_then(Body::try_clone);
        let Some(body) = failed.unused_body.take().or_else(copy) else { return Err(failed) };
        retry::tell(core, trace);
        trace.connection = None;
        let lease = checkout_again(core, trace).await.map_err(Failed::for_good)?;
        let end = exchange(core, lease, request, body, trace, false).await;
        stats::count(core, &trace.key, |all| match end {
            Ok(_) => &all.retries_succeeded,
            Err(_) => &all.retries_failed,
        });
        match end {
            Err(again) if again.unprocessed => failed = again,
            end => return end,
        }
    }
    Err(failed)
}
