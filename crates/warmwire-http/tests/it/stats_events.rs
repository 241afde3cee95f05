//! Numbers that add up at every moment, and events in the order in which things happen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use warmwire_http::{Agent, CloseReason, Event, Io, OriginStats, Stats};
use warmwire_testkit::{GUARD, Gate, Peer, Random, Server, guarded, ok};

use crate::support::{ConnectWith, MEMORY, check, get, memory, spawn_get, until};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Answers, is slow, cuts, closes and resets, each at random.
fn moody_server(seed: u64) -> Server {
    Server::memory(move |mut peer| async move {
        let mut random = Random::new(seed ^ (peer.number() as u64) << 8);
        while let Some(request) = peer.request().await {
            sleep(ms(random.below(10))).await;
            match random.below(12) {
                0 => return,
                1 => return peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut").await,
                2 => return peer.send("no HTTP").await,
                3 => sleep(ms(100)).await,
                _ => peer.send(ok(&request.target)).await,
            }
        }
    })
}

/// Ten origins, three of which refuse every third dial, under a load of requests that time out,
/// are cancelled, or wait.
async fn run_load(agent: &Agent, seed: u64) {
    let mut random = Random::new(seed);
    let tasks: Vec<_> = (0..600)
        .map(|n| {
            let agent = agent.clone();
            let url = format!("http://10.0.0.{}/{n}", 1 + random.below(10));
            let (begin, patience) = (ms(random.below(500)), ms(1 + random.below(60)));
            tokio::spawn(async move {
                sleep(begin).await;
                let _ = timeout(patience, get(&agent, url)).await;
            })
        })
        .collect();
    let sampling = agent.clone();
    let sampling = tokio::spawn(async move {
        loop {
            check(&sampling.stats());
            sleep(ms(1)).await;
        }
    });
    for task in tasks {
        task.await.unwrap();
    }
    sampling.abort();
    assert!(sampling.await.unwrap_err().is_cancelled(), "seed {seed}: a sample did not add up");
}

fn load_agent(server: &Server) -> warmwire_http::AgentBuilder {
    let (dialer, dials) = (server.dialer(), Mutex::new(0));
    let connector = ConnectWith(move |target: warmwire_http::ConnectTarget| {
        let dialer = dialer.clone();
        let number = {
            let mut dials = dials.lock().unwrap();
            *dials += 1;
            *dials
        };
        async move {
            sleep(ms(2)).await;
            if target.host().ends_with('3') && number % 3 == 0 {
                return Err(std::io::ErrorKind::ConnectionRefused.into());
            }
            Ok(Box::new(dialer.dial()) as Box<dyn Io>)
        }
    });
    Agent::builder()
        .max_connections(4)
        .max_lifetime(ms(120))
        .response_timeout(ms(30))
        .acquire_timeout(ms(20))
        .connector(connector)
}

#[tokio::test(start_paused = true)]
async fn f012_snapshots_add_up_at_every_moment() {
    for seed in 0..5 {
        let server = moody_server(seed);
        let closed = Arc::new(Mutex::new((0u64, HashMap::<CloseReason, u64>::new())));
        let seen = closed.clone();
        let agent = load_agent(&server)
            .idle_timeout(ms(15))
            .on_event(move |event| {
                let mut seen = seen.lock().unwrap();
                match event {
                    Event::Connected { .. } => seen.0 += 1,
                    Event::Closed { reason, .. } => *seen.1.entry(*reason).or_default() += 1,
                    _ => {}
                }
            })
            .build()
            .unwrap();
        run_load(&agent, seed).await;
        sleep(ms(1_000)).await;
        let total = agent.stats().total;
        check(&agent.stats());
        assert_eq!((total.open, total.waiting, total.connecting), (0, 0, 0), "seed {seed}");
        assert_eq!(total.opened, total.closed.total(), "seed {seed}");
        let seen = closed.lock().unwrap();
        assert_eq!(total.opened, seen.0, "seed {seed}: each is reported once");
        assert_eq!(total.closed.iter().collect::<HashMap<_, _>>(), seen.1, "seed {seed}");
        assert!(total.closed.iter().count() >= 5, "seed {seed}: {total:#?}");
        assert!(total.timeouts.response > 0 && total.open_errors > 0, "seed {seed}: {total:#?}");
        assert!(agent.stats().origins.is_empty(), "f117: origins of zeros vanish");
    }
}

