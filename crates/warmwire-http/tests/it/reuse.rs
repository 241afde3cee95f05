//! Stale connections: found before they are used, or the request is sent again where that is safe.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::Method;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use warmwire_http::{Agent, Body, CloseReason, ErrorKind, Io, RequestBuilder, Sent};
use warmwire_testkit::{Gate, Peer, Random, Server, ok};

use crate::support::{ConnectWith, MEMORY, get, memory, spawn_get, until};

/// A runtime for servers, so that a test can keep its own from running.
fn peers() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn client() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Each round: a request, the end of its connection while the client's runtime does not run, and
/// a request of `method` on what the pool holds for idle. One that can be sent again may be, after
/// so short a time; any other must not even be tried.
fn stale_is_found_before_use(method: &Method, reset: bool) {
    let peers = peers();
    let (ended, wait) = std::sync::mpsc::channel();
    let gate = Gate::shut();
    let at = gate.clone();
    let server = peers.block_on(Server::tcp(move |mut peer: Peer| {
        let (ended, at) = (ended.clone(), at.clone());
        async move {
            while let Some(request) = peer.request().await {
                peer.send(ok(&request.target)).await;
                if request.target == "/last" {
                    at.pass().await;
                    match reset {
                        true => peer.reset(),
                        false => drop(peer),
                    }
                    return ended.send(()).unwrap();
                }
            }
        }
    }));
    client().block_on(async {
        // Such a server would soon be known for one that keeps no connections.
        let agent = Agent::builder().learn_idle_limit(false).build().unwrap();
        for round in 0..20 {
            get(&agent, server.url("/last")).await.unwrap();
            assert_eq!(agent.stats().total.idle, 1, "round {round}");
            gate.admit(1);
            // Blocks the runtime on purpose: its driver must not learn of the end.
            wait.recv().unwrap();
            let response = agent.request(method.clone(), server.url("/next")).send().await;
            let response = response.unwrap();
            assert!(!response.connection().reused(), "round {round}");
            assert_eq!(response.text().await.unwrap(), "/next");
            agent.close_idle();
        }
        let total = agent.stats().total;
        if !method.is_idempotent() {
            assert_eq!((total.retries, total.reused), (0, 0), "the look has found each");
        }
        let reason = if reset { CloseReason::Reset } else { CloseReason::ClosedByPeer };
        assert_eq!(total.closed.get(reason), 20);
    });
    assert_eq!(server.counts().requests.len(), 40, "nothing was sent twice");
}

#[test]
fn f025_fin_while_idle_is_found_also_for_post() {
    stale_is_found_before_use(&Method::POST, false);
    stale_is_found_before_use(&Method::GET, false);
}

#[test]
fn f025_reset_while_idle_is_found_also_for_post() {
    stale_is_found_before_use(&Method::POST, true);
    stale_is_found_before_use(&Method::GET, true);
}

/// How the server treats the second request on a connection.
#[derive(Clone, Copy, Debug)]
enum End {
    Fin,
    Reset,
}

/// Answers the first request of a connection; reads the head of the second and ends, and of all
/// on connection 0 if `from_first`.
async fn ending_server(end: End, from_first: bool) -> Server {
    Server::tcp(move |mut peer: Peer| async move {
        if !(from_first && peer.number() == 0) {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
        }
        if peer.number() > 0 {
            return peer.echo_targets().await;
        }
        if peer.head().await.is_some()
            && let End::Reset = end
        {
            peer.reset();
        }
    })
    .await
}

fn streamed() -> Body {
    Body::from_stream(futures_util::stream::iter(["a", "b"].map(Ok::<_, io::Error>)))
}

type Make = fn(RequestBuilder) -> RequestBuilder;

const STREAMED: &str = "PUT streamed";

/// RFC 9110, 9.2.2, and what the caller says.
const MATRIX: &[(&str, Method, Make, bool)] = &[
    ("GET", Method::GET, |request| request, true),
    ("HEAD", Method::HEAD, |request| request, true),
    ("PUT", Method::PUT, |request| request.body("x"), true),
    ("DELETE", Method::DELETE, |request| request, true),
    ("POST", Method::POST, |request| request.body("x"), false),
    ("PATCH", Method::PATCH, |request| request.body("x"), false),
    ("POST with a key", Method::POST, |r| r.header("idempotency-key", "1").body("x"), false),
    ("POST marked", Method::POST, |request| request.idempotent(true).body("x"), true),
    ("GET marked not to", Method::GET, |request| request.idempotent(false), false),
    (STREAMED, Method::PUT, |request| request.body(streamed()), false),
];

