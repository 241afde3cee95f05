//! Warming, evicting, closing, and runtimes that come and go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use warmwire_http::{Agent, CloseReason, ErrorKind, Io};
use warmwire_testkit::{Certificates, Gate, Peer, Server, guarded};

use crate::support::{
    ConnectWith, Gauge, MEMORY, counted, get, loopback, poll_times, spawn_get, until,
};

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn f091_warm_opens_exactly_what_is_missing_handshake_included() {
    let certificates = Certificates::new();
    let server = Server::tls(certificates.server(), Peer::echo_targets).await;
    let tls = warmwire_http::Tls::new().roots_pem(certificates.root_pem());
    let agent = Agent::builder().idle_timeout(LONG).tls(tls).resolver(loopback()).build().unwrap();
    let url = format!("https://localhost:{}/", server.address().port());
    assert_eq!(agent.warm(&url, 10).await.unwrap(), 10);
    assert_eq!(server.until(|counts| counts.handshakes == 10).await.accepted, 10);
    let total = agent.stats().total;
    assert_eq!((total.opened, total.idle, total.requests), (10, 10, 0));
    assert_eq!(agent.warm(&url, 10).await.unwrap(), 0, "they are there already");
    let response = agent.get(&url).send().await.unwrap();
    assert!(response.connection().reused(), "the request was spared the handshake");
    assert_eq!(response.timings().tls, Duration::ZERO);
    response.text().await.unwrap();
    agent.close_idle();
    assert_eq!(agent.warm(&url, 3).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn f091_warming_and_requests_share_the_limit() {
    let server = Server::memory(Peer::echo_targets);
    let gauge = Arc::new(Gauge::default());
    let connector =
        counted(server.dialer(), gauge.clone(), || tokio::time::sleep(Duration::from_millis(5)));
    let agent = Agent::builder().max_connections(4).connector(connector).build().unwrap();
    let warming = agent.clone();
    let warming = tokio::spawn(async move { warming.warm(MEMORY, 10).await });
    let requests: Vec<_> = (0..20).map(|n| spawn_get(&agent, format!("{MEMORY}/{n}"))).collect();
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap().unwrap(), format!("/{n}"));
    }
    assert!(warming.await.unwrap().unwrap() <= 4);
    assert_eq!((gauge.peak(), agent.stats().total.opened), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn f091_warming_says_why_it_failed() {
    let refusing = ConnectWith(|_| async {
        Err::<Box<dyn Io>, _>(std::io::ErrorKind::ConnectionRefused.into())
    });
    let agent = Agent::builder().connector(refusing).build().unwrap();
    let error = agent.warm(MEMORY, 3).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(error.origin().unwrap().as_str(), MEMORY);
    let total = agent.stats().total;
    assert_eq!((total.connecting, total.open), (0, 0));
}

#[tokio::test]
async fn f111_close_waits_for_what_is_in_flight_and_refuses_what_is_new() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(2).idle_timeout(LONG).build().unwrap();
    gate.admit(1);
    agent.warm(server.url("/"), 1).await.unwrap();
    let running = spawn_get(&agent, server.url("/running"));
    until(&agent, |total| total.idle == 1 || total.requests == 1).await;
    running.await.unwrap().unwrap();
    // One idle, one in flight, none waiting.
    let in_flight = spawn_get(&agent, server.url("/in-flight"));
    agent.warm(server.url("/"), 2).await.unwrap();
    server.until(|counts| counts.requests.len() == 2).await;
    let closing = agent.clone();
    let mut close = Box::pin(async move { closing.close().await });
    assert!(poll_times(close.as_mut(), 1).await.is_none(), "a request is in flight");
    server.until(|counts| counts.open == 1).await;
    let refused = get(&agent, server.url("/new")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    gate.open();
    assert_eq!(in_flight.await.unwrap().unwrap(), "/in-flight");
    guarded("close", close).await;
    server.until(|counts| counts.open == 0).await;
    assert_eq!(agent.stats().total.closed.get(CloseReason::Shutdown), 2);
    guarded("a second close", agent.close()).await;
}

#[tokio::test]
async fn f111_close_ends_waiting_requests_and_dials() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let in_flight = spawn_get(&agent, server.url("/in-flight"));
    until(&agent, |total| total.active == 1).await;
    let waiting = spawn_get(&agent, server.url("/waiting"));
    until(&agent, |total| total.waiting == 1).await;
    let mut close = Box::pin(agent.close());
    assert!(poll_times(close.as_mut(), 1).await.is_none());
    let refused = guarded("the waiting request", waiting).await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    gate.open();
    in_flight.await.unwrap().unwrap();
    guarded("close", close).await;

    let never = ConnectWith(|_| std::future::pending::<std::io::Result<Box<dyn Io>>>());
    let agent = Agent::builder().connector(never).build().unwrap();
    let dialling = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.connecting == 1).await;
    guarded("close", agent.close()).await;
    let refused = guarded("the dialling request", dialling).await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    assert_eq!(agent.stats().total.connecting, 0);
}

