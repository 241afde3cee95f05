//! When a connection ends, what is counted, and what is told: as for HTTP/1.1.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use h2::Reason;
use tokio::time::{sleep, timeout};
use warmwire_http::{CloseReason, ErrorKind, Event};
use warmwire_testkit::{Gate, Peer, Random, Server, guarded};

use super::{answer, arrived, begin, builder, burst, guard, open_gate, serving};
use crate::support::{MEMORY, check, get, memory, spawn_get, until};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn server() -> Server {
    Server::memory(serving(100, &open_gate(), &Arc::default()))
}

#[tokio::test(start_paused = true)]
async fn f114_two_hundred_idle_connections_close_and_nothing_is_left() {
    let server = server();
    let agent = builder().connector(memory(&server)).idle_timeout(secs(60)).build().unwrap();
    assert_eq!(agent.warm(MEMORY, 200).await.unwrap(), 200);
    guard(burst(&agent, MEMORY, 100).join_all()).await;
    let before = agent.stats().total;
    assert_eq!((before.open, before.idle, before.opened), (200, 200, 200));
    sleep(secs(59)).await;
    assert_eq!(agent.stats().total.open, 200);
    sleep(secs(2)).await;
    let after = agent.stats().total;
    assert_eq!((after.open, after.closed.get(CloseReason::IdleTimeout)), (0, 200));
    server.until(|counts| counts.open == 0).await;
    assert!(agent.stats().origins.is_empty(), "f117: no rows of zeros");
}

#[tokio::test(start_paused = true)]
async fn f085_a_lifetime_ends_connections_that_are_never_idle() {
    let server = Server::memory(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            tokio::spawn(async move {
                sleep(ms(900)).await;
                answer(&mut respond, request.uri().path());
            });
        }
    });
    let agent = builder()
        .connector(memory(&server))
        .max_connections(2)
        .max_lifetime(secs(10))
        .build()
        .unwrap();
    let mut all = Vec::new();
    for _ in 0..100 {
        // Each ends after the next has begun.
        all.push(spawn_get(&agent, format!("{MEMORY}/x")));
        sleep(ms(500)).await;
    }
    for request in all {
        assert_eq!(request.await.unwrap().unwrap(), "/x");
    }
    let total = agent.stats().total;
    let ended = total.closed.get(CloseReason::MaxLifetime);
    assert!((4..=7).contains(&ended), "{total:#?}");
    assert_eq!((total.retries, total.requests), (0, 100), "{total:#?}");
}

