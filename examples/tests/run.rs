//! Runs the examples: each ends by itself with exit code 0 and prints what its readers are promised.

use std::process::Command;

/// Runs an example and wants these texts in what it prints, in their order.
fn run(program: &str, wanted: &[&str]) {
    let output = Command::new(program).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {}\n{printed}{complaints}", output.status);
    let mut rest = &*printed;
    for text in wanted {
        let at = rest.find(text).unwrap_or_else(|| panic!("{program}: no {text:?} in:\n{printed}"));
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn aws() {
    run(
        env!("CARGO_BIN_EXE_aws"),
        &["answer: 200 stored 5 bytes", "attempts: 2", "connections: 1"],
    );
}

#[test]
fn cache() {
    let wanted = ["Some(Miss): 42 €", "Some(Hit): 42 €", "Some(Revalidated): 7 €", "asked: 3"];
    run(env!("CARGO_BIN_EXE_cache"), &wanted);
}

#[test]
fn compression() {
    let wanted = ["content-encoding: None", "read: 22000 bytes", "on the wire: less"];
    run(env!("CARGO_BIN_EXE_compression"), &wanted);
}

#[test]
fn cookies() {
    run(env!("CARGO_BIN_EXE_cookies"), &["before: who are you?", "after: session=42"]);
}

#[test]
fn object_store() {
    let wanted = ["read: Hello, object!", "missing: NotFound", "connections: 1"];
    run(env!("CARGO_BIN_EXE_object_store"), &wanted);
}

#[test]
fn observability() {
    let wanted = [
        "opened",
        "otel.kind=\"client\" otel.name=\"GET\"",
        "token=REDACTED",
        "http.response.status_code=200",
        "http.client.open_connections",
        "http.client.request.duration",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ];
    run(env!("CARGO_BIN_EXE_observability"), &wanted);
}

#[test]
fn tonic() {
    let wanted = ["serving: SERVING", "unknown: NotFound", "connections: 1"];
    run(env!("CARGO_BIN_EXE_tonic"), &wanted);
}

#[test]
fn tower() {
    let wanted = ["answer: third time lucky", "attempts: 3", "connections: 1"];
    run(env!("CARGO_BIN_EXE_tower"), &wanted);
}

#[test]
fn mock() {
    let wanted = ["balance: 42 €", "requests: 3", "repeated by the agent: 1"];
    run(env!("CARGO_BIN_EXE_mock"), &wanted);
}
