//! Settings per origin and per request, and which of them wins.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use warmwire_http::{
    Agent, AgentBuilder, Connect, ConnectTarget, ErrorKind, Io, OriginPolicy, RequestBuilder,
    Scheduling,
};
use warmwire_testkit::{Gate, Peer, Reply, Server, ok};

use crate::support::{ConnectWith, MEMORY, get, loopback, memory, spawn_get, until};

/// Another origin than [`MEMORY`].
const OTHER: &str = "http://10.0.0.2";

/// Where connecting never ends.
const BLACK_HOLE: &str = "http://10.0.0.66";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Connecting to `server` takes `delay`, and to [`BLACK_HOLE`] it never ends.
fn slow(server: &Server, delay: Duration) -> impl Connect {
    let dialer = server.dialer();
    ConnectWith(move |target: ConnectTarget| {
        let (lost, stream) = (BLACK_HOLE.ends_with(target.host()), dialer.dial());
        async move {
            if lost {
                std::future::pending::<()>().await;
            }
            sleep(delay).await;
            Ok::<_, io::Error>(Box::new(stream) as Box<dyn Io>)
        }
    })
}

fn assert_near(found: Duration, wanted: Duration) {
    // Tokio's timers count whole milliseconds, and a dial of no time may take one.
    assert!(found >= wanted && found <= wanted + ms(3), "{found:?} in place of {wanted:?}");
}

