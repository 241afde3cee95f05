//! What the server takes back: streams that it refuses or does not come to, and how many it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use h2::Reason;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use warmwire_http::{CloseReason, ErrorKind, Sent};
use warmwire_testkit::{Gate, Peer, Server};

use super::{
    ACK, GOAWAY, HEADERS, Io, OK, PING, SETTINGS, answer, begin, builder, burst, frame, greet,
    guard, next_frame, open_gate, serving,
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

#[tokio::test]
async fn f087_a_server_that_refuses_for_ever_ends_the_request_with_a_clear_error() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_reset(Reason::REFUSED_STREAM);
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let error = guard(get(&agent, server.url("/"))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::StreamReset, Sent::No), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    let total = agent.stats().total;
    assert_eq!((total.requests, total.retries, total.opened), (5, 4, 5), "{total:#?}");
}

#[tokio::test]
async fn f087_a_server_that_wants_calm_gets_the_request_on_another_connection() {
    let others = serving(100, &open_gate(), &Arc::default());
    let server = Server::tcp(move |peer: Peer| {
        let others = others.clone();
        async move {
            if peer.number() > 0 {
                return others(peer).await;
            }
            let mut stream = peer.into_stream();
            greet(&mut stream).await;
            while let Some((kind, ..)) = next_frame(&mut stream).await {
                if kind == HEADERS {
                    // ENHANCE_YOUR_CALM, and nothing was looked at.
                    let calm = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]);
                    stream.write_all(&calm).await.unwrap();
                }
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let response = guard(agent.post(server.url("/calm")).body("once").send()).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "/calm");
    let total = until(&agent, |of| of.open == 1).await.total;
    let asked = total.closed.get(CloseReason::PeerAsked);
    assert_eq!((total.opened, total.retries, asked), (2, 1, 1), "{total:#?}");
}

#[tokio::test]
async fn f032_the_first_settings_bind_a_cold_burst() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(3, &gate, &begun)).await;
    let agent = builder().max_connections(1).build().unwrap();
    assert_eq!(guard(burst(&agent, &server.url(""), 100).join_all()).await.len(), 100);
    let total = agent.stats().total;
    assert_eq!((total.opened, total.requests, total.retries), (1, 100, 0), "{total:#?}");
}

/// What the server allows, as a frame.
fn settings(streams: u8) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, streams])
}

type Raw = std::pin::Pin<Box<dyn Io>>;

/// The stream of the next request.
async fn next_request(stream: &mut Raw) -> u8 {
    loop {
        let (kind, _, number, _) = next_frame(stream).await.unwrap();
        if kind == HEADERS {
            return number as u8;
        }
    }
}

/// Until the client has read everything; no request comes meanwhile.
async fn no_request(stream: &mut Raw) {
    stream.write_all(&frame(PING, 0, 0, &[7; 8])).await.unwrap();
    loop {
        let (kind, flags, ..) = next_frame(stream).await.unwrap();
        assert_ne!(kind, HEADERS, "more requests than the settings allow");
        if (kind, flags) == (PING, ACK) {
            return;
        }
    }
}

async fn answer_raw(stream: &mut Raw, number: u8) {
    stream.write_all(&frame(HEADERS, 5, number, OK)).await.unwrap();
}

#[tokio::test]
async fn f032_settings_that_change_are_followed_down_and_up() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut stream: Raw = Box::pin(peer.into_stream());
        stream.write_all(&settings(3)).await.unwrap();
        stream.read_exact(&mut [0; 24]).await.unwrap();
        let mut first = Vec::new();
        for _ in 0..3 {
            first.push(next_request(&mut stream).await);
        }
        no_request(&mut stream).await;
        stream.write_all(&settings(1)).await.unwrap();
        for number in first {
            no_request(&mut stream).await;
            answer_raw(&mut stream, number).await;
        }
        for _ in 0..3 {
            let number = next_request(&mut stream).await;
            no_request(&mut stream).await;
            answer_raw(&mut stream, number).await;
        }
        let last = next_request(&mut stream).await;
        stream.write_all(&settings(20)).await.unwrap();
        let mut rest = vec![last];
        for _ in 0..13 {
            rest.push(next_request(&mut stream).await);
        }
        for number in rest {
            answer_raw(&mut stream, number).await;
        }
        while next_frame(&mut stream).await.is_some() {}
    })
    .await;
    let agent = builder().max_connections(1).build().unwrap();
    assert_eq!(guard(burst(&agent, &server.url(""), 20).join_all()).await.len(), 20);
    let total = agent.stats().total;
    assert_eq!((total.opened, total.requests, total.retries), (1, 20, 0), "{total:#?}");
}
