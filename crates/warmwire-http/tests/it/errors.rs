//! Every kind of failure is told apart, and says when, where, on which connection, whether the
//! request was sent, and which limit or timer it met.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::sleep;
use warmwire_http::{Agent, AgentBuilder, Body, Error, ErrorKind, Io, Phase, Sent, Tls};
use warmwire_testkit::{BlackHole, Certificates, Gate, Peer, Reply, Server, ServerTls, ok};

use crate::support::{ConnectWith, MEMORY, ResolveWith, get, loopback, memory, spawn_get, until};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[track_caller]
fn assert_is(error: &Error, kind: ErrorKind, phase: Phase, sent: Sent, texts: &[&str]) {
    assert_eq!((error.kind(), error.phase(), error.sent()), (kind, phase, sent), "{error}");
    for text in texts {
        assert!(error.to_string().contains(text), "{text:?} is not in: {error}");
    }
    let before_connection = phase <= Phase::Tls;
    assert_eq!(error.connection().is_none(), before_connection, "{error:?}");
    let timed = kind.as_str().contains("timeout");
    assert_eq!(error.is_timeout(), timed, "{error:?}");
}

/// A stream to nowhere: it takes what is written and never answers.
fn silent() -> Box<dyn Io> {
    Box::new(tokio::io::join(PendingRead, tokio::io::sink()))
}

struct PendingRead;

impl tokio::io::AsyncRead for PendingRead {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

/// A resolver and a connector that take a while each, so that timings are known.
fn slow(dns: Duration, connect: Duration, server: &Server) -> AgentBuilder {
    let dialer = server.dialer();
    Agent::builder()
        .resolver(ResolveWith(move |_| async move {
            sleep(dns).await;
            Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
        }))
        .connector(ConnectWith(move |_| {
            let dialer = dialer.clone();
            async move {
                sleep(connect).await;
                Ok(Box::new(dialer.dial()) as Box<dyn Io>)
            }
        }))
}

#[tokio::test(start_paused = true)]
async fn f095_unknown_name() {
    let resolver = ResolveWith(|_| async {
        sleep(ms(30)).await;
        Err(io::Error::new(io::ErrorKind::NotFound, "no such name"))
    });
    let agent = Agent::builder().resolver(resolver).build().unwrap();
    let error = get(&agent, "http://nowhere.example:81/x").await.unwrap_err();
    let texts = ["http://nowhere.example:81", "could not be looked up", "no such name"];
    assert_is(&error, ErrorKind::Dns, Phase::Dns, Sent::No, &texts);
    assert_eq!(error.origin().unwrap().as_str(), "http://nowhere.example:81");
    assert_eq!((error.timings().dns, error.elapsed()), (ms(30), ms(30)));

    let nothing = ResolveWith(|_| async { Ok(Vec::new()) });
    let agent = Agent::builder().resolver(nothing).build().unwrap();
    let error = get(&agent, "http://nowhere.example").await.unwrap_err();
    assert_is(&error, ErrorKind::Dns, Phase::Dns, Sent::No, &["no address", "nowhere.example"]);
}

#[tokio::test]
async fn f094_refusal_names_every_address() {
    let server = Server::tcp(Peer::echo_targets).await;
    let port = server.address().port();
    drop(server);
    let both = ResolveWith(|_| async {
        Ok(vec![IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)])
    });
    let agent = Agent::builder().resolver(both).build().unwrap();
    // The server's task may hold the socket until it is next polled.
    tokio::task::yield_now().await;
    let error = get(&agent, format!("http://localhost:{port}")).await.unwrap_err();
    let texts = [&format!("[::1]:{port}"), &format!("127.0.0.1:{port}"), "refused", "tried"];
    assert_is(&error, ErrorKind::ConnectionRefused, Phase::Connect, Sent::No, &texts);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(agent.stats().total.open_errors, 1);
}

