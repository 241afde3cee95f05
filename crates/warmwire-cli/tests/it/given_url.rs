//! Measuring a server that is there already.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{bench, run, stderr, warmwire};

/// The embedded server on its own, as a server that the bench knows nothing about.
pub(crate) struct Server {
    child: Child,
    port: u64,
}

impl Server {
    pub(crate) fn start(http2: bool) -> Self {
        let zero = serde_json::json!({"secs": 0, "nanos": 0});
        let config = serde_json::json!(
            {"delay": zero, "body": 10, "tls": null, "http2": http2, "rtt": zero}
        );
        let mut child = warmwire(&["bench-server", &config.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let hello: Value = serde_json::from_str(&line).unwrap();
        Self { child, port: hello["port"].as_u64().unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/path?query", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself when its standard input does.
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Answers every request on every connection with `response`, until the process ends.
fn always(response: &'static str) -> u16 {
    fn serve(mut stream: TcpStream, response: &str) -> std::io::Result<()> {
        let mut seen = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                n => seen.extend_from_slice(&buffer[..n]),
            }
            if seen.ends_with(b"\r\n\r\n") {
                seen.clear();
                stream.write_all(response.as_bytes())?;
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, response));
        }
    });
    port
}

#[test]
fn both_sides_of_a_given_url_are_measured() {
    let server = Server::start(false);
    let url = server.url();
    let document = bench(&[&url, "--requests", "30", "--concurrency", "3"]);
    assert_eq!(
        (document["without"]["failed"].as_u64(), document["with"]["failed"].as_u64()),
        (Some(0), Some(0))
    );
    assert_eq!(document["without"]["connections_opened"], 30);
    assert!(document["with"]["connections_opened"].as_u64() <= Some(3));
    let target = &document["target"];
    assert_eq!(
        (target["url"].as_str(), target["embedded"].as_bool()),
        (Some(url.as_str()), Some(false))
    );
    assert!(
        target["simulated"].is_null()
            && target["predicted_ms"].is_null()
            && target["server"]["with"].is_null()
    );
}

#[test]
fn the_server_ends_with_its_parent() {
    drop(Server::start(false));
}

#[test]
fn an_error_status_is_a_failure_of_its_own_kind() {
    let port = always("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let url = format!("http://127.0.0.1:{port}/");
    let output = run(&[
        "bench",
        &url,
        "--side",
        "with",
        "--requests",
        "5",
        "--rounds",
        "1",
        "--concurrency",
        "1",
        "--json",
        "--quiet",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["with"]["failures"], serde_json::json!({"status_503": 5}));
    assert_eq!(document["with"]["connections_opened"], 1);
}

#[test]
fn a_server_that_never_keeps_a_connection_leaves_nothing_to_save() {
    let port = always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let url = format!("http://127.0.0.1:{port}/");
    let document = bench(&[&url, "--requests", "6", "--concurrency", "1"]);
    assert_eq!(document["with"]["connections_opened"], 6);
    assert_eq!(document["with"]["requests_per_connection"], 1.0);
}
