//! When connections are opened: after failures, ahead of requests, or rather not yet; and that the
//! limits hold exactly, whatever they are paired with.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};
use warmwire_http::{Agent, AgentBuilder, CloseReason, Connect, Error, ErrorKind, Io};
use warmwire_testkit::{Gate, Peer, Random, Server, ok};

use crate::support::{
    ConnectWith, Gauge, MEMORY, check, counted, get, memory, poll_times, spawn_get, until,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When connections were dialled.
type Dials = Arc<Mutex<Vec<Instant>>>;

/// Connects to a server in memory, from `up` on; refuses before. Either takes 5 ms.
fn up_from(server: &Server, up: Instant, dials: &Dials) -> impl Connect + use<> {
    let (dialer, dials) = (server.dialer(), dials.clone());
    ConnectWith(move |_| {
        let now = Instant::now();
        dials.lock().unwrap().push(now);
        let stream = (now >= up).then(|| Box::new(dialer.dial()) as Box<dyn Io>);
        async move {
            sleep(ms(5)).await;
            stream.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))
        }
    })
}

/// How a request ended, when, and how long it took.
type Ending = (Result<String, Error>, Duration);

/// A request each 10 ms until `end`, every other one with a short patience for the queue.
async fn steady_load(agent: &Agent, end: Instant) -> Vec<Ending> {
    let mut requests = Vec::new();
    while Instant::now() < end {
        let request = agent.get(MEMORY);
        let request = match requests.len() % 2 {
            0 => request.acquire_timeout(ms(30)),
            _ => request,
        };
        requests.push(tokio::spawn(async move {
            let began = Instant::now();
            let answer = match request.send().await {
                Ok(response) => response.text().await,
                Err(error) => Err(error),
            };
            (answer, began.elapsed())
        }));
        sleep(ms(10)).await;
    }
    let mut endings = Vec::new();
    for request in requests {
        endings.push(request.await.unwrap());
    }
    endings
}

