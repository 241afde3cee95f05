//! What the arithmetic of round trips says a request takes.

use std::time::Duration;

use serde::Serialize;

use super::plan::{Pace, Plan, Target};
use super::side::Side;
use crate::server::TlsVersion;

const WAIT: &str = "Wait for a connection";

/// One step of a request, with its length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Step {
    /// What happens: `DNS look-up`, `TCP connect`.
    pub(crate) name: &'static str,
    /// How long it takes.
    pub(crate) ms: f64,
}

/// What a request of each side is predicted to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Prediction {
    /// One on a connection of its own.
    pub(crate) without: Vec<Step>,
    /// One on a warm connection.
    pub(crate) with: Vec<Step>,
}

impl Prediction {
    /// `None` when nothing is simulated that could be predicted.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let callers = match plan.load.pace {
            Pace::Closed { concurrency } => concurrency,
            // Requests are due one by one; that they queue is what an open loop is to find out.
            Pace::Open { .. } => 1,
        };
        let connections = plan.agent.max_connections.unwrap_or(callers);
        Self::of(&plan.target, plan.resume, callers as f64 / connections as f64)
    }

    /// `callers_per_connection`: how many callers of a closed loop share a connection. A kept one
    /// carries as many at once as it has streams; without keep-alive it carries one.
    fn of(target: &Target, resumes: bool, callers_per_connection: f64) -> Option<Self> {
        let Target::Embedded { server, dns } = target else { return None };
        let rtt = server.rtt;
        if rtt.is_zero() && dns.is_none() && server.delay.is_zero() {
            return None;
        }
        // RFC 8446, 2: one round trip before the client may send; RFC 5246, 7.3: two, one when a
        // session is resumed.
        let (tls_name, tls_round_trips) = match (server.tls, resumes) {
            (None, _) => ("TLS handshake", 0),
            (Some(TlsVersion::V13), false) => ("TLS 1.3 handshake", 1),
            (Some(TlsVersion::V13), true) => ("TLS 1.3 handshake, resumed", 1),
            (Some(TlsVersion::V12), false) => ("TLS 1.2 handshake", 2),
            (Some(TlsVersion::V12), true) => ("TLS 1.2 handshake, resumed", 1),
        };
        // The agent sends nothing before the server has told how many streams it takes. Its
        // settings come right after a handshake's last flight when that is the server's own: only
        // that of a full handshake of TLS 1.2 is.
        let settings_round_trips = match (server.http2, server.tls, resumes) {
            (false, ..) | (true, Some(TlsVersion::V12), false) => 0,
            (true, ..) => 1,
        };
        let setup = [
            step("DNS look-up", dns.unwrap_or_default()),
            step("TCP connect", rtt),
            step(tls_name, rtt * tls_round_trips),
            step("HTTP/2 settings", rtt * settings_round_trips),
        ];
        let exchange = [step("Request and response", rtt), step("Server's work", server.delay)];
        Some(Self {
            without: with_waiting(&[&setup[..], &exchange[..]].concat(), callers_per_connection),
            with: with_waiting(&exchange, callers_per_connection / f64::from(server.streams())),
        })
    }

    /// The steps of `side`.
    pub(crate) fn steps(&self, side: Side) -> &[Step] {
        match side {
            Side::Without => &self.without,
            Side::With => &self.with,
        }
    }

    /// Whether it is a mean that is predicted: callers that share connections wait for none, one or
    /// several others.
    pub(crate) fn is_of_mean(&self) -> bool {
        self.without.iter().chain(&self.with).any(|step| step.name == WAIT)
    }

    /// The sum of the steps of `side` in milliseconds.
    pub(crate) fn total_ms(&self, side: Side) -> f64 {
        self.steps(side).iter().map(|step| step.ms).sum()
    }
}

