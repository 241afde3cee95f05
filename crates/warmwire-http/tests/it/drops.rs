//! A request dropped at every one of its awaits: the room is free at once, nobody else notices,
//! and the numbers add up.
//!
//! Streams, look-ups and dials here go on by single small steps, so that polling a request n times
//! and dropping it, for every n, stops it at each place at which it can be.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::task::yield_now;
use warmwire_http::{Agent, AgentBuilder, Body, Error, Io};
use warmwire_testkit::{Certificates, Peer, Server, guarded, ok};

use crate::support::{ConnectWith, ResolveWith, check, get, loopback, poll_times, until};

/// Passes up to this many bytes at a time, and nothing at every other poll.
const STEP: usize = 8;

struct Stepwise {
    stream: DuplexStream,
    flushes: bool,
    writes: bool,
}

impl Stepwise {
    fn new(stream: DuplexStream) -> Stepwise {
        Stepwise { stream, flushes: false, writes: false }
    }
}

/// Pending at every other call.
fn step(ready: &mut bool, cx: &Context<'_>) -> Poll<()> {
    *ready = !*ready;
    if *ready {
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    Poll::Ready(())
}

impl AsyncRead for Stepwise {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; STEP];
        let mut small = ReadBuf::new(&mut bytes[..STEP.min(buffer.remaining())]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut small))?;
        buffer.put_slice(small.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stepwise {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(step(&mut self.writes, cx));
        Pin::new(&mut self.stream).poll_write(cx, &bytes[..STEP.min(bytes.len())])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(step(&mut self.flushes, cx));
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Answers piece by piece.
fn stepwise_server() -> Server {
    Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            for piece in ok(format!("{}{}", request.target, request.text())).chunks(STEP) {
                yield_now().await;
                peer.send(piece).await;
            }
        }
    })
}

fn stepwise_agent(server: &Server) -> AgentBuilder {
    let dialer = server.dialer();
    Agent::builder()
        .resolver(ResolveWith(|_| async {
            yield_now().await;
            Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
        }))
        .connector(ConnectWith(move |_| {
            let dialer = dialer.clone();
            async move {
                yield_now().await;
                Ok(Box::new(Stepwise::new(dialer.dial())) as Box<dyn Io>)
            }
        }))
}

const BODY: &str = "a body of some length, so that it takes several writes";

async fn exchange(agent: Agent, url: String, body: Body) -> Result<String, Error> {
    agent.post(url).body(body).send().await?.text().await
}

/// Drops a POST after `polls` polls, with a neighbour that waits for the only connection. Whether
/// the POST had ended by then.
async fn dropped_after(polls: usize, body: Body) -> bool {
    let context = format!("dropped after {polls} polls");
    let server = stepwise_server();
    let agent = stepwise_agent(&server).max_connections(1).build().unwrap();
    let mut request =
        Box::pin(exchange(agent.clone(), "http://a.example/dropped".to_owned(), body));
    poll_times(request.as_mut(), 1).await;
    let neighbour = agent.clone();
    let neighbour =
        tokio::spawn(async move { get(&neighbour, "http://a.example/neighbour").await });
    let ended = poll_times(request.as_mut(), polls).await;
    if let Some(text) = &ended {
        assert_eq!(text.as_ref().unwrap(), &format!("/dropped{BODY}"));
    }
    drop(request);
    check(&agent.stats());
    let text = guarded(&context, neighbour).await.unwrap();
    assert_eq!(text.unwrap(), "/neighbour", "{context}");
    let stats = until(&agent, |total| total.active == 0 && total.connecting == 0).await;
    assert_eq!((stats.total.waiting, stats.total.idle), (0, 1), "{context}: {stats:#?}");
    assert_eq!(get(&agent, "http://a.example/after").await.unwrap(), "/after", "{context}");
    let counts = server.counts();
    let posts = counts.requests.iter().filter(|request| request.method == "POST").count();
    assert!(posts <= 1, "{context}: the POST was sent {posts} times");
    assert!(counts.accepted <= 2, "{context}: {} connections", counts.accepted);
    ended.is_some()
}

#[tokio::test]
async fn f078_a_request_dropped_at_any_await_is_not_noticed() {
    let mut polls = 0;
    while !dropped_after(polls, BODY.into()).await {
        polls += 1;
        assert!(polls < 1_000, "the request never ends");
    }
    assert!(polls > 20, "the request has ended after {polls} polls: too few to prove anything");
}

#[tokio::test]
async fn f078_a_streamed_request_dropped_at_any_await_is_not_noticed() {
    let streamed = || {
        let (head, rest) = BODY.split_at(10);
        Body::from_stream(futures_util::stream::iter([Ok::<_, io::Error>(head), Ok(rest)]))
    };
    let mut polls = 0;
    while !dropped_after(polls, streamed()).await {
        polls += 1;
        assert!(polls < 1_000, "the request never ends");
    }
    assert!(polls > 20, "the request has ended after {polls} polls: too few to prove anything");
}

/// Drops a request in the queue, while the one before it goes on.
async fn dropped_in_queue_after(polls: usize) -> bool {
    let server = stepwise_server();
    let agent = stepwise_agent(&server).max_connections(1).build().unwrap();
    let first = tokio::spawn(exchange(agent.clone(), "http://a.example/1".into(), BODY.into()));
    until(&agent, |total| total.connecting == 1).await;
    let url = "http://a.example/dropped".to_owned();
    let mut request = Box::pin(exchange(agent.clone(), url, Body::empty()));
    let ended = poll_times(request.as_mut(), polls).await.is_some();
    drop(request);
    check(&agent.stats());
    let first = guarded("the request before", first).await.unwrap();
    assert_eq!(first.unwrap(), format!("/1{BODY}"), "dropped after {polls} polls");
    let stats = until(&agent, |total| total.active == 0 && total.connecting == 0).await;
    assert_eq!((stats.total.waiting, stats.total.open <= 1), (0, true), "{stats:#?}");
    assert_eq!(get(&agent, "http://a.example/after").await.unwrap(), "/after");
    ended
}

#[tokio::test]
async fn f042_a_request_dropped_at_any_moment_of_its_wait_is_not_noticed() {
    let mut polls = 0;
    while !dropped_in_queue_after(polls).await {
        polls += 1;
        assert!(polls < 1_000, "the request never ends");
    }
    assert!(polls > 10, "the request has ended after {polls} polls: too few to prove anything");
}

#[tokio::test]
async fn f078_a_request_over_tls_dropped_at_any_await_is_not_noticed() {
    let certificates = Certificates::new();
    let server = Server::tls(certificates.server(), Peer::echo_targets).await;
    let url = format!("https://localhost:{}", server.address().port());
    for polls in 0..40 {
        let tls = warmwire_http::Tls::new().roots_pem(certificates.root_pem());
        let agent = Agent::builder().max_connections(1).tls(tls).resolver(loopback());
        let agent = agent.build().unwrap();
        let mut request = Box::pin(exchange(agent.clone(), format!("{url}/dropped"), BODY.into()));
        let ended = poll_times(request.as_mut(), polls).await.is_some();
        drop(request);
        check(&agent.stats());
        let next = guarded("the next request", get(&agent, format!("{url}/next"))).await;
        assert_eq!(next.unwrap(), "/next", "dropped after {polls} polls");
        let total = until(&agent, |total| total.active == 0 && total.connecting == 0).await.total;
        assert_eq!((total.waiting, total.idle), (0, 1));
        if ended {
            break;
        }
    }
}
