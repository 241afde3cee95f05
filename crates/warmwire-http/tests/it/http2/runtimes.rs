//! A connection that requests of several runtimes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};
use warmwire_http::{Agent, Body, CloseReason, Tls};
use warmwire_testkit::{Certificates, Gate, Peer, Server};

use super::{
    GOAWAY, HEADERS, OK, answer, arrived, begin, builder, burst, frame, greet, guard, next_frame,
    open_gate, serving,
};
use crate::support::{get, loopback, spawn_get, until};

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The runtime of the server, the server, and the agent, whose connection was opened on a runtime
/// that is kept and driven no more.
fn dialled_elsewhere(streams: u32) -> (Runtime, Runtime, Server, Agent) {
    let peers = many_threads();
    let script = serving(streams, &open_gate(), &Arc::default());
    let server = peers.block_on(Server::tcp(script));
    let agent = builder().build().unwrap();
    let kept = one_thread();
    kept.block_on(async {
        assert_eq!(get(&agent, server.url("/first")).await.unwrap(), "/first");
    });
    (peers, kept, server, agent)
}

#[test]
fn f019_requests_go_on_though_the_runtime_that_dialled_is_not_driven() {
    let (_peers, kept, server, agent) = dialled_elsewhere(100);
    for runtime in [one_thread(), many_threads(), one_thread()] {
        runtime.block_on(async {
            assert_eq!(guard(burst(&agent, &server.url(""), 30).join_all()).await.len(), 30);
        });
    }
    kept.block_on(async { assert_eq!(get(&agent, server.url("/last")).await.unwrap(), "/last") });
    let total = agent.stats().total;
    assert_eq!((total.requests, total.opened, total.retries), (92, 1, 0), "{total:#?}");
}

#[test]
fn f019_with_tls_too() {
    let peers = many_threads();
    let certificates = Certificates::new();
    let script = serving(100, &open_gate(), &Arc::default());
    let server = peers.block_on(Server::tls(certificates.server().alpn(&["h2"]), script));
    let url = format!("https://localhost:{}", server.address().port());
    let tls = Tls::new().roots_pem(certificates.root_pem());
    let agent = Agent::builder().tls(tls).resolver(loopback()).build().unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(get(&agent, &url)).unwrap();
    driven.block_on(async {
        assert_eq!(guard(burst(&agent, &url, 30).join_all()).await.len(), 30);
    });
    assert_eq!(agent.stats().total.opened, 1);
}

#[test]
fn f019_two_runtimes_at_once_share_a_connection() {
    let (_peers, kept, server, agent) = dialled_elsewhere(100);
    std::thread::scope(|scope| {
        for runtime in [kept, one_thread(), one_thread()] {
            let (agent, server) = (&agent, &server);
            scope.spawn(move || {
                runtime.block_on(async {
                    for _ in 0..20 {
                        let all = guard(burst(agent, &server.url(""), 10).join_all()).await;
                        assert_eq!(all.len(), 10);
                    }
                });
            });
        }
    });
    let total = agent.stats().total;
    assert_eq!((total.requests, total.opened, total.retries), (601, 1, 0), "{total:#?}");
}

/// Answers the first request, and ends the connection when it is told to: with a goodbye if somebody
/// wants to know when that is said.
async fn end_at(peer: Peer, gate: Gate, said: Option<Gate>) {
    let mut stream = peer.into_stream();
    greet(&mut stream).await;
    while let Some((kind, ..)) = next_frame(&mut stream).await {
        if kind == HEADERS {
            stream.write_all(&frame(HEADERS, 5, 1, OK)).await.unwrap();
            break;
        }
    }
    gate.pass().await;
    if let Some(said) = said {
        stream.write_all(&frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])).await.unwrap();
        said.open();
        // What comes after that gets no answer.
        while next_frame(&mut stream).await.is_some() {}
    }
}

/// The server ends its first connection while nobody looks.
fn ended_meanwhile(goodbye: bool) {
    let peers = many_threads();
    let (gate, said) = (Gate::shut(), Gate::shut());
    let (held, saying) = (gate.clone(), said.clone());
    let others = serving(100, &open_gate(), &Arc::default());
    let server = peers.block_on(Server::tcp(move |peer: Peer| {
        let (held, saying, others) = (held.clone(), saying.clone(), others.clone());
        async move {
            match peer.number() {
                0 => end_at(peer, held, goodbye.then_some(saying)).await,
                _ => others(peer).await,
            }
        }
    }));
    let agent = builder().build().unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(get(&agent, server.url("/"))).unwrap();
    gate.open();
    driven.block_on(async {
        match goodbye {
            false => drop(server.until(|counts| counts.open == 0).await),
            true => said.pass().await,
        }
        let request = agent.post(server.url("/other")).body("once");
        assert_eq!(guard(request.send()).await.unwrap().text().await.unwrap(), "/other");
    });
    let total = agent.stats().total;
    let reason = if goodbye { CloseReason::PeerAsked } else { CloseReason::ClosedByPeer };
    assert_eq!((total.opened, total.closed.get(reason)), (2, 1), "{total:#?}");
}