#[tokio::test]
async fn f112_dropping_the_last_handle_closes_at_once() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
    let other = agent.clone();
    agent.warm(server.url("/"), 3).await.unwrap();
    drop(agent);
    assert_eq!(get(&other, server.url("/")).await.unwrap(), "/");
    assert_eq!(server.counts().open, 3, "there is another handle");
    drop(other);
    server.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn f112_a_request_in_flight_outlives_the_last_handle() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
    let in_flight = tokio::spawn(agent.get(server.url("/x")).send());
    server.until(|counts| counts.requests.len() == 1).await;
    drop(agent);
    gate.open();
    let response = in_flight.await.unwrap().unwrap();
    assert_eq!(response.text().await.unwrap(), "/x");
    server.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn f034_close_idle_spares_what_is_in_use() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
    let busy = spawn_get(&agent, server.url("/busy"));
    server.until(|counts| counts.requests.len() == 1).await;
    agent.warm(server.url("/"), 4).await.unwrap();
    assert_eq!(agent.close_idle(), 3);
    assert_eq!(agent.close_idle(), 0);
    server.until(|counts| counts.accepted == 4 && counts.open == 1).await;
    gate.open();
    assert_eq!(busy.await.unwrap().unwrap(), "/busy");
    assert_eq!(get(&agent, server.url("/next")).await.unwrap(), "/next");
    let total = agent.stats().total;
    assert_eq!((total.closed.get(CloseReason::CloseIdle), total.idle), (3, 1));
}

#[tokio::test]
async fn f009_f034_evict_closes_idle_ones_at_once_and_busy_ones_after_their_response() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let other = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
    get(&agent, other.url("/")).await.unwrap();
    let busy = spawn_get(&agent, server.url("/busy"));
    server.until(|counts| counts.requests.len() == 1).await;
    agent.warm(server.url("/"), 2).await.unwrap();
    let mut seen = Vec::new();
    let evicted = agent.evict(|candidate| {
        seen.push((candidate.idle.is_some(), candidate.requests));
        candidate.remote == Some(server.address())
    });
    seen.sort_unstable();
    assert_eq!((evicted, seen), (2, vec![(false, 1), (true, 0), (true, 1)]));
    server.until(|counts| counts.open == 1).await;
    gate.open();
    assert_eq!(busy.await.unwrap().unwrap(), "/busy");
    server.until(|counts| counts.open == 0).await;
    let total = agent.stats().total;
    assert_eq!((total.closed.get(CloseReason::Evicted), total.idle), (2, 1));
    assert_eq!(get(&agent, server.url("/next")).await.unwrap(), "/next");
}

static SHARED: LazyLock<Agent> =
    LazyLock::new(|| Agent::builder().max_connections(3).idle_timeout(LONG).build().unwrap());

#[test]
fn f019_one_agent_serves_runtimes_in_turn_and_at_once() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let url = server.url("");
    let some_requests = |runtime: &Runtime, count: usize| {
        runtime.block_on(async {
            let requests: Vec<_> =
                (0..count).map(|n| spawn_get(&SHARED, format!("{url}/{n}"))).collect();
            for (n, request) in requests.into_iter().enumerate() {
                let text = guarded("a request on a shared agent", request).await.unwrap();
                assert_eq!(text.unwrap(), format!("/{n}"));
            }
        });
    };
    for round in 0..20 {
        let runtime = if round % 2 == 0 { one_thread() } else { many_threads() };
        some_requests(&runtime, 10);
    }
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let some_requests = &some_requests;
            scope.spawn(move || {
                for _ in 0..10 {
                    let runtime = if thread == 0 { one_thread() } else { many_threads() };
                    some_requests(&runtime, 10);
                }
            });
        }
    });
    let total = SHARED.stats().total;
    assert_eq!((total.active, total.waiting, total.connecting), (0, 0, 0), "{total:#?}");
    assert!(total.max_open <= 3, "the limit holds over all runtimes: {total:#?}");
    SHARED.close_idle();
}

