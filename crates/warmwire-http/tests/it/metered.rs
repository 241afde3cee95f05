//! The metrics of OpenTelemetry's conventions, as a recorder gets them.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use warmwire_http::metrics::*;
use warmwire_http::{Agent, ErrorKind};
use warmwire_testkit::{Gate, Server, ok};

use crate::http2;
use crate::support::{ConnectWith, MEMORY, memory, spawn_get, until};

/// What a recorder has, by name and labels: `name{a=1,b=2}`.
struct Metrics(BTreeMap<String, DebugValue>);

impl Metrics {
    fn of(snapshotter: &Snapshotter) -> Metrics {
        let all = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
            let key = key.key();
            let mut labels: Vec<String> = key
                .labels()
                .map(|label| format!("{}={}", label.key(), label.value()))
                .filter(|label| !label.starts_with("server.") && label != "url.scheme=http")
                .collect();
            labels.sort();
            (format!("{}{{{}}}", key.name(), labels.join(",")), value)
        });
        Metrics(all.collect())
    }

    fn gauge(&self, name: &str, labels: &str) -> f64 {
        match self.get(name, labels) {
            DebugValue::Gauge(value) => value.0,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn counter(&self, name: &str, labels: &str) -> u64 {
        match self.get(name, labels) {
            DebugValue::Counter(value) => *value,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The recorded values.
    fn histogram(&self, name: &str, labels: &str) -> Vec<f64> {
        match self.get(name, labels) {
            DebugValue::Histogram(values) => values.iter().map(|value| value.0).collect(),
            other => panic!("{name}: {other:?}"),
        }
    }

    fn get(&self, name: &str, labels: &str) -> &DebugValue {
        let key = format!("{name}{{{labels}}}");
        self.0.get(&key).unwrap_or_else(|| panic!("no {key} in {:#?}", self.0.keys()))
    }

    fn open(&self) -> (f64, f64) {
        let state = |state| self.gauge(OPEN_CONNECTIONS, &format!("http.connection.state={state}"));
        (state("active"), state("idle"))
    }
}

const OK: &str =
    "http.request.method=GET,http.response.status_code=200,network.protocol.version=1.1";

#[tokio::test(start_paused = true)]
async fn f012_connections_and_requests_are_measured_by_the_conventions() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::memory(async |mut peer| {
        while peer.request().await.is_some() {
            tokio::time::sleep(Duration::from_secs(2)).await;
            peer.send(&ok("hello")).await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();

    let mut pending = Box::pin(agent.get(MEMORY).send());
    tokio::select! {
        _ = &mut pending => panic!("no answer is due yet"),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
    let under_way = Metrics::of(&snapshotter);
    assert_eq!(under_way.gauge(ACTIVE_REQUESTS, ""), 1.0);
    assert_eq!(under_way.open(), (1.0, 0.0));
    assert_eq!(under_way.counter(REQUESTS, "warmwire.connection.reused=false"), 1);

    pending.await.unwrap().text().await.unwrap();
    agent.get(MEMORY).send().await.unwrap().text().await.unwrap();
    agent.close().await;

    let end = Metrics::of(&snapshotter);
    // Back to nothing: a snapshot shows what has changed since the last one.
    assert_eq!(end.gauge(ACTIVE_REQUESTS, ""), -1.0);
    assert_eq!(end.open(), (-1.0, 0.0));
    let durations = end.histogram(REQUEST_DURATION, OK);
    assert!(durations.len() == 2 && durations.iter().all(|took| (2.0..2.1).contains(took)));
    let lived = end.histogram(CONNECTION_DURATION, "");
    assert!(lived.len() == 1 && (4.0..4.1).contains(&lived[0]), "{lived:?}");
    assert_eq!(end.counter(REQUESTS, "warmwire.connection.reused=true"), 1);
    assert_eq!(end.counter(CONNECTIONS_CLOSED, "warmwire.close.reason=shutdown"), 1);
}

#[tokio::test(start_paused = true)]
async fn failures_statuses_and_unknown_methods_have_labels_that_are_bounded() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::memory(async |mut peer| {
        while let Some(request) = peer.request().await {
            if request.method == "GET" {
                return;
            }
            peer.send(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();

    let error = agent.get(MEMORY).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionClosed);
    for method in ["INVENTED", "CONTRIVED"] {
        let method = http::Method::from_bytes(method.as_bytes()).unwrap();
        agent.request(method, MEMORY).send().await.unwrap();
    }

    let end = Metrics::of(&snapshotter);
    let failed = "error.type=connection_closed,http.request.method=GET";
    assert_eq!(end.histogram(REQUEST_DURATION, failed).len(), 1);
    let busy = "error.type=503,http.request.method=_OTHER,http.response.status_code=503,\
                network.protocol.version=1.1";
    assert_eq!(end.histogram(REQUEST_DURATION, busy).len(), 2);
    assert_eq!(end.counter(CONNECTIONS_CLOSED, "warmwire.close.reason=closed_by_peer"), 1);
}

/// Dropped where it waits for a connection that another request has.
#[tokio::test(start_paused = true)]
async fn f042_a_request_dropped_in_the_queue_is_measured_as_cancelled() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::memory(async |mut peer| {
        while peer.request().await.is_some() {
            tokio::time::sleep(Duration::from_secs(5)).await;
            peer.send(&ok("hello")).await;
        }
    });
    let agent = Agent::builder().connector(memory(&server)).max_connections(1).build().unwrap();
    let (first, second) = tokio::join!(
        agent.get(MEMORY).send(),
        tokio::time::timeout(Duration::from_secs(2), agent.put(MEMORY).body("x").send())
    );
    first.unwrap().text().await.unwrap();
    assert!(second.is_err());
    let end = Metrics::of(&snapshotter);
    assert_eq!(end.gauge(ACTIVE_REQUESTS, ""), 0.0);
    let cancelled = "error.type=cancelled,http.request.method=PUT";
    assert_eq!(end.histogram(REQUEST_DURATION, cancelled), [2.0]);
    assert_eq!(end.histogram(REQUEST_DURATION, OK).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn f117_a_dropped_request_and_a_failed_dial_leave_no_gauge_behind() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::memory(async |mut peer| while peer.request().await.is_some() {});
    let agent = Agent::builder().connector(memory(&server)).build().unwrap();
    let request = tokio::time::timeout(Duration::from_secs(1), agent.get(MEMORY).send()).await;
    assert!(request.is_err());
    let end = Metrics::of(&snapshotter);
    assert_eq!((end.gauge(ACTIVE_REQUESTS, ""), end.open()), (0.0, (0.0, 0.0)));
    let cancelled = "error.type=cancelled,http.request.method=GET";
    assert_eq!(end.histogram(REQUEST_DURATION, cancelled), [1.0]);

    let refuse = ConnectWith(|_| async { Err(std::io::ErrorKind::ConnectionRefused.into()) });
    let refusing = Agent::builder().connector(refuse).build().unwrap();
    refusing.get(MEMORY).send().await.unwrap_err();
    let end = Metrics::of(&snapshotter);
    let refused = "error.type=connection_refused,http.request.method=GET";
    assert_eq!(end.histogram(REQUEST_DURATION, refused).len(), 1, "once, and not as cancelled");
    assert_eq!(end.counter(CONNECT_FAILURES, "error.type=connection_refused"), 1);
    assert_eq!((end.gauge(ACTIVE_REQUESTS, ""), end.open()), (0.0, (0.0, 0.0)));
}

#[tokio::test(start_paused = true)]
async fn f012_requests_that_share_an_http_2_connection_are_measured_one_by_one() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let gate = Gate::shut();
    let server = Server::memory(http2::serving(100, &gate, &Default::default()));
    let agent = http2::builder().connector(memory(&server)).build().unwrap();
    let all: Vec<_> = (0..3).map(|_| spawn_get(&agent, MEMORY)).collect();
    until(&agent, |of| of.streams == 3).await;

    let under_way = Metrics::of(&snapshotter);
    assert_eq!(under_way.gauge(ACTIVE_REQUESTS, ""), 3.0);
    assert_eq!(under_way.open(), (1.0, 0.0), "connections, not requests");

    gate.open();
    for request in all {
        request.await.unwrap().unwrap();
    }
    let idle = Metrics::of(&snapshotter);
    assert_eq!((idle.gauge(ACTIVE_REQUESTS, ""), idle.open()), (-3.0, (-1.0, 1.0)));
    let answered =
        "http.request.method=GET,http.response.status_code=200,network.protocol.version=2";
    assert_eq!(idle.histogram(REQUEST_DURATION, answered).len(), 3);
    agent.close().await;
    let end = Metrics::of(&snapshotter);
    assert_eq!(end.histogram(CONNECTION_DURATION, "").len(), 1);
    assert_eq!(end.counter(CONNECTIONS_CLOSED, "warmwire.close.reason=shutdown"), 1);
}
