//! HTTP/2: one connection for many requests, how many, and what a goodbye, a refusal, a dropped
//! request or a dead path does to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::{Builder, Connection, SendResponse};
use http::{Response, StatusCode, Version};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use warmwire_http::{Agent, AgentBuilder, BoxFuture, CloseReason, HttpVersion, Tls};
use warmwire_testkit::{Certificates, GUARD, Gate, Peer, Server, ServerTls, ok};

use crate::support::{MEMORY, check, get, loopback, memory, spawn_get, until};

async fn guard<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(GUARD, future).await.expect("it ends")
}

/// Until so many requests have come.
async fn arrived(begun: &AtomicUsize, requests: usize) {
    guard(async {
        while begun.load(Ordering::SeqCst) < requests {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

async fn begin(peer: Peer, streams: u32) -> Connection<Box<dyn Io>, Bytes> {
    let mut builder = Builder::new();
    builder.max_concurrent_streams(streams);
    builder.handshake(Box::new(peer.into_stream()) as Box<dyn Io>).await.unwrap()
}

fn answer(respond: &mut SendResponse<Bytes>, text: &str) {
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::copy_from_slice(text.as_bytes()), true).unwrap();
}

/// Answers every request with its path once the gate lets it through.
async fn serve(peer: Peer, streams: u32, gate: Gate, begun: Arc<AtomicUsize>) {
    let mut connection = begin(peer, streams).await;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        begun.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        tokio::spawn(async move {
            gate.pass().await;
            answer(&mut respond, request.uri().path());
        });
    }
}

fn serving(
    streams: u32,
    gate: &Gate,
    begun: &Arc<AtomicUsize>,
) -> impl Fn(Peer) -> BoxFuture<'static, ()> + Clone + Send + Sync + 'static + use<> {
    let (gate, begun) = (gate.clone(), begun.clone());
    move |peer| Box::pin(serve(peer, streams, gate.clone(), begun.clone()))
}

fn open_gate() -> Gate {
    let gate = Gate::shut();
    gate.open();
    gate
}

fn builder() -> AgentBuilder {
    Agent::builder().http_version(HttpVersion::Http2)
}

fn burst(agent: &Agent, url: &str, requests: usize) -> JoinSet<String> {
    let mut all = JoinSet::new();
    for n in 0..requests {
        let (agent, url) = (agent.clone(), format!("{url}/{n}"));
        all.spawn(async move { get(&agent, url).await.unwrap() });
    }
    all
}

#[tokio::test]
async fn f119_a_cold_burst_opens_one_connection() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(250, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    assert_eq!(guard(burst(&agent, &server.url(""), 100).join_all()).await.len(), 100);
    let stats = agent.stats();
    check(&stats);
    assert_eq!((stats.total.opened, stats.total.requests, stats.total.idle), (1, 100, 1));
    let response = agent.get(server.url("/x")).send().await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert!(response.connection().reused());
    assert_eq!(server.counts().accepted, 1);
}

fn trusting(certificates: &Certificates) -> AgentBuilder {
    Agent::builder().tls(Tls::new().roots_pem(certificates.root_pem())).resolver(loopback())
}

async fn tls(server: ServerTls, gate: &Gate, begun: &Arc<AtomicUsize>) -> (Server, String) {
    let server = Server::tls(server, serving(250, gate, begun)).await;
    let url = format!("https://localhost:{}", server.address().port());
    (server, url)
}

#[tokio::test]
async fn f119_with_tls_the_server_chooses_and_a_cold_burst_opens_one_connection() {
    let certificates = Certificates::new();
    let (gate, begun) = (open_gate(), Arc::default());
    let (server, url) = tls(certificates.server().alpn(&["h2", "http/1.1"]), &gate, &begun).await;
    let agent = trusting(&certificates).build().unwrap();
    guard(burst(&agent, &url, 100).join_all()).await;
    assert_eq!(server.counts().accepted, 1);
    let response = agent.get(&url).send().await.unwrap();
    assert_eq!((response.version(), response.connection().alpn()), (Version::HTTP_2, Some("h2")));
}

#[tokio::test]
async fn f119_a_server_of_http_1_1_alone_gets_as_many_connections_as_it_needs() {
    let certificates = Certificates::new();
    let gate = Gate::shut();
    let held = gate.clone();
    let server = Server::tls(certificates.server(), move |mut peer: Peer| {
        let held = held.clone();
        async move {
            while peer.request().await.is_some() {
                held.pass().await;
                peer.send(ok("here")).await;
            }
        }
    })
    .await;
    let agent = trusting(&certificates).build().unwrap();
    let all = burst(&agent, &format!("https://localhost:{}", server.address().port()), 10);
    server.until(|counts| counts.requests.len() == 10).await;
    gate.open();
    assert_eq!(guard(all.join_all()).await, ["here"; 10]);
}

#[tokio::test]
async fn f032_full_connections_are_joined_by_as_many_as_the_limit_allows() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(2, &gate, &begun)).await;
    let agent = builder().max_connections(3).build().unwrap();
    let all = burst(&agent, &server.url(""), 10);
    let stats = until(&agent, |of| of.active == 3 && of.waiting == 4).await;
    assert_eq!((stats.total.opened, stats.total.open), (3, 3));
    arrived(&begun, 6).await;
    gate.open();
    assert_eq!(guard(all.join_all()).await.len(), 10);
    assert_eq!(server.counts().accepted, 3);
    assert_eq!(agent.stats().total.retries, 0, "no stream was refused");
}

