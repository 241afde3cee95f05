//! Responses that nobody reads, on the virtual clock.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use warmwire_http::{Agent, AgentBuilder, ErrorKind, Event};
use warmwire_testkit::{Peer, Server, ok};

use crate::support::{MEMORY, get, memory};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// `/long` gets ten bytes of twenty and then one more each second; anything else a short answer.
fn dripping() -> Server {
    Server::memory(|mut peer: Peer| async move {
        while let Some(request) = peer.request().await {
            match request.target.as_str() {
                "/long" => {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n0123456789").await;
                    for _ in 0..190 {
                        sleep(seconds(1)).await;
                        peer.send("x").await;
                    }
                }
                "/silent" => {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n0").await;
                    sleep(seconds(200)).await;
                    peer.send("1").await;
                }
                other => peer.send(ok(other)).await,
            }
        }
    })
}

type Reports = mpsc::UnboundedReceiver<(String, u64, Duration)>;

fn reporting(builder: AgentBuilder, server: &Server) -> (Agent, Reports) {
    let (told, reports) = mpsc::unbounded_channel();
    let agent = builder
        .connector(memory(server))
        .on_event(move |event| {
            if let Event::Held { origin, connection, unread, .. } = event {
                told.send((origin.to_string(), connection.number(), *unread)).unwrap();
            }
        })
        .build()
        .unwrap();
    (agent, reports)
}

#[tokio::test(start_paused = true)]
async fn f038_a_response_that_nobody_reads_is_reported_once() {
    let server = dripping();
    let (agent, mut reports) = reporting(Agent::builder(), &server);
    let response = agent.get(format!("{MEMORY}/long")).send().await.unwrap();
    let number = response.connection().id().number();
    let began = Instant::now();
    let report = reports.recv().await.unwrap();
    assert_eq!((report.0.as_str(), report.1), (MEMORY, number));
    assert!(began.elapsed() >= seconds(30) && began.elapsed() < seconds(35));
    assert!(report.2 >= seconds(30) && report.2 < seconds(35), "{report:?}");
    sleep(seconds(100)).await;
    assert!(reports.try_recv().is_err(), "it is reported once");
    let stats = agent.stats();
    assert_eq!((stats.total.held, stats.origin(MEMORY).unwrap().held), (1, 1));
    assert!(stats.to_string().contains("held unread: 1"), "{stats}");
    drop(response);
    assert_eq!(agent.stats().total.held, 0);
}

#[tokio::test(start_paused = true)]
async fn reading_on_ends_the_count_and_holding_again_is_reported_again() {
    let server = dripping();
    let (agent, mut reports) = reporting(Agent::builder().held_after(seconds(10)), &server);
    let mut response = agent.get(format!("{MEMORY}/long")).send().await.unwrap();
    reports.recv().await.unwrap();
    assert_eq!(agent.stats().total.held, 1);
    response.chunk().await.unwrap();
    // The first piece had come with the head: that it is taken is a sign of life too.
    assert_eq!(agent.stats().total.held, 0);
    reports.recv().await.unwrap();
    assert_eq!(agent.stats().total.held, 1);
    let agent_closed = response.bytes().await;
    assert_eq!(agent_closed.unwrap().len(), 190);
    assert_eq!((agent.stats().total.held, agent.stats().total.idle), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_and_a_slow_server_hold_nothing() {
    let server = dripping();
    let (agent, mut reports) = reporting(Agent::builder().held_after(seconds(10)), &server);
    let mut response = agent.get(format!("{MEMORY}/long")).send().await.unwrap();
    for _ in 0..20 {
        response.chunk().await.unwrap();
        sleep(seconds(4)).await;
    }
    drop(response);
    let waiting = agent.get(format!("{MEMORY}/silent")).send().await.unwrap();
    assert_eq!(waiting.text().await.unwrap(), "01");
    assert!(reports.try_recv().is_err());
    assert_eq!(agent.stats().total.held, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_complete_with_its_head_or_switched_off_is_not_watched() {
    let server = dripping();
    let (agent, mut reports) = reporting(Agent::builder(), &server);
    let whole = agent.get(format!("{MEMORY}/short")).send().await.unwrap();
    sleep(seconds(100)).await;
    drop(whole);
    let (off, mut none) = reporting(Agent::builder().held_after(None), &server);
    let held = off.get(format!("{MEMORY}/long")).send().await.unwrap();
    sleep(seconds(100)).await;
    assert!(reports.try_recv().is_err() && none.try_recv().is_err());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn f038_acquire_timeout_names_the_oldest_use_and_the_unread_response() {
    let server = dripping();
    let agent = Agent::builder()
        .max_connections(2)
        .acquire_timeout(seconds(5))
        .connector(memory(&server))
        .build()
        .unwrap();
    let url = format!("{MEMORY}/long");
    let one = agent.get(&url).send().await.unwrap();
    sleep(seconds(10)).await;
    let two = agent.get(&url).send().await.unwrap();
    let error = get(&agent, &url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    let text = error.to_string();
    for part in [MEMORY, "2 in use, 0 idle", "requests waiting: 1", "longest: 15.0s", "end: 2"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    drop((one, two));
}

/// A hook that asks the same origin for a token while it holds the response that asked for one.
#[tokio::test(start_paused = true)]
async fn f006_a_request_within_a_request_ends_with_an_error_that_says_why() {
    let server = dripping();
    let agent = Agent::builder().max_connections(1).connector(memory(&server)).build().unwrap();
    let with_token = async |agent: &Agent| {
        let challenge = agent.get(format!("{MEMORY}/long")).send().await?;
        let token = get(agent, format!("{MEMORY}/token")).await?;
        drop(challenge);
        Ok::<_, warmwire_http::Error>(token)
    };
    let began = Instant::now();
    let error = timeout(seconds(60), with_token(&agent)).await.expect("no deadlock").unwrap_err();
    assert_eq!(began.elapsed(), seconds(30));
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    let text = error.to_string();
    assert!(text.contains("acquire_timeout (30s)"), "{text}");
    assert!(text.contains("responses not read to their end: 1"), "{text}");
    // Nothing is stuck.
    assert_eq!(get(&agent, format!("{MEMORY}/token")).await.unwrap(), "/token");
}
