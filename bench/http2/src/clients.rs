//! The clients, and the load that each of them sends.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use warmwire::Agent;
use warmwire::http::{HttpVersion, Origin};

use crate::{STREAMS, usage};

type Failure = Box<dyn Error + Send + Sync>;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The agent with everything on: limits, statistics, timings, timeouts, pings.
    Warmwire,
    /// hyper's connection alone, without pool, limits or timeouts.
    Hyper,
    /// hyper with its pool.
    HyperUtil,
    Reqwest,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Hyper, Kind::HyperUtil, Kind::Reqwest, Kind::Warmwire];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Warmwire => "warmwire",
            Kind::Hyper => "hyper",
            Kind::HyperUtil => "hyper-util",
            Kind::Reqwest => "reqwest",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Sends `requests` as `kind` and prints seconds, CPU seconds, allocations.
pub async fn run(kind: Kind, address: &str, requests: usize) -> io::Result<()> {
    let url = format!("http://{address}");
    let figures = match kind {
        Kind::Warmwire => measure(Warmwire::new(&url).map_err(io::Error::other)?, requests).await,
        Kind::Hyper => measure(Hyper::new(address, &url).await?, requests).await,
        Kind::HyperUtil => measure(HyperUtil::new(&url)?, requests).await,
        Kind::Reqwest => measure(Reqwest::new(&url)?, requests).await,
    };
    println!("{}", figures.map_err(io::Error::other)?);
    Ok(())
}

/// Sends a GET and reads the response to its end.
trait Caller: Clone + Send + 'static {
    /// How long the body was.
    fn call(&mut self) -> impl Future<Output = Result<usize, Failure>> + Send;
}

/// Warms up with a tenth of the load, then measures.
async fn measure(caller: impl Caller, requests: usize) -> Result<String, Failure> {
    // The first request alone: a client that opens the connection for the first of a burst and one
    // for each of them would be measured on different numbers of connections.
    caller.clone().call().await?;
    send(&caller, requests / 10).await?;
    let (allocations, cpu, start) = (usage::allocations(), usage::cpu()?, Instant::now());
    send(&caller, requests).await?;
    let (elapsed, cpu) = (start.elapsed(), usage::cpu()? - cpu);
    let allocations = usage::allocations() - allocations;
    Ok(format!("{} {} {allocations}", elapsed.as_secs_f64(), cpu.as_secs_f64()))
}

/// `requests` by [`STREAMS`] tasks, each of which sends its next one when its last is done.
async fn send(caller: &impl Caller, requests: usize) -> Result<(), Failure> {
    let begun = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> =
        (0..STREAMS).map(|_| tokio::spawn(work(caller.clone(), begun.clone(), requests))).collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn work(
    mut caller: impl Caller,
    begun: Arc<AtomicUsize>,
    requests: usize,
) -> Result<(), Failure> {
    while begun.fetch_add(1, Ordering::Relaxed) < requests {
        if caller.call().await? == 0 {
            return Err("a response without a body".into());
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Warmwire(Origin);

impl Warmwire {
    fn new(url: &str) -> Result<Self, warmwire::Error> {
        let agent = Agent::builder()
            .http_version(HttpVersion::Http2)
            .timeout(std::time::Duration::from_secs(60))
            .build()?;
        Ok(Self(agent.origin(url)?))
    }
}

impl Caller for Warmwire {
    async fn call(&mut self) -> Result<usize, Failure> {
        let mut response = self.0.get("/").send().await?;
        let mut length = 0;
        while let Some(piece) = response.chunk().await? {
            length += piece.len();
        }
        Ok(length)
    }
}

#[derive(Clone)]
struct Hyper {
    sender: http2::SendRequest<Empty<Bytes>>,
    uri: http::Uri,
}

impl Hyper {
    async fn new(address: &str, url: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender, uri: url.parse().map_err(io::Error::other)? })
    }
}

impl Caller for Hyper {
    async fn call(&mut self) -> Result<usize, Failure> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.uri.clone();
        read(self.sender.send_request(request).await?.into_body()).await
    }
}

#[derive(Clone)]
struct HyperUtil {
    client: Client<HttpConnector, Empty<Bytes>>,
    uri: http::Uri,
}

impl HyperUtil {
    fn new(url: &str) -> io::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).http2_only(true).build(connector);
        Ok(Self { client, uri: url.parse().map_err(io::Error::other)? })
    }
}

impl Caller for HyperUtil {
    async fn call(&mut self) -> Result<usize, Failure> {
        read(self.client.get(self.uri.clone()).await?.into_body()).await
    }
}

async fn read(mut body: Incoming) -> Result<usize, Failure> {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(length)
}

#[derive(Clone)]
struct Reqwest {
    client: reqwest::Client,
    url: reqwest::Url,
}

impl Reqwest {
    fn new(url: &str) -> io::Result<Self> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .http2_prior_knowledge()
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { client, url: url.parse().map_err(io::Error::other)? })
    }
}

impl Caller for Reqwest {
    async fn call(&mut self) -> Result<usize, Failure> {
        let mut response = self.client.get(self.url.clone()).send().await?;
        let mut length = 0;
        while let Some(piece) = response.chunk().await? {
            length += piece.len();
        }
        Ok(length)
    }
}