#[tokio::test]
async fn f095_black_hole() {
    let hole = BlackHole::new();
    let agent = Agent::builder().connect_timeout(ms(50)).build().unwrap();
    let error = get(&agent, format!("http://{}/", hole.address())).await.unwrap_err();
    let address = hole.address().to_string();
    let texts = ["connect_timeout (50ms) passed during connect", &address];
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Connect, Sent::No, &texts);
    assert!(error.timings().connect >= ms(50) && error.elapsed() >= ms(50), "{error:?}");
    assert_eq!(agent.stats().total.timeouts.connect, 1);
}

#[tokio::test(start_paused = true)]
async fn f095_connect_timeout_says_during_what() {
    let never = ResolveWith(|_| std::future::pending());
    let agent = Agent::builder().resolver(never).build().unwrap();
    let error = get(&agent, "http://a.example").await.unwrap_err();
    let texts = ["connect_timeout (10s) passed during dns"];
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Dns, Sent::No, &texts);
    assert_eq!((error.elapsed(), error.timings().dns), (ms(10_000), ms(10_000)));

    let never = ConnectWith(|_| std::future::pending());
    let agent = Agent::builder().connector(never).connect_timeout(ms(50));
    let agent = agent.dial_backoff(ms(0), ms(0)).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Connect, Sent::No, &["50ms"]);
    // One request may have another patience.
    let patient = agent.get(MEMORY).connect_timeout(ms(2_000)).send().await.unwrap_err();
    assert_eq!(patient.elapsed(), ms(2_000));

    let stalled = ConnectWith(|_| async { Ok(silent()) });
    let agent = Agent::builder().connector(stalled).tls(trusting(&Certificates::new()));
    let agent = agent.connect_timeout(ms(300)).build().unwrap();
    let error = get(&agent, "https://10.0.0.1").await.unwrap_err();
    let texts = ["connect_timeout (300ms) passed during tls"];
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Tls, Sent::No, &texts);
    assert_eq!(error.timings().tls, ms(300));
}

fn trusting(certificates: &Certificates) -> Tls {
    Tls::new().roots_pem(certificates.root_pem())
}

async fn tls_failure(tls: ServerTls, trusted: &Certificates) -> Error {
    let server = Server::tls(tls, Peer::echo_targets).await;
    let agent = Agent::builder().tls(trusting(trusted)).resolver(loopback()).build().unwrap();
    let url = format!("https://localhost:{}/", server.address().port());
    let error = get(&agent, url).await.unwrap_err();
    assert_eq!(agent.stats().total.open_errors, 1);
    error
}

#[tokio::test]
async fn f095_certificates_that_are_not_accepted() {
    let ours = Certificates::new();
    let (tls, no) = (Phase::Tls, Sent::No);

    let expired = ours.server_as(&ours.expired(&["localhost"]));
    let error = tls_failure(expired, &ours).await;
    assert_is(&error, ErrorKind::CertificateExpired, tls, no, &["certificate has expired"]);

    let other = ours.server_as(&ours.identity(&["other.example"]));
    let error = tls_failure(other, &ours).await;
    assert_is(&error, ErrorKind::CertificateWrongName, tls, no, &["for another name"]);

    let error = tls_failure(Certificates::new().server(), &ours).await;
    assert_is(&error, ErrorKind::CertificateUnknownIssuer, tls, no, &["nobody who is trusted"]);
}

#[tokio::test]
async fn f095_a_server_that_speaks_no_tls() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        peer.until_closed().await;
    })
    .await;
    let agent = Agent::builder().tls(trusting(&Certificates::new())).build().unwrap();
    let error = get(&agent, format!("https://{}/", server.address())).await.unwrap_err();
    assert_is(&error, ErrorKind::Tls, Phase::Tls, Sent::No, &["TLS handshake failed"]);
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_named() {
    let invalid = |builder: AgentBuilder, text: &str| {
        let error = builder.build().unwrap_err();
        assert_is(&error, ErrorKind::InvalidConfig, Phase::Prepare, Sent::No, &[text]);
    };
    let builder = Agent::builder;
    invalid(builder().max_connections(0), "max_connections");
    invalid(builder().max_total_connections(0), "max_total_connections");
    invalid(builder().max_requests_per_connection(0), "max_requests_per_connection");
    invalid(builder().default_header("a b", "c"), "default_header");
    invalid(builder().default_header("a", "c\nd"), "default_header a");
    invalid(builder().tls(Tls::new().roots_pem(b"no pem")), "tls");
}

