//! What several modules need: connectors, resolvers, and waiting for an agent's numbers.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use warmwire_http::{
    Agent, BoxFuture, Connect, ConnectTarget, Error, Io, OriginStats, Resolve, Resolved, Stats,
};
use warmwire_testkit::{Dialer, GUARD, Server};

/// An origin for servers in memory: an IP literal, so that nothing is looked up.
pub(crate) const MEMORY: &str = "http://10.0.0.1";

/// A connector that is a closure.
pub(crate) struct ConnectWith<F>(pub(crate) F);

impl<F, T> Connect for ConnectWith<F>
where
    F: Fn(ConnectTarget) -> T + Send + Sync + 'static,
    T: Future<Output = io::Result<Box<dyn Io>>> + Send + 'static,
{
    fn connect(&self, target: ConnectTarget) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        Box::pin((self.0)(target))
    }
}

/// Connects to a server in memory.
pub(crate) fn memory(server: &Server) -> impl Connect {
    let dialer = server.dialer();
    ConnectWith(move |_| {
        let stream = dialer.dial();
        async move { Ok(Box::new(stream) as Box<dyn Io>) }
    })
}

/// A resolver that is a closure.
pub(crate) struct ResolveWith<F>(pub(crate) F);

impl<F, T> Resolve for ResolveWith<F>
where
    F: Fn(String) -> T + Send + Sync + 'static,
    T: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
{
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        let found = (self.0)(host.to_owned());
        Box::pin(async move { Ok(found.await?.into()) })
    }
}

/// Every name is 127.0.0.1.
pub(crate) fn loopback() -> impl Resolve {
    ResolveWith(|_| async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
}

/// How many connections are open or being opened, and the most that ever were.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }

    fn enter(self: &Arc<Self>) -> Entered {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
        Entered(self.clone())
    }
}

struct Entered(Arc<Gauge>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Connects to a server in memory and counts, from the begin of a dial to the drop of its stream:
/// what the network would see, without the delay of a FIN. `dial` is waited for before each.
pub(crate) fn counted<T>(
    dialer: Dialer,
    gauge: Arc<Gauge>,
    dial: impl Fn() -> T + Send + Sync + 'static,
) -> impl Connect
where
    T: Future<Output = ()> + Send + 'static,
{
    ConnectWith(move |_| {
        let (entered, dialling, dialer) = (gauge.enter(), dial(), dialer.clone());
        async move {
            dialling.await;
            let stream = Counted { stream: dialer.dial(), _entered: entered };
            Ok(Box::new(stream) as Box<dyn Io>)
        }
    })
}

struct Counted {
    stream: tokio::io::DuplexStream,
    _entered: Entered,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The text of what a GET answers.
pub(crate) async fn get(agent: &Agent, url: impl AsRef<str>) -> Result<String, Error> {
    agent.get(url.as_ref()).send().await?.text().await
}

/// A GET on a task of its own.
pub(crate) fn spawn_get(
    agent: &Agent,
    url: impl Into<String>,
) -> tokio::task::JoinHandle<Result<String, Error>> {
    let (agent, url) = (agent.clone(), url.into());
    tokio::spawn(async move { get(&agent, url).await })
}

/// Waits until the agent's totals are as wanted. Does not let a paused clock go on.
pub(crate) async fn until(agent: &Agent, wanted: impl Fn(&OriginStats) -> bool) -> Stats {
    let began = Instant::now();
    loop {
        let stats = agent.stats();
        check(&stats);
        if wanted(&stats.total) {
            return stats;
        }
        assert!(began.elapsed() < GUARD, "not as wanted after {GUARD:?}: {stats:#?}");
        tokio::task::yield_now().await;
    }
}

/// What holds in every snapshot.
pub(crate) fn check(stats: &Stats) {
    for (name, of) in stats.origins.iter().map(|(name, of)| (name.as_str(), of)) {
        check_one(name, of);
    }
    check_one("total", &stats.total);
    let sum = |of: fn(&OriginStats) -> usize| stats.origins.values().map(of).sum::<usize>();
    let gauges: [fn(&OriginStats) -> usize; 5] =
        [|of| of.open, |of| of.idle, |of| of.active, |of| of.connecting, |of| of.waiting];
    for gauge in gauges {
        // An origin with any of these is known, so the sums are those of the agent.
        assert_eq!(sum(gauge), gauge(&stats.total), "{stats:#?}");
    }
}

fn check_one(name: &str, of: &OriginStats) {
    assert_eq!(of.opened, of.closed.total() + of.open as u64, "{name}: {of:#?}");
    assert_eq!(of.open, of.idle + of.active, "{name}: {of:#?}");
    assert!(of.reused <= of.requests, "{name}: {of:#?}");
    assert!(of.max_open >= of.open && of.max_active >= of.active, "{name}: {of:#?}");
}

/// Polls a future up to `times`; what it gave, if it ended by then.
pub(crate) async fn poll_times<F: Future>(
    mut future: Pin<&mut F>,
    times: usize,
) -> Option<F::Output> {
    let mut left = times;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
