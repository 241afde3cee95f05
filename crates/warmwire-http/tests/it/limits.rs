//! Limits hold, as the other end counts; the queue is fair; nothing is lost to cancellation.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use warmwire_http::{Agent, CloseReason, ErrorKind, Io};
use warmwire_testkit::{Gate, Peer, Random, Server, guarded, ok};

use crate::support::{
    ConnectWith, Gauge, MEMORY, counted, get, memory, poll_times, spawn_get, until,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f005_limit_holds_as_the_server_counts() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(5).build().unwrap();
    let requests: Vec<_> =
        (0..500).map(|n| spawn_get(&agent, server.url(&format!("/{n}")))).collect();
    let stats = until(&agent, |total| total.waiting == 495 && total.active == 5).await;
    assert_eq!(stats.origin(server.url("/")).unwrap().waiting, 495);
    gate.open();
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap().unwrap(), format!("/{n}"));
    }
    let counts = server.counts();
    assert_eq!((counts.peak, counts.accepted, counts.requests.len()), (5, 5, 500));
    let total = agent.stats().total;
    assert_eq!((total.opened, total.reused, total.queued), (5, 495, 495));
    assert_eq!((total.max_open, total.max_active, total.max_waiting), (5, 5, 495));
}

#[tokio::test]
async fn f040_waiters_are_served_in_order_and_the_queue_is_bounded() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(1).max_waiting(10).build().unwrap();
    let first = spawn_get(&agent, server.url("/0"));
    until(&agent, |total| total.active == 1).await;
    let mut waiting = Vec::new();
    for n in 1..=10 {
        waiting.push(spawn_get(&agent, server.url(&format!("/{n}"))));
        until(&agent, |total| total.waiting == n).await;
    }
    for _ in 0..5 {
        let error = get(&agent, server.url("/too-many")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueueFull);
        assert!(error.to_string().contains("max_waiting = 10"), "{error}");
        assert!(error.to_string().contains("1 in use, 0 idle, 0 being opened"), "{error}");
        assert!(error.to_string().contains("requests waiting: 10"), "{error}");
    }
    gate.open();
    assert_eq!(first.await.unwrap().unwrap(), "/0");
    for request in waiting {
        request.await.unwrap().unwrap();
    }
    let targets: Vec<_> =
        server.counts().requests.into_iter().map(|request| request.target).collect();
    assert_eq!(targets, (0..=10).map(|n| format!("/{n}")).collect::<Vec<_>>());
    assert_eq!(agent.stats().total.refused, 5);
}

#[tokio::test]
async fn f040_no_queue_at_all_refuses_what_cannot_start_at_once() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(1).max_waiting(0).build().unwrap();
    let first = spawn_get(&agent, server.url("/0"));
    until(&agent, |total| total.active == 1).await;
    assert_eq!(get(&agent, server.url("/1")).await.unwrap_err().kind(), ErrorKind::QueueFull);
    gate.open();
    first.await.unwrap().unwrap();
    assert_eq!(get(&agent, server.url("/2")).await.unwrap(), "/2");
}

#[tokio::test]
async fn f023_requests_dropped_while_their_dial_runs_leave_no_trace() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let one = spawn_get(&agent, server.url("/a"));
    let two = spawn_get(&agent, server.url("/b"));
    tokio::task::yield_now().await;
    one.abort();
    two.abort();
    let stats = until(&agent, |total| total.connecting == 0 && total.active == 0).await;
    assert_eq!(stats.total.waiting, 0);
    assert_eq!(get(&agent, server.url("/c")).await.unwrap(), "/c");
    assert_eq!(server.counts().accepted, 1, "the dial went on for the pool");
}

/// The network as the limit tests want it: a slow one, random but the same for each seed.
fn slow_server(seed: u64) -> Server {
    Server::memory(move |mut peer| async move {
        let mut random = Random::new(seed ^ peer.number() as u64);
        while let Some(request) = peer.request().await {
            sleep(Duration::from_micros(random.below(3_000))).await;
            match random.below(10) {
                0 => return,
                1 => return peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort").await,
                _ => peer.send(ok(&request.target)).await,
            }
        }
    })
}