async fn ends_on_reused(end: End, name: &str, method: &Method, make: Make, again: bool) {
    let context = format!("{name} on a reused connection that ends with {end:?}");
    let server = ending_server(end, false).await;
    let agent = Agent::new();
    get(&agent, server.url("/first")).await.unwrap();
    let result = make(agent.request(method.clone(), server.url("/second"))).send().await;
    let sent =
        server.counts().requests.iter().filter(|request| request.target == "/second").count();
    assert_eq!(sent, if again { 2 } else { 1 }, "{context}");
    assert_eq!(agent.stats().total.retries, u64::from(again), "{context}");
    match result {
        Ok(response) => {
            assert!(again, "{context}");
            assert!(!response.connection().reused(), "{context}");
        }
        Err(error) => {
            assert!(!again, "{context}: {error}");
            assert_eq!(error.kind(), ErrorKind::ConnectionClosed, "{context}");
            assert_eq!(error.sent(), Sent::Maybe, "{context}");
            assert!(error.to_string().contains("sent: maybe"), "{error}");
            assert!(error.connection().unwrap().reused(), "{context}");
        }
    }
}

async fn ends_on_fresh(end: End, name: &str, method: &Method, make: Make) {
    let context = format!("{name} on a fresh connection that ends with {end:?}");
    let server = ending_server(end, true).await;
    let agent = Agent::new();
    let error = make(agent.request(method.clone(), server.url("/x"))).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionClosed, "{context}");
    assert_eq!(error.sent(), Sent::Maybe, "{context}");
    assert!(!error.connection().unwrap().reused(), "{context}");
    assert_eq!(server.counts().requests.len(), 1, "{context}");
    assert_eq!(agent.stats().total.retries, 0, "{context}");
}

#[tokio::test]
async fn f030_retry_follows_the_rfc_and_the_caller() {
    for (name, method, make, again) in MATRIX {
        for end in [End::Fin, End::Reset] {
            ends_on_reused(end, name, method, *make, *again).await;
            ends_on_fresh(end, name, method, *make).await;
        }
    }
}

/// A stream that breaks when it is told to: the first sign is that a write fails.
struct Brittle {
    stream: DuplexStream,
    broken: Arc<AtomicBool>,
    failed: bool,
}

impl AsyncRead for Brittle {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.failed {
            true => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            false => Pin::new(&mut self.stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Brittle {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.failed = self.broken.load(Ordering::SeqCst);
        match self.failed {
            true => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            false => Pin::new(&mut self.stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn f030_a_request_of_which_nothing_left_is_sent_again_whatever_it_is() {
    for (name, method, make, _) in MATRIX {
        let server = Server::memory(Peer::echo_targets);
        let broken = Arc::new(AtomicBool::new(false));
        let (dialer, first) = (server.dialer(), std::sync::Mutex::new(Some(broken.clone())));
        let connector = ConnectWith(move |_| {
            let broken = first.lock().unwrap().take().unwrap_or_default();
            let stream = Brittle { stream: dialer.dial(), broken, failed: false };
            async move { Ok(Box::new(stream) as Box<dyn Io>) }
        });
        let agent = Agent::builder().connector(connector).build().unwrap();
        get(&agent, format!("{MEMORY}/first")).await.unwrap();
        broken.store(true, Ordering::SeqCst);
        let url = format!("{MEMORY}/second");
        let response = make(agent.request(method.clone(), url)).send().await;
        if *name == STREAMED {
            // A piece was taken from the stream, and a stream has each piece once.
            assert_eq!(response.unwrap_err().sent(), Sent::No);
            continue;
        }
        let response = response.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!response.connection().reused(), "{name}");
        assert_eq!(agent.stats().total.retries, 1, "{name}");
        assert_eq!(server.counts().requests.len(), 2, "{name}");
    }
}

#[tokio::test]
async fn f031_a_post_that_the_server_has_read_is_not_sent_twice() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let Some(request) = peer.request().await else { return };
        peer.send(ok(&request.target)).await;
        // Reads the whole POST and closes.
        peer.request().await;
    })
    .await;
    let agent = Agent::new();
    get(&agent, server.url("/")).await.unwrap();
    let error = agent.post(server.url("/charge")).body("10 EUR").send().await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::ConnectionClosed, Sent::Maybe));
    let counts = server.counts();
    let charges: Vec<_> =
        counts.requests.iter().filter(|request| request.target == "/charge").collect();
    assert_eq!(charges.len(), 1);
    assert_eq!(charges[0].text(), "10 EUR");
}

#[tokio::test]
async fn f002_a_status_of_the_server_is_no_reason_to_send_again() {
    let server = Server::tcp(|peer| {
        peer.serve(|_| warmwire_testkit::Reply::new(503).body("overloaded").bytes())
    })
    .await;
    let agent = Agent::new();
    for _ in 0..3 {
        let response = agent.get(server.url("/")).send().await.unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(response.text().await.unwrap(), "overloaded");
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.retries, server.counts().requests.len()), (1, 0, 3));
}

