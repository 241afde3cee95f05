//! Bodies, both ways: framing, early answers, what is dropped unread, and what callers decode.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, StreamBody};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use warmwire_http::{Agent, Body, CloseReason, ErrorKind, Phase, Sent};
use warmwire_testkit::{Gate, Peer, Reply, Server, ok};

use crate::support::{MEMORY, get, memory, until};

/// A body whose pieces come through a channel.
fn channel() -> (mpsc::UnboundedSender<&'static str>, Body) {
    let (pieces, mut rest) = mpsc::unbounded_channel();
    let stream = futures_util::stream::poll_fn(move |cx| {
        rest.poll_recv(cx).map(|piece| piece.map(Ok::<&'static str, io::Error>))
    });
    (pieces, Body::from_stream(stream))
}

/// Answers each request with what `make` says of its target; keeps the connection.
fn canned(make: fn(&str) -> Vec<u8>) -> Server {
    Server::memory(move |peer| peer.serve(move |request| make(&request.target)))
}

#[tokio::test(start_paused = true)]
async fn f073_a_dropped_small_body_is_read_to_its_end_and_the_connection_reused() {
    let server = canned(|target| match target {
        "/small" => ok(vec![b'x'; 4 * 1024]),
        "/chunked" => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec()
        }
        _ => ok(target),
    });
    let agent = Agent::builder().max_connections(1).connector(memory(&server)).build().unwrap();
    for target in ["/small", "/chunked", "/small"] {
        drop(agent.get(format!("{MEMORY}{target}")).send().await.unwrap());
        assert_eq!(get(&agent, format!("{MEMORY}/next")).await.unwrap(), "/next");
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test(start_paused = true)]
async fn f073_a_dropped_body_that_is_on_its_way_is_waited_for_a_moment() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |mut peer| {
        let at = at.clone();
        async move {
            while let Some(request) = peer.request().await {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc").await;
                at.pass().await;
                peer.send("def").await;
                drop(request);
            }
        }
    });
    let agent = Agent::builder().max_connections(1).connector(memory(&server)).build().unwrap();
    drop(agent.get(MEMORY).send().await.unwrap());
    assert_eq!(agent.stats().total.active, 1, "the rest is being read");
    gate.admit(1);
    let total = until(&agent, |total| total.active == 0).await.total;
    assert_eq!(total.idle, 1);
    // The second time the rest does not come.
    let began = Instant::now();
    drop(agent.get(MEMORY).send().await.unwrap());
    while agent.stats().total.open > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(began.elapsed() <= Duration::from_millis(52), "{:?}", began.elapsed());
    assert_eq!(agent.stats().total.closed.get(CloseReason::BodyDropped), 1);
}

