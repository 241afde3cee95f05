//! Connections between ours and axon's that are lost in the middle of calls.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use warmwire::rpc::{Client, ErrorKind, Sent, Server};
use warmwire_interop::axon::{AxonPeer, PACKAGES};

const CALLS: u64 = 10_000;

fn impatient() -> warmwire::rpc::ClientBuilder {
    Client::builder().backoff(Duration::from_millis(1), Duration::from_millis(10))
}

#[tokio::test]
async fn f016_calls_in_flight_end_with_the_connection_that_axon_drops_and_others_go_on() {
    for package in PACKAGES {
        for unix in [false, true] {
            let peer = AxonPeer::listening("rpc-server", package, unix).await;
            let Some(mut peer) = peer else { return };
            let client = impatient().connect(&peer.endpoint).await.expect("connects");
            let silent: Vec<_> = (0..100)
                .map(|_| tokio::spawn(client.call::<()>("silent", ()).timeout(None)))
                .collect();
            while client.status().in_flight < 100 {
                tokio::task::yield_now().await;
            }
            // Behind them on the same connection, so they are there when it is answered.
            client.call::<i64>("count", (1,)).await.expect("answers");
            assert_eq!(peer.ask(&json!({"drop": true})).await, json!({"peers": 1}));
            for call in join_all(silent).await {
                let error = call.expect("no panic").expect_err("dropped");
                assert_eq!(error.kind(), ErrorKind::Disconnected, "{package}: {error}");
                assert_eq!(error.was_sent(), Sent::Maybe, "{package}: {error}");
            }
            assert_eq!(client.call::<i64>("count", (2,)).await.expect("answers"), 3);
            let stats = client.stats();
            assert_eq!((stats.opened, stats.disconnected, stats.open), (2, 100, 1), "{package}");
        }
    }
}

#[tokio::test]
async fn f046_f065_every_call_ends_though_axon_drops_connections_ten_times() {
    for package in PACKAGES {
        let peer = AxonPeer::listening("rpc-server", package, false).await;
        let Some(mut peer) = peer else { return };
        let client = impatient().pool(2).max_in_flight(16).connect(&peer.endpoint).await;
        let client = client.expect("connects");
        let calls: Vec<_> = (0..CALLS)
            .map(|n| tokio::spawn(client.call::<u64>("count", (n,)).idempotent(n % 2 == 0)))
            .collect();
        for drops in 1..=10 {
            while client.stats().answered < drops * 800 {
                tokio::task::yield_now().await;
            }
            peer.ask(&json!({"drop": true})).await;
        }
        for (n, call) in (0..).zip(join_all(calls).await) {
            match call.expect("no panic") {
                Ok(answer) => assert_eq!(answer, n + 1, "{package}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Disconnected, "{package}: {error}");
                    assert!(n % 2 == 1, "{package}: call {n} was marked and failed: {error}");
                }
            }
        }
        let stats = client.stats();
        assert_eq!(stats.answered + stats.disconnected, CALLS, "{package}: {stats:?}");
        assert!(stats.opened > 10, "{package}: {stats:?}");
    }
}

#[tokio::test]
async fn f048_our_client_finds_a_server_again_on_the_socket_of_one_that_was_killed() {
    // axon itself never binds a path again on which a socket has been left behind.
    let Some(first) = AxonPeer::listening("rpc-server", "pm2-axon", true).await else { return };
    let endpoint = format!("unix://{}", first.path("again").display());
    for _ in 0..2 {
        let peer = AxonPeer::listening_again("rpc-server", "pm2-axon", &endpoint).await;
        let peer = peer.expect("there is Node");
        let client = impatient().connect(&endpoint).await.expect("connects");
        assert_eq!(client.call::<i64>("count", (1,)).await.expect("answers"), 2);
        peer.kill().await;
        let waits = tokio::spawn(client.call::<i64>("count", (2,)).idempotent(true));
        let again = AxonPeer::listening_again("rpc-server", "pm2-axon", &endpoint).await;
        assert_eq!(waits.await.expect("no panic").expect("answers"), 3);
        again.expect("there is Node").kill().await;
    }
}

#[tokio::test]
async fn a_client_of_pm2_axon_finds_our_server_again_on_a_unix_socket() {
    // axon itself dies of that: it takes the path for a URL when it connects again.
    let path = std::env::temp_dir().join(format!("ww-restarted-{}.sock", std::process::id()));
    let endpoint = format!("unix://{}", path.display());
    let start = async || {
        let server = Server::builder().expose("count", |n: i64| async move { Ok(n + 1) });
        server.bind(&*endpoint).await.expect("binds")
    };
    let first = start().await;
    let peer = AxonPeer::connected("rpc-client", "pm2-axon", &endpoint).await;
    let Some(mut peer) = peer else { return };
    let call = json!({"call": "count", "args": [1]});
    assert_eq!(peer.ask(&call).await, json!({"results": [2]}));
    for _ in 0..3 {
        assert_eq!(peer.ask(&json!({"drop": true})).await, json!({"peers": 1}));
        // Queued there until it has connected again.
        assert_eq!(peer.ask(&call).await, json!({"results": [2]}));
    }
    first.close().await;
    let second = start().await;
    assert_eq!(peer.ask(&call).await, json!({"results": [2]}));
    assert_eq!(second.stats().accepted, 1);
}
