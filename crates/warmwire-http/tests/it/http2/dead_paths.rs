//! Paths on which nothing comes any more.

use std::time::Duration;

use warmwire_http::CloseReason;
use warmwire_testkit::{Peer, Server};

use super::{answer, begin, builder};
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