#[tokio::test]
async fn f059_waiters_for_streams_are_served_though_others_are_dropped() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(2, &gate, &begun)).await;
    let agent = builder().max_connections(2).build().unwrap();
    let mut all = Vec::new();
    for n in 0..400 {
        let task = spawn_get(&agent, server.url("/x"));
        if n % 3 == 0 {
            task.abort();
        } else {
            all.push(task);
        }
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for task in all {
        assert_eq!(guard(task).await.unwrap().unwrap(), "/x");
    }
    let stats = until(&agent, |of| of.active == 0 && of.waiting == 0).await;
    assert!(stats.total.max_open <= 2);
    assert_eq!(get(&agent, server.url("/after")).await.unwrap(), "/after");
}

/// A frame (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    frame.extend_from_slice(payload);
    frame
}

/// Waits for three requests, says goodbye and that it has looked at the first alone, and answers
/// that.
async fn goodbye(peer: Peer) {
    let mut stream = peer.into_stream();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    let mut heads = 0;
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.unwrap();
        heads += usize::from(head[3] == 1);
        if head[3] == 1 && heads == 3 {
            stream.write_all(&frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])).await.unwrap();
            // `:status: 200` from HPACK's static table, and the end of the stream.
            stream.write_all(&frame(1, 5, 1, &[0x88])).await.unwrap();
        }
    }
}