/// A server whose responses are `head` and nothing more.
fn stalling(head: &'static str) -> Server {
    Server::memory(move |mut peer| async move {
        while peer.request().await.is_some() {
            peer.send(head).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn f007_each_request_obeys_its_own_connect_timeout() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().connector(slow(&server, ms(1_000))).build().unwrap();
    let began = Instant::now();
    let failing = async {
        let request = agent.get(BLACK_HOLE).connect_timeout(ms(50));
        let error = request.send().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectTimeout);
        assert!(error.to_string().contains("connect_timeout (50ms)"), "{error}");
        began.elapsed()
    };
    let succeeding = async {
        let response = agent.get(MEMORY).connect_timeout(ms(2_000)).send().await.unwrap();
        (response.connection().id(), began.elapsed())
    };
    let (failed, (id, connected)) = tokio::join!(failing, succeeding);
    assert_near(failed, ms(50));
    assert_near(connected, ms(1_000));

    let again = agent.get(MEMORY).connect_timeout(ms(7)).timeout(ms(500)).send().await.unwrap();
    assert_eq!(again.connection().id(), id, "timers do not tell connections apart");
    let stats = agent.stats();
    let of = |url| stats.origin(url).map_or((0, 0), |of| (of.opened, of.timeouts.connect));
    assert_eq!((of(MEMORY), of(BLACK_HOLE)), ((1, 0), (0, 0)), "what failed is forgotten");
    assert_eq!((stats.total.opened, stats.total.timeouts.connect), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn f007_the_shorter_timer_of_one_does_not_end_the_wait_of_another() {
    for patient_first in [true, false] {
        let server = Server::memory(Peer::echo_targets);
        let agent = Agent::builder().connector(slow(&server, ms(0))).build().unwrap();
        let connect = |timeout| {
            let agent = agent.clone();
            tokio::spawn(async move {
                let began = Instant::now();
                let error = agent.get(BLACK_HOLE).connect_timeout(timeout).send().await;
                assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectTimeout);
                began.elapsed()
            })
        };
        let timeouts = if patient_first { [ms(2_000), ms(50)] } else { [ms(50), ms(2_000)] };
        for (timeout, waited) in timeouts.map(|timeout| (timeout, connect(timeout))) {
            assert_near(waited.await.unwrap(), timeout);
        }
    }
}

/// Sends to [`MEMORY`] with `setting` for the agent, the origin, the request; the time after which
/// each of them has failed as `kind`.
async fn failed_after(
    kind: ErrorKind,
    server: &Server,
    setting: fn(OriginPolicy, Duration) -> OriginPolicy,
    agent_wide: fn(AgentBuilder, Duration) -> AgentBuilder,
    of_request: fn(RequestBuilder, Duration) -> RequestBuilder,
) -> [Duration; 3] {
    let mut found = [Duration::ZERO; 3];
    for (level, found) in found.iter_mut().enumerate() {
        let mut builder = Agent::builder().connector(slow(server, ms(20)));
        if level > 0 {
            builder = builder.for_origin(MEMORY, |origin| setting(origin, ms(200)));
        }
        let builder = agent_wide(builder, ms(100));
        let agent = builder.build().unwrap();
        let mut request = agent.get(MEMORY);
        if level > 1 {
            request = of_request(request, ms(300));
        }
        let began = Instant::now();
        let end = async { request.send().await?.text().await };
        assert_eq!(end.await.unwrap_err().kind(), kind);
        *found = began.elapsed();
    }
    found
}

#[tokio::test(start_paused = true)]
async fn f007_the_requests_timers_go_before_the_origins_and_those_before_the_agents() {
    let silent = stalling("");
    let half = stalling("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    let assert_all = |found: [Duration; 3], more: u64| {
        for (found, wanted) in found.into_iter().zip([100, 200, 300]) {
            assert_near(found, ms(wanted + more));
        }
    };
    let response = failed_after(
        ErrorKind::ResponseTimeout,
        &silent,
        OriginPolicy::response_timeout,
        AgentBuilder::response_timeout,
        RequestBuilder::response_timeout,
    );
    assert_all(response.await, 20);
    let read = failed_after(
        ErrorKind::ReadTimeout,
        &half,
        OriginPolicy::read_timeout,
        AgentBuilder::read_timeout,
        RequestBuilder::read_timeout,
    );
    assert_all(read.await, 20);
    let total = failed_after(
        ErrorKind::Timeout,
        &half,
        OriginPolicy::timeout,
        AgentBuilder::timeout,
        RequestBuilder::timeout,
    );
    assert_all(total.await, 0);
}

#[tokio::test(start_paused = true)]
async fn f007_connect_acquire_and_continue_timers_per_origin() {
    let server = Server::memory(|mut peer| async move {
        while let Some(mut request) = peer.head().await {
            peer.body(&mut request).await;
            peer.send(ok(&request.target)).await;
            std::future::pending::<()>().await;
        }
    });
    let agent = Agent::builder()
        .connector(slow(&server, ms(0)))
        .for_origin(BLACK_HOLE, |origin| origin.connect_timeout(ms(70)))
        .for_origin(MEMORY, |origin| {
            let origin = origin.max_connections(1).acquire_timeout(ms(80));
            origin.expect_continue_timeout(ms(90))
        })
        .build()
        .unwrap();
    let began = Instant::now();
    let error = get(&agent, BLACK_HOLE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectTimeout);
    assert_near(began.elapsed(), ms(70));

    let began = Instant::now();
    let expecting = agent.post(MEMORY).header("expect", "100-continue").body("late");
    let response = expecting.send().await.unwrap();
    assert_near(began.elapsed(), ms(90));
    assert_eq!(response.text().await.unwrap(), "/");

    let _held = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.active == 1).await;
    let began = Instant::now();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    assert_near(began.elapsed(), ms(80));
    assert!(error.to_string().contains("acquire_timeout (80ms)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn f004_one_builder_has_limit_idle_time_life_uses_hint_retry_and_numbers() {
    let server = Server::memory(|mut peer: Peer| async move {
        for hint in ["timeout=60", "timeout=1"] {
            let asked = peer.request().await.is_some();
            // The third connection is lost to its second request.
            if !asked || (peer.number() == 2 && hint == "timeout=1") {
                return;
            }
            peer.send(Reply::new(200).header("Keep-Alive", hint).bytes()).await;
        }
        peer.until_closed().await;
    });
    let agent = Agent::builder()
        .max_connections(2)
        .max_total_connections(3)
        .idle_timeout(ms(4_000))
        .max_idle_timeout(ms(2_000))
        .max_lifetime(ms(60_000))
        .max_requests_per_connection(2)
        .retry_budget(0.2)
        .connector(memory(&server))
        .build()
        .unwrap();
    get(&agent, MEMORY).await.unwrap();
    sleep(ms(1_990)).await;
    let again = agent.post(MEMORY).idempotent(true).send().await.unwrap();
    assert!(again.connection().reused(), "the hint raises the idle time up to the cap");
    let total = agent.stats().total;
    assert_eq!((total.opened, total.reused, total.open), (1, 1, 0), "two uses, then closed");
    get(&agent, MEMORY).await.unwrap();
    sleep(ms(2_010)).await;
    assert_eq!(agent.stats().total.open, 0);
    get(&agent, MEMORY).await.unwrap();
    get(&agent, MEMORY).await.unwrap();
    let total = agent.stats().total;
    assert_eq!((total.opened, total.retries, total.retry_outcomes.succeeded), (4, 1, 1));
}

#[tokio::test]
async fn f118_limits_per_origin_in_total_and_for_one_origin() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .for_origin(OTHER, |origin| origin.max_connections(1).max_waiting(3))
        .max_connections(3)
        .max_total_connections(6)
        .connector(memory(&server))
        .build()
        .unwrap();
    let third = "http://10.0.0.3";
    let mut requests = Vec::new();
    for url in [MEMORY, OTHER, third] {
        for n in 0..4 {
            requests.push(spawn_get(&agent, format!("{url}/{n}")));
        }
    }
    let stats = until(&agent, |total| total.active == 6 && total.waiting == 6).await;
    let of = |url| stats.origin(url).map(|of| (of.active, of.waiting)).unwrap();
    assert_eq!((of(MEMORY), of(OTHER), of(third)), ((3, 1), (1, 3), (2, 2)));
    let error = get(&agent, OTHER).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueueFull);
    gate.open();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    let stats = agent.stats();
    assert_eq!(stats.origin(OTHER).unwrap().max_open, 1);
    assert_eq!(stats.origin(MEMORY).unwrap().max_open, 3);
}

#[tokio::test(start_paused = true)]
async fn f090_a_policy_is_there_again_after_its_origin_was_forgotten() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .for_origin(MEMORY, |origin| {
            let origin = origin.max_connections(2).idle_timeout(ms(100)).max_idle(1);
            origin.scheduling(Scheduling::Fifo).max_lifetime(ms(60_000))
        })
        .connector(memory(&server))
        .build()
        .unwrap();
    let origin = agent.origin(MEMORY).unwrap();
    for round in 1..=3 {
        let waves: Vec<_> = (0..5).map(|_| spawn_get(&agent, MEMORY)).collect();
        let by_handle = tokio::spawn(origin.get("/").send());
        until(&agent, |total| total.active == 2 && total.waiting == 4).await;
        gate.admit(6);
        for request in waves {
            request.await.unwrap().unwrap();
        }
        by_handle.await.unwrap().unwrap();
        let stats = until(&agent, |total| total.idle == 1).await;
        assert_eq!(stats.total.open, 1, "max_idle is the origin's");
        sleep(ms(110)).await;
        assert_eq!(agent.stats().total.open, 0, "idle_timeout is the origin's");
        assert!(agent.stats().origin(MEMORY).is_none(), "nothing is left of the origin");
        assert_eq!(agent.stats().total.opened, 2 * round);
    }
    let other = spawn_get(&agent, OTHER);
    gate.admit(1);
    other.await.unwrap().unwrap();
    sleep(ms(200)).await;
    assert_eq!(agent.stats().total.idle, 1, "other origins have the agent's idle_timeout");
}

#[tokio::test(start_paused = true)]
async fn f007_requests_per_connection_and_life_of_one_origin() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .for_origin(MEMORY, |origin| origin.max_requests_per_connection(2))
        .for_origin(OTHER, |origin| origin.max_lifetime(ms(50)))
        .max_requests_per_connection(4)
        .connector(memory(&server))
        .build()
        .unwrap();
    for _ in 0..8 {
        get(&agent, MEMORY).await.unwrap();
    }
    assert_eq!(agent.stats().total.opened, 4);
    get(&agent, OTHER).await.unwrap();
    sleep(ms(51)).await;
    assert!(agent.stats().origin(OTHER).is_none());
}

