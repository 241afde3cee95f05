//! What the agent learns of servers that close idle connections and do not say when, on the virtual
//! clock.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use warmwire_http::{Agent, AgentBuilder, CloseReason};
use warmwire_testkit::{Peer, Reply, Server, ok};

use crate::support::{MEMORY, get, memory, spawn_get, until};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A server that closes a connection which was idle for `limit`.
fn closing_after(limit: Duration, reply: Vec<u8>) -> Server {
    Server::memory(move |mut peer: Peer| {
        let reply = reply.clone();
        async move {
            while let Ok(Some(_)) = timeout(limit, peer.request()).await {
                peer.send(&reply).await;
            }
        }
    })
}

fn patient() -> AgentBuilder {
    Agent::builder().idle_timeout(seconds(600))
}

fn learned(agent: &Agent) -> Option<Duration> {
    agent.stats().origin(MEMORY).expect("it has a connection").learned_idle_limit
}

fn closed_by_server(agent: &Agent) -> u64 {
    let closed = agent.stats().total.closed;
    closed.get(CloseReason::ClosedByPeer) + closed.get(CloseReason::Reset)
}

#[tokio::test(start_paused = true)]
async fn f003_after_two_closes_the_server_closes_none_any_more() {
    for (limit, wanted) in [(5, 4_500), (20, 19_000), (400, 399_000)] {
        let server = closing_after(seconds(limit), ok(""));
        let agent = patient().connector(memory(&server)).build().unwrap();
        for _ in 0..10 {
            get(&agent, MEMORY).await.unwrap();
            sleep(seconds(limit + 1)).await;
        }
        assert_eq!(closed_by_server(&agent), 2, "limit {limit}");
        assert_eq!(agent.stats().total.closed.get(CloseReason::IdleTimeout), 8, "limit {limit}");
        get(&agent, MEMORY).await.unwrap();
        assert_eq!(learned(&agent), Some(Duration::from_millis(wanted)), "limit {limit}");
        assert!(agent.stats().to_string().contains("kept for"), "{}", agent.stats());
        let json = serde_json::to_value(agent.stats()).unwrap();
        assert!(json["origins"][MEMORY]["learned_idle_limit"].is_object(), "{json}");
        // What is short enough is still used again.
        sleep(seconds(limit) * 4 / 5).await;
        assert!(agent.get(MEMORY).send().await.unwrap().connection().reused(), "limit {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn f003_what_was_learned_goes_before_a_hint_that_is_too_high() {
    let hint = Reply::new(200).header("Keep-Alive", "timeout=60").bytes();
    let server = closing_after(seconds(5), hint);
    let agent = patient().connector(memory(&server)).build().unwrap();
    for _ in 0..6 {
        get(&agent, MEMORY).await.unwrap();
        sleep(seconds(70)).await;
    }
    assert_eq!(closed_by_server(&agent), 2);
}

#[tokio::test(start_paused = true)]
async fn f003_a_lower_hint_or_setting_stays() {
    let hint = Reply::new(200).header("Keep-Alive", "timeout=2").bytes();
    let server = closing_after(seconds(20), hint);
    let agent = patient().connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    let answered = Instant::now();
    until_closed(&agent).await;
    assert!(answered.elapsed() < seconds(2), "{:?}", answered.elapsed());
    assert_eq!(closed_by_server(&agent), 0);
}

async fn until_closed(agent: &Agent) {
    while agent.stats().total.open > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Ten connections that have been idle for one second to ten, all closed at one moment, twice.
#[tokio::test(start_paused = true)]
async fn f003_restarts_teach_nothing() {
    let (restart, _) = tokio::sync::watch::channel(());
    let restarts = restart.clone();
    let server = Server::memory(move |mut peer: Peer| {
        let mut restarted = restarts.subscribe();
        async move {
            loop {
                let request = tokio::select! {
                    request = peer.request() => request,
                    _ = restarted.changed() => return,
                };
                let Some(request) = request else { return };
                let wait = request.target.trim_start_matches('/').parse().unwrap_or(0);
                sleep(seconds(wait)).await;
                peer.send(ok("")).await;
            }
        }
    });
    let agent = patient().connector(memory(&server)).build().unwrap();
    for _ in 0..4 {
        let all: Vec<_> = (1..=10).map(|n| spawn_get(&agent, format!("{MEMORY}/{n}"))).collect();
        for one in all {
            one.await.unwrap().unwrap();
        }
        sleep(seconds(1)).await;
        restart.send(()).unwrap();
        until(&agent, |total| total.open == 0).await;
    }
    assert_eq!(closed_by_server(&agent), 40);
    get(&agent, MEMORY).await.unwrap();
    assert_eq!(learned(&agent), None);
}

#[tokio::test(start_paused = true)]
async fn f003_what_was_learned_is_tried_again_after_ten_minutes() {
    let server = closing_after(seconds(5), ok(""));
    let agent = patient().connector(memory(&server)).build().unwrap();
    let round = async || {
        get(&agent, MEMORY).await.unwrap();
        sleep(seconds(6)).await;
    };
    round().await;
    round().await;
    let began = Instant::now();
    while closed_by_server(&agent) == 2 {
        round().await;
    }
    assert!(began.elapsed() > seconds(590) && began.elapsed() < seconds(615));
    // One close brings it back, for twice as long.
    let began = Instant::now();
    while closed_by_server(&agent) == 3 {
        round().await;
    }
    assert!(began.elapsed() > seconds(1_190) && began.elapsed() < seconds(1_215));
}

#[tokio::test(start_paused = true)]
async fn f003_learning_can_be_switched_off() {
    let server = closing_after(seconds(5), ok(""));
    let agent = patient().learn_idle_limit(false).connector(memory(&server)).build().unwrap();
    for _ in 0..5 {
        get(&agent, MEMORY).await.unwrap();
        sleep(seconds(6)).await;
    }
    assert_eq!(closed_by_server(&agent), 5);
}

/// As tinyproxy does it: closes after each response, and does not say so. Sooner or later such a close
/// crosses a request.
#[tokio::test(start_paused = true)]
async fn f003_a_server_that_keeps_no_connection_is_raced_three_times() {
    let server = Server::memory(|mut peer: Peer| async move {
        let Some(request) = peer.request().await else { return };
        match request.target.as_str() {
            "/slow" => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await,
            _ => peer.send(ok("")).await,
        }
        sleep(Duration::from_micros(1)).await;
    });
    let agent = patient().connector(memory(&server)).build().unwrap();
    for _ in 0..20 {
        agent.post(MEMORY).body("x").send().await.unwrap().bytes().await.unwrap();
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(closed_by_server(&agent), 3);
    assert_eq!(agent.stats().total.closed.get(CloseReason::PeerAsked), 17);
    let held = agent.get(format!("{MEMORY}/slow")).send().await.unwrap();
    assert_eq!(learned(&agent), Some(Duration::ZERO));
    assert!(agent.stats().to_string().contains("after each response"), "{}", agent.stats());
    drop(held);
    // One that is reused well is kept from then on.
    let server = closing_after(seconds(5), ok(""));
    let agent = patient().connector(memory(&server)).build().unwrap();
    for _ in 0..20 {
        get(&agent, MEMORY).await.unwrap();
    }
    assert_eq!(agent.stats().total.opened, 1);
}

/// Also a race that was lost teaches: the server closes when the next request comes.
#[tokio::test(start_paused = true)]
async fn f003_lost_races_teach() {
    let server = Server::memory(|mut peer: Peer| async move {
        let mut last = Instant::now();
        while let Some(request) = peer.request().await {
            if last.elapsed() >= seconds(5) {
                return;
            }
            peer.send(ok(&request.target)).await;
            last = Instant::now();
        }
    });
    let agent = patient().connector(memory(&server)).build().unwrap();
    for n in 0..10 {
        assert_eq!(get(&agent, format!("{MEMORY}/{n}")).await.unwrap(), format!("/{n}"));
        sleep(seconds(5)).await;
    }
    let total = agent.stats().total;
    assert_eq!((total.retries, total.retry_outcomes.succeeded), (2, 2));
}
