//! Simulated round trips and look-ups take at least what arithmetic says.

use serde_json::Value;

use crate::support::bench;

fn predicted(document: &Value, side: &str) -> f64 {
    let steps = document["target"]["predicted_ms"][side].as_array().expect("a prediction");
    steps.iter().map(|step| step["ms"].as_f64().unwrap()).sum()
}

/// Measures with `arguments`, one request at a time, and checks both sides against the arithmetic:
/// nothing is faster than light. How much slower it is depends on the machine.
fn agrees(arguments: &[&str], without: f64, with: f64) {
    let document =
        bench(&[arguments, &["--requests", "8", "--concurrency", "1", "--rounds", "2"]].concat());
    for (side, expected) in [("without", without), ("with", with)] {
        assert_eq!(document[side]["failed"], 0, "{document}");
        assert!((predicted(&document, side) - expected).abs() < 1e-9, "{side}: {document}");
        let measured = document[side]["latency_ms"]["p50"].as_f64().unwrap();
        // The histogram rounds to a thousandth.
        assert!(measured >= expected * 0.998, "{side}: {measured} ms, {expected} predicted");
    }
    assert_eq!(document["with"]["connections_opened"], 1);
    assert_eq!(document["without"]["connections_opened"], 8);
}

#[test]
fn plain_tcp_costs_one_round_trip_more() {
    agrees(&["--rtt", "6ms"], 12.0, 6.0);
}

#[test]
fn tls_1_3_costs_two_round_trips_more() {
    agrees(&["--tls", "--rtt", "6ms"], 18.0, 6.0);
}

#[test]
fn tls_1_2_a_look_up_and_the_servers_work_add_up() {
    agrees(&["--tls-version", "1.2", "--rtt", "6ms", "--dns", "5ms", "--delay", "4ms"], 33.0, 10.0);
}

#[test]
fn a_resumed_tls_1_2_session_saves_one_round_trip() {
    let arguments = ["--tls-version", "1.2", "--rtt", "6ms", "--resume"];
    agrees(&arguments, 18.0, 6.0);
}

#[test]
fn http2_waits_one_round_trip_more_for_the_servers_settings() {
    agrees(&["--http2", "--rtt", "6ms"], 18.0, 6.0);
    agrees(&["--http2", "--tls", "--rtt", "6ms"], 24.0, 6.0);
    agrees(&["--http2", "--tls-version", "1.2", "--rtt", "6ms", "--resume"], 24.0, 6.0);
}

#[test]
fn http2_settings_come_along_with_the_end_of_a_full_tls_1_2_handshake() {
    agrees(&["--http2", "--tls-version", "1.2", "--rtt", "6ms"], 24.0, 6.0);
}

#[test]
fn long_bodies_pass_the_simulated_wire() {
    let document =
        bench(&["--rtt", "2ms", "--body", "3MiB", "--requests", "4", "--concurrency", "2"]);
    assert_eq!(
        (document["with"]["failed"].as_u64(), document["without"]["failed"].as_u64()),
        (Some(0), Some(0))
    );
}

#[test]
fn nothing_simulated_predicts_nothing() {
    assert!(bench(&["--requests", "4"])["target"]["predicted_ms"].is_null());
}