#[tokio::test]
async fn f026_a_policy_of_a_unix_socket() {
    let gate = Gate::shut();
    let at = gate.clone();
    let path = format!("@warmwire-policy-{}", std::process::id());
    let server = Server::unix(path.as_ref(), move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .for_origin(format!("unix:{path}"), |origin| origin.max_connections(1))
        .for_origin("http://localhost", |origin| origin.max_connections(7))
        .build()
        .unwrap();
    let send = |n: usize| {
        let agent = agent.clone();
        let request = agent.get(format!("http://any-{n}/")).unix_socket(&path);
        tokio::spawn(async move { request.send().await.unwrap().text().await.unwrap() })
    };
    let requests = [send(1), send(2), send(3)];
    until(&agent, |total| total.active == 1 && total.waiting == 2).await;
    gate.open();
    for request in requests {
        request.await.unwrap();
    }
    assert_eq!(server.counts().peak, 1);
}

#[tokio::test(start_paused = true)]
async fn warming_keeps_the_policy() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder()
        .for_origin(MEMORY, |origin| origin.max_connections(3))
        .for_origin(OTHER, |origin| origin.max_idle(2))
        .connector(memory(&server))
        .build()
        .unwrap();
    assert_eq!(agent.warm(MEMORY, 10).await.unwrap(), 3);
    assert_eq!(agent.warm(OTHER, 10).await.unwrap(), 2);
}

