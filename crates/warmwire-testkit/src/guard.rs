//! The time after which a test that waits for an event has failed.

use std::time::Duration;

/// Far more than any event of a test takes on a loaded machine; never waited for by a test that
/// passes.
pub const GUARD: Duration = Duration::from_secs(10);

/// What `future` gives.
///
/// # Panics
///
/// After [`GUARD`], with `what` was waited for.
pub async fn guarded<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(GUARD, future).await {
        Ok(output) => output,
        Err(_) => panic!("waited {GUARD:?} in vain for {what}"),
    }
}
