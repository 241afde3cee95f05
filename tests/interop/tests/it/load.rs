//! The same load for every server.

use warmwire::Agent;
use warmwire::http::OriginStats;
use warmwire_interop::Peer;

const TASKS: usize = 20;
const ROUNDS: usize = 50;

/// Requests that [`send`] sends.
pub(crate) const REQUESTS: u64 = 2 * (TASKS * ROUNDS) as u64;

/// A thousand GETs and a thousand POSTs by 20 tasks, every answer checked.
pub(crate) async fn send(agent: &Agent, peer: &Peer) {
    let tasks = (0..TASKS).map(|task| {
        let agent = agent.clone();
        let (get, post) = (peer.url(&format!("/{task}")), peer.url("/post"));
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let response = agent.get(&get).send().await.unwrap();
                assert_eq!(response.text().await.unwrap(), format!("/{task}"));
                let body = vec![task as u8; 37 * round];
                let response = agent.post(&post).body(body.clone()).send().await.unwrap();
                assert!(response.status().is_success());
                let echo = response.bytes().await.unwrap();
                assert!(echo == body, "{} bytes came back of {}", echo.len(), body.len());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// The same, and what the agent then says of a server whose connections are kept.
pub(crate) async fn run(agent: &Agent, peer: &Peer) -> OriginStats {
    send(agent, peer).await;
    *agent.stats().origin(peer.url("/")).unwrap()
}
