//! What a server has seen.

use bytes::Bytes;
use tokio::sync::watch;

use crate::Request;

/// Counts of one moment.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Connections accepted.
    pub accepted: usize,
    /// Connections whose script has not ended. The scripts of [`Peer`](crate::Peer) end when the
    /// client closes.
    pub open: usize,
    /// The most that were open at once.
    pub peak: usize,
    /// TLS handshakes that were done.
    pub handshakes: usize,
    /// Of these, those that resumed a session.
    pub resumed: usize,
    /// Scripts that have panicked: an assertion of the test's that failed.
    pub panicked: usize,
    /// Requests whose head was read, in the order in which they came. The body of one is filled in
    /// when it was read.
    pub requests: Vec<Request>,
}

impl Counts {
    /// Requests on the connection of this number, which counts from 0.
    pub fn requests_on(&self, connection: usize) -> usize {
        self.requests.iter().filter(|request| request.connection == connection).count()
    }
}

/// The counts, as the server's tasks write them and tests watch them.
#[derive(Clone, Debug)]
pub(crate) struct Tally(watch::Sender<Counts>);

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally(watch::Sender::new(Counts::default()))
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Counts> {
        self.0.subscribe()
    }

    /// Counts a connection and gives its number.
    pub(crate) fn accepted(&self) -> usize {
        let mut number = 0;
        self.0.send_modify(|counts| {
            number = counts.accepted;
            counts.accepted += 1;
            counts.open += 1;
            counts.peak = counts.peak.max(counts.open);
        });
        number
    }

    pub(crate) fn closed(&self) {
        self.0.send_modify(|counts| counts.open -= 1);
    }

    pub(crate) fn panicked(&self) {
        self.0.send_modify(|counts| counts.panicked += 1);
    }

    pub(crate) fn handshake(&self, resumed: bool) {
        self.0.send_modify(|counts| {
            counts.handshakes += 1;
            counts.resumed += usize::from(resumed);
        });
    }

    /// Counts a request and gives its place.
    pub(crate) fn request(&self, request: &Request) -> usize {
        let mut place = 0;
        self.0.send_modify(|counts| {
            place = counts.requests.len();
            counts.requests.push(request.clone());
        });
        place
    }

    pub(crate) fn body(&self, place: usize, body: &Bytes) {
        self.0.send_modify(|counts| counts.requests[place].body = body.clone());
    }
}
