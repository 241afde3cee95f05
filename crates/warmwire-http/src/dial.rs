//! Opening a connection, on a task of its own: a request that is dropped meanwhile does not waste
//! it, and whoever comes first gets it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use warmwire_net::{
    CertificateFault, ConnectError, ConnectFault, ConnectPhase, Connected, Phases, Proxy,
};
use warmwire_pool::{ConnectionId, Failed, Opened};

use crate::conn::{Conn, IdleWatch};
use crate::core::{ConnectionLease, Core, DialPermit, Slot};
use crate::error::{Error, ErrorKind, Phase};
use crate::event::Event;
use crate::h2::{self, HttpVersion};
use crate::key::{Key, OriginName};
use crate::names;
use crate::observe::{self, Open};
use crate::proxy;
use crate::random;
use crate::reaper;
use crate::response::Established;
use crate::stats;

/// A dial that failed. Several requests may have waited for it.
#[derive(Debug)]
pub(crate) struct DialError {
    error: ConnectError,
    timeout: Option<Duration>,
    proxy: Option<Proxy>,
}

impl DialError {
    pub(crate) fn phases(&self) -> Phases {
        self.error.phases
    }

    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self.error.fault, ConnectFault::TimedOut)
    }

    pub(crate) fn into_error(self: Arc<Self>) -> Error {
        let phase = translate(self.error.phase);
        let (kind, what) = match (&self.error.fault, &self.proxy) {
            (ConnectFault::TimedOut, _) => {
                let limit = self.timeout.unwrap_or_default();
                let what = format!("connect_timeout ({limit:?}) passed during {phase}");
                (ErrorKind::ConnectTimeout, what)
            }
            (fault, Some(proxy)) if phase == Phase::Proxy => proxy::explain(proxy, fault),
            (fault, _) => explain(fault),
        };
        let error = Error::new(kind, phase, format!("{what}: {}", self.error));
        match proxy::response(&self.error) {
            Some(response) => error.with_proxy_response(response),
            None => error,
        }
        .with_source(self)
    }

    /// Whether the next dial would fail too: whatever came from outside, a certificate as well as
    /// a refusal. Settings that cannot be used are no load on anybody.
    fn backs_off(&self) -> bool {
        !matches!(self.error.fault, ConnectFault::Settings(_))
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for DialError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

pub(crate) fn explain(fault: &ConnectFault) -> (ErrorKind, String) {
    match fault {
        ConnectFault::Dns(_) => (ErrorKind::Dns, "the name could not be looked up".into()),
        ConnectFault::Connect(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            (ErrorKind::ConnectionRefused, "the connection was refused".into())
        }
        ConnectFault::Connect(_) | ConnectFault::TimedOut | ConnectFault::Proxy(_) => {
            (ErrorKind::Connect, "connecting failed".into())
        }
        ConnectFault::Certificate(fault, _) => certificate(*fault),
        ConnectFault::Tls(_) => (ErrorKind::Tls, "the TLS handshake failed".into()),
        ConnectFault::Settings(_) => {
            (ErrorKind::InvalidConfig, "the TLS settings cannot be used".into())
        }
    }
}

fn certificate(fault: CertificateFault) -> (ErrorKind, String) {
    let (kind, what) = match fault {
        CertificateFault::Expired => {
            (ErrorKind::CertificateExpired, "the server's certificate has expired")
        }
        CertificateFault::WrongName => {
            (ErrorKind::CertificateWrongName, "the server's certificate is for another name")
        }
        CertificateFault::UnknownIssuer => (
            ErrorKind::CertificateUnknownIssuer,
            "the server's certificate is signed by nobody who is trusted here",
        ),
        CertificateFault::Pin => {
            (ErrorKind::CertificatePin, "a pin refused the server's certificate")
        }
        CertificateFault::Other => {
            (ErrorKind::Certificate, "the server's certificate was not accepted")
        }
    };
    (kind, what.into())
}

/// What a dial is doing, for the error of a request that waits for it no longer.
#[derive(Clone, Debug)]
pub(crate) struct DialPhase(Arc<AtomicU8>);

impl DialPhase {
    pub(crate) fn new() -> DialPhase {
        DialPhase(Arc::new(AtomicU8::new(0)))
    }

    fn enter(&self, phase: ConnectPhase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Phase {
        let phases =
            [ConnectPhase::Dns, ConnectPhase::Connect, ConnectPhase::Proxy, ConnectPhase::Tls];
        let now = self.0.load(Ordering::Relaxed);
        phases.into_iter().find(|phase| *phase as u8 == now).map_or(Phase::Connect, translate)
    }
}

fn translate(phase: ConnectPhase) -> Phase {
    match phase {
        ConnectPhase::Dns => Phase::Dns,
        ConnectPhase::Connect => Phase::Connect,
        ConnectPhase::Proxy => Phase::Proxy,
        ConnectPhase::Tls => Phase::Tls,
    }
}

/// How much later than its timeout a dial is given up by the pool. The timeout is the task's own,
/// so only a task that is not run comes that far: its runtime is kept and not driven.
const GRACE: Duration = Duration::from_secs(1);

/// Opens a connection for the pool, on a task of the current runtime.
///
/// The task ends with the connect timeout at the latest, or with the agent. `done` learns how a
/// dial ended that no waiter waits for.
pub(crate) fn spawn(
    core: &Arc<Core>,
    key: Key,
    timeout: Option<Duration>,
    permit: DialPermit,
    phase: DialPhase,
    done: Option<tokio::sync::oneshot::Sender<Result<(), Arc<DialError>>>>,
) {
    bound(&permit, timeout);
    reaper::bring_here(core);
    let core = core.clone();
    tokio::spawn(async move {
        let dialled = tokio::select! {
            dialled = dial(&core, &key, timeout, &phase) => dialled,
            // The permit's drop gives the room back.
            () = core.hooks.shutdown.cancelled() => return,
        };
        match dialled {
            Ok((mut slot, opened)) => {
                let watch = Watch::of(&slot);
                let resting = slot.conn.as_mut().map_or(Ok(()), |conn| conn.go_idle());
                let id = permit.connected(slot, opened, |id| {
                    report_connected(&core, &key, id, opened.elapsed);
                });
                if let Some(id) = id {
                    watch.name(id, opened);
                    if let Err(reason) = resting {
                        core.with(|pool, now, actions| {
                            pool.closed_by_peer(id, reason, now, actions);
                        });
                    }
                }
                report_end(done, Ok(()));
            }
            Err(error) => {
                fail(permit, error.clone());
                report_end(done, Err(error));
            }
        }
    });
}

fn bound(permit: &DialPermit, timeout: Option<Duration>) {
    if let Some(timeout) = timeout {
        permit.bound(timeout.saturating_add(GRACE));
    }
}

fn fail(permit: DialPermit, error: Arc<DialError>) {
    let backs_off = error.backs_off();
    permit.failed(Failed { error, backs_off, jitter: random::unit() });
}

fn report_end(
    done: Option<tokio::sync::oneshot::Sender<Result<(), Arc<DialError>>>>,
    end: Result<(), Arc<DialError>>,
) {
    if let Some(done) = done {
        // Nobody listens any more when the caller has dropped its future.
        let _ = done.send(end);
    }
}

/// Opens a connection for this caller alone.
pub(crate) async fn exclusive(
    core: &Arc<Core>,
    key: &Key,
    timeout: Option<Duration>,
    permit: DialPermit,
    phase: &DialPhase,
) -> Result<Option<ConnectionLease>, Arc<DialError>> {
    bound(&permit, timeout);
    let (slot, opened) = match dial(core, key, timeout, phase).await {
        Ok(dialled) => dialled,
        Err(error) => {
            fail(permit, error.clone());
            return Err(error);
        }
    };
    let watch = Watch::of(&slot);
    let lease = permit.connected_exclusive(slot, opened);
    if let Some(lease) = &lease {
        report_connected(core, key, lease.id(), opened.elapsed);
        watch.name(lease.id(), opened);
    }
    Ok(lease)
}

fn report_connected(core: &Core, key: &Key, connection: ConnectionId, elapsed: Duration) {
    core.hooks.observer.report(|| Event::Connected {
        origin: OriginName::new(key),
        connection,
        elapsed,
    });
}

/// Who learns the number that the pool gives a new connection.
enum Watch {
    Alone(Arc<IdleWatch>),
    Shared(Arc<h2::Link>),
    Nobody,
}

impl Watch {
    fn of(slot: &Slot) -> Watch {
        match (&slot.conn, &slot.stream) {
            (Some(conn), _) => Watch::Alone(conn.watch()),
            (None, Some(stream)) => Watch::Shared(stream.link().clone()),
            (None, None) => Watch::Nobody,
        }
    }

    fn name(&self, id: ConnectionId, opened: Opened) {
        match self {
            Watch::Alone(watch) => watch.name(id),
            Watch::Shared(link) => link.name(id, opened.slots),
            Watch::Nobody => {}
        }
    }
}

async fn dial(
    core: &Arc<Core>,
    key: &Key,
    timeout: Option<Duration>,
    phase: &DialPhase,
) -> Result<(Slot, Opened), Arc<DialError>> {
    let hooks = &core.hooks;
    hooks.observer.report(|| Event::Connecting { origin: OriginName::new(key) });
    let began = Instant::now();
    let entered = |now| {
        phase.enter(now);
        // A look-up may just have told that addresses are gone.
        names::retire_lost(core);
    };
    let connected = hooks.connector.connect(&key.target(), timeout, &entered).await;
    let up = match connected {
        Ok(connected) => set_up(core, key, connected, began, timeout).await,
        Err(error) => Err(error),
    };
    match up {
        Ok((slot, slots)) => {
            let opened = Opened { slots, jitter: random::unit(), elapsed: began.elapsed() };
            Ok((slot, opened))
        }
        Err(error) => {
            let error = Arc::new(DialError { error, timeout, proxy: key.proxy().cloned() });
            if error.is_timeout() {
                stats::count(core, key, |all| &all.connect_timeouts);
            }
            observe::connect_failed(key, || error.clone().into_error().kind());
            hooks.observer.report(|| Event::ConnectFailed {
                origin: OriginName::new(key),
                elapsed: began.elapsed(),
                error: error.error.to_string().into(),
            });
            Err(error)
        }
    }
}

/// Makes of a byte stream a connection of the version that its two ends speak, and says how many
/// requests it carries at once.
async fn set_up(
    core: &Arc<Core>,
    key: &Key,
    connected: Connected,
    began: Instant,
    timeout: Option<Duration>,
) -> Result<(Slot, u32), ConnectError> {
    let Connected { stream, local, remote, address, tls, phases } = connected;
    let version = key.version();
    let chosen = tls.as_ref().map(|tls| tls.alpn.as_deref() == Some("h2"));
    let name = OriginName::new(key);
    let established = Arc::new(Established::new(name, local, remote, address, tls, phases));
    match (chosen, version) {
        (Some(true), _) | (None, HttpVersion::Http2) => {
            // Boxed: the futures of dials need not have room for it.
            let begun = Box::pin(h2::handshake(core, key, stream, established.clone()));
            let begun = match timeout.and_then(|timeout| began.checked_add(timeout)) {
                None => begun.await.map_err(ConnectFault::Connect),
                Some(at) => match tokio::time::timeout_at(at, begun).await {
                    Ok(begun) => begun.map_err(ConnectFault::Connect),
                    Err(_) => Err(ConnectFault::TimedOut),
                },
            };
            let (stream, slots) = begun.map_err(|fault| {
                // Behind a proxy it is not the proxy's address that is at fault.
                if let (Some(address), None) = (&established.address, key.proxy()) {
                    core.hooks.connector.names.note_failure(address, began);
                }
                failed(fault, phases)
            })?;
            Ok((Slot::shared(stream), slots))
        }
        (Some(false), HttpVersion::Http2) => {
            let text =
                "the server did not agree to HTTP/2 (ALPN), and http_version allows no other";
            Err(failed(ConnectFault::Tls(std::io::Error::other(text)), phases))
        }
        (Some(false), _) | (None, _) => {
            let notices = core.hooks.notices.clone();
            let conn = Conn::new(stream, established, Open::new(key), notices);
            Ok((Slot::new(Box::new(conn)), 1))
        }
    }
}

/// The server was reached and does not speak what it should.
fn failed(fault: ConnectFault, phases: Phases) -> ConnectError {
    ConnectError { phase: ConnectPhase::Connect, fault, attempts: Vec::new(), phases }
}