#[tokio::test]
async fn unsolicited_answer_on_an_idle_connection_closes_it() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |mut peer: Peer| {
        let at = at.clone();
        async move {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
            at.pass().await;
            peer.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").await;
            assert!(peer.until_closed().await.is_empty());
        }
    })
    .await;
    let agent = Agent::new();
    assert_eq!(get(&agent, server.url("/1")).await.unwrap(), "/1");
    gate.admit(1);
    let total = until(&agent, |total| total.open == 0).await.total;
    assert_eq!(total.closed.get(CloseReason::Unsolicited), 1);
    assert_eq!(get(&agent, server.url("/2")).await.unwrap(), "/2");
    server.until(|counts| counts.open == 1).await;
}

#[tokio::test]
async fn surplus_bytes_behind_a_response_are_nobodys_answer() {
    let server = Server::tcp(|mut peer: Peer| async move {
        while let Some(request) = peer.request().await {
            let mut bytes = ok(&request.target);
            bytes.extend_from_slice(&ok("smuggled"));
            peer.send(bytes).await;
        }
    })
    .await;
    let agent = Agent::new();
    for n in 0..10 {
        assert_eq!(get(&agent, server.url(&format!("/{n}"))).await.unwrap(), format!("/{n}"));
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::Unsolicited)), (10, 10));
}

#[tokio::test]
async fn connection_close_of_the_server_is_obeyed() {
    let server = Server::tcp(|peer| {
        peer.serve(|request| {
            let reply = warmwire_testkit::Reply::new(200).header("Connection", "close");
            reply.body(&request.target).bytes()
        })
    })
    .await;
    let agent = Agent::new();
    for _ in 0..3 {
        get(&agent, server.url("/")).await.unwrap();
    }
    let counts = server.until(|counts| counts.open == 0).await;
    assert_eq!(counts.accepted, 3);
    assert_eq!(agent.stats().total.closed.get(CloseReason::PeerAsked), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f108_resets_under_load_lose_no_get() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let requests = 1 + Random::new(peer.number() as u64).below(5);
        for _ in 0..requests {
            let Some(request) = peer.request().await else { return };
            peer.send(ok(&request.target)).await;
        }
        peer.reset();
    })
    .await;
    let agent = Agent::new();
    let tasks: Vec<_> = (0..50)
        .map(|task| {
            let (agent, url) = (agent.clone(), server.url(""));
            tokio::spawn(async move {
                for n in 0..20 {
                    let target = format!("/{task}/{n}");
                    let text = get(&agent, format!("{url}{target}")).await;
                    assert_eq!(text.unwrap(), target);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let total = until(&agent, |total| total.active == 0 && total.connecting == 0).await.total;
    assert_eq!(total.waiting, 0);
    assert_eq!(total.requests - total.retries, 1_000);
}

/// A thousand tasks on fifty connections, of which every fifth is reset while it is idle, after
/// however many requests it had by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f108_connections_that_are_reset_while_idle_leave_no_task_stuck() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let doomed = peer.number() % 5 == 4;
        let moment = std::time::Duration::from_millis(1);
        for number in 0.. {
            let next = peer.request();
            let request = match doomed && number > 0 {
                true => tokio::time::timeout(moment, next).await.unwrap_or_default(),
                false => next.await,
            };
            match request {
                Some(request) => peer.send(ok(&request.target)).await,
                None if doomed => return peer.reset(),
                None => return,
            }
        }
    })
    .await;
    let agent = Agent::builder().max_connections(50).build().unwrap();
    for round in 0..3 {
        let tasks: Vec<_> =
            (0..1_000).map(|n| spawn_get(&agent, server.url(&format!("/{round}/{n}")))).collect();
        for (n, task) in tasks.into_iter().enumerate() {
            let text = warmwire_testkit::guarded("a request", task).await.unwrap();
            assert_eq!(text.unwrap(), format!("/{round}/{n}"));
        }
        let idle = until(&agent, |total| total.active == 0 && total.connecting == 0).await.total;
        assert_eq!((idle.waiting, idle.retry_outcomes.over_budget), (0, 0));
        // Those that are doomed are seen to go.
        until(&agent, |total| total.closed.get(CloseReason::Reset) > round).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f001_a_lost_race_is_invisible_and_counted() {
    let server = Server::memory(|mut peer| async move {
        let Some(request) = peer.request().await else { return };
        peer.send(ok(&request.target)).await;
        // The close and the next request cross: the server never reads it.
        peer.head().await;
    });
    // Every second exchange is lost here, which is more than the budget is for.
    let agent = Agent::builder().retry_budget(1.0).connector(memory(&server)).build().unwrap();
    for n in 0..20 {
        assert_eq!(get(&agent, format!("{MEMORY}/{n}")).await.unwrap(), format!("/{n}"));
    }
    let total = agent.stats().total;
    assert!(total.retries > 0 && total.opened <= 20, "{total:?}");
    assert_eq!(total.requests, 20 + total.retries);
}

#[tokio::test]
async fn concurrent_requests_on_stale_connections_all_succeed() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |mut peer: Peer| {
        let at = at.clone();
        async move {
            if peer.number() >= 5 {
                return peer.echo_targets().await;
            }
            let Some(request) = peer.request().await else { return };
            at.pass().await;
            peer.send(ok(&request.target)).await;
            peer.head().await;
        }
    })
    .await;
    let agent = Agent::new();
    let first: Vec<_> = (0..5).map(|n| spawn_get(&agent, server.url(&format!("/{n}")))).collect();
    server.until(|counts| counts.requests.len() == 5).await;
    gate.open();
    for request in first {
        request.await.unwrap().unwrap();
    }
    let second: Vec<_> = (0..5).map(|n| spawn_get(&agent, server.url(&format!("/{n}")))).collect();
    for (n, request) in second.into_iter().enumerate() {
        assert_eq!(request.await.unwrap().unwrap(), format!("/{n}"));
    }
    assert_eq!(agent.stats().total.retries, 5);
}

/// The repeat of a request that may have arrived fails: the error must not say `sent: no`.
#[tokio::test]
async fn f083_a_failed_repeat_tells_that_the_first_attempt_may_have_arrived() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut peer, _) = listener.accept().await.unwrap();
        // Nobody listens when the repeat dials.
        drop(listener);
        let mut request = [0; 1024];
        assert!(peer.read(&mut request).await.unwrap() > 0);
        peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        assert!(peer.read(&mut request).await.unwrap() > 0);
    });
    let agent = Agent::new();
    agent.get(&url).send().await.unwrap().bytes().await.unwrap();
    let error = agent.post(&url).idempotent(true).body("pay").send().await.unwrap_err();
    server.await.unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(error.sent(), Sent::Maybe);
    assert!(error.connection().is_none(), "the connection of the failed dial is none: {error}");
}