#[tokio::test(start_paused = true)]
async fn f095_head_that_does_not_come() {
    let server = Server::memory(|mut peer| async move {
        peer.head().await;
        peer.until_closed().await;
    });
    let agent = slow(ms(10), ms(20), &server).response_timeout(ms(300)).build().unwrap();
    let error = get(&agent, "http://a.example/x").await.unwrap_err();
    let texts = ["response_timeout (300ms) passed before the response began", "sent: maybe"];
    assert_is(&error, ErrorKind::ResponseTimeout, Phase::Head, Sent::Maybe, &texts);
    assert_eq!((error.timings().dns, error.timings().connect), (ms(10), ms(20)));
    assert_eq!(error.elapsed(), ms(330));
    let total = agent.stats().total;
    assert_eq!((total.timeouts.response, total.open), (1, 0));
    let own = agent.get("http://a.example/x").response_timeout(ms(50)).send().await.unwrap_err();
    assert_eq!(own.elapsed(), ms(70), "one request may have less patience; the name is known");
}

#[tokio::test(start_paused = true)]
async fn f095_body_that_does_not_come() {
    let server = Server::memory(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
        peer.until_closed().await;
    });
    let agent = Agent::builder().read_timeout(ms(300)).connector(memory(&server)).build().unwrap();
    let mut response = agent.get(MEMORY).send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "half");
    let error = response.chunk().await.unwrap_err();
    let texts = ["read_timeout (300ms) passed while the response's body was being read"];
    assert_is(&error, ErrorKind::ReadTimeout, Phase::Body, Sent::Yes, &texts);
    assert_eq!(error.elapsed(), ms(300));
    assert_eq!(agent.stats().total.timeouts.read, 1);
}

#[tokio::test(start_paused = true)]
async fn f095_total_timeout_in_each_phase() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |mut peer| {
        let at = at.clone();
        async move {
            let Some(request) = peer.head().await else { return };
            match request.target.as_str() {
                "/hold" => at.pass().await,
                "/body" => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await,
                "/send" => std::future::pending().await,
                _ => {}
            }
            peer.until_closed().await;
        }
    });
    let agent = || slow(ms(10), ms(20), &server).timeout(ms(500));
    let check = |error: Error, phase, sent, text: &str| {
        let texts = ["timeout (500ms) passed ", text];
        assert_is(&error, ErrorKind::Timeout, phase, sent, &texts);
        assert_eq!(error.elapsed(), ms(500));
    };
    let url = |path: &str| format!("http://a.example{path}");

    let one = agent().max_connections(1).build().unwrap();
    let holding = tokio::spawn(one.get(url("/hold")).timeout(ms(9_000)).send());
    until(&one, |total| total.connecting == 1).await;
    sleep(ms(100)).await;
    let queued = get(&one, url("/x")).await.unwrap_err();
    check(queued, Phase::Queue, Sent::No, "while the request waited for a connection");
    holding.abort();

    let never = ConnectWith(|_| std::future::pending());
    let unconnected = agent().connector(never).build().unwrap();
    let connecting = get(&unconnected, url("/")).await.unwrap_err();
    check(connecting, Phase::Connect, Sent::No, "while a connection was being opened");

    let agent = agent().build().unwrap();
    let large = vec![b'x'; 1024 * 1024];
    let sending = agent.post(url("/send")).body(large).send().await.unwrap_err();
    check(sending, Phase::Send, Sent::Maybe, "while the request was being sent");
    let head = get(&agent, url("/head")).await.unwrap_err();
    check(head, Phase::Head, Sent::Maybe, "before the response began");
    let body = get(&agent, url("/body")).await.unwrap_err();
    check(body, Phase::Body, Sent::Yes, "while the response's body was being read");
    assert_eq!(agent.stats().total.timeouts.total, 3);
}

