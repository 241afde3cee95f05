//! What the server takes back: streams that it refuses or does not come to, and how many it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use h2::Reason;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use warmwire_testkit::{Gate, Peer, Server};

use super::{
    GOAWAY, HEADERS, OK, answer, begin, builder, burst, frame, greet, guard, next_frame, open_gate,
    serving,
};
use crate::support::{get, spawn_get, until};

/// Waits for three requests, says goodbye and that it has looked at the first alone, and answers
/// that.
async fn goodbye(peer: Peer) {
    let mut stream = peer.into_stream();
    greet(&mut stream).await;
    let mut heads = 0;
    while let Some((kind, ..)) = next_frame(&mut stream).await {
        heads += usize::from(kind == HEADERS);
        if kind == HEADERS && heads == 3 {
            stream.write_all(&frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])).await.unwrap();
            stream.write_all(&frame(HEADERS, 5, 1, OK)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn f087_streams_above_the_last_are_replayed_and_the_others_finish() {
    let (gate, begun) = (open_gate(), Arc::<AtomicUsize>::default());
    let others = serving(100, &gate, &begun);
    let server = Server::tcp(move |peer: Peer| {
        let first = peer.number() == 0;
        let other = (!first).then(|| others.clone());
        async move {
            match other {
                None => goodbye(peer).await,
                Some(other) => other(peer).await,
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let mut all = JoinSet::new();
    for _ in 0..3 {
        let request = agent.post(server.url("/again")).body("once");
        all.spawn(async move { request.send().await.unwrap().text().await.unwrap() });
    }
    let mut answers = guard(all.join_all()).await;
    answers.sort();
    assert_eq!(answers, ["", "/again", "/again"]);
    assert_eq!((begun.load(Ordering::SeqCst), server.counts().accepted), (2, 2));
    let stats = until(&agent, |of| of.open == 1).await;
    assert_eq!((stats.total.retries, stats.total.closed.total()), (2, 1));
}

#[tokio::test]
async fn f087_a_graceful_goodbye_lets_what_is_under_way_finish_and_takes_nothing_new() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = Server::tcp(move |peer: Peer| {
        let held = held.clone();
        async move {
            let first = peer.number() == 0;
            let mut connection = begin(peer, 100).await;
            let mut accepted = 0;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                accepted += 1;
                if first && accepted == 40 {
                    connection.graceful_shutdown();
                }
                let held = held.clone();
                tokio::spawn(async move {
                    if first {
                        held.pass().await;
                    }
                    answer(&mut respond, request.uri().path());
                });
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let all = burst(&agent, &server.url(""), 40);
    let id = until(&agent, |of| of.requests == 40).await.total.opened;
    assert_eq!(id, 1);
    // A request that meets the goodbye goes to a new connection; those before it wait at the gate.
    let agent_after = agent.clone();
    let url = server.url("/after");
    guard(async {
        while server.counts().accepted < 2 {
            let asked = spawn_get(&agent_after, url.clone());
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            asked.abort();
        }
    })
    .await;
    gate.open();
    assert_eq!(guard(all.join_all()).await.len(), 40);
    assert_eq!(get(&agent, &url).await.unwrap(), "/after");
}

#[tokio::test]
async fn f087_a_refused_stream_is_sent_again_elsewhere_whatever_its_method() {
    let server = Server::tcp(|peer: Peer| async move {
        let refuses = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match refuses {
                true => respond.send_reset(Reason::REFUSED_STREAM),
                false => answer(&mut respond, request.method().as_str()),
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let response = agent.post(server.url("/")).body("once").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "POST");
    assert_eq!(agent.stats().total.retries, 1);
    assert_eq!(server.counts().accepted, 2);
}
