//! Calls that no connection has room for.

use std::time::Duration;

use futures_util::future::join_all;
use warmwire_rpc::{Client, ErrorKind, QueuePolicy, Sent};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen};

/// A client whose one connection takes one call, which is under way.
async fn full(policy: QueuePolicy) -> (Client, Script) {
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .max_in_flight(1)
        .queue(policy)
        .queue_limits(3, 10_000)
        .connect(&endpoint)
        .await
        .expect("connects");
    let mut peer = Script::accept(&listener).await;
    tokio::spawn(client.call::<i64>("first", ()));
    assert_eq!(peer.call().await.1, "first");
    (client, peer)
}

/// Makes calls one after the other and returns their tasks.
async fn calls(client: &Client, count: usize) -> Vec<tokio::task::JoinHandle<Option<ErrorKind>>> {
    let mut calls = Vec::new();
    for n in 0..count {
        let call = client.call::<i64>("work", (n,));
        let made = client.stats().calls;
        calls.push(tokio::spawn(async move {
            call.await.err().map(|error| {
                assert_eq!(error.was_sent(), Sent::No);
                error.kind()
            })
        }));
        while client.stats().calls == made {
            tokio::task::yield_now().await;
        }
    }
    calls
}

/// Answers every call and returns their first arguments in order.
async fn answer(peer: &mut Script, first: &[u8], count: usize) -> Vec<String> {
    let mut id = first.to_vec();
    let mut seen = Vec::new();
    for _ in 0..count {
        peer.send(&[br#"j:{"args":[1]}"#, &id]).await;
        let frame = peer.frame().await.expect("a call");
        seen.push(String::from_utf8_lossy(frame.get(0).expect("an argument")).into_owned());
        id = frame.get(1).expect("an argument").to_vec();
    }
    peer.send(&[br#"j:{"args":[1]}"#, &id]).await;
    seen
}

fn number(call: &str) -> usize {
    let after = call.split("\"args\":[").nth(1).expect("arguments");
    after.split(']').next().and_then(|n| n.parse().ok()).expect("a number")
}

#[tokio::test]
async fn f043_calls_wait_in_their_order() {
    let (client, mut peer) = full(QueuePolicy::Wait).await;
    let calls = calls(&client, 20).await;
    assert_eq!(client.status().waiting, 20);
    let seen = answer(&mut peer, b"s:0", 20).await;
    assert_eq!(
        seen.iter().map(|call| number(call)).collect::<Vec<_>>(),
        (0..20).collect::<Vec<_>>()
    );
    for call in guarded("all ends", join_all(calls)).await {
        assert_eq!(call.expect("no panic"), None);
    }
}

#[tokio::test]
async fn f043_the_queue_drops_new_calls_beyond_its_limit() {
    let (client, mut peer) = full(QueuePolicy::DropNew).await;
    let calls = calls(&client, 5).await;
    let seen = answer(&mut peer, b"s:0", 3).await;
    assert_eq!(seen.iter().map(|call| number(call)).collect::<Vec<_>>(), [0, 1, 2]);
    let ends: Vec<_> =
        join_all(calls).await.into_iter().map(|end| end.expect("no panic")).collect();
    let full = Some(ErrorKind::QueueFull);
    assert_eq!(ends, [None, None, None, full, full]);
    assert_eq!(client.stats().queue_full, 2);
}

#[tokio::test]
async fn f043_the_queue_drops_old_calls_beyond_its_limit() {
    let (client, mut peer) = full(QueuePolicy::DropOld).await;
    let calls = calls(&client, 5).await;
    let seen = answer(&mut peer, b"s:0", 3).await;
    assert_eq!(seen.iter().map(|call| number(call)).collect::<Vec<_>>(), [2, 3, 4]);
    let ends: Vec<_> =
        join_all(calls).await.into_iter().map(|end| end.expect("no panic")).collect();
    let full = Some(ErrorKind::QueueFull);
    assert_eq!(ends, [full, full, None, None, None]);
}

#[tokio::test]
async fn f043_the_queue_counts_bytes_too() {
    let (client, _peer) = full(QueuePolicy::DropNew).await;
    let large = "x".repeat(6_000);
    let first = tokio::spawn(client.call::<i64>("work", (large.clone(),)));
    while client.status().waiting == 0 {
        tokio::task::yield_now().await;
    }
    let error = client.call::<i64>("work", (large,)).await.expect_err("12,000 bytes");
    assert_eq!(error.kind(), ErrorKind::QueueFull);
    first.abort();
}

#[tokio::test]
async fn f043_without_a_queue_a_call_fails_at_once() {
    let (client, _peer) = full(QueuePolicy::Off).await;
    let error = client.call::<i64>("work", ()).await.expect_err("full");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::QueueFull, Sent::No));
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_waits_is_not_sent_and_the_next_one_is() {
    let (client, mut peer) = full(QueuePolicy::Wait).await;
    let calls = calls(&client, 3).await;
    calls[0].abort();
    calls[1].abort();
    while client.status().waiting > 1 {
        tokio::task::yield_now().await;
    }
    let seen = answer(&mut peer, b"s:0", 1).await;
    assert_eq!(number(&seen[0]), 2);
    assert_eq!(client.stats().cancelled, 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_its_time() {
    let (client, _peer) = full(QueuePolicy::Wait).await;
    let call = client.call::<i64>("work", ()).timeout(Duration::from_secs(3));
    let error = call.await.expect_err("nobody makes room");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Timeout, Sent::No));
    assert_eq!(client.status().waiting, 0);
}

#[tokio::test]
async fn room_that_a_dropped_call_leaves_goes_to_the_next() {
    // An axon peer is told nothing of it, so nothing is written that could wake anybody.
    let (listener, endpoint) = listen().await;
    let client = Client::builder().max_in_flight(1).connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let first = tokio::spawn(client.call::<i64>("first", ()));
    assert_eq!(peer.call().await.1, "first");
    let second = tokio::spawn(client.call::<i64>("second", ()));
    while client.status().waiting == 0 {
        tokio::task::yield_now().await;
    }
    first.abort();
    let (id, method) = peer.call().await;
    assert_eq!(method, "second");
    peer.send(&[br#"j:{"args":[2]}"#, &id]).await;
    assert_eq!(guarded("its answer", second).await.expect("no panic").expect("answered"), 2);
}

#[tokio::test(start_paused = true)]
async fn room_that_a_call_leaves_whose_time_was_over_goes_to_the_next() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder().max_in_flight(1).connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let first = tokio::spawn(client.call::<i64>("first", ()).timeout(Duration::from_secs(1)));
    assert_eq!(peer.call().await.1, "first");
    let second = tokio::spawn(client.call::<i64>("second", ()));
    assert_eq!(peer.call().await.1, "second");
    let error = first.await.expect("no panic").expect_err("its time was over");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    drop(second);
}