#[tokio::test(start_paused = true)]
async fn f034_a_connection_takes_as_many_requests_as_it_may() {
    let server = server();
    let agent = builder()
        .connector(memory(&server))
        .max_requests_per_connection(10)
        .max_connections(2)
        .build()
        .unwrap();
    for _ in 0..10 {
        guard(burst(&agent, MEMORY, 10).join_all()).await;
    }
    let total = agent.stats().total;
    assert_eq!((total.requests, total.opened), (100, 10), "{total:#?}");
    assert_eq!(total.closed.get(CloseReason::MaxRequests), 10, "{total:#?}");
    server.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn what_is_evicted_or_closed_finishes_its_streams_first() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    let before = burst(&agent, &server.url(""), 5);
    arrived(&begun, 5).await;
    assert_eq!(agent.evict(|_| true), 1);
    let after = burst(&agent, &server.url(""), 5);
    arrived(&begun, 10).await;
    assert_eq!(server.counts().accepted, 2, "no new stream on an evicted connection");
    let closing = tokio::spawn({
        let agent = agent.clone();
        async move { agent.close().await }
    });
    let refused = async {
        loop {
            match timeout(ms(50), get(&agent, server.url("/refused"))).await {
                Ok(end) => break end.unwrap_err(),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    assert_eq!(guard(refused).await.kind(), ErrorKind::Closed);
    gate.open();
    assert_eq!(guard(before.join_all()).await.len(), 5);
    assert_eq!(guard(after.join_all()).await.len(), 5);
    guard(closing).await.unwrap();
    let total = agent.stats().total;
    let of = |reason| total.closed.get(reason);
    assert_eq!((of(CloseReason::Evicted), of(CloseReason::Shutdown), total.open), (1, 1, 0));
    server.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn close_idle_closes_what_has_no_stream() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(1, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    let busy = spawn_get(&agent, server.url("/busy"));
    arrived(&begun, 1).await;
    // The one in use counts.
    assert_eq!(agent.warm(server.url("/"), 3).await.unwrap(), 2);
    assert_eq!(agent.close_idle(), 2);
    gate.open();
    assert_eq!(guard(busy).await.unwrap().unwrap(), "/busy");
    let total = agent.stats().total;
    assert_eq!(total.closed.get(CloseReason::CloseIdle), 2, "{total:#?}");
    assert_eq!((total.open, total.idle), (1, 1), "{total:#?}");
}

/// Answers, is slow, resets, refuses, says goodbye and closes, each at random.
fn moody_server(seed: u64) -> Server {
    Server::memory(move |peer: Peer| async move {
        let mut random = Random::new(seed ^ (peer.number() as u64) << 8);
        let mut connection = begin(peer, 8).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match random.below(40) {
                0 => return,
                1 => connection.graceful_shutdown(),
                2 => return connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
                3 => respond.send_reset(Reason::REFUSED_STREAM),
                4 => respond.send_reset(Reason::INTERNAL_ERROR),
                pace => {
                    tokio::spawn(async move {
                        sleep(ms(pace)).await;
                        answer(&mut respond, request.uri().path());
                    });
                }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn f012_f117_the_numbers_and_the_events_add_up_at_every_moment() {
    let seed = 0x4832;
    let server = moody_server(seed);
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = events.clone();
    let agent = builder()
        .connector(memory(&server))
        .max_connections(4)
        .idle_timeout(ms(100))
        .on_event(move |event| seen.lock().unwrap().push(event.clone()))
        .build()
        .unwrap();
    let mut random = Random::new(seed);
    let tasks: Vec<_> = (0..1_000)
        .map(|n| {
            let (agent, pause, patience) = (agent.clone(), random.below(3_000), random.below(90));
            tokio::spawn(async move {
                sleep(ms(pause)).await;
                let request = get(&agent, format!("{MEMORY}/{n}"));
                let answer = timeout(ms(patience), request).await;
                if let Ok(Ok(text)) = answer {
                    assert_eq!(text, format!("/{n}"));
                }
            })
        })
        .collect();
    while tasks.iter().any(|task| !task.is_finished()) {
        check(&agent.stats());
        sleep(ms(1)).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    sleep(secs(1)).await;
    let total = until(&agent, |of| of.open == 0).await.total;
    assert_eq!((total.active, total.waiting, total.connecting), (0, 0, 0), "{total:#?}");
    assert_eq!(requests_of_all(&events), total.requests, "{total:#?}");
    server.until(|counts| counts.open == 0).await;
    let counts = server.counts();
    assert_eq!(counts.accepted as u64, total.opened, "seed {seed:#x}");
}

/// What was told of each connection when it closed, summed up; checks on the way that each was
/// opened first and closed last.
fn requests_of_all(events: &Mutex<Vec<Event>>) -> u64 {
    let mut requests = HashMap::new();
    let mut sum = 0;
    for event in events.lock().unwrap().iter() {
        match event {
            Event::Connected { connection, .. } => {
                assert_eq!(requests.insert(*connection, 0), None);
            }
            Event::Acquired { connection, .. } => *requests.get_mut(connection).unwrap() += 1,
            Event::Released { connection, .. } => assert!(requests[connection] > 0),
            Event::Closed { connection, requests: told, .. } => {
                // A request that was dropped in the moment in which it got a stream has not begun.
                let begun: u64 = requests.remove(connection).unwrap();
                assert!(*told >= begun);
                sum += told;
            }
            _ => {}
        }
    }
    assert_eq!(requests, HashMap::new(), "each was closed");
    sum
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_peer_reads_nothing_more_is_closed_all_the_same() {
    let server = Server::memory(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            answer(&mut respond, request.uri().path());
            if request.uri().path() == "/upload" {
                // Reads no more, and does not close either.
                return std::future::pending().await;
            }
        }
    });
    let agent = builder().connector(memory(&server)).build().unwrap();
    let request = agent.post(format!("{MEMORY}/upload")).body(vec![0; 1 << 20]);
    let _ = timeout(secs(5), request.send()).await;
    let runtime = tokio::runtime::Handle::current();
    drop(agent);
    let alone = async {
        // The server's own, and what the test itself was started with.
        while runtime.metrics().num_alive_tasks() > 2 {
            sleep(ms(100)).await;
        }
    };
    guarded("the connection's task", alone).await;
}

#[tokio::test(start_paused = true)]
async fn f038_each_response_that_is_held_unread_is_reported_and_counted() {
    let server = Server::memory(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        let mut open = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if request.uri().path() != "/long" {
                answer(&mut respond, request.uri().path());
                continue;
            }
            let mut body = respond.send_response(http::Response::new(()), false).unwrap();
            body.send_data("part".into(), false).unwrap();
            open.push(body);
        }
    });
    let (told, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let agent = builder()
        .connector(memory(&server))
        .held_after(secs(10))
        .on_event(move |event| {
            if let Event::Held { connection, unread, .. } = event {
                told.send((*connection, *unread)).unwrap();
            }
        })
        .build()
        .unwrap();
    let long = || agent.get(format!("{MEMORY}/long")).send();
    let mut first = long().await.unwrap();
    let second = long().await.unwrap();
    let id = first.connection().id();
    assert_eq!((agent.stats().total.streams, agent.stats().total.active), (2, 1));
    for _ in 0..2 {
        let (connection, unread) = reports.recv().await.unwrap();
        assert_eq!((connection, unread.as_secs()), (id, 10));
    }
    assert_eq!(agent.stats().total.held, 2);
    // Others go on.
    assert_eq!(get(&agent, format!("{MEMORY}/other")).await.unwrap(), "/other");
    assert_eq!(first.chunk().await.unwrap().unwrap(), "part");
    assert_eq!(agent.stats().total.held, 1);
    drop(second);
    assert_eq!((agent.stats().total.held, agent.stats().total.streams), (0, 1));
    assert!(reports.try_recv().is_err());
    drop(first);
    assert_eq!((agent.stats().total.streams, agent.stats().total.idle), (0, 1));
}