/// The error of a GET that is answered with these bytes and then FIN.
async fn answered(bytes: &'static str) -> Error {
    let server = Server::memory(move |mut peer| async move {
        peer.head().await;
        peer.send(bytes).await;
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    let total = agent.stats().total;
    assert_eq!((total.open, total.retries, server.counts().requests.len()), (0, 0, 1));
    error
}

#[tokio::test(start_paused = true)]
async fn f095_responses_that_are_cut_or_none() {
    let cut = ErrorKind::ResponseCut;
    let error = answered("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    assert_is(&error, cut, Phase::Body, Sent::Yes, &["4 of 10 bytes"]);
    let error = answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    assert_is(&error, cut, Phase::Body, Sent::Yes, &["chunked body, after 3 bytes"]);
    let error = answered("HTTP/1.1 200 OK\r\nContent-").await;
    assert_is(&error, cut, Phase::Head, Sent::Yes, &["closed in the response head"]);

    let error = answered("").await;
    let texts = ["closed before any byte", "sent: maybe", "connection 1, new"];
    assert_is(&error, ErrorKind::ConnectionClosed, Phase::Head, Sent::Maybe, &texts);

    let error = answered("SSH-2.0-OpenSSH_9.6\r\n").await;
    assert_is(&error, ErrorKind::InvalidResponse, Phase::Head, Sent::Yes, &["not HTTP"]);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let error = answered(chunked).await;
    assert_is(&error, ErrorKind::InvalidResponse, Phase::Body, Sent::Yes, &["zz"]);
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab";
    assert_eq!(answered(two).await.kind(), ErrorKind::InvalidResponse);
}

#[tokio::test(start_paused = true)]
async fn f095_heads_beyond_their_limits() {
    let server = Server::memory(|peer| {
        peer.serve(|_| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(50)).into_bytes())
    });
    let builder = || Agent::builder().connector(memory(&server));
    let agent = builder().max_response_head(100).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_is(&error, ErrorKind::InvalidResponse, Phase::Head, Sent::Yes, &["head is larger"]);
    let agent = builder().max_response_headers(10).build().unwrap();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_is(
        &error,
        ErrorKind::InvalidResponse,
        Phase::Head,
        Sent::Yes,
        &["more response headers"],
    );
}

#[tokio::test]
async fn f095_requests_that_cannot_be_sent() {
    let agent = Agent::new();
    for (url, text) in [
        ("nonsense", "nonsense"),
        ("/path", "no scheme"),
        ("ftp://a.example/", "neither http nor https"),
        ("http://", "http://"),
        ("http://a.example:0/", "port 0"),
        ("http://user:secret@a.example/", "basic_auth"),
    ] {
        let error = get(&agent, url).await.unwrap_err();
        assert_is(&error, ErrorKind::InvalidRequest, Phase::Prepare, Sent::No, &[text]);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let name = agent.get("http://a.example").header("a b", "c").send().await.unwrap_err();
    assert_is(&name, ErrorKind::InvalidRequest, Phase::Prepare, Sent::No, &["header name"]);
    let value = agent.get("http://a.example").header("x-y", "c\r\nd: e").send().await.unwrap_err();
    assert_is(&value, ErrorKind::InvalidRequest, Phase::Prepare, Sent::No, &["header x-y"]);
    assert!(agent.stats().origins.is_empty());
}

/// It would only keep others waiting.
#[tokio::test]
async fn framing_that_does_not_fit_the_body_is_refused_before_a_connection_is_taken() {
    let agent = Agent::new();
    for (name, value) in
        [("content-length", "5"), ("content-length", "x"), ("transfer-encoding", "gzip")]
    {
        // Nobody listens there, and nobody is asked.
        let request = agent.post("http://127.0.0.1:9/").header(name, value).body("four");
        let error = request.send().await.unwrap_err();
        assert_is(&error, ErrorKind::InvalidRequest, Phase::Prepare, Sent::No, &[]);
    }
    assert_eq!((agent.stats().total.requests, agent.stats().total.open_errors), (0, 0));
}

#[tokio::test]
async fn heads_that_cannot_be_sent_are_refused_before_a_connection_is_taken() {
    let agent = Agent::new();
    let get = |path: &str| agent.get(format!("http://127.0.0.1:9/{path}"));
    let star: http::Uri = "http://127.0.0.1:9".parse().unwrap();
    let star = {
        let mut parts = star.into_parts();
        parts.path_and_query = Some("*".parse().unwrap());
        http::Uri::from_parts(parts).unwrap()
    };
    for (request, text) in [
        (get("").header("upgrade", "websocket"), "Upgrade header without Connection: upgrade"),
        (get("").header("expect", "100-continue"), "without a body"),
        (get("").header("host", "a b"), "host has a byte"),
        (get("").header("host", "a").header("host", "b"), "more than one Host"),
        (get("\u{fc}"), "request target"),
        (get("x?\u{fc}"), "request target"),
        (agent.get(star), "form of the target"),
    ] {
        let error = request.send().await.unwrap_err();
        assert_is(&error, ErrorKind::InvalidRequest, Phase::Prepare, Sent::No, &[text]);
    }
    assert_eq!((agent.stats().total.requests, agent.stats().total.open_errors), (0, 0));
}

#[tokio::test]
async fn debug_output_has_no_secrets() {
    let server = Server::tcp(|peer| {
        peer.serve(|_| Reply::new(200).header("Set-Cookie", "id=secret").body("x").bytes())
    })
    .await;
    let agent = Agent::new();
    let origin = agent.origin(server.url("")).unwrap();
    let requests = [
        agent.get(server.url("/path?token=secret")),
        origin.get("/path?token=secret"),
        agent.get(server.url("/path")).basic_auth("user", "secret"),
    ];
    for request in requests {
        let request = request
            .header("authorization", "Bearer secret")
            .header("cookie", "id=secret")
            .header("x-plain", "shown");
        let shown = format!("{request:?}");
        assert!(shown.contains("/path") && shown.contains("\"shown\""), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
        let shown = format!("{:?}", request.send().await.unwrap());
        assert!(shown.contains("set-cookie") && !shown.contains("secret"), "{shown}");
    }
}

/// A body that declares another length than it has.
struct Lying {
    /// What it says is left.
    declared: u64,
    pieces: Vec<&'static str>,
}

impl http_body::Body for Lying {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = self.pieces.pop();
        self.declared = self.declared.saturating_sub(piece.map_or(0, |piece| piece.len() as u64));
        Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.declared)
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_lie_or_fail_end_their_connection() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let post = |body: Body| agent.post(MEMORY).body(body).send();
    // More than is read ahead to see whether a body is in memory.
    let declared = 100_000;
    let short = post(Body::new(Lying { declared, pieces: vec!["short"] })).await.unwrap_err();
    let (kind, texts) = (ErrorKind::InvalidRequest, ["5 of the 100000 bytes"]);
    assert_is(&short, kind, Phase::Send, Sent::No, &texts);
    let long = vec!["x"; 3];
    let error = post(Body::new(Lying { declared: 2, pieces: long })).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (kind, Phase::Send), "{error}");
    assert!(error.to_string().contains("longer than"), "{error}");

    let pieces = [Ok("some"), Err(io::Error::other("the disk is gone"))];
    let failing = Body::from_stream(futures_util::stream::iter(pieces));
    let error = post(failing).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::RequestBody, Phase::Send), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(error.to_string().contains("the disk is gone"), "{error}");

    let declared = agent.post(MEMORY).header("content-length", "7").body("four");
    let error = declared.send().await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (kind, Sent::No), "{error}");
    assert!(error.to_string().contains("says 7 bytes, the body has 4"), "{error}");

    let total = agent.stats().total;
    assert_eq!(total.active, 0);
    assert_eq!(get(&agent, format!("{MEMORY}/next")).await.unwrap(), "/next");
}