#[tokio::test(start_paused = true)]
async fn f073_a_dropped_large_or_endless_body_closes_its_connection() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            match request.target.as_str() {
                "/large" => {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nx").await;
                }
                "/endless" => {
                    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
                    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
                    for _ in 0..100 {
                        peer.send(&chunk).await;
                    }
                    peer.until_closed().await;
                }
                target => peer.send(ok(target)).await,
            }
        }
    });
    let agent = Agent::builder().max_connections(1).connector(memory(&server)).build().unwrap();
    for target in ["/large", "/endless"] {
        drop(agent.get(format!("{MEMORY}{target}")).send().await.unwrap());
        assert_eq!(get(&agent, format!("{MEMORY}/next")).await.unwrap(), "/next");
        agent.close_idle();
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::BodyDropped)), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn f073_drain_can_be_switched_off() {
    let server = canned(|target| ok(target.repeat(1_000)));
    let agent = Agent::builder().drain_bytes(0).connector(memory(&server)).build().unwrap();
    let mut response = agent.get(format!("{MEMORY}/abcdefghi")).send().await.unwrap();
    // A first piece is taken so that the rest is known not to be here already.
    response.chunk().await.unwrap();
    drop(response);
    let total = agent.stats().total;
    assert!(total.open == total.idle && total.active == 0, "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn f074_no_response_has_bytes_of_another() {
    let server = canned(|target| match target.as_bytes()[1] {
        b'0' => ok(target.repeat(100)),
        b'1' => ok(target.repeat(30_000)),
        b'2' => {
            let body = target.repeat(10);
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            format!("{head}{length:x}\r\n{body}\r\n0\r\n\r\n").into_bytes()
        }
        _ => ok(target),
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    for n in 0..60 {
        let leaked = format!("{MEMORY}/{}leaked", n % 3);
        let mut response = agent.get(&leaked).send().await.unwrap();
        match n % 4 {
            0 => drop(response),
            1 => std::mem::forget(response),
            2 => {
                response.chunk().await.unwrap();
                drop(response);
            }
            _ => {
                response.chunk().await.unwrap();
                std::mem::forget(response);
            }
        }
        for more in 0..5 {
            let target = format!("/x{n}-{more}");
            assert_eq!(get(&agent, format!("{MEMORY}{target}")).await.unwrap(), target);
        }
    }
    let total = agent.stats().total;
    assert!(total.active <= 30, "forgotten ones stay lent and are never used again: {total:?}");
}

#[tokio::test]
async fn f075_a_connection_cut_by_the_server_is_closed_here_too() {
    const CUTS: [&str; 4] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nContent-Len",
    ];
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.head().await;
        peer.send(CUTS[peer.number() % CUTS.len()]).await;
        peer.finish().await;
        // Ends only when the client closes its side: until then it would be in CLOSE_WAIT.
        assert!(peer.until_closed().await.is_empty());
    })
    .await;
    let agent = Agent::new();
    for _ in 0..1_000 {
        let error = get(&agent, server.url("/")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResponseCut);
    }
    assert_eq!(server.until(|counts| counts.open == 0).await.accepted, 1_000);
}

