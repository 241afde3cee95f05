//! What `bench` measures and how it shows it. Counts and shapes only: speed depends on the machine.

use serde_json::Value;

use crate::support::{TemporaryFile, bench, run, stderr, stdout};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn keep_alive_opens_as_many_connections_as_it_may_and_no_more() {
    let document = bench(&[
        "--max-connections",
        "5",
        "--concurrency",
        "8",
        "--requests",
        "200",
        "--delay",
        "1ms",
    ]);
    let (without, with) = (&document["without"], &document["with"]);
    for side in [without, with] {
        assert_eq!(
            (side["requests"].as_u64(), side["failed"].as_u64()),
            (Some(200), Some(0)),
            "{side}"
        );
    }
    assert_eq!(without["connections_opened"], 200);
    assert_eq!(with["connections_opened"], 5);
    assert_eq!(
        (without["requests_per_connection"].as_f64(), with["requests_per_connection"].as_f64()),
        (Some(1.0), Some(40.0))
    );
    // As the other end of the wire has counted them.
    let server = &document["target"]["server"];
    assert_eq!(
        (server["without"]["accepted"].as_u64(), server["without"]["requests"].as_u64()),
        (Some(200), Some(200))
    );
    assert_eq!(
        (server["with"]["accepted"].as_u64(), server["with"]["requests"].as_u64()),
        (Some(5), Some(200))
    );
    assert!(server["with"]["peak_open"].as_u64() <= Some(5), "{server}");
}

#[test]
fn the_document_has_the_documented_shape() {
    let document = bench(&["--concurrency", "4", "--requests", "50"]);
    assert_eq!(keys(&document), ["options", "rounds", "saving", "target", "with", "without"]);
    for side in ["without", "with"] {
        let side = &document[side];
        assert_eq!(
            keys(side),
            [
                "connections_opened",
                "cpu_us_per_request",
                "elapsed_s",
                "failed",
                "failures",
                "handshake_share",
                "histogram_ms",
                "latency_ms",
                "requests",
                "requests_per_connection",
                "rps",
                "rss_bytes"
            ]
        );
        assert_eq!(keys(&side["latency_ms"]), ["max", "mean", "p50", "p90", "p95", "p99", "p999"]);
        let buckets = side["histogram_ms"].as_array().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum::<u64>(), 50);
        assert!(
            buckets.windows(2).all(|pair| pair[0][0].as_f64() < pair[1][0].as_f64()),
            "{buckets:?}"
        );
        assert!(side["cpu_us_per_request"].as_f64() > Some(0.0));
    }
    let share = |side: &str| document[side]["handshake_share"].as_f64().unwrap();
    assert!(share("with") < share("without") && share("without") <= 1.0, "{document}");
    let (without, with) =
        (&document["without"]["latency_ms"]["p50"], &document["with"]["latency_ms"]["p50"]);
    let expected = 1.0 - with.as_f64().unwrap() / without.as_f64().unwrap();
    assert!((document["saving"]["p50"].as_f64().unwrap() - expected).abs() < 1e-9);
    assert_eq!(document["rounds"]["each"].as_array().map(Vec::len), Some(5));
    assert_eq!(document["rounds"]["each"][1]["order"], serde_json::json!(["with", "without"]));
}

#[test]
fn one_side_alone_has_no_saving() {
    let document = bench(&["--side", "with", "--requests", "10", "--concurrency", "2"]);
    assert!(document["without"].is_null() && document["saving"].is_null());
    assert_eq!(document["with"]["requests"], 10);
    let document = bench(&["--side", "without", "--requests", "10", "--concurrency", "2"]);
    assert!(document["with"].is_null() && document["saving"].is_null());
    assert_eq!(document["without"]["connections_opened"], 10);
}

#[test]
fn the_warm_up_is_not_measured_but_its_connections_count() {
    let arguments = ["--requests", "20", "--warmup", "10", "--concurrency", "2", "--delay", "1ms"];
    let document = bench(&arguments);
    assert_eq!(document["without"]["requests"], 20);
    assert_eq!(document["without"]["connections_opened"], 30);
    assert_eq!(document["without"]["requests_per_connection"], 1.0);
    assert_eq!(document["with"]["connections_opened"], 2);
    assert_eq!(document["with"]["requests_per_connection"], 15.0);
}

#[test]
fn an_open_loop_sends_what_is_due() {
    let document = bench(&["--rate", "400", "--duration", "200ms", "--rounds", "2"]);
    for side in ["without", "with"] {
        assert_eq!(document[side]["requests"], 80, "{document}");
        assert_eq!(document[side]["failed"], 0);
    }
    assert_eq!(document["options"]["rate"], 400.0);
    assert!(document["options"]["concurrency"].is_null());
}

