//! The whole sweep: a thousand GETs and a thousand POSTs for each server, with and without what a
//! server or its closes tell, as tables in Markdown.
//!
//! `cargo run -p warmwire-interop --example sweep`; takes about four minutes.

use std::io::{self, Write as _};
use std::time::Duration;

use warmwire::Agent;
use warmwire::http::AgentBuilder;
use warmwire_interop::Peer;
use warmwire_interop::sweep::{self, Method};

/// What servers announce is in whole seconds.
const LIMIT: Duration = Duration::from_secs(1);

/// Times 41 gaps: 1,025 requests.
const ROUNDS: u32 = 25;

/// Keeps connections for longer than the server does, and does not learn: every race is met.
fn reckless() -> AgentBuilder {
    Agent::builder().idle_timeout(60 * LIMIT).learn_idle_limit(false)
}

/// Believes what the server says, and learns from what it does.
fn careful() -> AgentBuilder {
    Agent::builder().idle_timeout(60 * LIMIT)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    for (name, peer) in [
        ("Node, no Keep-Alive header", Peer::node(LIMIT, false).await),
        ("nginx, no Keep-Alive header", Peer::nginx_closing("1000ms", 10).await),
        ("Go", Peer::go(LIMIT).await),
    ] {
        let Some(peer) = peer else { continue };
        table(name, "limit 1 s, race not avoided", &peer, reckless, LIMIT).await?;
    }
    for (name, peer) in [
        ("Node, Keep-Alive: timeout=1", Peer::node(LIMIT, true).await),
        ("nginx, Keep-Alive: timeout=1", Peer::nginx_closing("1s 1", 10).await),
        ("Go, learned", Peer::go(LIMIT).await),
    ] {
        let Some(peer) = peer else { continue };
        table(name, "limit 1 s, at the server's limit", &peer, careful, LIMIT).await?;
        let own = LIMIT * 9 / 10;
        table(name, "limit 1 s, at the agent's own limit", &peer, careful, own).await?;
    }
    Ok(())
}

async fn table(
    name: &str,
    what: &str,
    peer: &Peer,
    builder: fn() -> AgentBuilder,
    middle: Duration,
) -> io::Result<()> {
    let (get, post) = tokio::join!(
        sweep::run(peer, builder, Method::Get, middle, ROUNDS),
        sweep::run(peer, builder, Method::Post, middle, ROUNDS),
    );
    let mut out = io::stdout().lock();
    for (method, table) in [("GET", get), ("POST", post)] {
        writeln!(out, "### {name}, {method} ({what})\n\n{table}")?;
    }
    out.flush()
}
