//! Connections that are lost and opened again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use warmwire_rpc::{Client, ErrorKind, Event, Server};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen, nobody};

/// A server in the place of one that is just ending.
async fn counting(endpoint: &str) -> Server {
    guarded("the address", async {
        loop {
            let server = Server::builder().expose("count", |n: i64| async move {
                tokio::task::yield_now().await;
                Ok(n + 1)
            });
            match server.bind(endpoint).await {
                Ok(server) => return server,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await
}

#[tokio::test]
async fn f065_calls_survive_ten_restarts_of_their_server() {
    let path = std::env::temp_dir().join(format!("ww-restart-{}.sock", std::process::id()));
    let endpoint = format!("unix://{}", path.display());
    let mut server = counting(&endpoint).await;
    let client = Client::builder()
        .pool(2)
        .max_in_flight(16)
        .backoff(Duration::from_millis(1), Duration::from_millis(10))
        .connect(&*endpoint)
        .await
        .expect("connects");
    let calls: Vec<_> = (0..10_000)
        .map(|n| tokio::spawn(client.call::<i64>("count", (n,)).idempotent(n % 2 == 0)))
        .collect();
    for restart in 1..=10 {
        guarded("a part of the calls", async {
            while client.stats().answered < restart * 800 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        drop(server);
        server = counting(&endpoint).await;
    }
    for (n, call) in (0_i64..).zip(guarded("all ends", join_all(calls)).await) {
        match call.expect("no panic") {
            Ok(answer) => assert_eq!(answer, n + 1),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
                assert!(n % 2 == 1, "call {n} was marked and failed: {error}");
            }
        }
    }
    let stats = client.stats();
    assert_eq!(stats.answered + stats.disconnected, 10_000);
    assert!(stats.opened > 10, "{stats:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_come_ever_more_rarely_and_a_healthy_connection_starts_anew() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let start = Instant::now();
    let client = Client::builder()
        .on_event(move |event| {
            if let Event::ConnectFailed { .. } = event {
                seen.lock().expect("no panic").push(start.elapsed());
            }
        })
        .connect_lazily(&nobody().await)
        .expect("an endpoint");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let times: Vec<_> = times.lock().expect("no panic").clone();
    let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    // 100 ms, half as long again each time, up to 5 s; with a jitter of a quarter.
    let mut expected = 0.1;
    for gap in &gaps {
        assert!((0.74 * expected..1.3 * expected).contains(gap), "{gap} s of {expected} s");
        expected = f64::min(expected * 1.5, 5.0);
    }
    assert!((15..30).contains(&gaps.len()), "{gaps:?}");
    assert!(client.status().last_error.is_some_and(|why| why.contains("onnection refused")));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_never_answered_on_is_no_success() {
    let (listener, endpoint) = listen().await;
    let accepted = Arc::new(Mutex::new(0));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        loop {
            drop(listener.accept().await);
            *count.lock().expect("no panic") += 1;
        }
    });
    let client = Client::builder().connect_lazily(&endpoint).expect("an endpoint");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let accepted = *accepted.lock().expect("no panic");
    assert!((15..32).contains(&accepted), "{accepted} connections in a minute");
    drop(client);
}

#[tokio::test]
async fn a_client_that_must_not_reconnect_does_not() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder().reconnect(false).connect(&endpoint).await.expect("connects");
    drop(Script::accept(&listener).await);
    let error = guarded("its end", client.call::<i64>("work", ())).await.expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    let error = guarded("its end", client.call::<i64>("work", ())).await.expect_err("lost");
    assert!(error.to_string().contains("not connected: the peer closed"), "{error}");
    assert_eq!(client.stats().opened, 1);
}

#[tokio::test]
async fn a_lost_connection_is_told_of_once() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .on_event(move |event| {
            seen.lock().expect("no panic").push(match event {
                Event::Connected { connection } => format!("connected {connection}"),
                Event::Disconnected { connection, reason } => {
                    format!("disconnected {connection}: {reason}")
                }
                other => format!("{other:?}"),
            });
        })
        .connect(&endpoint)
        .await
        .expect("connects");
    drop(Script::accept(&listener).await);
    let mut peer = Script::accept(&listener).await;
    let ping = tokio::spawn(async move { client.ping().await });
    let id = peer.request().await.id;
    peer.send(&[br#"j:{"error":""}"#, &id]).await;
    ping.await.expect("no panic").expect("answered");
    assert_eq!(
        events.lock().expect("no panic")[..3],
        ["connected 0", "disconnected 0: the peer closed the connection", "connected 1"]
    );
}
