//! What becomes of requests whose connection was lost: counted, bounded, and told.

use std::io;

use warmwire_http::{Agent, Body, Error, ErrorKind, RequestBuilder, Sent, Stats};
use warmwire_testkit::{Gate, Peer, Server, ok};

use crate::support::{MEMORY, get, memory, spawn_get, until};

/// Answers one request on each connection, and ends at the next.
fn one_each() -> Server {
    Server::memory(|mut peer: Peer| async move {
        let Some(request) = peer.request().await else { return };
        peer.send(ok(&request.target)).await;
        peer.head().await;
    })
}

#[tokio::test(start_paused = true)]
async fn f002_repeats_are_a_fifth_of_the_requests_and_a_reserve_at_most() {
    let server = one_each();
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    for n in 0..1_000 {
        assert_eq!(get(&agent, format!("{MEMORY}/{n}")).await.unwrap(), format!("/{n}"));
    }
    let total = agent.stats().total;
    // Where a repeat could not be had, the request was spared the race.
    assert!((150..=212).contains(&total.retries), "{total:?}");
    assert_eq!(total.retry_outcomes.succeeded, total.retries);
    assert_eq!((total.requests, total.retry_outcomes.over_budget), (1_000 + total.retries, 0));
    assert_eq!(total.opened, 1_000, "every answer came on a fresh connection");
    assert_eq!(server.counts().requests.len() as u64, 1_000 + total.retries);
}

/// Requests that were on their way when the budget ended are not sent again, and say why.
#[tokio::test(start_paused = true)]
async fn f002_of_many_losses_at_once_the_budget_allows_its_reserve() {
    let gate = Gate::shut();
    let (lost, at) = (Gate::shut(), gate.clone());
    let server = {
        let lost = lost.clone();
        Server::memory(move |mut peer: Peer| {
            let (gate, lost) = (at.clone(), lost.clone());
            async move {
                let Some(request) = peer.request().await else { return };
                gate.pass().await;
                peer.send(ok(&request.target)).await;
                peer.head().await;
                lost.pass().await;
            }
        })
    };
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let first: Vec<_> = (0..50).map(|_| spawn_get(&agent, MEMORY)).collect();
    until(&agent, |total| total.active == 50).await;
    gate.open();
    for one in first {
        one.await.unwrap().unwrap();
    }
    let second: Vec<_> = (0..50).map(|_| spawn_get(&agent, MEMORY)).collect();
    server.until(|counts| counts.requests.len() == 100).await;
    lost.open();
    let mut failed = 0;
    for one in second {
        let Err(error) = one.await.unwrap() else { continue };
        assert_eq!((error.kind(), error.sent()), (ErrorKind::ConnectionClosed, Sent::Maybe));
        assert!(error.to_string().contains("retry_budget is spent"), "{error}");
        failed += 1;
    }
    let total = agent.stats().total;
    assert_eq!(total.retry_outcomes.over_budget, failed);
    // A reserve of ten, and a sixth of what was sent.
    assert!((28..=33).contains(&total.retries), "{total:?}");
    assert_eq!(failed + total.retries, 50);
}

#[tokio::test(start_paused = true)]
async fn the_budget_can_be_set_for_all_and_for_one_origin() {
    let run = async |builder: warmwire_http::AgentBuilder| {
        let server = one_each();
        let agent = builder.connector(memory(&server)).build().unwrap();
        let mut failed = 0;
        for _ in 0..100 {
            failed += u64::from(get(&agent, MEMORY).await.is_err());
        }
        let outcomes = agent.stats().total.retry_outcomes;
        assert_eq!(outcomes.over_budget, failed);
        (failed, outcomes.succeeded)
    };
    assert_eq!(run(Agent::builder().retry_budget(1.0)).await, (0, 99));
    assert_eq!(run(Agent::builder().retry_budget(0.0)).await, (50, 0));
    let one = Agent::builder().for_origin(MEMORY, |origin| origin.retry_budget(0.0));
    assert_eq!(run(one).await, (50, 0));
    for ratio in [-0.1, 1.1, f64::NAN] {
        let error = Agent::builder().retry_budget(ratio).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.to_string().contains("retry_budget"), "{error}");
    }
}

async fn lost(
    builder: warmwire_http::AgentBuilder,
    make: impl FnOnce(&Agent) -> RequestBuilder,
) -> (Result<(), Error>, Stats) {
    let server = one_each();
    let agent = builder.connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    let end = make(&agent).send().await.map(drop);
    (end, agent.stats())
}

