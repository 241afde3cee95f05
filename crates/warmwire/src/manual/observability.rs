//! Observability: spans and metrics by OpenTelemetry's conventions for HTTP clients.
//!
//! [`stats`](crate::http::Agent::stats) and [`on_event`](crate::http::AgentBuilder::on_event) need
//! nothing else; see [`numbers`](super::numbers) and [`events`](super::events). The two features
//! here speak the languages that other programs listen to. Both cost nothing when they are off, and
//! next to nothing when nobody listens.
//!
//! # Feature `tracing`
//!
//! Each request is a span of target `warmwire::request` at info level, from its start to its
//! response's head; a redirect is a request of its own. Within OpenTelemetry its name is the method.
//!
//! | field | what |
//! |---|---|
//! | `otel.kind`, `otel.name`, `otel.status_code` | `client`; `GET`; `ERROR` for a failure and a status of 400 or more |
//! | `http.request.method`, `http.request.method_original` | `GET`; `_OTHER` and the method for one that is not registered |
//! | `http.request.resend_count` | 1 for a request that was sent again after a stale connection |
//! | `http.response.status_code`, `error.type` | the status; the status as text, the [`ErrorKind`](crate::http::ErrorKind), or `cancelled` for a request that was dropped |
//! | `url.full` | the URL; credentials and values of parameters such as `token`, `sig`, `X-Amz-Signature` are `REDACTED` |
//! | `server.address`, `server.port` | from the URL, or the path of the Unix socket |
//! | `network.peer.address`, `network.peer.port`, `network.protocol.version` | of the connection that was used |
//! | `warmwire.connection.id`, `warmwire.connection.reused` | which connection, and whether it was spared the handshake |
//! | `warmwire.queue.seconds`, `warmwire.sent` | wait for a connection; of a failure, whether the request was sent |
//!
//! Connections are events of target `warmwire::connection`: opened, not opened, stale, and closed
//! with the reason at debug level, what happens for each request at trace level.
//!
//! The agent writes no headers for this: which `traceparent` (W3C Trace Context) goes along is for
//! the OpenTelemetry library that made it to say, in a layer above the agent or by
//! [`header`](crate::http::RequestBuilder::header). `examples/observability.rs` has such a layer.
//!
//! # Feature `metrics`
//!
//! | metric | kind | attributes beside the server's |
//! |---|---|---|
//! | `http.client.request.duration` | histogram, s: to the response's head | `http.request.method`, `http.response.status_code`, `network.protocol.version`, `error.type` |
//! | `http.client.active_requests` | gauge | |
//! | `http.client.open_connections` | gauge | `http.connection.state`: `active`, `idle` |
//! | `http.client.connection.duration` | histogram, s | |
//! | `warmwire.client.requests` | counter | `warmwire.connection.reused` |
//! | `warmwire.client.queue.duration` | histogram, s | |
//! | `warmwire.client.retries` | counter | |
//! | `warmwire.client.connections.closed` | counter | `warmwire.close.reason` |
//! | `warmwire.client.connect.failures` | counter | `error.type` |
//!
//! `error.type` is as in spans. A request that is dropped leaves a duration too, with `cancelled`.
//!
//! The server's attributes are `server.address`, `server.port` and `url.scheme`. No attribute holds a
//! path, and methods that are not registered are `_OTHER`, so their number is bounded by the
//! origins and statuses that occur. The names are constants in `http::metrics`, as are
//! `DURATION_BUCKETS`, the boundaries that the conventions advise for requests, and
//! `CONNECTION_DURATION_BUCKETS` for connections, which a recorder has to be told.
//!
//! The recorder must be installed before the agent's first request: handles are asked from it once
//! for each origin.