#[test]
fn f019_idle_connections_outlive_the_runtime_that_opened_them() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
    for _ in 0..5 {
        let runtime = one_thread();
        assert_eq!(runtime.block_on(get(&agent, server.url("/x"))).unwrap(), "/x");
    }
    assert_eq!(server.counts().accepted, 1, "one connection went from runtime to runtime");
}

#[test]
fn f019_a_runtime_that_is_shut_down_mid_request_harms_nobody_else() {
    let peers = many_threads();
    let gate = Gate::shut();
    let at = gate.clone();
    let server = peers.block_on(Server::tcp(move |peer| peer.echo_targets_at(at.clone())));
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let doomed = many_threads();
    let (survivor, url) = (one_thread(), server.url("/x"));
    doomed.spawn(agent.get(&url).send());
    peers.block_on(server.until(|counts| counts.requests.len() == 1));
    survivor.block_on(async {
        let waiting = spawn_get(&agent, &url);
        until(&agent, |total| total.waiting == 1).await;
        doomed.shutdown_background();
        server.until(|counts| counts.requests.len() == 2).await;
        gate.open();
        assert_eq!(guarded("the request that waited", waiting).await.unwrap().unwrap(), "/x");
    });
    let total = agent.stats().total;
    assert_eq!((total.active, total.waiting, total.connecting), (0, 0, 0));
}

#[test]
fn f019_a_dial_that_dies_with_its_runtime_is_made_again_by_who_waits() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let (address, dials) = (server.address(), Arc::new(AtomicUsize::new(0)));
    let dialled = dials.clone();
    let connector = ConnectWith(move |_| {
        let number = dialled.fetch_add(1, Ordering::SeqCst);
        async move {
            if number == 0 {
                std::future::pending::<()>().await;
            }
            let stream = tokio::net::TcpStream::connect(address).await?;
            Ok(Box::new(stream) as Box<dyn Io>)
        }
    });
    let agent = Agent::builder().max_connections(1).connector(connector).build().unwrap();
    let (doomed, survivor) = (many_threads(), one_thread());
    doomed.spawn(agent.get(format!("{MEMORY}/doomed")).send());
    survivor.block_on(async {
        until(&agent, |_| dials.load(Ordering::SeqCst) == 1).await;
        let waiting = spawn_get(&agent, format!("{MEMORY}/x"));
        until(&agent, |total| total.waiting == 1).await;
        doomed.shutdown_background();
        let text = guarded("the request that waited for the dial", waiting).await.unwrap();
        assert_eq!(text.unwrap(), "/x");
    });
}

#[test]
fn f112_nothing_runs_while_nothing_is_open() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().idle_timeout(Duration::from_millis(20)).build().unwrap();
    let runtime = one_thread();
    let alive = || runtime.metrics().num_alive_tasks();
    let settled = async |what: &str| {
        let none = async {
            while alive() > 0 {
                tokio::task::yield_now().await;
            }
        };
        guarded(what, none).await;
    };
    runtime.block_on(async {
        get(&agent, server.url("/")).await.unwrap();
        assert_eq!(alive(), 1, "an idle connection is watched by one task");
        settled("the tasks to end after the idle timeout").await;
        assert_eq!(agent.stats().total.open, 0);

        get(&agent, server.url("/")).await.unwrap();
        assert_eq!(agent.close_idle(), 1);
        settled("the tasks to end after close_idle").await;

        drop(agent.get(server.url("/")).send().await.unwrap());
        agent.close().await;
        settled("the tasks to end after close").await;
    });
}

#[test]
fn f112_dropping_the_agent_ends_its_task() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let runtime = one_thread();
    runtime.block_on(async {
        let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
        get(&agent, server.url("/")).await.unwrap();
        drop(agent);
        let none = async {
            while runtime.metrics().num_alive_tasks() > 0 {
                tokio::task::yield_now().await;
            }
        };
        guarded("the reaper to end", none).await;
    });
    peers.block_on(server.until(|counts| counts.open == 0));
}

#[tokio::test]
async fn f111_a_closed_agent_does_not_warm() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::new();
    agent.close().await;
    let error = agent.warm(server.url("/"), 2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn f091_no_more_are_warmed_than_may_be_idle() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().max_idle(1).build().unwrap();
    assert_eq!(agent.warm(server.url("/"), 3).await.unwrap(), 1);
    assert_eq!(agent.stats().total.idle, 1);
}