async fn load_with_cancels(seed: u64, tasks: u64, limit: usize) {
    let server = slow_server(seed);
    let gauge = Arc::new(Gauge::default());
    let dials = std::sync::Mutex::new(Random::new(seed));
    let connector = counted(server.dialer(), gauge.clone(), move || {
        let delay = Duration::from_micros(dials.lock().unwrap().below(2_000));
        sleep(delay)
    });
    let agent = Agent::builder()
        .max_connections(limit)
        .idle_timeout(Duration::from_millis(20))
        .connector(connector)
        .build()
        .unwrap();
    let mut random = Random::new(!seed);
    let (mut answered, mut running) = (0, Vec::new());
    for n in 0..tasks {
        let (begin, patience) = (random.below(500_000), random.below(5_000));
        let agent = agent.clone();
        running.push(tokio::spawn(async move {
            sleep(Duration::from_micros(begin)).await;
            let target = format!("/{n}");
            let text = get(&agent, format!("{MEMORY}{target}"));
            match timeout(Duration::from_micros(patience), text).await {
                Ok(Ok(text)) => {
                    assert_eq!(text, target, "seed {seed}");
                    true
                }
                Ok(Err(_)) | Err(_) => false,
            }
        }));
    }
    for task in running {
        answered += u64::from(task.await.unwrap());
    }
    assert!(answered > 0, "seed {seed}: every request was cancelled");
    assert!(gauge.peak() <= limit, "seed {seed}: {} connections at once", gauge.peak());
    sleep(Duration::from_secs(1)).await;
    let total = until(&agent, |total| total.connecting == 0).await.total;
    assert_eq!((total.active, total.waiting, total.open), (0, 0, 0), "seed {seed}");
    assert_eq!(gauge.now(), 0, "seed {seed}: every connection was dropped");
    let more: Vec<_> = (0..50)
        .map(|n| {
            let (agent, url) = (agent.clone(), format!("{MEMORY}/more{n}"));
            tokio::spawn(async move { agent.get(url).send().await.is_ok() })
        })
        .collect();
    let mut good = 0;
    for request in more {
        good += u32::from(request.await.unwrap());
    }
    assert!(good > 25, "seed {seed}: {good} of 50 requests are answered after the load");
}