#[tokio::test(start_paused = true)]
async fn f097_an_origin_that_is_down_is_probed_by_schedule_and_used_again_at_once() {
    let server = Server::memory(Peer::echo_targets);
    let (began, dials) = (Instant::now(), Dials::default());
    let up = began + Duration::from_secs(10);
    let agent = Agent::builder().min_idle(2).connector(up_from(&server, up, &dials));
    let agent = agent.build().unwrap();

    let endings = steady_load(&agent, up).await;
    let (mut by_kind, mut answered) = ([0, 0], 0);
    for (answer, took) in endings {
        let Err(error) = answer else {
            answered += 1;
            continue;
        };
        match error.kind() {
            ErrorKind::ConnectionRefused => {
                by_kind[0] += 1;
                // The longest back-off, then a probe that began later than the request.
                assert!(took <= ms(2_050), "{took:?}");
            }
            ErrorKind::AcquireTimeout => {
                by_kind[1] += 1;
                assert_eq!(took, ms(30));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(by_kind[0] > 450 && by_kind[1] > 300, "{by_kind:?}");
    assert!(answered <= 100, "{answered}: those of the last second, by a probe after it");
    let at: Vec<_> =
        dials.lock().unwrap().iter().filter(|&&at| at < up).map(|&at| at - began).collect();
    // The first request's dial and two ahead, which fail together. Then after 50, 100, 200, 400,
    // 800 ms and a second each, and each between a half and all of it.
    let probes = &at[2..];
    assert!(at[2] < ms(5) && (13..=25).contains(&probes.len()), "{at:?}");
    for (place, pair) in probes.windows(2).enumerate() {
        let longest = ms(50 << place.min(5)).min(ms(1_000));
        let waited = pair[1] - pair[0] - ms(5);
        assert!(waited >= longest / 2 && waited <= longest + ms(1), "{place}: {at:?}");
    }

    assert_eq!(agent.stats().total.waiting, 0);
    let began = Instant::now();
    assert_eq!(get(&agent, format!("{MEMORY}/up")).await.unwrap(), "/up");
    assert!(began.elapsed() <= ms(1_010), "{:?}", began.elapsed());
    sleep(ms(10)).await;
    let total = agent.stats().total;
    assert!(total.connecting == 0 && total.idle >= 2, "those ahead at once, too: {total:?}");
    assert_eq!(total.open_errors as usize, at.len(), "and none since");
}

#[tokio::test(start_paused = true)]
async fn f097_an_isolated_failure_costs_the_next_request_little() {
    let server = Server::memory(Peer::echo_targets);
    let dials = Dials::default();
    let connector = up_from(&server, Instant::now() + ms(1), &dials);
    let agent = Agent::builder().connector(connector).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let began = Instant::now();
    assert_eq!(get(&agent, format!("{MEMORY}/2")).await.unwrap(), "/2");
    assert!(began.elapsed() <= ms(60), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn f097_a_request_whose_patience_ends_says_that_dials_fail() {
    let server = Server::memory(Peer::echo_targets);
    let never = Instant::now() + Duration::from_secs(3600);
    let agent = Agent::builder()
        .acquire_timeout(ms(3))
        .connector(up_from(&server, never, &Dials::default()))
        .build()
        .unwrap();
    get(&agent, MEMORY).await.unwrap_err();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    assert!(error.to_string().contains("the last dial failed, the next one is due in"), "{error}");
    let error = agent.warm(MEMORY, 2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert!(error.to_string().contains("the next one is due in"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn f097_nothing_is_left_of_an_origin_that_was_down_and_is_not_asked_for() {
    let server = Server::memory(Peer::echo_targets);
    let never = Instant::now() + Duration::from_secs(3600);
    let connector = up_from(&server, never, &Dials::default());
    let agent = Agent::builder().connector(connector).build().unwrap();
    for host in 0..100 {
        get(&agent, format!("http://10.0.1.{host}")).await.unwrap_err();
    }
    sleep(ms(60)).await;
    assert!(agent.stats().origins.is_empty());
}

#[tokio::test(start_paused = true)]
async fn f091_connections_are_kept_ready_through_lifetimes_idle_times_and_closes() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .min_idle(2)
        .max_lifetime(Duration::from_secs(10))
        .connector(memory(&server))
        .build()
        .unwrap();
    assert_eq!(agent.stats().total.connecting, 0, "not before the first request");
    get(&agent, MEMORY).await.unwrap();
    until(&agent, |total| total.idle >= 2 && total.connecting == 0).await;
    let first = server.counts().accepted;
    for _ in 0..82 {
        // No divisor of the idle time: what expires at the moment of a request is another matter.
        sleep(ms(730)).await;
        let stats = until(&agent, |total| total.connecting == 0).await;
        check(&stats);
        // A request takes one, and then a third is opened.
        assert!((2..=3).contains(&stats.total.idle), "{stats}");
        let response = agent.get(MEMORY).send().await.unwrap();
        assert!(response.connection().reused(), "it pays for no handshake");
        response.text().await.unwrap();
        until(&agent, |total| total.connecting == 0).await;
    }
    let total = agent.stats().total;
    assert!(total.closed.get(CloseReason::MaxLifetime) >= 5, "{total:?}");
    let opened = server.counts().accepted - first;
    // Two per idle time of four seconds, and one per lifetime.
    assert!(opened <= 60 / 4 * 2 + 8, "{opened} for a minute");
    agent.close().await;
    let closed = server.counts().accepted;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.counts().accepted, closed, "nothing is dialled for a closed agent");
}

#[tokio::test(start_paused = true)]
async fn f091_a_server_that_closes_every_connection_is_not_dialled_in_a_loop() {
    let server = Server::memory(|mut peer| async move {
        if peer.number() == 0 {
            peer.request().await;
            peer.send(ok("first")).await;
        }
    });
    let agent = Agent::builder().min_idle(2).connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let accepted = server.counts().accepted;
    assert!((5..=25).contains(&accepted), "{accepted} in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn f112_an_agent_that_keeps_connections_ready_ends_when_it_is_dropped() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().min_idle(2).connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    until(&agent, |total| total.idle >= 2 && total.connecting == 0).await;
    drop(agent);
    let accepted = server.until(|counts| counts.open == 0).await.accepted;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.counts().accepted, accepted);
}

#[tokio::test(start_paused = true)]
async fn f090_one_origin_may_keep_more_ready_than_others() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .for_origin(MEMORY, |origin| origin.min_idle(3))
        .connector(memory(&server))
        .build()
        .unwrap();
    get(&agent, MEMORY).await.unwrap();
    get(&agent, "http://10.0.0.2").await.unwrap();
    until(&agent, |total| total.idle >= 4 && total.connecting == 0).await;
    sleep(Duration::from_secs(5)).await;
    let stats = until(&agent, |total| total.connecting == 0).await;
    assert_eq!(stats.origin(MEMORY).unwrap().idle, 3, "after all of its connections were closed");
    assert!(stats.origin("http://10.0.0.2").is_none());
}

#[test]
fn f091_min_idle_beyond_another_limit_is_refused_by_both_names() {
    let refused = |builder: AgentBuilder, names: [&str; 2]| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        for name in names {
            assert!(error.to_string().contains(name), "{error}");
        }
    };
    refused(Agent::builder().min_idle(5).max_idle(3), ["min_idle is 5", "max_idle is 3"]);
    refused(
        Agent::builder().max_connections(4).min_idle(5),
        ["min_idle is 5", "max_connections is 4"],
    );
    refused(
        Agent::builder().max_total_connections(1).min_idle(2),
        ["min_idle is 2", "max_total_connections is 1"],
    );
    refused(
        Agent::builder().min_idle(2).for_origin(MEMORY, |origin| origin.max_idle(1)),
        ["for_origin(\"http://10.0.0.1\")", "min_idle is 2 and max_idle is 1"],
    );
    assert!(Agent::builder().min_idle(3).max_idle(3).max_connections(3).build().is_ok());
}

#[tokio::test(start_paused = true)]
async fn f070_min_idle_and_max_idle_bound_what_a_wave_leaves_behind() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder().min_idle(2).max_idle(3).connector(memory(&server));
    let agent = agent.build().unwrap();
    let wave: Vec<_> = (0..10).map(|_| spawn_get(&agent, MEMORY)).collect();
    until(&agent, |total| total.active == 10 && total.idle == 2).await;
    gate.open();
    for request in wave {
        request.await.unwrap().unwrap();
    }
    let total = until(&agent, |total| total.active == 0).await.total;
    assert_eq!((total.idle, total.closed.get(CloseReason::MaxIdle)), (3, 9));
    sleep(Duration::from_secs(5)).await;
    let total = until(&agent, |total| total.connecting == 0).await.total;
    assert_eq!(total.idle, 2, "the surplus is not replaced");
}

#[tokio::test(start_paused = true)]
async fn f029_of_a_spike_lifo_keeps_what_min_idle_asks_for() {
    let server = patient_server();
    let agent = Agent::builder()
        .min_idle(2)
        .idle_timeout(Duration::from_secs(1))
        .connector(memory(&server))
        .build()
        .unwrap();
    let spike: Vec<_> = (0..100).map(|_| spawn_get(&agent, MEMORY)).collect();
    for request in spike {
        request.await.unwrap().unwrap();
    }
    assert!(agent.stats().total.open >= 100);
    for _ in 0..20 {
        sleep(ms(77)).await;
        get(&agent, MEMORY).await.unwrap();
    }
    let total = until(&agent, |total| total.connecting == 0).await.total;
    assert!((2..=3).contains(&total.open), "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn f051_a_request_may_prefer_a_connection_that_is_freed_to_a_dial() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            sleep(ms(20)).await;
            peer.send(ok(&request.target)).await;
        }
    });
    let dials = Dials::default();
    let connector = up_from(&server, Instant::now(), &dials);
    let agent = Agent::builder().prefer_wait(ms(50)).connector(connector).build().unwrap();
    let first = spawn_get(&agent, format!("{MEMORY}/1"));
    sleep(ms(10)).await;
    let began = Instant::now();
    assert_eq!(get(&agent, format!("{MEMORY}/2")).await.unwrap(), "/2");
    assert_eq!(began.elapsed(), ms(15 + 20), "the rest of the first one's time, and its own");
    first.await.unwrap().unwrap();
    assert_eq!(dials.lock().unwrap().len(), 1, "no second dial was begun");
    // With more requests than are answered in that time, the last ones dial.
    let wave: Vec<_> = (0..6).map(|_| spawn_get(&agent, MEMORY)).collect();
    for request in wave {
        request.await.unwrap().unwrap();
    }
    let count = dials.lock().unwrap().len();
    assert!((2..=5).contains(&count), "{count} dials");
}

/// Requests of many tasks at once, each answered or dropped; gives how many were answered.
async fn storm(agent: &Agent, seed: u64, requests: usize, patience: Option<Duration>) -> usize {
    let mut random = Random::new(seed);
    let mut running = Vec::new();
    for n in 0..requests {
        let (agent, begin) = (agent.clone(), ms(random.below(1_000)));
        let patience = patience.map(|most| most.mul_f64(random.below(100) as f64 / 100.0));
        running.push(tokio::spawn(async move {
            sleep(begin).await;
            let target = format!("/{n}");
            let answer = get(&agent, format!("{MEMORY}{target}"));
            let answer = match patience {
                None => answer.await,
                Some(patience) => match timeout(patience, answer).await {
                    Ok(answer) => answer,
                    Err(_) => return false,
                },
            };
            assert_eq!(answer.unwrap(), target);
            true
        }));
    }
    let mut answered = 0;
    for request in running {
        answered += usize::from(request.await.unwrap());
    }
    answered
}

fn patient_server() -> Server {
    Server::memory(|mut peer| async move {
        let mut random = Random::new(peer.number() as u64);
        while let Some(request) = peer.request().await {
            sleep(Duration::from_micros(random.below(4_000))).await;
            peer.send(ok(&request.target)).await;
        }
    })
}

fn counting(server: &Server, gauge: &Arc<Gauge>) -> impl Connect + use<> {
    counted(server.dialer(), gauge.clone(), || sleep(ms(1)))
}

/// On two threads, where another one may dial while a connection is being closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f005_one_connection_for_one_request_at_a_time_is_never_two() {
    let server = Server::memory(Peer::echo_targets);
    let gauge = Arc::new(Gauge::default());
    let agent = Agent::builder()
        .max_connections(1)
        .max_requests_per_connection(1)
        .connector(counted(server.dialer(), gauge.clone(), || async {}))
        .build()
        .unwrap();
    let requests: Vec<_> = (0..500).map(|_| spawn_get(&agent, MEMORY)).collect();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!(gauge.peak(), 1);
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::MaxRequests)), (500, 500));
}

