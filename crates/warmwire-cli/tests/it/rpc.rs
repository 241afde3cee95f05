//! `warmwire rpc` from a shell.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{TemporaryFile, document, run, stderr, stdout, warmwire};

/// `warmwire rpc serve`, which is interrupted when this is dropped.
struct Served {
    child: Child,
    endpoint: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut command = warmwire(&[&["rpc", "serve", "--json"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut text = String::new();
        while !text.ends_with("}\n") {
            assert!(output.read_line(&mut text).expect("UTF-8") > 0, "it ended: {text}");
        }
        let hello: Value = serde_json::from_str(&text).expect("one document");
        let endpoint = hello["listening"].as_str().expect("an endpoint").to_owned();
        Self { child, endpoint }
    }

    fn call(&self, arguments: &[&str]) -> std::process::Output {
        run(&[&["rpc", "call", &self.endpoint], arguments].concat())
    }

    fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LOOPBACK: &str = "tcp://127.0.0.1:0";

#[test]
fn a_call_prints_its_result_as_json() {
    let server = Served::start(&[LOOPBACK, "--echo"]);
    let file = TemporaryFile::with("rpc-call", b"\x00\xff");
    let at = format!("@{}", file.path());
    for (argument, expected) in [
        ("5", "5"),
        ("-5", "-5"),
        ("text", "\"text\""),
        ("\"text\"", "\"text\""),
        ("[1, null, true]", "[1,null,true]"),
        (&at, r#"{"type":"Buffer","data":[0,255]}"#),
    ] {
        let output = server.call(&["echo", argument]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output).trim_end(), expected);
    }
    assert_eq!(server.call(&["echo", &at, "--raw"]).stdout, b"\x00\xff");
    assert_eq!(server.call(&["echo", "text", "--raw"]).stdout, b"text");
    let whole = document(&server.call(&["count", "41", "--json"]));
    assert_eq!((&whole["result"], &whole["method"]), (&json!(42), &json!("count")));
}

#[test]
fn standard_input_can_be_an_argument() {
    let server = Served::start(&[LOOPBACK, "--echo"]);
    let mut command = warmwire(&["rpc", "call", &server.endpoint, "echo", "-", "--raw"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    child.stdin.take().expect("it is piped").write_all(b"a\0b").expect("it reads");
    assert_eq!(child.wait_with_output().expect("it ends").stdout, b"a\0b");
}

#[test]
fn a_fault_and_a_missing_server_are_failures_that_say_why() {
    let server = Served::start(&[LOOPBACK, "--echo"]);
    for (arguments, says) in [
        (&["fail", "no money"][..], "no money"),
        (&["missing"], "method \"missing\" does not exist"),
        (&["sleep", "60000", "--timeout", "50ms"], "within 50ms"),
    ] {
        let output = server.call(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    let nobody = run(&["rpc", "call", "tcp://127.0.0.1:1", "echo"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("tcp://127.0.0.1:1"), "{}", stderr(&nobody));
    let wrong = run(&["rpc", "call", "127.0.0.1:1", "echo"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("tcp://host:port"), "{}", stderr(&wrong));
}

#[test]
fn repeated_calls_are_a_table_of_latencies() {
    let server = Served::start(&[LOOPBACK, "--echo"]);
    let table =
        document(&server.call(&["count", "1", "--repeat", "500", "--concurrency", "16", "--json"]));
    assert_eq!((&table["calls"], &table["failed"]), (&json!(500), &json!(0)));
    assert!(table["latency_ms"]["p50"].as_f64() <= table["latency_ms"]["max"].as_f64());
    let output = server.call(&["fail", "--repeat", "3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("every call failed"), "{}", stderr(&output));
}

#[test]
fn methods_and_ping_tell_who_is_there() {
    let server = Served::start(&[LOOPBACK, "--echo"]);
    let listed = stdout(&run(&["rpc", "methods", &server.endpoint]));
    assert!(listed.contains("count(i64)\n"), "{listed}");
    let methods = document(&run(&["rpc", "methods", &server.endpoint, "--json"]));
    assert_eq!(methods["methods"]["sleep"]["params"], json!(["u64"]));
    let ping = document(&run(&["rpc", "ping", &server.endpoint, "--json"]));
    assert_eq!(ping["peer"], json!("warmwire"));
    assert!(ping["rtt_ms"].as_f64().is_some_and(|ms| ms > 0.0));
}

#[test]
fn commands_are_methods() {
    let socket =
        format!("unix://{}/ww-exec-{}.sock", std::env::temp_dir().display(), std::process::id());
    let server = Served::start(&[
        &socket,
        "--exec",
        "upper=tr a-z A-Z",
        "--exec",
        "fail=echo broken >&2; exit 3",
        "--exec",
        "bytes=printf '\\377'",
    ]);
    let output = server.call(&["upper", "text", "7"]);
    assert_eq!(stdout(&output), "[\"TEXT\",7]\n");
    let output = server.call(&["fail"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("exit status: 3: broken"), "{}", stderr(&output));
    assert_eq!(server.call(&["bytes", "--raw"]).stdout, b"\xff");
}

#[test]
fn commands_are_not_exposed_to_other_machines_by_accident() {
    let output = run(&["rpc", "serve", "0", "--exec", "a=date"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--allow-remote"), "{}", stderr(&output));
    let output = run(&["rpc", "serve", LOOPBACK]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nothing to expose"), "{}", stderr(&output));
}

#[test]
fn an_interrupted_server_ends_well() {
    let mut server = Served::start(&[LOOPBACK, "--echo"]);
    server.interrupt();
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn the_benchmark_measures_every_mode_and_size() {
    let mut command: Command = warmwire(&["rpc", "bench", "--duration", "10ms", "--json"]);
    let report = document(&command.output().expect("the binary runs"));
    let figures = report["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 2 * 3 * 4);
    assert!(figures.iter().all(|figure| figure["calls"].as_u64().is_some_and(|calls| calls > 0)));
}

/// Runs a command that prints where it listens, and returns it with that.
fn listening(arguments: &[&str]) -> (Child, String) {
    let mut command = warmwire(&[&["rpc"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("UTF-8");
    let endpoint = line.trim_end().strip_prefix("listening on ").expect("where it listens");
    (child, endpoint.to_owned())
}

/// Runs a command on these lines of standard input, to its end.
fn feed(arguments: &[&str], lines: &str) -> std::process::Output {
    let mut command = warmwire(&[&["rpc"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn lines_are_pushed_and_pulled() {
    let (pull, endpoint) = listening(&["pull", LOOPBACK, "--bind", "--count", "3"]);
    let lines = "[\"job\",1]\n\n{\"a\":[null]}\n\"text\"\n";
    let push = feed(&["push", &endpoint], lines);
    assert_eq!(push.status.code(), Some(0), "{}", stderr(&push));
    let pulled = pull.wait_with_output().expect("it ends");
    assert_eq!(stdout(&pulled), "[\"job\",1]\n[{\"a\":[null]}]\n[\"text\"]\n");
    let wrong = feed(&["push", &endpoint], "[1\n");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("line 1 of standard input: not JSON"), "{}", stderr(&wrong));
}

#[test]
fn lines_are_published_to_who_subscribes() {
    let arguments = ["sub", LOOPBACK, "user:*", "--bind", "--count", "1"];
    let (sub, endpoint) = listening(&arguments);
    let publisher = feed(&["pub", &endpoint], "[\"other\"]\n[\"user:login\",{\"id\":7}]\n");
    assert_eq!(publisher.status.code(), Some(0), "{}", stderr(&publisher));
    let document: Value =
        serde_json::from_slice(&sub.wait_with_output().expect("it ends").stdout).expect("JSON");
    let expected = json!({"topic": "user:login", "captures": ["login"], "arguments": [{"id": 7}]});
    assert_eq!(document, expected);
}
