//! The clock of one connect.

use std::time::Duration;

use futures_util::TryFutureExt;
use tokio::time::{Instant, timeout_at};

use crate::Phases;
use crate::error::{Attempt, ConnectError, ConnectFault, ConnectPhase};

/// What stands for no timeout at all: 30 years, which every clock can hold.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The clock of one connect: which phase is running and what the others took.
pub(crate) struct Progress<'a> {
    entered: &'a (dyn Fn(ConnectPhase) + Sync),
    began: Instant,
    deadline: Instant,
    phase: ConnectPhase,
    since: Instant,
    phases: Phases,
    pub(crate) attempts: Vec<Attempt>,
    /// Whether the way through a proxy is not open yet: what fails until then is the proxy's.
    to_proxy: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(
        timeout: Option<Duration>,
        entered: &'a (dyn Fn(ConnectPhase) + Sync),
    ) -> Self {
        entered(ConnectPhase::Dns);
        let now = Instant::now();
        Progress {
            entered,
            began: now,
            deadline: now + timeout.unwrap_or(FOR_EVER).min(FOR_EVER),
            phase: ConnectPhase::Dns,
            since: now,
            phases: Phases::default(),
            attempts: Vec::new(),
            to_proxy: false,
        }
    }

    pub(crate) fn enter(&mut self, phase: ConnectPhase) {
        self.finish();
        (self.entered)(if self.to_proxy { ConnectPhase::Proxy } else { phase });
        self.phase = phase;
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// From here on it is about reaching the proxy, or no longer.
    pub(crate) fn set_to_proxy(&mut self, on: bool) {
        self.to_proxy = on;
    }

    pub(crate) fn finish(&mut self) -> Phases {
        let now = Instant::now();
        let took = match self.phase {
            ConnectPhase::Dns => &mut self.phases.dns,
            ConnectPhase::Connect => &mut self.phases.connect,
            ConnectPhase::Tls => &mut self.phases.tls,
            ConnectPhase::Proxy => &mut self.phases.proxy,
        };
        // More than one look-up may be needed: of a proxy, and of the target for it.
        *took += now.duration_since(self.since);
        self.since = now;
        self.phases
    }

    /// Not an `async fn`, which would hold `future` twice.
    pub(crate) fn within<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, ConnectFault>> + use<F> {
        timeout_at(self.deadline, future).map_err(|_| ConnectFault::TimedOut)
    }

    pub(crate) fn failed(mut self, fault: ConnectFault) -> ConnectError {
        let phases = self.finish();
        let phase = if self.to_proxy { ConnectPhase::Proxy } else { self.phase };
        ConnectError { phase, fault, attempts: self.attempts, phases }
    }
}
