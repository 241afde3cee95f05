//! Spans by OpenTelemetry's conventions for HTTP clients, and the agent's events as events.

use tracing::field::{Empty, display};
use tracing::{Level, Span, debug, trace};

use super::redact::Redacted;
use crate::error::Error;
use crate::event::Event;
use crate::key::Address;
use crate::response::{ConnectionInfo, Response, Timings};
use crate::send::RequestParts;

/// A span for a request that begins; none if nobody wants it.
pub(super) fn span(request: &RequestParts) -> Span {
    let base = request.authority();
    let method = super::method(&request.method);
    let span = tracing::info_span!(
        target: "warmwire::request",
        "http.request",
        otel.kind = "client",
        otel.name = if method == "_OTHER" { "HTTP" } else { method },
        otel.status_code = Empty,
        http.request.method = method,
        http.request.method_original = Empty,
        http.request.resend_count = Empty,
        http.response.status_code = Empty,
        url.full = %Redacted { base, uri: &request.uri },
        server.address = Empty,
        server.port = Empty,
        network.peer.address = Empty,
        network.peer.port = Empty,
        network.protocol.version = Empty,
        error.type = Empty,
        warmwire.connection.id = Empty,
        warmwire.connection.reused = Empty,
        warmwire.queue.seconds = Empty,
        warmwire.sent = Empty,
    );
    if !span.is_disabled() {
        if method == "_OTHER" {
            span.record("http.request.method_original", request.method.as_str());
        }
        if let Ok(address) = request.address() {
            server(&span, &address);
        }
    }
    span
}

/// `server.port` has no meaning for a Unix socket, whose path is the address.
fn server(span: &Span, address: &Address<'_>) {
    match address.unix {
        Some(path) => {
            span.record("server.address", display(path.display()));
        }
        None => {
            span.record("server.address", &*address.host);
            span.record("server.port", address.port);
        }
    }
}

/// How the request ended.
pub(super) fn ended(span: &Span, result: Result<&Response, &Error>) {
    if span.is_disabled() {
        return;
    }
    match result {
        Ok(response) => {
            let status = response.status();
            span.record("http.response.status_code", status.as_u16());
            span.record("network.protocol.version", super::version(response.version()));
            connection(span, response.connection(), response.timings());
            // For a client both 4xx and 5xx are errors.
            if status.as_u16() >= 400 {
                span.record("error.type", status.as_str());
                span.record("otel.status_code", "ERROR");
            }
        }
        Err(error) => {
            span.record("error.type", error.kind().as_str());
            span.record("otel.status_code", "ERROR");
            span.record("warmwire.sent", display(error.sent()));
            if let Some(used) = error.connection() {
                connection(span, used, error.timings());
            }
        }
    }
}

/// The caller dropped the request before its end.
pub(super) fn cancelled(span: &Span) {
    span.record("error.type", super::CANCELLED);
    span.record("otel.status_code", "ERROR");
}

fn connection(span: &Span, used: &ConnectionInfo, timings: Timings) {
    if let Some(remote) = used.remote_address() {
        span.record("network.peer.address", display(remote.ip()));
        span.record("network.peer.port", remote.port());
    }
    span.record("warmwire.connection.id", display(used.id()));
    span.record("warmwire.connection.reused", used.reused());
    span.record("warmwire.queue.seconds", timings.queued.as_secs_f64());
}

/// The request whose span this is called in is sent a second time.
pub(crate) fn resent() {
    Span::current().record("http.request.resend_count", 1);
}

/// Whether anybody wants [`event`]s.
pub(crate) fn listens() -> bool {
    tracing::enabled!(target: "warmwire::connection", Level::DEBUG)
}

/// Connections at debug level, what happens for each request at trace level.
pub(crate) fn event(event: &Event) {
    match event {
        Event::Connected { origin, connection, elapsed } => {
            debug!(target: "warmwire::connection", %origin, %connection, ?elapsed, "opened");
        }
        Event::ConnectFailed { origin, elapsed, error, .. } => {
            debug!(target: "warmwire::connection", %origin, ?elapsed, %error, "not opened");
        }
        Event::Retried { origin, connection, .. } => {
            debug!(target: "warmwire::connection", %origin, %connection, "stale: request sent again");
        }
        Event::Closed { origin, connection, reason, requests, age, .. } => {
            let reason = reason.as_str();
            debug!(
                target: "warmwire::connection",
                %origin, %connection, reason, requests, ?age, "closed"
            );
        }
        other => trace!(target: "warmwire::connection", event = ?other),
    }
}
