//! What happens to a client's connections.

use crate::error::Error;

/// What happens to a client's connections, as
/// [`on_event`](super::ClientBuilder::on_event) is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A connection is up.
    Connected {
        /// Its number; the client's first is 0.
        connection: u64,
    },
    /// A connection has ended, and with it the calls that were under way on it.
    Disconnected {
        /// Its number.
        connection: u64,
        /// Why.
        reason: &'a str,
    },
    /// No connection could be made; it is tried again, if that is not switched off.
    ConnectFailed {
        /// Why.
        error: &'a Error,
        /// How many attempts have been made since a connection was healthy.
        attempt: u32,
    },
}