#[test]
fn an_open_loop_counts_what_it_could_not_begin() {
    let arguments = [
        "--side",
        "with",
        "--rate",
        "500",
        "--requests",
        "20",
        "--max-in-flight",
        "2",
        "--delay",
        "300ms",
        "--rounds",
        "1",
    ];
    let document = bench(&arguments);
    let with = &document["with"];
    assert_eq!(
        (with["requests"].as_u64(), with["failures"]["overrun"].as_u64()),
        (Some(20), with["failed"].as_u64())
    );
    assert!(with["failed"].as_u64() >= Some(1), "{with}");
}

#[test]
fn requests_carry_method_headers_and_body() {
    let body = TemporaryFile::with("body", &[b'x'; 100_000]);
    let arguments =
        ["--requests", "6", "--concurrency", "2", "--method", "POST", "--body-file", body.path()];
    let document =
        bench(&[&arguments[..], &["--header", "X-One: 1", "--header", "X-Two: 2"]].concat());
    assert_eq!(
        (document["with"]["failed"].as_u64(), document["without"]["failed"].as_u64()),
        (Some(0), Some(0))
    );
    assert_eq!(document["options"]["request_body_bytes"], 100_000);
    assert_eq!(document["options"]["method"], "POST");
}

#[test]
fn a_server_that_is_not_there_is_a_failure_with_its_kind() {
    // Bound and closed again: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let output =
        run(&["bench", &url, "--requests", "20", "--concurrency", "1", "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (document["with"]["requests"].as_u64(), document["with"]["failed"].as_u64()),
        (Some(4), Some(4))
    );
    assert_eq!(document["with"]["failures"], serde_json::json!({"connection_refused": 4}));
    assert_eq!(document["rounds"]["complete"], 1, "the others would be the same");
    assert!(document["saving"].is_null());

    let output = run(&["bench", &url, "--requests", "20", "--concurrency", "1", "--quiet"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    let error =
        format!("every request failed: http://127.0.0.1:{port}: the connection was refused");
    assert!(stderr(&output).contains(&error), "{}", stderr(&output));
}

#[test]
fn a_saving_that_is_too_small_is_exit_code_3() {
    let common = ["bench", "--requests", "40", "--concurrency", "1", "--quiet", "--json"];
    let simulated = ["--rtt", "4ms", "--rounds", "1"];
    let all = |check: &'static str| run(&[&common[..], &simulated, &["--check", check]].concat());
    let output = all("100%");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("100 % that --check asks for"), "{}", stderr(&output));
    serde_json::from_slice::<Value>(&output.stdout).expect("the document is printed all the same");
    // Half of two round trips is saved; an eighth is, on however busy a machine.
    assert_eq!(all("12%").status.code(), Some(0));
}

#[test]
fn the_text_has_the_same_numbers_and_no_colour_in_a_pipe() {
    let output = run(&["bench", "--requests", "60", "--concurrency", "3", "--delay", "1ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for expected in [
        "Connections opened",
        "P99.9",
        "Handshakes' share",
        "Client CPU per request",
        "Memory (resident)",
        "the server accepted 60",
        "█",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains('\x1b'), "{text:?}");
    assert_eq!(
        stderr(&output).lines().count(),
        10,
        "a line for each side of each round: {}",
        stderr(&output)
    );
}

#[test]
fn an_open_loop_that_asks_for_too_much_is_told_so() {
    let arguments = [
        "bench",
        "--rate",
        "100",
        "--delay",
        "50ms",
        "--max-connections",
        "2",
        "--requests",
        "4",
        "--quiet",
    ];
    let text = stdout(&run(&arguments));
    assert!(
        text.contains("100 a second need 5 connections at least and 2 connections may be open"),
        "{text}"
    );
}

#[test]
fn the_report_is_one_page_that_loads_nothing() {
    let page = TemporaryFile::with("report.html", b"");
    let arguments =
        ["--requests", "30", "--concurrency", "3", "--delay", "1ms", "--report", page.path()];
    bench(&arguments);
    let html = std::fs::read_to_string(&page.0).unwrap();
    for expected in [
        "<!DOCTYPE html>",
        "<svg",
        "P99.9",
        "Connections opened",
        "--delay 1ms",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    for unwanted in ["<script", "<link", "<img", "@import", "url(", "src=", "NaN", "inf"] {
        assert!(!html.contains(unwanted), "{unwanted}");
    }
    let opened = html.matches("<svg").count();
    assert_eq!((opened, html.matches("</svg>").count()), (3, 3));
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_the_work() {
    let output = run(&["bench", "--requests", "4", "--quiet", "--report", "/nowhere/at/all.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nowhere/at/all.html"), "{}", stderr(&output));
}
