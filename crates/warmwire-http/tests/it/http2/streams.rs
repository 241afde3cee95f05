//! One stream: how it ends in either direction, and that nothing else ends with it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use futures_util::stream;
use h2::Reason;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use warmwire_http::{Agent, Body, ErrorKind, Sent};
use warmwire_testkit::{Gate, Peer, Server};

use super::{answer, arrived, begin, builder, guard, serving};
use crate::support::{get, spawn_get, until};

/// After whatever was done: the connection is as good as before.
async fn still_good(agent: &Agent, server: &Server) {
    let stats = until(agent, |of| of.idle == 1).await;
    assert_eq!((stats.total.opened, stats.total.closed.total()), (1, 0));
    assert_eq!(guard(get(agent, server.url("/after"))).await.unwrap(), "/after");
    assert_eq!(server.counts().accepted, 1);
}

/// A body that never goes on after its first piece.
fn endless() -> Body {
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"first"))]);
    Body::from_stream(stream::StreamExt::chain(first, stream::pending()))
}

#[tokio::test]
async fn a_reset_within_the_response_ends_that_response_alone() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if request.uri().path() == "/cut" {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data(Bytes::from_static(b"part"), false).unwrap();
                tokio::spawn(async move {
                    // Once what was sent is on its way.
                    tokio::task::yield_now().await;
                    body.send_reset(Reason::INTERNAL_ERROR);
                });
            } else {
                answer(&mut respond, request.uri().path());
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let error = guard(get(&agent, server.url("/cut"))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::ResponseCut, Sent::Yes), "{error}");
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn a_reset_before_the_response_is_an_error_that_is_not_repeated() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            match request.uri().path() {
                "/calm" => respond.send_reset(Reason::ENHANCE_YOUR_CALM),
                path => answer(&mut respond, path),
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let error = guard(get(&agent, server.url("/calm"))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::StreamReset, Sent::Maybe), "{error}");
    assert_eq!(agent.stats().total.retries, 0);
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn an_answer_before_the_request_was_sent_to_its_end_is_a_response() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            // h2 resets the stream afterwards with NO_ERROR (RFC 9113, 8.1), since the request is
            // dropped unread.
            answer(&mut respond, request.uri().path());
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let request = agent.post(server.url("/early")).body(endless());
    let response = guard(request.send()).await.unwrap();
    assert_eq!(guard(response.text()).await.unwrap(), "/early");
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn a_request_body_that_fails_resets_its_stream_and_gives_its_own_error() {
    let (told, mut resets) = mpsc::unbounded_channel();
    let server = Server::tcp(move |peer: Peer| {
        let told = told.clone();
        async move {
            let mut connection = begin(peer, 100).await;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                if request.method() == Method::GET {
                    answer(&mut respond, request.uri().path());
                    continue;
                }
                let told = told.clone();
                tokio::spawn(async move {
                    let _ = told.send(poll_fn(|cx| respond.poll_reset(cx)).await.unwrap());
                });
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let pieces = [Ok(Bytes::from_static(b"first")), Err(std::io::Error::other("the disk is gone"))];
    let request = agent.post(server.url("/")).body(Body::from_stream(stream::iter(pieces)));
    let error = guard(request.send()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RequestBody);
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    assert!(guard(resets.recv()).await.is_some());
    // Dropped in the middle of its body.
    let dropped = tokio::spawn(agent.post(server.url("/")).body(endless()).send());
    until(&agent, |of| of.active == 1).await;
    dropped.abort();
    assert_eq!(guard(resets.recv()).await, Some(Reason::CANCEL));
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn f078_a_response_dropped_in_the_middle_resets_its_stream_and_nothing_else() {
    let (told, mut resets) = mpsc::unbounded_channel();
    let server = Server::tcp(move |peer: Peer| {
        let told = told.clone();
        async move {
            let mut connection = begin(peer, 100).await;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                if request.uri().path() != "/endless" {
                    answer(&mut respond, request.uri().path());
                    continue;
                }
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data(Bytes::from_static(b"part"), false).unwrap();
                let told = told.clone();
                tokio::spawn(async move {
                    let _ = told.send(poll_fn(|cx| body.poll_reset(cx)).await.unwrap());
                });
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let mut kept = agent.get(server.url("/endless")).send().await.unwrap();
    let dropped = agent.get(server.url("/endless")).send().await.unwrap();
    drop(dropped);
    assert_eq!(guard(resets.recv()).await, Some(Reason::CANCEL));
    assert_eq!(guard(kept.chunk()).await.unwrap().unwrap(), "part");
    drop(kept);
    assert_eq!(guard(resets.recv()).await, Some(Reason::CANCEL));
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn a_hundred_requests_dropped_at_once_leave_the_connection_as_it_was() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().max_connections(1).build().unwrap();
    let all: Vec<_> = (0..100).map(|_| spawn_get(&agent, server.url("/dropped"))).collect();
    arrived(&begun, 100).await;
    all.iter().for_each(tokio::task::JoinHandle::abort);
    gate.open();
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn heads_without_bodies_and_what_comes_before_and_after() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let head = Response::builder();
            match request.uri().path() {
                "/head" => {
                    let head = head.header("content-length", "5").body(());
                    respond.send_response(head.unwrap(), true).unwrap();
                }
                "/204" => {
                    let head = head.status(StatusCode::NO_CONTENT).body(());
                    respond.send_response(head.unwrap(), true).unwrap();
                }
                "/304" => {
                    let head = head.status(StatusCode::NOT_MODIFIED).header("content-length", "9");
                    respond.send_response(head.body(()).unwrap(), true).unwrap();
                }
                "/hints" => {
                    for status in [100, 103, 103] {
                        let hint = Response::builder().status(status).body(()).unwrap();
                        respond.send_informational(hint).unwrap();
                    }
                    answer(&mut respond, "final");
                }
                "/trailers" => {
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    body.send_data(Bytes::from_static(b"body"), false).unwrap();
                    let mut trailers = HeaderMap::new();
                    trailers.insert("grpc-status", "0".parse().unwrap());
                    body.send_trailers(trailers).unwrap();
                }
                path => answer(&mut respond, path),
            }
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let head = guard(agent.head(server.url("/head")).send()).await.unwrap();
    assert_eq!(head.headers()["content-length"], "5");
    assert_eq!(guard(head.bytes()).await.unwrap(), "");
    for (path, status) in [("/204", 204), ("/304", 304)] {
        let response = guard(agent.get(server.url(path)).send()).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(guard(response.bytes()).await.unwrap(), "");
    }
    let hinted = guard(agent.get(server.url("/hints")).send()).await.unwrap();
    assert_eq!(hinted.status(), 200);
    assert_eq!(guard(hinted.text()).await.unwrap(), "final");
    let response = guard(agent.get(server.url("/trailers")).send()).await.unwrap();
    let whole = guard(response.into_body().collect()).await.unwrap();
    assert_eq!(whole.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(whole.to_bytes(), "body");
    still_good(&agent, &server).await;
}

#[tokio::test]
async fn a_body_does_not_wait_for_100_continue() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            tokio::spawn(async move {
                let path = request.uri().path().to_owned();
                let expects = request.headers().contains_key("expect");
                let mut body = request.into_body();
                let mut text = expects.to_string();
                // Before any 100, and one comes all the same.
                while let Some(Ok(data)) = body.data().await {
                    text.push_str(std::str::from_utf8(&data).unwrap());
                }
                let go = Response::builder().status(StatusCode::CONTINUE).body(()).unwrap();
                respond.send_informational(go).unwrap();
                answer(&mut respond, if path == "/after" { "/after" } else { &text });
            });
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let request = agent.post(server.url("/")).header("expect", "100-continue").body(" body");
    let response = guard(request.send()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(guard(response.text()).await.unwrap(), "true body");
    still_good(&agent, &server).await;
}
