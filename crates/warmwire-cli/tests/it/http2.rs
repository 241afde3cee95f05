//! `bench --http2`: one connection for many requests, against one for each.

use serde_json::Value;

use crate::given_url::Server;
use crate::support::{TemporaryFile, bench, run, stderr, stdout};

/// Measures 60 requests of 6 callers with `arguments` and checks what both ends have counted.
fn shares_one_connection(arguments: &[&str]) -> Value {
    let load = ["--http2", "--requests", "60", "--concurrency", "6", "--delay", "1ms"];
    let document = bench(&[&load, arguments].concat());
    for (side, connections) in [("without", 60), ("with", 1)] {
        let (measured, server) = (&document[side], &document["target"]["server"][side]);
        assert_eq!(measured["requests"], 60, "{side}: {document}");
        assert_eq!(measured["failed"], 0, "{side}: {document}");
        assert_eq!(measured["connections_opened"], connections, "{side}: {document}");
        assert_eq!(server["accepted"], connections, "{side}: {document}");
        assert_eq!(server["requests"], 60, "{side}: {document}");
    }
    assert_eq!(document["target"]["http_version"], "2");
    assert_eq!(document["target"]["simulated"]["http2"], true);
    assert_eq!(document["options"]["http2"], true);
    document
}

#[test]
fn one_connection_carries_what_took_one_each() {
    shares_one_connection(&[]);
}

#[test]
fn tls_agrees_on_http2_by_alpn() {
    let document = shares_one_connection(&["--tls"]);
    assert_eq!(document["target"]["simulated"]["tls"], "1.3");
    shares_one_connection(&["--tls-version", "1.2"]);
}

#[test]
fn more_callers_than_streams_open_further_connections_or_wait() {
    let load = ["--http2", "--side", "with", "--requests", "600", "--concurrency", "200"];
    let connections = |most: &str| {
        let document = bench(
            &[&load[..], &["--rounds", "1", "--delay", "2ms", "--max-connections", most]].concat(),
        );
        assert_eq!(document["with"]["failed"], 0, "{document}");
        document["with"]["connections_opened"].as_u64()
    };
    assert_eq!(connections("1"), Some(1));
    assert_eq!(connections("10"), Some(2), "128 streams are on each");
}

#[test]
fn requests_carry_bodies() {
    let body = TemporaryFile::with("http2-body", &[b'x'; 200_000]);
    let document =
        shares_one_connection(&["--method", "POST", "--body-file", body.path(), "--body", "64KiB"]);
    assert_eq!(document["options"]["request_body_bytes"], 200_000);
}

#[test]
fn without_the_flag_http_1_1_is_spoken() {
    for arguments in [&["--requests", "4"][..], &["--requests", "4", "--tls"]] {
        let document = bench(arguments);
        assert_eq!(document["target"]["http_version"], "1.1");
        assert_eq!(document["target"]["simulated"]["http2"], false);
        assert_eq!(document["options"]["http2"], false);
    }
}

#[test]
fn text_and_report_say_so() {
    let page = TemporaryFile::with("http2-report.html", b"");
    let common = ["bench", "--http2", "--requests", "10", "--concurrency", "2", "--quiet"];
    let output = run(&[&common[..], &["--report", page.path()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (text, html) = (stdout(&output), std::fs::read_to_string(&page.0).unwrap());
    for expected in ["HTTP/2 without TLS (h2c)", "each carries many requests at once"] {
        assert!(text.contains(expected) && html.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("Connection: close"), "{text}");

    let text = stdout(&run(&[&common[..], &["--tls"]].concat()));
    assert!(text.contains("HTTP/2 over TLS 1.3"), "{text}");
    let text = stdout(&run(&["bench", "--requests", "10", "--quiet"]));
    assert!(text.contains("HTTP/1.1, answers") && text.contains("Connection: close"), "{text}");
}

#[test]
fn a_given_url_is_measured_by_prior_knowledge() {
    let server = Server::start(true);
    let document = bench(&[&server.url(), "--http2", "--requests", "30", "--concurrency", "3"]);
    assert_eq!(document["without"]["connections_opened"], 30);
    assert_eq!(document["with"]["connections_opened"], 1);
    assert_eq!(document["target"]["http_version"], "2");
}

#[test]
fn a_server_without_http2_is_a_failure_that_says_so() {
    let server = Server::start(false);
    let output = run(&[
        "bench",
        &server.url(),
        "--http2",
        "--requests",
        "4",
        "--concurrency",
        "1",
        "--quiet",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("HTTP/2"), "{}", stderr(&output));
}