/// A 408 that was sent to end an idle connection crosses the next request on the wire.
#[tokio::test]
async fn f001_a_408_that_crosses_a_request_is_not_its_answer() {
    let goodbye = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let server = Server::tcp(move |mut peer: Peer| async move {
        let Some(first) = peer.request().await else { return };
        peer.send(ok(&first.target)).await;
        // Only the first connection gives up, and as its second request arrives.
        while let Some(next) = peer.request().await {
            if peer.number() == 0 {
                return peer.send(goodbye).await;
            }
            peer.send(ok(&next.target)).await;
        }
    })
    .await;
    let agent = Agent::new();
    for path in ["/1", "/2", "/3"] {
        assert_eq!(get(&agent, server.url(path)).await.unwrap(), path);
    }
    assert_eq!(agent.stats().total.retries, 1);
    // What must not be done twice is the caller's to decide about.
    agent.close_idle();
    let server = Server::tcp(move |mut peer: Peer| async move {
        let Some(first) = peer.request().await else { return };
        peer.send(ok(&first.target)).await;
        peer.request().await;
        peer.send(goodbye).await;
    })
    .await;
    get(&agent, server.url("/")).await.unwrap();
    let response = agent.post(server.url("/")).body("pay").send().await.unwrap();
    assert_eq!(response.status(), 408);
    assert_eq!(agent.stats().total.retries, 1);
}

/// A reset within the head is a cut response, not a closed connection.
#[tokio::test]
async fn f095_a_reset_within_the_head_is_a_cut_response() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |mut peer: Peer| {
        let at = at.clone();
        async move {
            peer.request().await;
            peer.send("HTTP/1.1 200 OK\r\ncont").await;
            at.pass().await;
            peer.reset();
        }
    })
    .await;
    let agent = Agent::new();
    let sending = tokio::spawn(agent.get(server.url("/")).send());
    server.until(|counts| counts.requests.len() == 1).await;
    gate.open();
    let error = sending.await.unwrap().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::ResponseCut | ErrorKind::ConnectionClosed),
        "{error:?}"
    );
    // Which of the two depends on whether the bytes were read before the reset threw them away;
    // it must agree with what the error says of the request.
    assert_eq!(error.kind() == ErrorKind::ResponseCut, error.sent() == Sent::Yes, "{error:?}");
}