#[tokio::test(start_paused = true)]
async fn f005_limit_and_lifetime() {
    let (server, gauge) = (patient_server(), Arc::new(Gauge::default()));
    let agent = Agent::builder()
        .max_connections(2)
        .max_lifetime(ms(20))
        .connector(counting(&server, &gauge))
        .build()
        .unwrap();
    assert_eq!(storm(&agent, 1, 500, None).await, 500);
    assert_eq!(gauge.peak(), 2);
    assert!(agent.stats().total.closed.get(CloseReason::MaxLifetime) > 40);
}

#[tokio::test(start_paused = true)]
async fn f005_limit_and_cancel_and_requests_per_connection() {
    for seed in 0..5 {
        let (server, gauge) = (patient_server(), Arc::new(Gauge::default()));
        let agent = Agent::builder()
            .max_connections(2)
            .max_requests_per_connection(3)
            .connector(counting(&server, &gauge))
            .build()
            .unwrap();
        let answered = storm(&agent, seed, 400, Some(ms(60))).await;
        assert!(answered > 50, "seed {seed}: {answered}");
        assert_eq!(gauge.peak(), 2, "seed {seed}");
        let total = until(&agent, |total| total.active + total.connecting == 0).await.total;
        assert_eq!(total.waiting, 0, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn f005_total_limit_and_min_idle_of_two_origins() {
    let (server, gauge) = (patient_server(), Arc::new(Gauge::default()));
    let agent = Agent::builder()
        .max_total_connections(3)
        .min_idle(2)
        .connector(counting(&server, &gauge))
        .build()
        .unwrap();
    for n in 0..200 {
        let url = format!("http://10.0.0.{}/{n}", n % 2);
        assert_eq!(get(&agent, url).await.unwrap(), format!("/{n}"));
        sleep(ms(50)).await;
    }
    assert_eq!(gauge.peak(), 3);
    let accepted = server.counts().accepted;
    assert!(accepted < 60, "{accepted} connections: the origins take each other's away");
}

#[tokio::test(start_paused = true)]
async fn f008_lifetime_bounds_what_the_server_promises() {
    let server = Server::memory(|peer| {
        peer.serve(|_| {
            b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 0\r\n\r\n".to_vec()
        })
    });
    let agent = Agent::builder()
        .max_lifetime(Duration::from_secs(10))
        .connector(memory(&server))
        .build()
        .unwrap();
    let began = Instant::now();
    get(&agent, MEMORY).await.unwrap();
    sleep_until(began + ms(8_900)).await;
    assert_eq!(agent.stats().total.idle, 1, "the hint holds longer than the idle timeout");
    sleep_until(began + ms(10_100)).await;
    let total = agent.stats().total;
    assert_eq!((total.idle, total.closed.get(CloseReason::MaxLifetime)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn f044_a_request_dropped_while_its_origin_backs_off_leaves_nothing() {
    let server = Server::memory(Peer::echo_targets);
    let dials = Dials::default();
    let connector = up_from(&server, Instant::now() + Duration::from_secs(1), &dials);
    let agent = Agent::builder().connector(connector).build().unwrap();
    get(&agent, MEMORY).await.unwrap_err();
    let mut waiting = Box::pin(agent.get(MEMORY).send());
    assert!(poll_times(waiting.as_mut(), 1).await.is_none());
    assert_eq!(agent.stats().total.waiting, 1);
    drop(waiting);
    assert_eq!(agent.stats().total.waiting, 0);
    sleep(Duration::from_secs(2)).await;
    assert!(agent.stats().origins.is_empty());
    assert_eq!(dials.lock().unwrap().len(), 1);
}

#[test]
fn f019_a_dial_on_a_runtime_that_is_not_driven_gives_its_place_on() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all();
    let (kept, driven) = (runtime.build().unwrap(), runtime.start_paused(true).build().unwrap());
    let (_server, agent) = driven.block_on(async {
        let server = Server::memory(Peer::echo_targets);
        let (dialer, dials) = (server.dialer(), Mutex::new(0));
        let connector = ConnectWith(move |_| {
            *dials.lock().unwrap() += 1;
            let is_second = *dials.lock().unwrap() == 2;
            let stream = dialer.dial();
            async move {
                if is_second {
                    std::future::pending::<()>().await;
                }
                Ok(Box::new(stream) as Box<dyn Io>)
            }
        });
        let agent = Agent::builder().max_connections(1).connect_timeout(ms(100));
        let agent = agent.connector(connector).build().unwrap();
        // The agent's own task belongs to this runtime.
        get(&agent, "http://10.0.0.2").await.unwrap();
        (server, agent)
    });
    kept.block_on(async {
        spawn_get(&agent, MEMORY);
        until(&agent, |total| total.connecting == 1).await;
    });
    driven.block_on(async {
        let began = Instant::now();
        assert_eq!(get(&agent, format!("{MEMORY}/2")).await.unwrap(), "/2");
        assert!(began.elapsed() < ms(1_200), "{:?}", began.elapsed());
        let total = agent.stats().total;
        assert_eq!((total.open_errors, total.connecting), (0, 0));
    });
    // Driven again, it is at its place, and finds the connection.
    kept.block_on(async { tokio::task::yield_now().await });
    let stats = agent.stats();
    assert_eq!((stats.total.waiting, stats.total.active), (0, 1), "{stats}");
}
