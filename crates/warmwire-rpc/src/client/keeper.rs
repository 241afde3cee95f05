//! What keeps a client's connections open: a task for each.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use warmwire_net::{Connected, Endpoint, Listener, Stream};

use super::event::Event;
use super::link::Link;
use super::shared::{Shared, Source};
use super::task::Mover;
use crate::error::{Error, ErrorKind};

/// How long a peer that connects to a client may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Keeps one connection to `source` open until the client ends or the source is given up. Each has
/// failures of its own, so that a dead peer slows no other one (F069).
pub(super) async fn keep(
    client: Arc<Shared>,
    source: Arc<Source>,
    mut first: Option<Adopted<Stream>>,
) {
    let _keeping = Keeping(Arc::clone(&client));
    let mut failures = 0;
    while let Some(next) = next(&client, &source, first.take(), failures).await {
        failures += 1;
        match next {
            Ok(adopted) => {
                if run(&client, adopted, &source.ending).await {
                    failures = 0;
                }
            }
            Err(error) => failed(&client, &error, failures),
        }
        if !client.options.reconnect {
            return;
        }
    }
}

/// Says when a task that may bring connections ends, however it does.
struct Keeping(Arc<Shared>);

impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.keeper_ended();
    }
}

/// The next connection, or why there is none. `None` when no more is wanted.
async fn next(
    client: &Arc<Shared>,
    source: &Source,
    first: Option<Adopted<Stream>>,
    failures: u32,
) -> Option<Result<Adopted<Stream>, Error>> {
    if let Some(adopted) = first {
        return Some(Ok(adopted));
    }
    let dialled = async {
        if failures > 0 {
            tokio::time::sleep(backoff(client.options.backoff, failures)).await;
        }
        dial(client, &source.endpoint).await.map(|connected| adopt(client, connected.stream))
    };
    let wanted = client.closing.run_until_cancelled(dialled);
    source.ending.run_until_cancelled(wanted).await.flatten()
}

/// Accepts peers until the client ends.
pub(super) async fn accept(client: Arc<Shared>, listener: Listener) {
    let _keeping = Keeping(Arc::clone(&client));
    let closing = client.closing.clone();
    while let Some(Ok(accepted)) = closing.run_until_cancelled(listener.accept()).await {
        let peer_of = Arc::clone(&client);
        client.tasks.spawn(async move {
            let handshake = peer_of.closing.run_until_cancelled(accepted.handshake(HANDSHAKE));
            if let Some(Ok((stream, _))) = handshake.await {
                let adopted = adopt(&peer_of, stream);
                run(&peer_of, adopted, &peer_of.ending).await;
            }
        });
    }
}

/// How long to wait after so many failures in a row: half as long again for each, with jitter.
pub(crate) fn backoff((first, longest): (Duration, Duration), failures: u32) -> Duration {
    // The greatest wait is reached long before.
    let exponent = i32::try_from(failures - 1).unwrap_or(i32::MAX).min(64);
    let wait = first.as_secs_f64() * 1.5_f64.powi(exponent);
    let random = RandomState::new().hash_one(failures) as f64 / u64::MAX as f64;
    let jittered = wait.min(longest.as_secs_f64()) * (0.75 + random / 2.0);
    Duration::from_secs_f64(jittered).min(longest)
}

pub(super) async fn dial(client: &Shared, endpoint: &Endpoint) -> Result<Connected, Error> {
    client.dialer.dial(endpoint).await.map_err(|error| {
        Error::new(ErrorKind::Connect, format!("cannot connect: {error}"))
            .with_source(error)
            .at(endpoint)
    })
}

fn failed(client: &Shared, error: &Error, failures: u32) {
    client.counters.connect_failed.add(1);
    client.connect_failed(&error.to_string());
    client.tell(&Event::ConnectFailed { error, attempt: failures });
}

/// A connection that is in the pool, and what is to move its bytes.
pub(super) struct Adopted<S> {
    link: Arc<Link>,
    mover: Mover<S>,
}

/// Takes a connection into the pool.
pub(super) fn adopt<S>(client: &Arc<Shared>, stream: S) -> Adopted<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let link = Arc::new(Link::new(client.counters.opened.add(1)));
    let mover = Mover::new(Arc::clone(&link), Arc::clone(client), stream);
    client.connected(Arc::clone(&link));
    client.tell(&Event::Connected { connection: link.number });
    Adopted { link, mover }
}

/// Moves a connection's bytes until it ends. Returns whether it was healthy.
async fn run<S>(client: &Shared, adopted: Adopted<S>, ending: &CancellationToken) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Adopted { link, mover } = adopted;
    let why = mover.run(ending).await;
    client.counters.closed.add(1);
    client.tell(&Event::Disconnected { connection: link.number, reason: &why });
    // One that lived longer than the greatest wait makes no storm, answered or not.
    link.is_healthy() || link.age() > client.options.backoff.1
}
