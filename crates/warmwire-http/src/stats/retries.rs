//! What became of requests whose connection was lost.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::key::HttpCounters;

/// What became of requests whose connection was lost before a byte of the response came.
///
/// `succeeded` and `failed` are those that were sent again, each once the repeat has ended; the
/// others were not, for the reason that comes first here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RetryOutcomes {
    /// The repeat got a response.
    pub succeeded: u64,
    /// The repeat failed too.
    pub failed: u64,
    /// Not sent again: the connection was fresh, so that no idle time can have been the cause.
    pub fresh_connection: u64,
    /// Not sent again: it may have arrived, and nothing says that doing it twice is harmless.
    pub not_idempotent: u64,
    /// Not sent again: its body was a stream, of which a part was taken.
    pub body_taken: u64,
    /// Not sent again: [`retry_budget`](crate::AgentBuilder::retry_budget) was spent.
    pub over_budget: u64,
}

impl RetryOutcomes {
    pub(super) fn of(http: &HttpCounters) -> RetryOutcomes {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RetryOutcomes {
            succeeded: read(&http.retries_succeeded),
            failed: read(&http.retries_failed),
            fresh_connection: read(&http.lost_fresh),
            not_idempotent: read(&http.lost_not_idempotent),
            body_taken: read(&http.lost_body_taken),
            over_budget: read(&http.lost_over_budget),
        }
    }

    pub(super) fn since(&self, earlier: &RetryOutcomes) -> RetryOutcomes {
        RetryOutcomes {
            succeeded: self.succeeded.saturating_sub(earlier.succeeded),
            failed: self.failed.saturating_sub(earlier.failed),
            fresh_connection: self.fresh_connection.saturating_sub(earlier.fresh_connection),
            not_idempotent: self.not_idempotent.saturating_sub(earlier.not_idempotent),
            body_taken: self.body_taken.saturating_sub(earlier.body_taken),
            over_budget: self.over_budget.saturating_sub(earlier.over_budget),
        }
    }
}

impl fmt::Display for RetryOutcomes {
    /// Those that occurred: `3 succeeded, 1 not idempotent`; `none` for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.succeeded, "succeeded"),
            (self.failed, "failed"),
            (self.fresh_connection, "on a fresh connection"),
            (self.not_idempotent, "not idempotent"),
            (self.body_taken, "body taken"),
            (self.over_budget, "over budget"),
        ];
        let mut separator = "";
        for (count, what) in all.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{separator}{count} {what}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}
