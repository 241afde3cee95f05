//! What is encoded is decoded to the same, for random messages and reads.

use bytes::BytesMut;
use http::Method;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use warmwire_h1::{BodyLength, KeepAlive, Verdict};

use crate::support::{Request, headers, receive};

/// A field name that neither frames nor closes.
fn name() -> impl Strategy<Value = String> {
    "x-[a-z0-9!#$%&'*+.^_`|~-]{1,12}"
}

fn value() -> impl Strategy<Value = String> {
    "([!-~]([ \t!-~]{0,30}[!-~])?)?"
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((name(), value()), 0..12)
}

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..900, 1..20)
}

/// Cuts `bytes` into pieces of these sizes, over and over.
fn cut<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, others) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn lines(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// The same cases in every run; a failure prints the smallest one.
fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(9112),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_response_of_known_length(
        fields in fields(),
        body in prop::collection::vec(any::<u8>(), 0..6000),
        sizes in pieces(),
    ) {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{}content-length: {}\r\n\r\n", lines(&fields), body.len()
        );
        let response = [head.as_bytes(), &body].concat();
        let outcome = receive(&mut Request::get().sent(), cut(&response, &sizes));
        prop_assert_eq!(outcome.error, None);
        prop_assert_eq!(outcome.body, body);
        let mut expected = headers(&borrowed(&fields));
        expected.insert("content-length", outcome.headers["content-length"].clone());
        prop_assert_eq!(outcome.headers, expected);
        prop_assert_eq!(outcome.verdict, Verdict::Reuse(KeepAlive::default()));
    }

    #[test]
    fn a_response_in_chunks(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..700), 0..12),
        trailers in fields(),
        sizes in pieces(),
    ) {
        let mut response = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            response.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            response.extend_from_slice(chunk);
            response.extend_from_slice(b"\r\n");
        }
        response.extend_from_slice(format!("0\r\n{}\r\n", lines(&trailers)).as_bytes());
        let outcome = receive(&mut Request::get().sent(), cut(&response, &sizes));
        prop_assert_eq!(outcome.error, None);
        prop_assert_eq!(outcome.body, chunks.concat());
        prop_assert_eq!(outcome.trailers, headers(&borrowed(&trailers)));
    }

    #[test]
    fn a_request_head(fields in fields(), known in any::<Option<u64>>()) {
        let length = known.map_or(BodyLength::Chunked, BodyLength::Known);
        let head = Request::new(Method::PUT).with(&borrowed(&fields)).body(length).text();

        let mut slots = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut slots);
        let status = parsed.parse(head.as_bytes()).unwrap();
        prop_assert_eq!(status, httparse::Status::Complete(head.len()));
        prop_assert_eq!((parsed.method, parsed.path), (Some("PUT"), Some("/path?query")));
        let framing = match known {
            Some(length) => ("content-length", length.to_string()),
            None => ("transfer-encoding", "chunked".to_owned()),
        };
        let mut expected = headers(&[("host", "example.test"), (framing.0, &framing.1)]);
        expected.extend(headers(&borrowed(&fields)));
        let text = |value| std::str::from_utf8(value).unwrap();
        let got: Vec<_> = parsed.headers.iter().map(|h| (h.name, text(h.value))).collect();
        prop_assert_eq!(got[0], ("host", "example.test"));
        prop_assert_eq!(headers(&got), expected);
    }

    #[test]
    fn a_request_body_in_chunks_is_what_our_decoder_reads(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..700), 0..12),
        trailers in fields(),
    ) {
        let mut exchange = Request::new(Method::POST).body(BodyLength::Chunked).sent();
        let mut body = BytesMut::new();
        for chunk in &chunks {
            let frame = exchange.frame(chunk.len()).unwrap();
            body.extend_from_slice(frame.prefix());
            body.extend_from_slice(chunk);
            body.extend_from_slice(frame.suffix());
        }
        let trailers = headers(&borrowed(&trailers));
        exchange.finish(Some(&trailers), &mut body).unwrap();
        exchange.wrote(body.len());
        prop_assert!(exchange.request_complete());

        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let outcome = receive(&mut Request::get().sent(), [&head[..], &body]);
        prop_assert_eq!((outcome.error, outcome.body), (None, chunks.concat()));
        prop_assert_eq!(outcome.trailers, trailers);
    }

    #[test]
    fn any_bytes_at_all_are_answered_without_a_panic(
        start in prop::sample::select(vec![
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ]),
        noise in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(b"\r\n 01aF;:,=\"".to_vec())], 0..200
        ),
        sizes in pieces(),
    ) {
        let response = [start.as_bytes(), &noise].concat();
        let whole = receive(&mut Request::get().sent(), [&response[..]]);
        let pieces = receive(&mut Request::get().sent(), cut(&response, &sizes));
        prop_assert_eq!(whole.error_kind(), pieces.error_kind());
        prop_assert_eq!((whole.body, whole.verdict), (pieces.body, pieces.verdict));
    }
}