#[tokio::test]
async fn request_bodies_are_framed_by_length_or_chunks() {
    let server = Server::tcp(|peer| {
        peer.serve(|request| {
            let framing = request.header("content-length").unwrap_or("chunked");
            ok(format!("{framing}: {}", request.text()))
        })
    })
    .await;
    let agent = Agent::new();
    let post = async |body: Body| {
        agent.post(server.url("/")).body(body).send().await.unwrap().text().await.unwrap()
    };
    assert_eq!(post("abc".into()).await, "3: abc");
    assert_eq!(post(Body::empty()).await, "0: ");
    let pieces = ["ab", "", "cd"].map(Ok::<_, io::Error>);
    assert_eq!(post(Body::from_stream(futures_util::stream::iter(pieces))).await, "chunked: abcd");
    let large = "x".repeat(300_000);
    assert_eq!(post(large.clone().into()).await, format!("300000: {large}"));
    let pieces = vec![Ok::<_, io::Error>(large.clone()), Ok(large.clone())];
    let both = Body::from_stream(futures_util::stream::iter(pieces));
    assert_eq!(post(both).await, format!("chunked: {large}{large}"));
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn a_response_streams_into_the_next_request_and_ends_with_its_error() {
    let server = Server::tcp(|mut peer: Peer| async move {
        while let Some(request) = peer.request().await {
            match request.target.as_str() {
                "/cut" => {
                    return peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await;
                }
                _ => peer.send(ok(request.text())).await,
            }
        }
    })
    .await;
    let agent = Agent::new();
    let text = "x".repeat(300_000);
    let first = agent.post(server.url("/")).body(text.clone()).send().await.unwrap();
    let body = Body::from_stream(first.bytes_stream());
    let second = agent.post(server.url("/")).body(body).send().await.unwrap();
    assert_eq!(second.text().await.unwrap(), text);

    let mut pieces = agent.get(server.url("/cut")).send().await.unwrap().bytes_stream();
    assert_eq!(pieces.next().await.unwrap().unwrap(), "abc");
    assert_eq!(pieces.next().await.unwrap().unwrap_err().kind(), ErrorKind::ResponseCut);
    assert!(pieces.next().await.is_none());
}

#[tokio::test]
async fn trailers_of_a_request_and_of_a_response() {
    let server = Server::tcp(|mut peer: Peer| async move {
        while let Some(request) = peer.request().await {
            assert_eq!(request.trailers, [("x-sum".to_owned(), "3".to_owned())]);
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n";
            peer.send(format!("{head}2\r\nok\r\n0\r\nX-End: yes\r\n\r\n")).await;
        }
    })
    .await;
    let agent = Agent::new();
    for _ in 0..2 {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "3".parse().unwrap());
        let frames = [
            Ok::<_, io::Error>(http_body::Frame::data(Bytes::from_static(b"abc"))),
            Ok(http_body::Frame::trailers(trailers)),
        ];
        let body = Body::new(StreamBody::new(futures_util::stream::iter(frames)));
        let response = agent.post(server.url("/")).body(body).send().await.unwrap();
        let whole = response.into_body().collect().await.unwrap();
        assert_eq!(whole.trailers().unwrap()["x-end"], "yes");
        assert_eq!(whole.to_bytes(), "ok");
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_response_may_begin_and_go_on_while_the_request_is_sent() {
    let server = Server::memory(|mut peer| async move {
        while peer.head().await.is_some() {
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            while let Some(chunk) = peer.chunk().await.filter(|chunk| !chunk.is_empty()) {
                let echo = [format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n"].concat();
                peer.send(echo).await;
            }
            peer.exactly(2).await;
            peer.send("0\r\n\r\n").await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    for _ in 0..2 {
        let (pieces, body) = channel();
        let mut response = agent.post(MEMORY).body(body).send().await.unwrap();
        for piece in ["one", "two", "three"] {
            pieces.send(piece).unwrap();
            assert_eq!(response.chunk().await.unwrap().unwrap(), piece);
        }
        drop(pieces);
        assert_eq!(response.chunk().await.unwrap(), None);
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.idle), (1, 1));
}

#[tokio::test]
async fn f027_an_early_answer_to_a_large_post_is_seen_and_bytes_never_mix() {
    let server = Server::tcp(|mut peer: Peer| async move {
        while let Some(head) = peer.head().await {
            if head.method == "GET" {
                peer.send(ok(&head.target)).await;
                continue;
            }
            peer.send(Reply::new(413).body("too large").bytes()).await;
            // Whatever follows on this connection must be of the body.
            let rest = peer.until_closed().await;
            assert!(rest.iter().all(|&byte| byte == b'x'), "another request in a body");
        }
    })
    .await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    for _ in 0..5 {
        let body = vec![b'x'; 10 * 1024 * 1024];
        let response = agent.post(server.url("/upload")).body(body).send().await.unwrap();
        assert_eq!(response.status(), 413);
        assert_eq!(response.text().await.unwrap(), "too large");
        assert_eq!(get(&agent, server.url("/next")).await.unwrap(), "/next");
    }
}

#[tokio::test]
async fn f027_an_early_answer_and_a_close_are_an_answer() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.head().await;
        peer.send(Reply::new(413).header("Connection", "close").body("too large").bytes()).await;
        peer.finish().await;
        peer.until_closed().await;
    })
    .await;
    let agent = Agent::new();
    for _ in 0..5 {
        let body = vec![b'x'; 10 * 1024 * 1024];
        let response = agent.post(server.url("/upload")).body(body).send().await.unwrap();
        assert_eq!(response.status(), 413);
        assert_eq!(response.text().await.unwrap(), "too large");
    }
    server.until(|counts| counts.open == 0).await;
}

/// POSTs with `Expect: 100-continue`; the server does with the head what `answer` says.
async fn expecting(answer: &'static str) -> (Agent, Server, u16, Duration) {
    let server = Server::memory(move |mut peer| async move {
        while let Some(mut request) = peer.head().await {
            peer.send(answer).await;
            if answer.contains("417") {
                continue;
            }
            peer.body(&mut request).await;
            peer.send(ok(request.text())).await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let began = Instant::now();
    let post = agent.post(MEMORY).header("expect", "100-continue").body("the body");
    let response = post.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    assert_eq!(text, if status == 200 { "the body" } else { "" });
    (agent, server, status, began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn expect_continue_waits_for_leave() {
    let (agent, server, status, took) = expecting("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!((status, took), (200, Duration::ZERO));
    assert_eq!(server.counts().requests[0].header("expect"), Some("100-continue"));
    assert_eq!(agent.stats().total.idle, 1);
}

#[tokio::test(start_paused = true)]
async fn expect_continue_takes_no_for_an_answer() {
    let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    let (agent, server, status, took) = expecting(refusal).await;
    assert_eq!((status, took), (417, Duration::ZERO));
    assert!(server.counts().requests[0].body.is_empty(), "the body stayed here");
    assert_eq!(agent.stats().total.idle, 0, "a connection with half a request is not kept");
}

#[tokio::test(start_paused = true)]
async fn expect_continue_does_not_wait_for_ever() {
    let (_, _, status, took) = expecting("").await;
    assert_eq!((status, took), (200, Duration::from_secs(1)));
}

#[tokio::test]
async fn responses_without_a_body_leave_the_connection_for_the_next() {
    let server = Server::tcp(|peer| {
        peer.serve(|request| match request.target.as_str() {
            "/head" => b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n".to_vec(),
            "/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            "/304" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_vec(),
            "/hints" => {
                let mut bytes = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
                bytes.extend_from_slice(&ok(""));
                bytes
            }
            target => ok(target),
        })
    })
    .await;
    let agent = Agent::new();
    for (method, target, status) in [
        (Method::HEAD, "/head", 200),
        (Method::GET, "/204", 204),
        (Method::GET, "/304", 304),
        (Method::GET, "/hints", 200),
    ] {
        let response = agent.request(method, server.url(target)).send().await.unwrap();
        assert_eq!(response.status(), status, "{target}");
        assert_eq!(response.bytes().await.unwrap(), "", "{target}");
        assert_eq!(get(&agent, server.url("/x")).await.unwrap(), "/x", "after {target}");
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn a_body_until_the_close_is_whole_and_its_connection_not_kept() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\n\r\nall of ").await;
        peer.send("it").await;
    })
    .await;
    let agent = Agent::new();
    for _ in 0..2 {
        let response = agent.get(server.url("/")).send().await.unwrap();
        assert_eq!(response.content_length(), None);
        assert_eq!(response.text().await.unwrap(), "all of it");
    }
    let total = agent.stats().total;
    assert_eq!((total.opened, total.closed.get(CloseReason::PeerAsked)), (2, 2));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Charge {
    amount: u32,
    currency: String,
}

#[tokio::test]
async fn json_forms_and_queries_arrive_as_they_should() {
    let server = Server::tcp(|peer| {
        peer.serve(|request| {
            let kind = request.header("content-type").unwrap_or("none").to_owned();
            let reply = Reply::new(200).header("X-Type", &kind).header("X-Target", &request.target);
            reply.body(&request.body).bytes()
        })
    })
    .await;
    let agent = Agent::new();
    let charge = Charge { amount: 5, currency: "EUR & more".into() };
    let response = agent.post(server.url("/")).json(&charge).send().await.unwrap();
    assert_eq!(response.headers()["x-type"], "application/json");
    assert_eq!(response.json::<Charge>().await.unwrap(), charge);

    let response = agent.post(server.url("/")).form(&charge).send().await.unwrap();
    assert_eq!(response.headers()["x-type"], "application/x-www-form-urlencoded");
    assert_eq!(response.text().await.unwrap(), "amount=5&currency=EUR+%26+more");

    let own = agent.post(server.url("/")).header("content-type", "text/json").json(&charge);
    assert_eq!(own.send().await.unwrap().headers()["x-type"], "text/json");

    let asked = agent.get(server.url("/a?b=c")).query(&charge).query(&[("d", "é")]).send().await;
    assert_eq!(
        asked.unwrap().headers()["x-target"],
        "/a?b=c&amount=5&currency=EUR+%26+more&d=%C3%A9"
    );
}

#[tokio::test]
async fn headers_of_the_agent_and_of_the_request() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder()
        .user_agent("tester/1")
        .default_header("x-team", "payments")
        .default_header("accept", "*/*")
        .build()
        .unwrap();
    get(&agent, server.url("/")).await.unwrap();
    let own = agent.get(server.url("/")).header("accept", "text/plain").bearer_auth("token");
    own.send().await.unwrap().text().await.unwrap();
    agent.get(server.url("/")).basic_auth("user", "secret").send().await.unwrap();
    let requests = server.counts().requests;
    let host = server.address().to_string();
    for request in &requests {
        assert_eq!(request.header("user-agent"), Some("tester/1"));
        assert_eq!(request.header("x-team"), Some("payments"));
        assert_eq!(request.header("host"), Some(host.as_str()));
    }
    assert_eq!(requests[0].header("accept"), Some("*/*"));
    let accepts = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("accept");
    assert_eq!(requests[1].headers.iter().filter(accepts).count(), 1);
    assert_eq!(requests[1].header("accept"), Some("text/plain"));
    assert_eq!(requests[1].header("authorization"), Some("Bearer token"));
    assert_eq!(requests[2].header("authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
}

#[tokio::test]
async fn the_service_and_execute_speak_http_types() {
    use tower::Service as _;
    let server = Server::tcp(|peer| peer.serve(|request| ok(request.text()))).await;
    let mut agent = Agent::new();
    let request = |text: &'static str| {
        let body = http_body_util::Full::new(Bytes::from_static(text.as_bytes()));
        http::Request::post(server.url("/")).body(body).unwrap()
    };
    let response = agent.execute(request("one")).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "one");
    let response = agent.call(request("two")).await.unwrap();
    let connection = response.extensions().get::<warmwire_http::ConnectionInfo>().unwrap();
    assert!(connection.reused());
    assert!(response.extensions().get::<warmwire_http::Timings>().is_some());
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "two");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_is_bounded_by_the_response_timeout() {
    let server = Server::memory(|mut peer| async move {
        peer.request().await;
        peer.until_closed().await;
    });
    let agent = Agent::builder()
        .response_timeout(Duration::from_secs(2))
        .connector(memory(&server))
        .build()
        .unwrap();
    let (pieces, body) = channel();
    let sending = tokio::spawn(agent.post(MEMORY).body(body).send());
    for _ in 0..5 {
        sleep(Duration::from_millis(1_500)).await;
        pieces.send("every piece starts the timer anew").unwrap();
    }
    let began = Instant::now();
    let error = sending.await.unwrap().unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    assert_eq!(error.kind(), ErrorKind::ResponseTimeout);
    assert_eq!((error.phase(), error.sent()), (Phase::Send, Sent::Maybe));
}

/// A caller may know the length of what its stream does not know.
#[tokio::test]
async fn a_stream_is_sent_with_the_length_that_a_header_declares() {
    let server = Server::tcp(|peer: Peer| {
        peer.serve(|request| ok(request.header("content-length").unwrap_or("chunked")))
    })
    .await;
    let agent = Agent::new();
    let pieces =
        || Body::from_stream(futures_util::stream::iter([Ok::<_, io::Error>("abc"), Ok("de")]));
    let told = agent.put(server.url("/")).header("content-length", "5").body(pieces());
    assert_eq!(told.send().await.unwrap().text().await.unwrap(), "5");
    let untold = agent.put(server.url("/")).body(pieces());
    assert_eq!(untold.send().await.unwrap().text().await.unwrap(), "chunked");
    let wrong = agent.put(server.url("/")).header("content-length", "4").body(pieces());
    assert_eq!(wrong.send().await.unwrap_err().kind(), ErrorKind::InvalidRequest);
}
