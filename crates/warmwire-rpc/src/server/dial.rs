//! A server that connects to its peers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;
use warmwire_net::{Endpoint, Peer};

use super::Shared;
use super::session::Session;
use crate::client::backoff;

/// The first wait before connecting again, and the longest: axon's.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Keeps a connection to `endpoint` open until the server ends.
pub(super) async fn keep(server: Arc<Shared>, endpoint: Endpoint) {
    let mut failures = 0;
    loop {
        let dialled = async {
            if failures > 0 {
                tokio::time::sleep(backoff(WAITS, failures)).await;
            }
            server.dialer.dial(&endpoint).await
        };
        let Some(dialled) = server.closing.run_until_cancelled(dialled).await else { return };
        failures += 1;
        let Ok(connected) = dialled else { continue };
        let up = Instant::now();
        server.counters.open.fetch_add(1, Relaxed);
        let session = Session::new(connected.stream, Peer::default(), Arc::clone(&server));
        server.ending.run_until_cancelled(session.run()).await;
        server.counters.open.fetch_sub(1, Relaxed);
        // One that lived longer than the greatest wait makes no storm.
        if up.elapsed() > WAITS.1 {
            failures = 0;
        }
    }
}
