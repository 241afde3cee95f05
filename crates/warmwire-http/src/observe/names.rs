//! Names and buckets of the metrics, for those who set up a recorder.

/// Histogram, seconds: from the start of a request to its response's head, or to its failure.
pub const REQUEST_DURATION: &str = "http.client.request.duration";

/// Gauge: requests that have begun and whose response's head has not come.
pub const ACTIVE_REQUESTS: &str = "http.client.active_requests";

/// Gauge: open connections by `http.connection.state`, `active` or `idle`.
pub const OPEN_CONNECTIONS: &str = "http.client.open_connections";

/// Histogram, seconds: how long connections lived.
pub const CONNECTION_DURATION: &str = "http.client.connection.duration";

/// Counter: requests that got a connection, by `warmwire.connection.reused`, `true` or `false`.
pub const REQUESTS: &str = "warmwire.client.requests";

/// Histogram, seconds: how long requests waited for a connection, opening their own not counted.
pub const QUEUE_DURATION: &str = "warmwire.client.queue.duration";

/// Counter: requests that were sent again after a stale connection failed.
pub const RETRIES: &str = "warmwire.client.retries";

/// Counter: closed connections by `warmwire.close.reason`.
pub const CONNECTIONS_CLOSED: &str = "warmwire.client.connections.closed";

/// Counter: connections that could not be opened, by `error.type`.
pub const CONNECT_FAILURES: &str = "warmwire.client.connect.failures";

/// The bucket boundaries, in seconds, that OpenTelemetry's conventions advise for
/// [`REQUEST_DURATION`]. A recorder has to be told of them; they suit [`QUEUE_DURATION`] too.
/// [`CONNECTION_DURATION`] has [its own](CONNECTION_DURATION_BUCKETS).
pub const DURATION_BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Bucket boundaries, in seconds, for [`CONNECTION_DURATION`], as OpenTelemetry's SDK for .NET has them.
pub const CONNECTION_DURATION_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