#[tokio::test(start_paused = true)]
async fn f030_each_outcome_is_counted_shown_and_told() {
    let (end, stats) = lost(Agent::builder(), |agent| agent.get(MEMORY)).await;
    end.unwrap();
    assert_eq!((stats.total.retries, stats.total.retry_outcomes.succeeded), (1, 1));
    let of = stats.origin(MEMORY).expect("the repeat's connection is open");
    assert_eq!((of.retries, of.retry_outcomes.succeeded), (1, 1));
    assert!(stats.to_string().contains("lost their connection: 1 succeeded"), "{stats}");
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["total"]["retry_outcomes"]["succeeded"], 1);

    let (end, stats) = lost(Agent::builder(), |agent| agent.post(MEMORY).body("x")).await;
    let error = end.unwrap_err();
    assert!(error.to_string().contains("not marked as idempotent"), "{error}");
    assert_eq!((stats.total.retries, stats.total.retry_outcomes.not_idempotent), (0, 1));

    let pieces = futures_util::stream::iter(["a", "b"].map(Ok::<_, io::Error>));
    let put = |agent: &Agent| agent.put(MEMORY).body(Body::from_stream(pieces));
    let (end, stats) = lost(Agent::builder(), put).await;
    let error = end.unwrap_err();
    assert!(error.to_string().contains("its body was a stream"), "{error}");
    assert_eq!((stats.total.retries, stats.total.retry_outcomes.body_taken), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn f030_a_loss_on_a_fresh_connection_is_counted_apart() {
    let server = Server::memory(|mut peer: Peer| async move {
        peer.head().await;
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionClosed);
    let total = agent.stats().total;
    assert_eq!((total.retries, total.retry_outcomes.fresh_connection), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn f030_a_repeat_that_fails_is_counted() {
    let server = Server::memory(|mut peer: Peer| async move {
        if peer.number() == 0 {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
        }
        peer.head().await;
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    get(&agent, MEMORY).await.unwrap_err();
    let total = agent.stats().total;
    assert_eq!((total.retries, total.retry_outcomes.failed), (1, 1));
    assert_eq!(server.counts().requests.len(), 3, "a repeat is not repeated");
}

#[tokio::test(start_paused = true)]
async fn f030_an_idempotency_key_counts_where_it_was_agreed() {
    let keyed = |agent: &Agent| agent.post(MEMORY).header("idempotency-key", "1").body("x");
    let (end, stats) = lost(Agent::builder(), keyed).await;
    assert!(end.is_err() && stats.total.retries == 0);
    let (end, stats) = lost(Agent::builder().idempotency_key(true), keyed).await;
    assert!(end.is_ok() && stats.total.retries == 1);
    let plain = |agent: &Agent| agent.post(MEMORY).body("x");
    let (end, _) = lost(Agent::builder().idempotency_key(true), plain).await;
    assert!(end.is_err());
    let refused = |agent: &Agent| keyed(agent).idempotent(false);
    let (end, _) = lost(Agent::builder().idempotency_key(true), refused).await;
    assert!(end.is_err(), "what the caller says of the one request goes first");
    let one = Agent::builder().for_origin(MEMORY, |origin| origin.idempotency_key(true));
    let (end, _) = lost(one, keyed).await;
    assert!(end.is_ok());
}

/// The third column of the matrix: the connection ends when a part of a streamed body has left.
#[tokio::test]
async fn f030_a_body_that_was_streamed_in_part_is_never_sent_again() {
    for (method, idempotent) in [("PUT", None), ("POST", None), ("POST", Some(true))] {
        let server = Server::tcp(|mut peer: Peer| async move {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
            if peer.head().await.is_some() {
                peer.chunk().await;
            }
        })
        .await;
        let agent = Agent::builder().idempotency_key(true).build().unwrap();
        get(&agent, server.url("/")).await.unwrap();
        let (pieces, body) = tokio::sync::mpsc::unbounded_channel();
        pieces.send(Ok::<_, io::Error>("a")).unwrap();
        let body = futures_util::stream::unfold(body, |mut body| async move {
            body.recv().await.map(|piece| (piece, body))
        });
        let mut request = agent
            .request(method.parse().unwrap(), server.url("/streamed"))
            .header("idempotency-key", "1")
            .body(Body::from_stream(body));
        if let Some(idempotent) = idempotent {
            request = request.idempotent(idempotent);
        }
        let error = request.send().await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ErrorKind::ConnectionClosed, Sent::Maybe));
        assert_eq!(agent.stats().total.retry_outcomes.body_taken, 1, "{method}: {error}");
        let streamed = server.counts().requests.iter().filter(|r| r.target == "/streamed").count();
        assert_eq!(streamed, 1, "{method}");
        drop(pieces);
    }
}

/// A fresh connection is no excuse, however much had left and whatever the request.
#[tokio::test]
async fn f030_a_fresh_connection_that_ends_within_a_streamed_body_is_no_reason_to_send_again() {
    for (method, idempotent) in [("PUT", None), ("POST", None), ("POST", Some(true))] {
        let server = Server::tcp(|mut peer: Peer| async move {
            if peer.head().await.is_some() {
                peer.chunk().await;
            }
        })
        .await;
        let agent = Agent::builder().idempotency_key(true).build().unwrap();
        let begun = futures_util::stream::iter(["a"].map(Ok::<_, io::Error>));
        let body = futures_util::StreamExt::chain(begun, futures_util::stream::pending());
        let request = agent.request(method.parse().unwrap(), server.url("/"));
        let mut request = request.header("idempotency-key", "1").body(Body::from_stream(body));
        if let Some(idempotent) = idempotent {
            request = request.idempotent(idempotent);
        }
        let error = request.send().await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ErrorKind::ConnectionClosed, Sent::Maybe));
        assert!(!error.connection().unwrap().reused());
        let total = agent.stats().total;
        assert_eq!((total.retries, total.retry_outcomes.fresh_connection), (0, 1), "{method}");
        assert_eq!(server.counts().requests.len(), 1, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn interim_responses_are_passed_over_up_to_their_limit() {
    let server = Server::memory(|mut peer: Peer| async move {
        while let Some(request) = peer.request().await {
            for _ in 0..3 {
                peer.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n").await;
            }
            peer.send(ok(&request.target)).await;
        }
    });
    let agent = |limit| {
        Agent::builder().max_interim_responses(limit).connector(memory(&server)).build().unwrap()
    };
    assert_eq!(get(&agent(3), format!("{MEMORY}/x")).await.unwrap(), "/x");
    let error = get(&agent(2), format!("{MEMORY}/x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("1xx"), "{error}");
}