#[tokio::test(start_paused = true)]
async fn f023_random_cancels_lose_no_room() {
    for seed in 0..10 {
        load_with_cancels(seed, 400, 10).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f059_many_tasks_with_cancels_never_deadlock() {
    load_with_cancels(59, 10_000, 2).await;
}

#[tokio::test]
async fn f042_a_request_dropped_in_the_queue_is_never_sent() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let a = spawn_get(&agent, server.url("/a"));
    until(&agent, |total| total.active == 1).await;
    let mut b = Box::pin(agent.get(server.url("/b")).send());
    assert!(poll_times(b.as_mut(), 1).await.is_none());
    let c = spawn_get(&agent, server.url("/c"));
    until(&agent, |total| total.waiting == 2).await;
    drop(b);
    let total = agent.stats().total;
    assert_eq!((total.waiting, total.cancelled), (1, 1), "at once");
    gate.open();
    assert_eq!(a.await.unwrap().unwrap(), "/a");
    assert_eq!(c.await.unwrap().unwrap(), "/c");
    let counts = server.counts();
    assert_eq!((counts.requests.len(), counts.accepted), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn f044_when_all_dials_fail_every_request_ends() {
    let refusing = ConnectWith(|_| async {
        Err::<Box<dyn Io>, _>(io::Error::from(io::ErrorKind::ConnectionRefused))
    });
    let agent = Agent::builder().max_connections(2).connector(refusing).build().unwrap();
    all_fail_as(&agent, ErrorKind::ConnectionRefused).await;

    let silent = ConnectWith(|_| std::future::pending::<io::Result<Box<dyn Io>>>());
    let agent = Agent::builder()
        .max_connections(2)
        .connect_timeout(Duration::from_secs(1))
        .connector(silent)
        .build()
        .unwrap();
    all_fail_as(&agent, ErrorKind::ConnectTimeout).await;
}

async fn all_fail_as(agent: &Agent, kind: ErrorKind) {
    let requests: Vec<_> = (0..6).map(|_| spawn_get(agent, MEMORY)).collect();
    for request in requests {
        let error = guarded("a request to settle", request).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    let total = agent.stats().total;
    assert_eq!((total.waiting, total.connecting, total.open), (0, 0, 0));
    sleep(Duration::from_secs(1)).await;
    let stats = agent.stats();
    assert!(stats.origins.is_empty(), "an origin with nothing left is forgotten");
}

#[tokio::test(start_paused = true)]
async fn f051_a_freed_connection_serves_before_a_slow_dial() {
    let (answers, dials) = (Gate::shut(), Gate::shut());
    let at = answers.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let (slow, gauge) = (dials.clone(), Arc::new(Gauge::default()));
    let connector = counted(server.dialer(), gauge, move || {
        let slow = slow.clone();
        async move { slow.pass().await }
    });
    let agent = Agent::builder().connector(connector).build().unwrap();
    dials.admit(1);
    let first = spawn_get(&agent, format!("{MEMORY}/1"));
    until(&agent, |total| total.active == 1).await;
    let second = spawn_get(&agent, format!("{MEMORY}/2"));
    until(&agent, |total| total.connecting == 1).await;
    answers.open();
    assert_eq!(first.await.unwrap().unwrap(), "/1");
    assert_eq!(second.await.unwrap().unwrap(), "/2");
    let total = agent.stats().total;
    assert_eq!((total.opened, total.connecting, total.reused), (1, 1, 1));
    dials.open();
    let total = until(&agent, |total| total.connecting == 0).await.total;
    assert_eq!((total.opened, total.idle), (2, 2), "the dial's connection is kept");
}

#[tokio::test(start_paused = true)]
async fn total_limit_closes_the_longest_idle_of_other_origins_first() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .max_total_connections(2)
        .idle_timeout(Duration::from_secs(60))
        .connector(memory(&server))
        .build()
        .unwrap();
    for host in 1..=3 {
        assert_eq!(get(&agent, format!("http://10.0.0.{host}/x")).await.unwrap(), "/x");
        sleep(Duration::from_secs(1)).await;
    }
    let stats = agent.stats();
    assert_eq!((stats.total.open, stats.total.max_open), (2, 2));
    assert_eq!(stats.total.closed.get(CloseReason::MaxTotal), 1);
    assert!(stats.origin("http://10.0.0.1").is_none(), "the longest idle made room: {stats}");
    assert!(server.counts().peak <= 3);
}

#[tokio::test(start_paused = true)]
async fn total_limit_makes_requests_of_another_origin_wait_while_all_is_busy() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent =
        Agent::builder().max_total_connections(1).connector(memory(&server)).build().unwrap();
    let first = spawn_get(&agent, "http://10.0.0.1/1");
    until(&agent, |total| total.active == 1).await;
    let second = spawn_get(&agent, "http://10.0.0.2/2");
    until(&agent, |total| total.waiting == 1).await;
    gate.open();
    assert_eq!(first.await.unwrap().unwrap(), "/1");
    assert_eq!(second.await.unwrap().unwrap(), "/2");
    assert_eq!(agent.stats().total.max_open, 1);
}

async fn wave(agent: &Agent, server: &Server, gate: &Gate, requests: usize) {
    let before = server.counts().requests.len();
    let running: Vec<_> = (0..requests).map(|_| spawn_get(agent, server.url("/"))).collect();
    server.until(|counts| counts.requests.len() == before + requests).await;
    gate.admit(requests);
    for request in running {
        request.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn f070_surplus_idle_connections_close_and_the_kept_ones_are_reused() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = Agent::builder().max_idle(2).build().unwrap();
    wave(&agent, &server, &gate, 10).await;
    let total = until(&agent, |total| total.active == 0).await.total;
    assert_eq!((total.idle, total.closed.get(CloseReason::MaxIdle)), (2, 8));
    server.until(|counts| counts.open == 2).await;
    wave(&agent, &server, &gate, 10).await;
    assert_eq!(agent.stats().total.opened, 18, "a wave opens only what was closed");
}

/// The same waves, with a pause that is shorter than the grace: ten dials for all of them.
#[tokio::test(start_paused = true)]
async fn f070_a_surplus_is_kept_for_the_next_wave_and_closes_after_its_grace() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .connector(memory(&server))
        .max_idle(2)
        .surplus_grace(Duration::from_secs(1))
        .build()
        .unwrap();
    for _ in 0..20 {
        let requests: Vec<_> = (0..10).map(|_| spawn_get(&agent, MEMORY)).collect();
        until(&agent, |total| total.active == 10).await;
        gate.admit(10);
        for request in requests {
            request.await.unwrap().unwrap();
        }
        sleep(Duration::from_millis(100)).await;
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.reused, total.idle), (10, 190, 10));
    sleep(Duration::from_millis(850)).await;
    assert_eq!(agent.stats().total.idle, 10);
    sleep(Duration::from_millis(100)).await;
    let total = agent.stats().total;
    assert_eq!((total.idle, total.closed.get(CloseReason::MaxIdle)), (2, 8));
}

#[tokio::test]
async fn f070_max_idle_of_zero_closes_after_each_response() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().max_idle(0).build().unwrap();
    for n in 0..5 {
        let response = agent.get(server.url("/")).send().await.unwrap();
        assert!(!response.connection().reused());
        response.text().await.unwrap();
        server.until(|counts| counts.accepted == n + 1 && counts.open == 0).await;
    }
    assert_eq!(agent.stats().total.reused, 0);
}

