//! Bodies come out as they were before they were coded, and nothing else is touched.

use async_compression::tokio::bufread::{
    BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::io::AsyncReadExt;
use tower::ServiceExt;
use warmwire_http::{Agent, Body, Error, ErrorKind};
use warmwire_plugs::compression::Decompress;
use warmwire_plugs::mock::{Mock, Reply};

/// Long enough for several pieces, and not the same all over.
fn text() -> Bytes {
    (0..20_000).map(|n| format!("line {n} of a text\n")).collect::<String>().into()
}

async fn encode(coding: &str, plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    match coding {
        "gzip" => GzipEncoder::new(plain).read_to_end(&mut coded).await,
        "br" => BrotliEncoder::new(plain).read_to_end(&mut coded).await,
        "zstd" => ZstdEncoder::new(plain).read_to_end(&mut coded).await,
        "deflate" => ZlibEncoder::new(plain).read_to_end(&mut coded).await,
        "bare deflate" => DeflateEncoder::new(plain).read_to_end(&mut coded).await,
        other => panic!("{other}"),
    }
    .unwrap();
    coded
}

fn coded(coding: &'static str, body: impl Into<Bytes>) -> Reply {
    Reply::from(body.into()).header("content-encoding", coding)
}

fn agent(mock: &Mock) -> Agent {
    mock.install(Agent::builder()).build().unwrap()
}

async fn get(agent: &Agent) -> http::Response<Body> {
    send(agent, http::Request::get("http://api.test/").body(Body::empty()).unwrap()).await
}

async fn send(agent: &Agent, request: http::Request<Body>) -> http::Response<Body> {
    Decompress::new(agent.clone()).oneshot(request).await.unwrap()
}

async fn whole(response: http::Response<Body>) -> Result<Bytes, Error> {
    response.into_body().collect().await.map(http_body_util::Collected::to_bytes)
}

#[tokio::test]
async fn each_coding_is_asked_for_and_undone_on_a_connection_that_is_kept() {
    for (coding, name) in [
        ("gzip", "gzip"),
        ("gzip", "X-GZIP"),
        ("br", "br"),
        ("zstd", "zstd"),
        ("deflate", "deflate"),
        ("bare deflate", "deflate"),
    ] {
        let body = encode(coding, &text()).await;
        let mock = Mock::new()
            .reply(coded(name, body.clone()))
            .reply(coded(name, body).chunked())
            .reply("plain");
        let agent = agent(&mock);
        for _ in 0..2 {
            let response = get(&agent).await;
            assert!(!response.headers().contains_key("content-encoding"));
            assert!(!response.headers().contains_key("content-length"));
            assert!(whole(response).await.unwrap() == text(), "{coding}");
        }
        assert_eq!(whole(get(&agent).await).await.unwrap(), "plain");
        assert_eq!(mock.connections(), 1, "{coding}");
        assert_eq!(mock.requests()[0].header("accept-encoding"), Some("gzip, br, zstd, deflate"));
    }
}

#[tokio::test]
async fn codings_on_top_of_one_another_are_undone_from_the_last() {
    let inner = encode("gzip", b"twice").await;
    let mock = Mock::new().reply(coded("gzip, br", encode("br", &inner).await));
    assert_eq!(whole(get(&agent(&mock)).await).await.unwrap(), "twice");
}

#[tokio::test]
async fn several_members_and_frames_are_one_body() {
    for coding in ["gzip", "zstd"] {
        let mut body = encode(coding, b"one ").await;
        body.extend(encode(coding, b"two").await);
        let mock = Mock::new().reply(coded(coding, body));
        assert_eq!(whole(get(&agent(&mock)).await).await.unwrap(), "one two", "{coding}");
    }
}

#[tokio::test]
async fn an_empty_body_is_empty_in_every_coding() {
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let mock = Mock::new().reply(coded(coding, "")).reply(coded(coding, "").chunked());
        let agent = agent(&mock);
        assert_eq!(whole(get(&agent).await).await.unwrap(), "", "{coding}");
        assert_eq!(whole(get(&agent).await).await.unwrap(), "", "{coding}");
    }
}

#[tokio::test]
async fn data_that_is_cut_or_broken_or_goes_on_is_a_decode_error() {
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let good = encode(coding, &text()).await;
        let cut = good[..good.len() / 2].to_vec();
        let mut surplus = good.clone();
        surplus.extend(b"garbage");
        // The reserved block type, a bad magic number: whatever it is, it is none of the codings.
        let broken = b"\x78this is no coded data, whatever it says".to_vec();
        for (what, body) in [("cut", cut), ("surplus", surplus), ("broken", broken)] {
            let mock = Mock::new().reply(coded(coding, body));
            let error = whole(get(&agent(&mock)).await).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Decode, "{coding}, {what}: {error}");
            assert!(error.to_string().contains(&format!("not valid {coding}")), "{error}");
            assert!(error.connection().is_some(), "{error}");
        }
    }
}

#[tokio::test]
async fn a_failure_of_the_connection_stays_what_it_is() {
    let body = encode("gzip", &text()).await;
    let half = body.len() / 2;
    let mock = Mock::new().reply(coded("gzip", body).cut_after(half));
    let error = whole(get(&agent(&mock)).await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResponseCut, "{error}");
}

#[tokio::test]
async fn who_asks_for_a_coding_or_a_range_gets_what_the_server_sends() {
    let body = encode("gzip", b"x").await;
    for (name, value) in [("accept-encoding", "gzip"), ("range", "bytes=0-9")] {
        let mock = Mock::new().reply(coded("gzip", body.clone()));
        let request = http::Request::get("http://api.test/").header(name, value);
        let response = send(&agent(&mock), request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.headers()["content-encoding"], "gzip");
        assert_eq!(whole(response).await.unwrap(), body);
        assert_eq!(mock.requests()[0].header(name), Some(value));
    }
}

#[tokio::test]
async fn answers_without_a_body_parts_and_unknown_codings_are_left_alone() {
    let header = "content-encoding";
    let mock = Mock::new()
        .reply(Reply::status(204).header(header, "gzip"))
        .reply(Reply::status(304).header(header, "gzip"))
        .reply(Reply::status(206).header(header, "gzip").body("part"))
        .reply(Reply::status(200).header(header, "compress").body("what?"));
    let agent = agent(&mock);
    for wanted in ["", "", "part", "what?"] {
        let response = get(&agent).await;
        assert!(response.headers().contains_key(header));
        assert_eq!(whole(response).await.unwrap(), wanted);
    }
    let mock = Mock::new().reply(coded("gzip", "seven b"));
    let request = http::Request::head("http://api.test/").body(Body::empty()).unwrap();
    let response = send(&self::agent(&mock), request).await;
    assert_eq!(response.headers()["content-length"], "7");
    assert_eq!(response.headers()[header], "gzip");
}
