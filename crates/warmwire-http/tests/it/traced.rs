//! Spans of OpenTelemetry's conventions, and the agent's events, as a subscriber gets them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};
use warmwire_http::{Agent, RedirectPolicy};
use warmwire_testkit::{Gate, Server, ok};

use crate::http2;
use crate::support::{MEMORY, memory, spawn_get, until};

type Fields = BTreeMap<String, String>;

/// What a subscriber has seen: the fields of each span of a request, and each event as a line.
#[derive(Clone, Default)]
struct Seen {
    spans: Arc<Mutex<Vec<(Id, Fields)>>>,
    events: Arc<Mutex<Vec<String>>>,
}

impl Seen {
    /// Listens on this thread until the guard is dropped.
    fn listen() -> (Seen, tracing::subscriber::DefaultGuard) {
        let seen = Seen::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(seen.clone()));
        (seen, guard)
    }

    fn spans(&self) -> Vec<Fields> {
        self.spans.lock().unwrap().iter().map(|(_, fields)| fields.clone()).collect()
    }
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().target() == "warmwire::request" {
            let mut fields = Fields::new();
            attributes.record(&mut Reader(&mut fields));
            self.spans.lock().unwrap().push((id.clone(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        for (other, fields) in self.spans.lock().unwrap().iter_mut() {
            if other == id {
                values.record(&mut Reader(fields));
            }
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "warmwire::connection" {
            let mut fields = Fields::new();
            event.record(&mut Reader(&mut fields));
            let level = event.metadata().level();
            let text = fields.get("message").or(fields.get("event")).cloned().unwrap_or_default();
            let reason = fields.get("reason").cloned().unwrap_or_default();
            self.events.lock().unwrap().push(format!("{level} {text} {reason}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_ends_its_span_as_cancelled() {
    let (seen, _guard) = Seen::listen();
    let server = Server::memory(async |mut peer| while peer.request().await.is_some() {});
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let wait = std::time::Duration::from_secs(1);
    tokio::time::timeout(wait, agent.get(MEMORY).send()).await.unwrap_err();
    let error = agent.get(MEMORY).timeout(wait).send().await.unwrap_err();
    let spans = seen.spans();
    assert_eq!(spans[0]["error.type"], "cancelled");
    assert_eq!(spans[0]["otel.status_code"], "ERROR");
    assert_eq!(spans[1]["error.type"], error.kind().as_str(), "an error is no cancellation");
}

#[tokio::test]
async fn f036_a_request_is_a_span_of_the_conventions_without_secrets() {
    let (seen, _guard) = Seen::listen();
    let server = Server::tcp(async |mut peer| {
        while peer.request().await.is_some() {
            peer.send(&ok("hello")).await;
        }
    })
    .await;
    let agent = Agent::new();
    let url = server.url("/x?limit=3&access_token=very-secret");
    for _ in 0..2 {
        agent.get(&url).send().await.unwrap().text().await.unwrap();
    }

    let spans = seen.spans();
    let port = server.address().port().to_string();
    let full = format!("http://127.0.0.1:{port}/x?limit=3&access_token=REDACTED");
    for (name, wanted) in [
        ("otel.kind", "client"),
        ("otel.name", "GET"),
        ("http.request.method", "GET"),
        ("url.full", &full),
        ("server.address", "127.0.0.1"),
        ("server.port", &port),
        ("network.peer.address", "127.0.0.1"),
        ("network.peer.port", &port),
        ("network.protocol.version", "1.1"),
        ("http.response.status_code", "200"),
        ("warmwire.connection.reused", "false"),
    ] {
        assert_eq!(spans[0].get(name).map(String::as_str), Some(wanted), "{name}: {spans:#?}");
    }
    assert_eq!(spans[1]["warmwire.connection.reused"], "true");
    assert_eq!(spans[1]["warmwire.connection.id"], spans[0]["warmwire.connection.id"]);
    assert!(!spans[0].contains_key("error.type") && !spans[0].contains_key("otel.status_code"));
    assert!(!format!("{spans:?}").contains("very-secret"));
}

#[tokio::test]
async fn statuses_errors_and_repeats_are_told() {
    let (seen, _guard) = Seen::listen();
    let server = Server::memory(async |mut peer| {
        if peer.request().await.is_some() {
            peer.send(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n").await;
            // Takes the second one and goes: a stale connection to the caller.
            peer.request().await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    agent.get(MEMORY).send().await.unwrap();
    agent.get(MEMORY).send().await.unwrap();
    let text = agent.post(MEMORY).body("x").send().await.unwrap_err().to_string();

    let spans = seen.spans();
    let field = |span: usize, name: &str| spans[span].get(name).map(String::as_str);
    assert_eq!(field(0, "error.type"), Some("404"));
    assert_eq!(field(0, "otel.status_code"), Some("ERROR"));
    assert_eq!(field(0, "http.request.resend_count"), None);
    assert_eq!(field(1, "http.request.resend_count"), Some("1"));
    assert_eq!(field(2, "error.type"), Some("connection_closed"), "{text}");
    assert_eq!(field(2, "warmwire.sent"), Some("maybe"), "{text}");
    assert_eq!(field(2, "warmwire.connection.reused"), Some("true"), "{text}");

    agent.close().await;
    let events = seen.events.lock().unwrap().clone();
    let debug: Vec<_> = events.iter().filter(|line| line.starts_with("DEBUG")).collect();
    assert_eq!(
        debug,
        [
            "DEBUG opened ",
            "DEBUG closed closed_by_peer",
            "DEBUG stale: request sent again ",
            "DEBUG opened ",
            "DEBUG closed closed_by_peer",
        ]
    );
    assert!(events.iter().any(|line| line.starts_with("TRACE Acquired")), "{events:?}");
}

#[tokio::test]
async fn an_invented_method_is_no_name_of_a_span() {
    let (seen, _guard) = Seen::listen();
    let server = Server::memory(async |mut peer| {
        while peer.request().await.is_some() {
            peer.send(&ok("hello")).await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let method = http::Method::from_bytes(b"INVENTED").unwrap();
    agent.request(method, MEMORY).send().await.unwrap();
    let spans = seen.spans();
    assert_eq!(spans[0]["http.request.method"], "_OTHER");
    assert_eq!(spans[0]["http.request.method_original"], "INVENTED");
    assert_eq!(spans[0]["otel.name"], "HTTP");
}

#[tokio::test]
async fn a_redirect_is_a_request_of_its_own() {
    let (seen, _guard) = Seen::listen();
    let server = Server::memory(async |mut peer| {
        peer.request().await;
        peer.send(b"HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n").await;
        peer.request().await;
        peer.send(&ok("hello")).await;
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let request = agent.get(MEMORY).redirects(RedirectPolicy::limited(3));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let spans = seen.spans();
    let told =
        |span: &Fields| (span["url.full"].clone(), span["http.response.status_code"].clone());
    let told: Vec<_> = spans.iter().map(told).collect();
    let url = |path: &str| format!("{MEMORY}{path}");
    assert_eq!(told, [(url("/"), "302".to_owned()), (url("/there"), "200".to_owned())]);
}

#[tokio::test]
async fn f036_requests_that_share_an_http_2_connection_have_a_span_each() {
    let (seen, _guard) = Seen::listen();
    let gate = Gate::shut();
    let server = Server::tcp(http2::serving(100, &gate, &Default::default())).await;
    let agent = http2::builder().build().unwrap();
    let all: Vec<_> = (0..3).map(|_| spawn_get(&agent, server.url("/x?token=secret"))).collect();
    until(&agent, |of| of.streams == 3).await;
    gate.open();
    for request in all {
        request.await.unwrap().unwrap();
    }
    let spans = seen.spans();
    assert_eq!(spans.len(), 3);
    for span in spans {
        assert_eq!(span["network.protocol.version"], "2");
        assert_eq!(span["http.response.status_code"], "200");
        assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    }
    let events = seen.events.lock().unwrap();
    assert_eq!(events.iter().filter(|event| *event == "DEBUG opened ").count(), 1, "{events:?}");
}
