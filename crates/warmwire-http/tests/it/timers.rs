//! Idle time, lifetime and what the server says about them, on the virtual clock.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use warmwire_http::{Agent, AgentBuilder, CloseReason, ErrorKind, Scheduling};
use warmwire_testkit::{Gate, Peer, Reply, Server, ok};

use crate::support::{MEMORY, get, memory, spawn_get, until};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When the server has seen its only connection end, after one request at time zero.
async fn closed_after(builder: AgentBuilder, reply: Vec<u8>) -> Duration {
    let server = Server::memory(move |peer| {
        let reply = reply.clone();
        peer.serve(move |_| reply.clone())
    });
    let agent = builder.connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    let answered = Instant::now();
    let gone = tokio::time::timeout(Duration::from_secs(3_600), async {
        while server.counts().open > 0 {
            sleep(ms(1)).await;
        }
        answered.elapsed()
    });
    let gone = gone.await.expect("it is closed within the hour");
    assert_eq!(agent.stats().total.open, 0);
    gone
}

fn assert_near(found: Duration, wanted: Duration) {
    // Tokio's timers count whole milliseconds, and so does the loop above.
    assert!(found >= wanted && found <= wanted + ms(3), "{found:?} in place of {wanted:?}");
}

#[tokio::test(start_paused = true)]
async fn f011_idle_timeout_closes_at_its_time() {
    assert_near(closed_after(Agent::builder(), ok("")).await, ms(4_000));
    let builder = Agent::builder().idle_timeout(ms(300));
    assert_near(closed_after(builder, ok("")).await, ms(300));
    let builder = Agent::builder().idle_timeout(Duration::ZERO);
    assert_near(closed_after(builder, ok("")).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn f008_servers_hint_lowers_and_raises_idle_time() {
    let hinted = |value: &str| Reply::new(200).header("Keep-Alive", value).bytes();
    for (value, wanted) in [
        ("timeout=2", 1_800),
        ("Timeout = 2, max=5", 1_800),
        ("timeout=\"2\"", 1_800),
        ("timeout=60", 59_000),
        ("timeout=0", 0),
        ("timeout=7200", 600_000),
        ("garbage;;=,,=", 4_000),
        ("timeout=-1", 4_000),
    ] {
        let found = closed_after(Agent::builder(), hinted(value)).await;
        assert!(found >= ms(wanted) && found <= ms(wanted + 3), "{value}: {found:?}");
    }
    let capped = Agent::builder().max_idle_timeout(ms(10_000));
    assert_near(closed_after(capped, hinted("timeout=60")).await, ms(10_000));
}

#[tokio::test(start_paused = true)]
async fn f008_a_connection_the_server_is_about_to_close_is_not_used() {
    let server = Server::memory(|peer| {
        peer.serve(|_| Reply::new(200).header("Keep-Alive", "timeout=2, max=100").bytes())
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    sleep(ms(1_700)).await;
    assert!(agent.get(MEMORY).send().await.unwrap().connection().reused());
    sleep(ms(1_950)).await;
    assert!(!agent.get(MEMORY).send().await.unwrap().connection().reused());
}

#[tokio::test(start_paused = true)]
async fn f008_max_of_the_server_is_kept() {
    let server = Server::memory(|peer| {
        let mut left = 3;
        peer.serve(move |_| {
            left -= 1;
            Reply::new(200).header("Keep-Alive", &format!("timeout=5, max={left}")).bytes()
        })
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    for _ in 0..8 {
        get(&agent, MEMORY).await.unwrap();
    }
    // The server would take three; the last is left to those that count differently.
    assert_eq!(server.counts().requests_on(0), 2);
    assert_eq!(agent.stats().total.opened, 4);
}

#[tokio::test(start_paused = true)]
async fn f018_idle_timer_spares_an_active_request() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            sleep(ms(1_000)).await;
            peer.send(ok(&request.target)).await;
        }
    });
    let agent = Agent::builder().idle_timeout(ms(200)).connector(memory(&server)).build().unwrap();
    for n in 0..3 {
        assert_eq!(get(&agent, format!("{MEMORY}/{n}")).await.unwrap(), format!("/{n}"));
        sleep(ms(150)).await;
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test(start_paused = true)]
async fn f010_lifetime_bounds_a_connection_that_is_never_idle() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().max_lifetime(ms(1_000)).connector(memory(&server)).build();
    let agent = agent.unwrap();
    for _ in 0..50 {
        let response = agent.get(MEMORY).send().await.unwrap();
        assert!(response.connection().age() < ms(1_000));
        sleep(ms(100)).await;
    }
    let total = agent.stats().total;
    assert!((5..=6).contains(&total.opened), "{total:?}");
    assert!(total.closed.get(CloseReason::MaxLifetime) >= 4, "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn f010_lifetime_does_not_cut_an_exchange() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            sleep(ms(3_000)).await;
            peer.send(ok(&request.target)).await;
        }
    });
    let agent = Agent::builder().max_lifetime(ms(1_000)).connector(memory(&server)).build();
    let agent = agent.unwrap();
    assert_eq!(get(&agent, format!("{MEMORY}/slow")).await.unwrap(), "/slow");
    let total = agent.stats().total;
    assert_eq!((total.open, total.closed.get(CloseReason::MaxLifetime)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn f010_lifetime_of_an_idle_connection_has_its_jitter() {
    for _ in 0..5 {
        let builder = Agent::builder().max_lifetime(ms(1_000)).idle_timeout(ms(60_000));
        let gone = closed_after(builder, ok("")).await;
        assert!(gone >= ms(900) && gone <= ms(1_003), "{gone:?}");
    }
}

/// A spike of ten at once, then one request each 100 ms for two seconds with an idle time of one.
async fn open_after_spike(scheduling: Scheduling) -> usize {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .idle_timeout(ms(1_050))
        .scheduling(scheduling)
        .connector(memory(&server))
        .build()
        .unwrap();
    let spike: Vec<_> = (0..10).map(|_| spawn_get(&agent, MEMORY)).collect();
    until(&agent, |total| total.active == 10).await;
    gate.open();
    for request in spike {
        request.await.unwrap().unwrap();
    }
    for _ in 0..20 {
        sleep(ms(100)).await;
        get(&agent, MEMORY).await.unwrap();
    }
    agent.stats().total.open
}

#[tokio::test(start_paused = true)]
async fn f029_lifo_lets_a_spikes_surplus_go_and_fifo_keeps_it() {
    assert_eq!(open_after_spike(Scheduling::Lifo).await, 1);
    assert_eq!(open_after_spike(Scheduling::Fifo).await, 10);
}

async fn idle_connection_is_closed_without_a_call() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().idle_timeout(ms(50)).build().unwrap();
    get(&agent, server.url("/")).await.unwrap();
    server.until(|counts| counts.accepted == 1 && counts.open == 0).await;
    let total = agent.stats().total;
    assert_eq!((total.idle, total.closed.get(CloseReason::IdleTimeout)), (0, 1));
}

#[tokio::test]
async fn f033_idle_timeout_needs_no_further_call_on_one_thread() {
    idle_connection_is_closed_without_a_call().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f033_idle_timeout_needs_no_further_call_on_many_threads() {
    idle_connection_is_closed_without_a_call().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_request_says_of_itself_holds_through_layers() {
    use tower::{Service as _, ServiceExt as _};

    let server = Server::memory(async |mut peer| while peer.request().await.is_some() {});
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let request = agent.origin(MEMORY).unwrap().get("/x?y=1").timeout(Duration::from_secs(7));
    let request = request.header("x-of", "mine").into_request().unwrap();
    assert_eq!(request.uri().to_string(), format!("{MEMORY}/x?y=1"));
    assert_eq!(request.headers()["x-of"], "mine");
    let began = Instant::now();
    let mut service = agent.clone().map_request(|request| request);
    let error = service.call(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(began.elapsed().as_secs(), 7);
    let refused = agent.get("no URL").into_request().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidRequest);
}