#[tokio::test(start_paused = true)]
async fn f111_a_closed_agent_refuses() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    agent.close().await;
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_is(&error, ErrorKind::Closed, Phase::Queue, Sent::No, &["the agent is closed"]);
    let error = agent.warm(MEMORY, 2).await.map(|_| ()).err();
    assert!(error.is_none_or(|error| error.kind() == ErrorKind::Closed));
}

#[tokio::test(start_paused = true)]
async fn f095_queue_errors_have_phase_and_origin() {
    let server = Server::memory(|mut peer| async move {
        peer.head().await;
        peer.until_closed().await;
    });
    let agent = Agent::builder().max_connections(1).max_waiting(1).connector(memory(&server));
    let agent = agent.build().unwrap();
    let _holding = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.active == 1).await;
    let waiting = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.waiting == 1).await;
    let full = get(&agent, MEMORY).await.unwrap_err();
    assert_is(&full, ErrorKind::QueueFull, Phase::Queue, Sent::No, &["http://10.0.0.1: "]);
    assert_eq!(full.elapsed(), Duration::ZERO);
    let late = waiting.await.unwrap().unwrap_err();
    let texts = ["http://10.0.0.1: ", "acquire_timeout (30s)"];
    assert_is(&late, ErrorKind::AcquireTimeout, Phase::Queue, Sent::No, &texts);
    assert_eq!((late.timings().queued, late.elapsed()), (ms(30_000), ms(30_000)));
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_not_what_was_asked_for() {
    let server = Server::memory(|peer| peer.serve(|_| ok(b"\xffno json")));
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let send = || async { agent.get(MEMORY).send().await.unwrap() };
    for error in [
        send().await.text().await.unwrap_err(),
        send().await.json::<u32>().await.unwrap_err(),
        send().await.bytes_limited(3).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
        assert_eq!((error.phase(), error.sent()), (Phase::Body, Sent::Yes), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn f036_timings_add_up_and_the_connection_is_described() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            sleep(ms(40)).await;
            peer.send(ok(&request.target)).await;
        }
    });
    let agent = slow(ms(10), ms(20), &server).build().unwrap();
    let url = "http://a.example/x";
    let began = tokio::time::Instant::now();
    let response = agent.get(url).send().await.unwrap();
    let timings = response.timings();
    assert_eq!((timings.dns, timings.connect, timings.tls), (ms(10), ms(20), ms(0)));
    assert_eq!((timings.queued, timings.first_byte), (ms(0), ms(40)));
    assert_eq!(timings.total(), began.elapsed());
    let connection = response.connection().clone();
    assert!(!connection.reused() && connection.requests() == 0);
    assert_eq!(response.text().await.unwrap(), "/x");

    sleep(ms(100)).await;
    let response = agent.get(url).send().await.unwrap();
    let again = response.connection();
    assert!(again.reused() && again.id() == connection.id() && again.requests() == 1);
    assert_eq!((again.age(), again.idle_before()), (ms(140), ms(100)));
    assert_eq!((response.timings().waited(), response.timings().total()), (ms(0), ms(40)));
}

