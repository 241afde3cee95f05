//! The task that keeps a client's connections open.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use warmwire_net::Connected;

use super::event::Event;
use super::link::Link;
use super::shared::Shared;
use super::task::Mover;
use crate::error::{Error, ErrorKind};

/// Opens what is missing until the client ends.
pub(super) async fn keep(client: Arc<Shared>) {
    let mut failures = 0;
    let closing = client.closing.clone();
    let kept = closing.run_until_cancelled(async {
        loop {
            wait_until_missing(&client).await;
            if !client.options.reconnect && client.counters.opened.get() > 0 {
                client.give_up();
                return;
            }
            if client.take_health() {
                failures = 0;
            }
            if failures > 0 {
                tokio::time::sleep(wait(&client, failures)).await;
            }
            failures += 1;
            match dial(&client).await {
                Ok(connected) => adopt(&client, connected),
                Err(error) => failed(&client, &error, failures),
            }
            if !client.options.reconnect && client.lock().links.is_empty() {
                client.give_up();
                return;
            }
        }
    });
    kept.await;
}

async fn wait_until_missing(client: &Shared) {
    while client.lock().links.len() >= client.options.pool {
        client.missing.notified().await;
    }
}

/// How long to wait after so many failures in a row: 1.5 times as long for each, with jitter.
fn wait(client: &Shared, failures: u32) -> Duration {
    let (first, longest) = client.options.backoff;
    // The greatest wait is reached long before.
    let exponent = i32::try_from(failures - 1).unwrap_or(i32::MAX).min(64);
    let wait = first.as_secs_f64() * 1.5_f64.powi(exponent);
    let random = RandomState::new().hash_one(failures) as f64 / u64::MAX as f64;
    let jittered = wait.min(longest.as_secs_f64()) * (0.75 + random / 2.0);
    Duration::from_secs_f64(jittered).min(longest)
}

pub(super) async fn dial(client: &Shared) -> Result<Connected, Error> {
    client.dialer.dial(&client.endpoint).await.map_err(|error| {
        Error::new(ErrorKind::Connect, format!("cannot connect: {error}")).with_source(error)
    })
}

fn failed(client: &Shared, error: &Error, failures: u32) {
    let why = error.to_string();
    client.counters.connect_failed.add(1);
    client.connect_failed(&why);
    client.tell(&Event::ConnectFailed { error, attempt: failures });
}

/// Takes a connection into the pool.
pub(super) fn adopt(client: &Arc<Shared>, connected: Connected) {
    let link = Arc::new(Link::new(client.counters.opened.add(1)));
    client.connected(Arc::clone(&link));
    client.tell(&Event::Connected { connection: link.number });
    client.tasks.spawn(run(Arc::clone(client), link, connected));
}

async fn run(client: Arc<Shared>, link: Arc<Link>, connected: Connected) {
    let mover = Mover::new(Arc::clone(&link), Arc::clone(&client), connected.stream);
    let why = mover.run().await;
    client.counters.closed.add(1);
    client.disconnected(&link, &why);
    client.tell(&Event::Disconnected { connection: link.number, reason: &why });
}