#[tokio::test]
async fn keep_alive_off_says_so_and_opens_a_connection_for_each_request() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().keep_alive(false).build().unwrap();
    for _ in 0..3 {
        get(&agent, server.url("/")).await.unwrap();
    }
    let counts = server.until(|counts| counts.open == 0).await;
    assert_eq!((counts.accepted, counts.requests.len()), (3, 3));
    assert!(counts.requests.iter().all(|request| request.header("connection") == Some("close")));
    assert_eq!(agent.stats().total.closed.get(CloseReason::CallerAsked), 3);
}

#[tokio::test]
async fn a_connection_takes_as_many_requests_as_it_may() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().max_requests_per_connection(3).build().unwrap();
    for _ in 0..9 {
        get(&agent, server.url("/")).await.unwrap();
    }
    let counts = server.until(|counts| counts.open == 0).await;
    let each: Vec<_> = (0..3).map(|connection| counts.requests_on(connection)).collect();
    assert_eq!((counts.accepted, each), (3, vec![3, 3, 3]));
    assert_eq!(agent.stats().total.closed.get(CloseReason::MaxRequests), 3);
}

#[tokio::test(start_paused = true)]
async fn f037_waiting_has_a_timer_of_its_own() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .max_connections(1)
        .acquire_timeout(Duration::from_millis(200))
        .connector(memory(&server))
        .build()
        .unwrap();
    let first = spawn_get(&agent, format!("{MEMORY}/1"));
    until(&agent, |total| total.active == 1).await;
    let began = Instant::now();
    let error = get(&agent, format!("{MEMORY}/2")).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_millis(200));
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    let text = error.to_string();
    assert!(text.contains("acquire_timeout (200ms)"), "{text}");
    assert!(text.contains("1 in use, 0 idle, 0 being opened; requests waiting: 1"), "{text}");
    assert_eq!(agent.stats().total.waiting, 0);
    // One request may have more patience than the agent.
    let patient = agent.get(format!("{MEMORY}/3")).acquire_timeout(Duration::from_secs(9)).send();
    let patient = tokio::spawn(patient);
    sleep(Duration::from_secs(5)).await;
    gate.open();
    assert_eq!(first.await.unwrap().unwrap(), "/1");
    assert_eq!(patient.await.unwrap().unwrap().text().await.unwrap(), "/3");
    assert_eq!(agent.stats().total.timeouts.acquire, 1);
}