#[tokio::test]
async fn a_second_call_for_an_origin_adds_to_the_first() {
    let gate = Gate::shut();
    let server = Server::memory(move |peer| peer.echo_targets_at(gate.clone()));
    let agent = Agent::builder()
        .for_origin("HTTP://Example.com", |origin| origin.max_connections(1).max_waiting(5))
        .for_origin("http://example.com:80/", |origin| origin.max_waiting(0))
        .resolver(loopback())
        .connector(memory(&server))
        .build()
        .unwrap();
    let _held = spawn_get(&agent, "http://EXAMPLE.com");
    until(&agent, |total| total.active == 1).await;
    let error = get(&agent, "http://example.com").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueueFull);
}

#[test]
fn what_is_wrong_with_a_policy_is_named_at_build() {
    let told = |url: &str, settings: fn(OriginPolicy) -> OriginPolicy| {
        let error = Agent::builder().for_origin(url, settings).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        error.to_string()
    };
    let same = |origin| origin;
    for (url, wanted) in [
        ("https://api.example.com/v1", ["\"https://api.example.com/v1\"", "a path"]),
        ("ftp://files.example.com", ["ftp://files.example.com", "neither http nor https"]),
        ("api.example.com", ["api.example.com", "no scheme"]),
        ("http://a.example:99999", ["for_origin", "port 99999"]),
        ("unix:", ["\"unix:\"", "unix:/path"]),
        ("http://", ["\"http://\"", "not a URL"]),
    ] {
        let error = told(url, same);
        assert!(wanted.iter().all(|part| error.contains(part)), "{error}");
    }
    let error = told("http://user:secret@a.example", same);
    assert!(error.contains("basic_auth") && !error.contains("secret"), "{error}");
    let error = told("https://a.example", |origin| origin.max_connections(0));
    assert!(error.contains("https://a.example") && error.contains("max_connections is 0"));
    let error = told("https://a.example", |origin| origin.max_requests_per_connection(0));
    assert!(error.contains("max_requests_per_connection is 0"), "{error}");
}