/// The steps that take time, after the mean wait for a connection: by Little's law a closed loop of
/// `c` callers over `m` connections takes `c / m` times as long as one request.
fn with_waiting(steps: &[Step], callers_per_connection: f64) -> Vec<Step> {
    let total: f64 = steps.iter().map(|step| step.ms).sum();
    let waiting = Step { name: WAIT, ms: total * (callers_per_connection - 1.0).max(0.0) };
    std::iter::once(&waiting).chain(steps).filter(|step| step.ms > 0.0).cloned().collect()
}

fn step(name: &'static str, duration: Duration) -> Step {
    Step { name, ms: duration.as_secs_f64() * 1e3 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerConfig;

    fn predicted(tls: Option<TlsVersion>, times: [u64; 3], resumes: bool) -> Option<(f64, f64)> {
        predicted_for(tls, times, resumes, 1.0)
    }

    fn predicted_for(
        tls: Option<TlsVersion>,
        times: [u64; 3],
        resumes: bool,
        callers_per_connection: f64,
    ) -> Option<(f64, f64)> {
        totals(server(tls, false, times), times[1], resumes, callers_per_connection)
    }

    fn server(tls: Option<TlsVersion>, http2: bool, [rtt, _, delay]: [u64; 3]) -> ServerConfig {
        let (rtt, delay) = (Duration::from_millis(rtt), Duration::from_millis(delay));
        ServerConfig { delay, body: 0, tls, http2, rtt }
    }

    fn totals(
        server: ServerConfig,
        dns: u64,
        resumes: bool,
        callers_per_connection: f64,
    ) -> Option<(f64, f64)> {
        let dns = (dns > 0).then(|| Duration::from_millis(dns));
        let prediction =
            Prediction::of(&Target::Embedded { server, dns }, resumes, callers_per_connection)?;
        Some((prediction.total_ms(Side::Without), prediction.total_ms(Side::With)))
    }

    #[test]
    fn round_trips_add_up_as_the_protocols_say() {
        use TlsVersion::{V12, V13};
        assert_eq!(predicted(None, [25, 0, 0], false), Some((50.0, 25.0)));
        assert_eq!(predicted(Some(V13), [25, 0, 0], false), Some((75.0, 25.0)));
        assert_eq!(predicted(Some(V13), [25, 0, 0], true), Some((75.0, 25.0)));
        assert_eq!(predicted(Some(V12), [25, 30, 20], false), Some((150.0, 45.0)));
        assert_eq!(predicted(Some(V12), [25, 30, 20], true), Some((125.0, 45.0)));
        assert_eq!(predicted(None, [0, 0, 5], false), Some((5.0, 5.0)));
    }

    #[test]
    fn callers_that_share_connections_wait() {
        assert_eq!(predicted_for(None, [0, 0, 5], false, 1.2), Some((6.0, 6.0)));
        assert_eq!(predicted_for(None, [0, 0, 5], false, 0.5), Some((5.0, 5.0)));
    }

    #[test]
    fn settings_of_http2_cost_a_round_trip_where_the_client_speaks_last() {
        use TlsVersion::{V12, V13};
        let predicted = |tls, resumes| totals(server(tls, true, [20, 0, 0]), 0, resumes, 1.0);
        assert_eq!(predicted(None, false), Some((60.0, 20.0)));
        assert_eq!(predicted(Some(V13), false), Some((80.0, 20.0)));
        assert_eq!(predicted(Some(V13), true), Some((80.0, 20.0)));
        assert_eq!(predicted(Some(V12), false), Some((80.0, 20.0)));
        assert_eq!(predicted(Some(V12), true), Some((80.0, 20.0)));
    }

    #[test]
    fn callers_that_share_http2_connections_wait_for_streams_alone() {
        let predicted = |callers| totals(server(None, true, [0, 0, 5]), 0, false, callers);
        assert_eq!(predicted(2.0), Some((10.0, 5.0)));
        assert_eq!(predicted(256.0), Some((1280.0, 10.0)));
    }

    #[test]
    fn nothing_is_predicted_where_nothing_is_simulated() {
        assert_eq!(predicted(Some(TlsVersion::V13), [0, 0, 0], false), None);
        assert_eq!(Prediction::of(&Target::Url("http://localhost/".to_owned()), false, 1.0), None);
    }
}
