//! Node's `http`: the times after which it closes, announced and not, and bodies in chunks.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::time::sleep;
use warmwire::Agent;
use warmwire::http::{CloseReason, Event};
use warmwire_interop::Peer;

use crate::load;

#[tokio::test(flavor = "multi_thread")]
async fn f005_two_thousand_requests_share_ten_connections() {
    let Some(peer) = Peer::node(Duration::from_secs(5), true).await else { return };
    let agent = Agent::builder().max_connections(10).build().unwrap();
    let stats = load::run(&agent, &peer).await;
    assert_eq!(stats.requests, load::REQUESTS);
    assert_eq!(stats.max_open, 10);
    assert_eq!(stats.reused, stats.requests - stats.opened);
    let seen = agent.get(peer.url("/connections")).send().await.unwrap().text().await.unwrap();
    assert_eq!(seen, stats.opened.to_string());
    agent.close().await;
}

#[tokio::test]
async fn f008_the_agent_closes_before_the_time_that_node_announces() {
    let Some(peer) = Peer::node(Duration::from_secs(1), true).await else { return };
    let (closed, mut reasons) = mpsc::unbounded_channel();
    let agent = Agent::builder()
        .idle_timeout(Duration::from_secs(60))
        .on_event(move |event| {
            if let Event::Closed { reason, .. } = event {
                closed.send(*reason).unwrap();
            }
        })
        .build()
        .unwrap();
    agent.get(peer.url("/")).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(reasons.recv().await, Some(CloseReason::IdleTimeout));
}

#[tokio::test]
async fn f024_no_request_fails_around_the_moment_at_which_node_closes() {
    let limit = Duration::from_millis(20);
    let Some(peer) = Peer::node(limit, false).await else { return };
    let agent = Agent::new();
    for round in 0..120 {
        let response = agent.get(peer.url("/")).send().await.unwrap();
        response.bytes().await.unwrap();
        // The gaps are the load: from 3 ms before the server's limit to 3 ms after it.
        sleep(limit - Duration::from_millis(3) + Duration::from_micros(50 * round)).await;
    }
    let stats = agent.stats().total;
    assert_eq!(stats.requests, 120 + stats.retries);
    assert!(stats.opened > 1, "no gap reached the limit: {stats:?}");
}

#[tokio::test]
async fn f025_a_post_after_the_server_has_closed_gets_a_fresh_connection() {
    let Some(peer) = Peer::node(Duration::from_millis(20), false).await else { return };
    let (closed, mut reasons) = mpsc::unbounded_channel();
    let agent = Agent::builder()
        .on_event(move |event| {
            if let Event::Closed { reason, .. } = event {
                closed.send(*reason).unwrap();
            }
        })
        .build()
        .unwrap();
    for _ in 0..10 {
        let response = agent.post(peer.url("/post")).body("once").send().await.unwrap();
        assert!(!response.connection().reused());
        assert_eq!(response.text().await.unwrap(), "once");
        assert_eq!(reasons.recv().await, Some(CloseReason::ClosedByPeer));
    }
}

#[tokio::test]
async fn bodies_in_chunks_come_as_they_were_sent() {
    let Some(peer) = Peer::node(Duration::from_secs(5), true).await else { return };
    let agent = Agent::new();
    for size in [0, 1, 99, 100, 101, 70_000] {
        let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let request = agent.post(peer.url("/chunked")).body(body.clone());
        assert_eq!(request.send().await.unwrap().bytes().await.unwrap(), body);
    }
    assert_eq!(agent.stats().total.opened, 1);
}

#[tokio::test]
async fn f103_node_switches_protocols_and_the_place_is_free() {
    let Some(peer) = Peer::node(Duration::from_secs(5), true).await else { return };
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let request = agent.get(peer.url("/")).header("upgrade", "echo");
    let response = request.header("connection", "upgrade").send().await.unwrap();
    let mut upgraded = response.upgrade().unwrap();
    agent.get(peer.url("/")).send().await.unwrap().bytes().await.unwrap();
    upgraded.write_all(b"over and out").await.unwrap();
    upgraded.shutdown().await.unwrap();
    let mut echo = String::new();
    upgraded.read_to_string(&mut echo).await.unwrap();
    assert_eq!(echo, "over and out");
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::Upgraded)), (2, 1));
}