#[tokio::test(start_paused = true)]
async fn f012_origins_sum_up_to_the_total() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .max_connections(2)
        .idle_timeout(ms(60_000))
        .connector(memory(&server))
        .build()
        .unwrap();
    run_load(&agent, 12).await;
    let stats = until(&agent, |total| total.active == 0 && total.connecting == 0).await;
    let sum = |of: fn(&OriginStats) -> u64| stats.origins.values().map(of).sum::<u64>();
    let counters: [fn(&OriginStats) -> u64; 8] = [
        |of| of.opened,
        |of| of.open_errors,
        |of| of.closed.total(),
        |of| of.requests,
        |of| of.reused,
        |of| of.retries,
        |of| of.queued,
        |of| of.cancelled,
    ];
    assert_eq!(stats.origins.len(), 10);
    for counter in counters {
        assert_eq!(sum(counter), counter(&stats.total), "{stats:#?}");
    }
    assert!(stats.total.requests > 500);
}

#[tokio::test(start_paused = true)]
async fn f117_counters_of_a_known_load() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .max_connections(5)
        .idle_timeout(ms(100))
        .connector(memory(&server))
        .build()
        .unwrap();
    let requests: Vec<_> = (0..100).map(|n| spawn_get(&agent, format!("{MEMORY}/{n}"))).collect();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    let total = agent.stats().total;
    assert_eq!((total.requests, total.opened, total.open), (100, 5, 5));
    assert_eq!((total.reused, total.handshakes_avoided()), (95, 95));
    assert_eq!(total.reuse_ratio(), 0.95);
    sleep(ms(200)).await;
    let stats = agent.stats();
    assert_eq!((stats.total.open, stats.total.closed.get(CloseReason::IdleTimeout)), (0, 5));
    assert_eq!(stats.total.closed.total(), 5, "each close has one reason");
    assert!(stats.origins.is_empty() && stats.origin(MEMORY).is_none());
}

#[tokio::test(start_paused = true)]
async fn snapshots_can_be_compared_and_shown() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let before = agent.stats();
    assert!(!agent.stats().changed_since(&before));
    get(&agent, MEMORY).await.unwrap();
    let middle = agent.stats();
    assert!(middle.changed_since(&before));
    for _ in 0..3 {
        get(&agent, MEMORY).await.unwrap();
    }
    let stats = agent.stats();
    let recent = stats.since(&middle);
    let of = recent.origin("http://10.0.0.1:80/any/path").unwrap();
    assert_eq!((of.requests, of.reused, of.opened, of.idle), (3, 3, 0, 1));
    assert_eq!((recent.total.requests, recent.total.opened), (3, 0));

    let table = stats.to_string();
    let rows: Vec<_> = table.lines().collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(rows[0].starts_with("origin") && rows[0].contains("reused"), "{table}");
    assert!(rows[1].starts_with(MEMORY) && rows[1].contains("75.0%"), "{table}");
    assert!(rows[2].starts_with("total"), "{table}");

    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["total"]["requests"], 4);
    assert_eq!(json["origins"][MEMORY]["reused"], 3);
    assert_eq!(json["total"]["closed"], serde_json::json!({}));
    assert_eq!(json["total"]["reuse_ratio"], 0.75);
    assert_eq!(json["total"]["handshakes_avoided"], 3);
    assert!(json["total"].get("incarnation").is_none(), "it tells a user nothing");
    agent.close_idle();
    let json = serde_json::to_value(agent.stats()).unwrap();
    assert_eq!(json["total"]["closed"], serde_json::json!({"close_idle": 1}));
}

