//! Paths on which nothing comes any more.

use std::sync::Arc;
use std::time::Duration;

use warmwire_http::CloseReason;
use warmwire_testkit::{Gate, Peer, Server};

use super::{answer, begin, builder, burst, guard, open_gate, serving};
use crate::support::{MEMORY, get, memory};

#[tokio::test(start_paused = true)]
async fn f084_a_silent_path_is_found_by_a_ping_and_the_next_request_goes_elsewhere() {
    let server = Server::memory(|peer: Peer| async move {
        let dead = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if dead && request.uri().path() == "/last" {
                // Neither reads nor writes from here on.
                return std::future::pending().await;
            }
            answer(&mut respond, request.uri().path());
        }
    });
    let agent = builder()
        .connector(memory(&server))
        .idle_timeout(Duration::from_secs(3600))
        .build()
        .unwrap();
    assert_eq!(get(&agent, format!("{MEMORY}/first")).await.unwrap(), "/first");
    let began = tokio::time::Instant::now();
    // It may be sent again, and so the caller sees no more than the time that it took.
    assert_eq!(get(&agent, format!("{MEMORY}/last")).await.unwrap(), "/last");
    let took = began.elapsed().as_secs();
    assert!((29..=41).contains(&took), "{took} s: an interval and a timeout");
    let total = agent.stats().total;
    assert_eq!((total.opened, total.retries, total.closed.total()), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn f084_a_timeout_in_silence_retires_the_connection_at_once() {
    let server = Server::memory(|peer: Peer| async move {
        let dead = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        let mut held = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match dead {
                true => held.push((request, respond)),
                false => answer(&mut respond, "here"),
            }
        }
    });
    let agent = builder()
        .connector(memory(&server))
        .response_timeout(Duration::from_secs(2))
        .build()
        .unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(get(&agent, MEMORY).await.unwrap(), "here");
    let stats = agent.stats();
    assert_eq!(stats.total.closed.get(CloseReason::TimedOut), 1);
}

/// A path that drops what it is given, from when `gate` is open: neither end learns of it.
async fn path(peer: Peer, far: std::net::SocketAddr, gate: Option<Gate>) {
    let near = peer.into_stream();
    let far = tokio::net::TcpStream::connect(far).await.unwrap();
    let (mut near, mut far) = (near, far);
    let passing = tokio::io::copy_bidirectional(&mut near, &mut far);
    match gate {
        None => drop(passing.await),
        Some(gate) => {
            tokio::select! {
                _ = passing => {}
                () = gate.pass() => {}
            }
            // Both ends stay open, and nothing is read.
            std::future::pending::<()>().await;
        }
    }
}

#[tokio::test]
async fn f084_requests_on_a_path_that_drops_everything_end_up_on_another() {
    let server = Server::tcp(serving(100, &open_gate(), &Arc::default())).await;
    let (far, gate) = (server.address(), Gate::shut());
    let dropping = gate.clone();
    let relay = Server::tcp(move |peer: Peer| {
        let gate = (peer.number() == 0).then(|| dropping.clone());
        path(peer, far, gate)
    })
    .await;
    let agent = builder()
        .http2_keep_alive_interval(Duration::from_millis(100))
        .http2_keep_alive_timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    assert_eq!(guard(burst(&agent, &relay.url(""), 10).join_all()).await.len(), 10);
    gate.open();
    assert_eq!(guard(burst(&agent, &relay.url(""), 10).join_all()).await.len(), 10);
    let total = agent.stats().total;
    let timed_out = total.closed.get(CloseReason::TimedOut);
    assert_eq!((total.opened, timed_out), (2, 1), "{total:#?}");
}
