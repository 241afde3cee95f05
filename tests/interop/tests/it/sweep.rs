//! A short sweep of idle gaps across each server's limit; `examples/sweep.rs` is the long one.

use std::time::Duration;

use tokio::sync::Mutex;
use warmwire::Agent;
use warmwire::http::AgentBuilder;
use warmwire_interop::Peer;
use warmwire_interop::sweep::{self, Method};

/// Short, so that a thousand requests fit into seconds.
const LIMIT: Duration = Duration::from_millis(100);

const ROUNDS: u32 = 12;

/// One sweep at a time: they measure half milliseconds.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Keeps connections for longer than the server does, and does not learn: every race is met.
fn reckless() -> AgentBuilder {
    Agent::builder().idle_timeout(60 * LIMIT).learn_idle_limit(false)
}

async fn sweep(peer: &Peer) {
    let _alone = ALONE.lock().await;
    let (get, post) = tokio::join!(
        sweep::run(peer, reckless, Method::Get, LIMIT, ROUNDS),
        sweep::run(peer, reckless, Method::Post, LIMIT, ROUNDS),
    );
    for table in [&get, &post] {
        assert!(table.total().requests >= 41 * u64::from(ROUNDS), "{table}");
        assert!(table.below(Duration::from_millis(5)).reused > 0, "no reuse:\n{table}");
    }
    assert_eq!(get.total().errors, 0, "{get}");
    assert_eq!(post.total().retried, 0, "{post}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f024_node() {
    let Some(peer) = Peer::node(LIMIT, false).await else { return };
    sweep(&peer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f024_nginx() {
    let Some(peer) = Peer::nginx_closing("100ms", 10).await else { return };
    sweep(&peer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f024_go() {
    let Some(peer) = Peer::go(LIMIT).await else { return };
    sweep(&peer).await;
}

/// With what Node says or does, a POST meets no race at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f024_hints_spare_a_post_the_race() {
    let limit = Duration::from_secs(1);
    let Some(peer) = Peer::node(limit, true).await else { return };
    let _alone = ALONE.lock().await;
    let careful = || Agent::builder().idle_timeout(60 * limit);
    let table = sweep::run(&peer, careful, Method::Post, limit, 2).await;
    assert_eq!((table.total().errors, table.total().reused), (0, 0), "{table}");
    let table = sweep::run(&peer, careful, Method::Post, limit * 9 / 10, 2).await;
    assert_eq!(table.total().errors, 0, "{table}");
    assert!(table.below(Duration::from_millis(3)).reused > 0, "no reuse:\n{table}");
}
