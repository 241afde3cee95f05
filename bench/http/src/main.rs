//! The agent under the load of the HTTP benchmark, with everything on: limits, statistics,
//! timings, timeouts.

use std::time::Duration;

use hb_common::driver::{Limit, Worker, run};
use hb_common::{Args, BoxError};
use warmwire::Agent;
use warmwire::http::{Origin, Tls};

#[derive(Clone)]
struct Client {
    origin: Origin,
    path: String,
}

impl Worker for Client {
    async fn call(&mut self) -> Result<usize, BoxError> {
        let mut response = self.origin.get(&self.path).send().await?;
        let mut length = 0;
        while let Some(piece) = response.chunk().await? {
            length += piece.len();
        }
        Ok(length)
    }
}

fn agent(args: &Args) -> Agent {
    let mut builder = Agent::builder()
        .max_connections(args.max_sockets)
        .max_total_connections(args.max_sockets)
        .max_idle(args.max_sockets.min(100_000))
        .max_waiting(100_000)
        .idle_timeout(Duration::from_secs(30))
        .max_lifetime(Duration::from_secs(300))
        .timeout(Duration::from_secs(60))
        .keep_alive(args.keepalive);
    if let Some(ca) = &args.ca {
        let pem = std::fs::read(ca).expect("the certificate of --ca");
        builder = builder.tls(Tls::new().roots_pem(&pem));
    }
    builder.build().expect("valid settings")
}

fn main() {
    run("warmwire", Args::parse(), Limit::Native, |args| {
        let url = args.url.strip_suffix(&args.path).unwrap_or(&args.url);
        let origin = agent(args).origin(url).expect("an origin");
        let client = Client { origin, path: args.path.clone() };
        Box::new(move || client.clone())
    });
}
