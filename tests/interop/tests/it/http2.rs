//! HTTP/2 against Node, Go and nginx: many requests on few connections, and goodbyes under load.

use warmwire::Agent;
use warmwire::http::{AgentBuilder, CloseReason, HttpVersion, OriginStats, Tls};
use warmwire_interop::Peer;

const TASKS: usize = 32;
const ROUNDS: usize = 63;
const REQUESTS: u64 = (TASKS * ROUNDS) as u64;

fn http2() -> AgentBuilder {
    Agent::builder().http_version(HttpVersion::Http2)
}

/// Two thousand requests, 32 at a time, every other one a POST; every answer is checked. `echoes`:
/// whether a POST is answered with its body.
async fn load(agent: &Agent, base: &str, echoes: bool) -> OriginStats {
    let tasks = (0..TASKS).map(|task| {
        let (agent, base) = (agent.clone(), base.to_owned());
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let path = format!("/{task}-{round}");
                if round % 2 == 0 {
                    let response = agent.get(format!("{base}{path}")).send().await.unwrap();
                    assert_eq!(format!("{:?}", response.version()), "HTTP/2.0");
                    assert_eq!(response.text().await.unwrap(), path);
                } else {
                    let body = vec![task as u8; 251 * round];
                    let request = agent.post(format!("{base}/post")).body(body.clone());
                    let answer = request.send().await.unwrap().bytes().await.unwrap();
                    assert!(if echoes { answer == body } else { answer == "/answer" });
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    agent.stats().total
}

#[tokio::test(flavor = "multi_thread")]
async fn f032_node_serves_two_thousand_requests_on_one_connection() {
    let Some(peer) = Peer::node_http2(1_000_000).await else { return };
    let agent = http2().build().unwrap();
    let stats = load(&agent, &peer.url(""), true).await;
    assert_eq!((stats.requests, stats.opened, stats.retries), (REQUESTS, 1, 0), "{stats:#?}");
    let seen = agent.get(peer.url("/connections")).send().await.unwrap().text().await.unwrap();
    assert_eq!(seen, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn f087_node_says_goodbye_under_load_and_no_request_fails() {
    let Some(peer) = Peer::node_http2(100).await else { return };
    let agent = http2().build().unwrap();
    let stats = load(&agent, &peer.url(""), true).await;
    assert_eq!(stats.requests - stats.retries, REQUESTS, "{stats:#?}");
    assert!(stats.closed.get(CloseReason::PeerAsked) >= 10, "{stats:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f032_go_serves_two_thousand_requests_on_one_connection() {
    let Some(peer) = Peer::go_http2().await else { return };
    // What is tested is not whom to trust.
    let tls = Tls::new().danger_accept_any_certificate();
    let agent = Agent::builder().tls(tls).build().unwrap();
    let stats = load(&agent, &peer.https_url(""), true).await;
    assert_eq!((stats.requests, stats.opened, stats.retries), (REQUESTS, 1, 0), "{stats:#?}");
    let seen = agent.get(peer.https_url("/connections")).send().await.unwrap();
    assert_eq!(seen.text().await.unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn f087_nginx_says_goodbye_after_its_keepalive_requests_and_no_request_fails() {
    let Some(peer) = Peer::nginx_closing("60s", 100).await else { return };
    let agent = http2().unix_socket(peer.http2_socket()).build().unwrap();
    let stats = load(&agent, "http://any.test", false).await;
    assert_eq!(stats.requests - stats.retries, REQUESTS, "{stats:#?}");
    assert!(stats.opened >= REQUESTS / 100, "{stats:#?}");
}
