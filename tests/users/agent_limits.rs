//! Every limit and timer of the pool, and what a caller sees when one is hit.
use std::time::Duration;
use warmwire::Agent;
use warmwire::http::{Error, ErrorKind, Scheduling};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).expect("usage: agent_limits URL-that-takes-200-ms");

    let agent = Agent::builder()
        .max_connections(2) // per origin; the third request waits
        .max_total_connections(100) // over all origins
        .max_idle(1) // per origin; what is over it is closed on return
        .max_waiting(1) // requests that may queue per origin; one more is refused at once
        .acquire_timeout(Duration::from_secs(5)) // how long one may queue
        .idle_timeout(Duration::from_secs(4)) // a free connection is closed after this
        .max_idle_timeout(Duration::from_secs(600)) // cap for what a server's Keep-Alive header asks
        .max_lifetime(Duration::from_secs(300)) // a connection this old is not reused
        .max_requests_per_connection(10_000)
        .connect_timeout(Duration::from_secs(10)) // DNS, TCP and TLS together
        .response_timeout(Duration::from_secs(30)) // until the response head is in
        .read_timeout(Duration::from_secs(8)) // between two pieces of a body
        .timeout(Duration::from_secs(60)) // the whole exchange, queueing included
        .tcp_keepalive(Duration::from_secs(1))
        .tcp_nodelay(true)
        .scheduling(Scheduling::Lifo)
        .build()?;

    let calls = (0..4).map(|_| {
        let request = agent.get(&url);
        tokio::spawn(async move { request.send().await?.bytes().await })
    });
    let results = futures_util::future::join_all(calls).await;
    let refused: Vec<_> =
        results.into_iter().map(|r| r.expect("no panic")).filter_map(Result::err).collect();
    assert_eq!(refused.len(), 1, "two run, one waits, one is refused");
    assert_eq!(refused[0].kind(), ErrorKind::QueueFull);
    println!("{}", refused[0]); // names the origin, the limit and its value

    let stats = agent.stats();
    let origin = stats.origin(&url).expect("used");
    assert_eq!((origin.opened, origin.requests), (2, 3));
    assert_eq!(origin.idle, 1);
    println!("{}", serde_json::to_string_pretty(&stats).expect("stats serialise"));
    Ok(())
}
