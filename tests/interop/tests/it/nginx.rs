//! nginx, over TCP and its Unix socket: its limit of requests per connection, posts of many tasks,
//! large files.

use warmwire::Agent;
use warmwire::http::CloseReason;
use warmwire_interop::Peer;

#[tokio::test]
async fn a_connection_carries_the_hundred_requests_that_nginx_allows() {
    let Some(peer) = Peer::nginx().await else { return };
    let agent = Agent::new();
    for request in 0..1_000 {
        let response = agent.get(peer.url(&format!("/{request}"))).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), format!("/{request}"));
    }
    let stats = agent.stats().total;
    assert_eq!((stats.requests, stats.opened, stats.retries), (1_000, 10, 0));
    assert_eq!(stats.closed.get(CloseReason::PeerAsked), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_of_many_tasks_never_meet_a_closed_connection() {
    let Some(peer) = Peer::nginx().await else { return };
    let agent = Agent::builder().max_connections(10).build().unwrap();
    let tasks = (0..20).map(|_| {
        let (agent, url) = (agent.clone(), peer.url("/post"));
        tokio::spawn(async move {
            for round in 0..50 {
                let response = agent.post(&url).body(vec![7; 61 * round]).send().await.unwrap();
                assert_eq!(response.text().await.unwrap(), "/answer");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let stats = agent.stats().total;
    assert_eq!((stats.requests, stats.retries), (1_000, 0));
    assert!(stats.max_open <= 10 && stats.opened <= 20, "{stats:?}");
}

#[tokio::test]
async fn f026_the_same_over_its_unix_socket() {
    let Some(peer) = Peer::nginx().await else { return };
    let agent = Agent::builder().unix_socket(peer.unix_socket()).build().unwrap();
    for request in 0..200 {
        let response = agent.get(format!("http://any.test/{request}")).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), format!("/{request}"));
    }
    assert_eq!(agent.stats().total.opened, 2);
}

#[tokio::test]
async fn a_large_file_comes_whole_and_its_connection_is_kept() {
    let Some(peer) = Peer::nginx().await else { return };
    let agent = Agent::new();
    for _ in 0..20 {
        let body = agent.get(peer.url("/large")).send().await.unwrap().bytes().await.unwrap();
        assert!(body.len() == 1 << 20 && body.iter().all(|byte| *byte == b'x'));
    }
    assert_eq!(agent.stats().total.opened, 1);
}
