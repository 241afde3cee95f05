//! Go's `net/http`: many requests at once, and both sides count the same connections.

use std::time::Duration;

use warmwire::Agent;
use warmwire_interop::Peer;

use crate::load;

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_requests_share_ten_connections() {
    let Some(peer) = Peer::go(Duration::from_secs(1)).await else { return };
    let agent = Agent::builder().max_connections(10).build().unwrap();
    let stats = load::run(&agent, &peer).await;
    assert_eq!(stats.requests, load::REQUESTS);
    assert_eq!(stats.max_open, 10);
    let seen = agent.get(peer.url("/connections")).send().await.unwrap().text().await.unwrap();
    assert_eq!(seen, stats.opened.to_string());
    agent.close().await;
}