/// What a callback saw, as words.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, event: &Event) {
        let word = match event {
            Event::Queued { .. } => "queued".to_owned(),
            Event::Connecting { .. } => "connecting".to_owned(),
            Event::Connected { connection, .. } => format!("connected {connection}"),
            Event::ConnectFailed { error, .. } => format!("failed: {error}"),
            Event::Acquired { connection, reused, .. } => {
                format!("acquired {connection} {}", if *reused { "again" } else { "new" })
            }
            Event::Released { connection, .. } => format!("released {connection}"),
            Event::Retried { connection, .. } => format!("retried {connection}"),
            Event::Closed { connection, reason, requests, .. } => {
                format!("closed {connection} {} after {requests}", reason.as_str())
            }
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(word);
    }

    fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn events_come_in_the_order_of_a_connections_life() {
    let server = Server::memory(|mut peer| async move {
        for _ in 0..2 {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
        }
        peer.head().await;
    });
    let log = Log::default();
    let noting = log.clone();
    let agent = Agent::builder()
        .idle_timeout(ms(500))
        .connector(memory(&server))
        .on_event(move |event| noting.note(event))
        .build()
        .unwrap();
    for _ in 0..3 {
        get(&agent, MEMORY).await.unwrap();
    }
    sleep(ms(1_000)).await;
    assert_eq!(
        log.words(),
        [
            "connecting",
            "connected 1",
            "acquired 1 new",
            "released 1",
            "acquired 1 again",
            "released 1",
            "acquired 1 again",
            "closed 1 closed_by_peer after 3",
            "retried 1",
            "connecting",
            "connected 2",
            "acquired 2 new",
            "released 2",
            "closed 2 idle_timeout after 1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn events_of_the_queue_and_of_failed_dials() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let log = Log::default();
    let noting = log.clone();
    let agent = Agent::builder()
        .max_connections(1)
        .connector(memory(&server))
        .on_event(move |event| noting.note(event))
        .build()
        .unwrap();
    let first = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.active == 1).await;
    let second = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.waiting == 1).await;
    gate.open();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let words = log.words();
    let queued = words.iter().position(|word| word == "queued").unwrap();
    assert!(words[queued..].contains(&"acquired 1 again".to_owned()), "{words:?}");

    let log = Log::default();
    let noting = log.clone();
    let refusing =
        ConnectWith(|_| async { Err::<Box<dyn Io>, _>(std::io::Error::other("the cable is cut")) });
    let agent = Agent::builder().connector(refusing).on_event(move |event| noting.note(event));
    get(&agent.build().unwrap(), MEMORY).await.unwrap_err();
    assert_eq!(log.words(), ["connecting", "failed: the cable is cut"]);
}

#[tokio::test]
async fn a_callback_that_panics_harms_nobody() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder()
        .max_connections(2)
        .idle_timeout(ms(30))
        .on_event(|event| panic!("a callback's own fault, at {event:?}"))
        .build()
        .unwrap();
    let requests: Vec<_> =
        (0..10).map(|n| spawn_get(&agent, server.url(&format!("/{n}")))).collect();
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap().unwrap(), format!("/{n}"));
    }
    server.until(|counts| counts.open == 0).await;
    check(&agent.stats());
    assert_eq!(agent.stats().total.open, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_callback_that_is_slow_delays_its_own_task_only() {
    let server = Server::tcp(Peer::echo_targets).await;
    let (go, wait) = mpsc::channel();
    let (wait, slow) = (Mutex::new(wait), format!("localhost:{}", server.address().port()));
    let agent = Agent::builder()
        .on_event(move |event| {
            if let Event::Connecting { origin, .. } = event
                && origin.as_str().ends_with(&slow)
            {
                wait.lock().unwrap().recv_timeout(GUARD).unwrap();
            }
        })
        .build()
        .unwrap();
    let delayed = spawn_get(&agent, format!("http://localhost:{}/slow", server.address().port()));
    until(&agent, |total| total.connecting == 1).await;
    for n in 0..10 {
        let text = guarded("a request beside a slow callback", get(&agent, server.url("/x")));
        assert_eq!(text.await.unwrap(), "/x", "request {n}");
    }
    go.send(()).unwrap();
    assert_eq!(delayed.await.unwrap().unwrap(), "/slow");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f012_snapshots_add_up_on_many_threads() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let requests = 1 + Random::new(peer.number() as u64).below(20);
        for _ in 0..requests {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
        }
    })
    .await;
    let agent = Agent::builder().max_connections(8).max_idle(4).build().unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let (agent, url) = (agent.clone(), server.url("/"));
            tokio::spawn(async move {
                for _ in 0..20 {
                    // A GET may lose its second race, too: only the numbers matter here.
                    let _ = get(&agent, &url).await;
                    check(&agent.stats());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    until(&agent, |total| total.active == 0 && total.connecting == 0 && total.waiting == 0).await;
}

#[test]
fn types_fit_where_users_put_them() {
    fn assert_send<T: Send + 'static>() {}
    fn assert_sync<T: Sync>() {}
    assert_send::<Agent>();
    assert_sync::<Agent>();
    assert_send::<Stats>();
    assert_send::<warmwire_http::Error>();
    assert_sync::<warmwire_http::Error>();
    assert_send::<warmwire_http::Response>();
}

/// The difference of two snapshots counts an origin anew that was forgotten in between.
#[tokio::test]
async fn f117_since_counts_an_origin_that_was_forgotten_and_came_back() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::new();
    get(&agent, server.url("/")).await.unwrap();
    let before = agent.stats();
    agent.close_idle();
    assert_eq!(agent.stats().origin(server.url("/")), None);
    get(&agent, server.url("/")).await.unwrap();
    let since = agent.stats().since(&before);
    assert_eq!(since.origin(server.url("/")).map(|origin| origin.requests), Some(1));
    assert_eq!(since.total.requests, 1);
}