#[tokio::test]
async fn f087_streams_above_the_last_are_replayed_and_the_others_finish() {
    let (gate, begun) = (open_gate(), Arc::<AtomicUsize>::default());
    let others = serving(100, &gate, &begun);
    let server = Server::tcp(move |peer: Peer| {
        let first = peer.number() == 0;
        let other = (!first).then(|| others.clone());
        async move {
            match other {
                None => goodbye(peer).await,
                Some(other) => other(peer).await,
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let mut all = JoinSet::new();
    for _ in 0..3 {
        let request = agent.post(server.url("/again")).body("once");
        all.spawn(async move { request.send().await.unwrap().text().await.unwrap() });
    }
    let mut answers = guard(all.join_all()).await;
    answers.sort();
    assert_eq!(answers, ["", "/again", "/again"]);
    assert_eq!((begun.load(Ordering::SeqCst), server.counts().accepted), (2, 2));
    let stats = until(&agent, |of| of.open == 1).await;
    assert_eq!((stats.total.retries, stats.total.closed.total()), (2, 1));
}

#[tokio::test]
async fn f087_a_graceful_goodbye_lets_what_is_under_way_finish_and_takes_nothing_new() {
    let gate = Gate::shut();
    let held = gate.clone();
    let server = Server::tcp(move |peer: Peer| {
        let held = held.clone();
        async move {
            let first = peer.number() == 0;
            let mut connection = begin(peer, 100).await;
            let mut accepted = 0;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                accepted += 1;
                if first && accepted == 40 {
                    connection.graceful_shutdown();
                }
                let held = held.clone();
                tokio::spawn(async move {
                    if first {
                        held.pass().await;
                    }
                    answer(&mut respond, request.uri().path());
                });
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let all = burst(&agent, &server.url(""), 40);
    let id = until(&agent, |of| of.requests == 40).await.total.opened;
    assert_eq!(id, 1);
    // A request that meets the goodbye goes to a new connection; those before it wait at the gate.
    let agent_after = agent.clone();
    let url = server.url("/after");
    guard(async {
        while server.counts().accepted < 2 {
            let asked = spawn_get(&agent_after, url.clone());
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            asked.abort();
        }
    })
    .await;
    gate.open();
    assert_eq!(guard(all.join_all()).await.len(), 40);
    assert_eq!(get(&agent, &url).await.unwrap(), "/after");
}

#[tokio::test]
async fn f087_a_refused_stream_is_sent_again_elsewhere_whatever_its_method() {
    let server = Server::tcp(|peer: Peer| async move {
        let refuses = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match refuses {
                true => respond.send_reset(Reason::REFUSED_STREAM),
                false => answer(&mut respond, request.method().as_str()),
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let response = agent.post(server.url("/")).body("once").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "POST");
    assert_eq!(agent.stats().total.retries, 1);
    assert_eq!(server.counts().accepted, 2);
}

#[tokio::test]
async fn f078_a_dropped_request_resets_its_stream_and_nothing_else() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    let dropped = spawn_get(&agent, server.url("/dropped"));
    let kept = spawn_get(&agent, server.url("/kept"));
    arrived(&begun, 2).await;
    dropped.abort();
    let _ = dropped.await;
    gate.open();
    assert_eq!(guard(kept).await.unwrap().unwrap(), "/kept");
    let stats = until(&agent, |of| of.idle == 1).await;
    assert_eq!((stats.total.opened, stats.total.closed.total()), (1, 0));
    let response = agent.get(server.url("/body")).send().await.unwrap();
    drop(response);
    assert_eq!(get(&agent, server.url("/after")).await.unwrap(), "/after");
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test(start_paused = true)]
async fn f084_a_silent_path_is_found_by_a_ping_and_the_next_request_goes_elsewhere() {
    let server = Server::memory(|peer: Peer| async move {
        let dead = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if dead && request.uri().path() == "/last" {
                // Neither reads nor writes from here on.
                return std::future::pending().await;
            }
            answer(&mut respond, request.uri().path());
        }
    });
    let agent = builder()
        .connector(memory(&server))
        .idle_timeout(Duration::from_secs(3600))
        .build()
        .unwrap();
    assert_eq!(get(&agent, format!("{MEMORY}/first")).await.unwrap(), "/first");
    let began = tokio::time::Instant::now();
    // It may be sent again, and so the caller sees no more than the time that it took.
    assert_eq!(get(&agent, format!("{MEMORY}/last")).await.unwrap(), "/last");
    let took = began.elapsed().as_secs();
    assert!((29..=41).contains(&took), "{took} s: an interval and a timeout");
    let total = agent.stats().total;
    assert_eq!((total.opened, total.retries, total.closed.total()), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn f084_a_timeout_in_silence_retires_the_connection_at_once() {
    let server = Server::memory(|peer: Peer| async move {
        let dead = peer.number() == 0;
        let mut connection = begin(peer, 100).await;
        let mut held = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match dead {
                true => held.push((request, respond)),
                false => answer(&mut respond, "here"),
            }
        }
    });
    let agent = builder()
        .connector(memory(&server))
        .response_timeout(Duration::from_secs(2))
        .build()
        .unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(get(&agent, MEMORY).await.unwrap(), "here");
    let stats = agent.stats();
    assert_eq!(stats.total.closed.get(CloseReason::TimedOut), 1);
}

#[tokio::test]
async fn f114_idle_connections_close_when_their_time_is_over() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().idle_timeout(Duration::from_millis(50)).build().unwrap();
    assert_eq!(agent.warm(server.url("/"), 20).await.unwrap(), 20);
    server.until(|counts| counts.accepted == 20 && counts.open == 0).await;
    let stats = until(&agent, |of| of.open == 0).await;
    assert_eq!(stats.total.closed.get(CloseReason::IdleTimeout), 20);
}

#[tokio::test]
async fn bodies_trailers_and_heads_come_through_both_ways() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            tokio::spawn(async move {
                let host = request.uri().authority().unwrap().to_string();
                let has_host = request.headers().contains_key("host");
                let mut body = request.into_body();
                let mut length = 0;
                while let Some(Ok(data)) = body.data().await {
                    length += data.len();
                    body.flow_control().release_capacity(data.len()).unwrap();
                }
                let head = Response::builder()
                    .status(StatusCode::CREATED)
                    .header("x-host", host)
                    .header("x-has-host", has_host.to_string())
                    .body(());
                let mut send = respond.send_response(head.unwrap(), false).unwrap();
                send.send_data(length.to_string().into(), false).unwrap();
                let mut trailers = http::HeaderMap::new();
                trailers.insert("x-end", "yes".parse().unwrap());
                send.send_trailers(trailers).unwrap();
            });
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let body = vec![7; 3_000_000];
    let response =
        agent.post(server.url("/")).header("host", "other.example").body(body).send().await;
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["x-host"], "other.example");
    assert_eq!(response.headers()["x-has-host"], "false");
    assert_eq!(response.text().await.unwrap(), "3000000");
    assert_eq!(agent.stats().total.idle, 1);
}

#[tokio::test]
async fn a_peer_that_does_not_speak_http_2_is_told_in_the_error() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let _ = peer.head().await;
        peer.send(ok("HTTP/1.1 only")).await;
    })
    .await;
    let agent = builder().build().unwrap();
    let error = guard(agent.get(server.url("/")).send()).await.unwrap_err();
    assert!(error.to_string().contains("HTTP/2"), "{error}");
}