#[test]
fn f025_a_post_does_not_meet_a_connection_that_was_closed_while_nobody_looked() {
    ended_meanwhile(false);
}

#[test]
fn f087_nor_one_on_which_the_server_said_goodbye() {
    ended_meanwhile(true);
}

#[test]
fn f019_a_runtime_that_is_shut_down_costs_the_others_nothing() {
    for doomed in [one_thread(), many_threads()] {
        let peers = many_threads();
        let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
        let server = peers.block_on(Server::tcp(serving(100, &gate, &begun)));
        let (agent, driven) = (builder().build().unwrap(), one_thread());
        let own = {
            let _doomed = doomed.enter();
            spawn_get(&agent, server.url("/own"))
        };
        doomed.block_on(arrived(&begun, 1));
        driven.block_on(async {
            let post = agent.post(server.url("/other")).body("once");
            let other = tokio::spawn(async move { post.send().await?.text().await });
            arrived(&begun, 2).await;
            doomed.shutdown_background();
            assert!(own.await.unwrap_err().is_cancelled());
            gate.open();
            assert_eq!(guard(other).await.unwrap().unwrap(), "/other");
            assert_eq!(guard(get(&agent, server.url("/next"))).await.unwrap(), "/next");
            let total = until(&agent, |of| of.active == 0).await.total;
            assert_eq!((total.opened, total.retries), (1, 0), "{total:#?}");
        });
    }
}

#[test]
fn f019_a_static_agent_is_used_by_one_runtime_after_the_other() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(serving(100, &open_gate(), &Arc::default())));
    let agent = builder().build().unwrap();
    for round in 0..30 {
        let runtime = if round % 3 == 0 { many_threads() } else { one_thread() };
        runtime.block_on(async {
            assert_eq!(guard(burst(&agent, &server.url(""), 20).join_all()).await.len(), 20);
        });
    }
    let total = agent.stats().total;
    assert_eq!((total.requests, total.opened, total.active), (600, 1, 0), "{total:#?}");
}

#[test]
fn f114_a_connection_closes_though_its_runtime_is_not_driven() {
    let peers = many_threads();
    let gate = open_gate();
    let server = peers.block_on(Server::tcp(serving(100, &gate, &Arc::default())));
    let other = peers.block_on(Server::tcp(serving(100, &gate, &Arc::default())));
    let agent = builder().idle_timeout(ms(50)).build().unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(get(&agent, server.url("/"))).unwrap();
    driven.block_on(async {
        get(&agent, other.url("/")).await.unwrap();
        server.until(|counts| counts.open == 0).await;
        other.until(|counts| counts.open == 0).await;
    });
    drop(kept);
    assert_eq!(agent.stats().total.closed.get(CloseReason::IdleTimeout), 2);
}

#[test]
fn f084_a_connection_that_has_moved_is_pinged_still() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(|peer: Peer| async move {
        let first = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if first && request.uri().path() == "/last" {
                // Neither reads nor writes from here on.
                return std::future::pending().await;
            }
            answer(&mut respond, request.uri().path());
        }
    }));
    let agent = builder()
        .http2_keep_alive_interval(ms(100))
        .http2_keep_alive_timeout(ms(100))
        .build()
        .unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(get(&agent, server.url("/first"))).unwrap();
    driven.block_on(async {
        assert_eq!(guard(get(&agent, server.url("/last"))).await.unwrap(), "/last");
    });
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::TimedOut)), (2, 1), "{total:#?}");
}

#[test]
fn a_body_that_panics_ends_its_request_alone() {
    let runtime = many_threads();
    runtime.block_on(async {
        let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
        let server = Server::tcp(serving(100, &gate, &begun)).await;
        let agent = builder().build().unwrap();
        let other = spawn_get(&agent, server.url("/other"));
        arrived(&begun, 1).await;
        let stream = futures_util::stream::poll_fn(
            |_| -> std::task::Poll<Option<Result<Bytes, std::io::Error>>> {
                panic!("this panic is part of the test")
            },
        );
        let panics = agent.post(server.url("/panics")).body(Body::from_stream(stream));
        assert!(guard(tokio::spawn(panics.send())).await.unwrap_err().is_panic());
        gate.open();
        assert_eq!(guard(other).await.unwrap().unwrap(), "/other");
        assert_eq!((begun.load(Ordering::SeqCst), agent.stats().total.opened), (2, 1));
    });
}