/// Also of what failed: on which connection, after what, and how long each part took.
#[tokio::test(start_paused = true)]
async fn f036_an_error_tells_the_same_of_its_connection() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            match request.target.as_str() {
                "/silent" => sleep(Duration::from_secs(3_600)).await,
                target => peer.send(ok(target)).await,
            }
        }
    });
    let agent = slow(ms(10), ms(20), &server).response_timeout(ms(50)).build().unwrap();
    let url = "http://a.example/silent";
    let fresh = agent.get(url).send().await.unwrap_err();
    assert_is(&fresh, ErrorKind::ResponseTimeout, Phase::Head, Sent::Maybe, &["50ms"]);
    let used = fresh.connection().expect("it had one").clone();
    assert!(!used.reused() && used.requests() == 0 && used.age() == ms(0));
    let timings = fresh.timings();
    assert_eq!((timings.dns, timings.connect, timings.queued), (ms(10), ms(20), ms(0)));
    assert_eq!(fresh.elapsed(), timings.waited() + ms(50));

    get(&agent, "http://a.example/").await.unwrap();
    sleep(ms(100)).await;
    let reused = agent.get(url).send().await.unwrap_err();
    let again = reused.connection().expect("it had one");
    assert!(again.reused() && again.requests() == 1 && again.id() != used.id());
    assert_eq!((again.age(), again.idle_before()), (ms(100), ms(100)));
    assert_eq!((reused.timings().waited(), reused.elapsed()), (ms(0), ms(50)));
}
