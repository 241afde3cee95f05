//! Why a connection was closed.

use std::fmt;

macro_rules! close_reasons {
    ($($(#[$doc:meta])+ $name:ident, $code:literal, $sentence:literal;)+) => {
        /// Why a connection was closed. Each closed connection has exactly one reason: the first
        /// that was known.
        ///
        /// `Display` gives a sentence for people, [`as_str`](Self::as_str) the label for metrics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum CloseReason {
            $($(#[$doc])+ $name,)+
        }

        impl CloseReason {
            /// All reasons, in the order of [`index`](Self::index).
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$name),+];

            /// The reason's name in `snake_case`, for metrics and machine-readable output.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)+
                }
            }

            const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)+
                }
            }
        }
    };
}

close_reasons! {
    /// Nobody used it for its idle time.
    IdleTimeout, "idle_timeout", "it was idle for too long";
    /// It reached `max_lifetime` less its jitter.
    MaxLifetime, "max_lifetime", "it reached its lifetime";
    /// It took as many requests as the limits allow.
    MaxRequests, "max_requests", "it took as many requests as the limits allow";
    /// More connections were idle than `max_idle` allows, and it was the least recently used.
    MaxIdle, "max_idle", "more connections were idle than allowed";
    /// It was idle when another connection needed its place under the limit over all origins.
    MaxTotal, "max_total", "another connection needed its place under the total limit";
    /// The peer ended the stream while no request was on it.
    ClosedByPeer, "closed_by_peer", "the peer closed it";
    /// The peer reset it.
    Reset, "reset", "the peer reset it";
    /// Its peer has stopped answering, on this or on another connection to the same address.
    PeerDead, "peer_dead", "its peer does not answer any more";
    /// Bytes came that nobody had asked for.
    Unsolicited, "unsolicited", "the peer sent bytes that nobody had asked for";
    /// The peer asked for it, as by `Connection: close`, or takes no more requests.
    PeerAsked, "peer_asked", "the peer asked to close it";
    /// The request asked for it.
    CallerAsked, "caller_asked", "the caller asked to close it";
    /// The user evicted it, or its origin.
    Evicted, "evicted", "it was evicted";
    /// Its name no longer has the address that it goes to.
    AddressGone, "address_gone", "its name no longer has its address";
    /// It was idle when the user closed all idle connections.
    CloseIdle, "close_idle", "all idle connections were closed";
    /// The pool was closed.
    Shutdown, "shutdown", "the pool was closed";
    /// The response was dropped before its end, with too much left to read.
    BodyDropped, "body_dropped", "the response was dropped before its end";
    /// The request was dropped in the middle of the exchange.
    Cancelled, "cancelled", "the request was cancelled";
    /// The request was not sent to its end: the response came before, or its body failed.
    RequestUnfinished, "request_unfinished", "the request was not sent to its end";
    /// The exchange took longer than allowed.
    TimedOut, "timed_out", "the exchange timed out";
    /// The exchange failed: an I/O error, or a message that breaks the protocol.
    Failed, "failed", "the exchange failed";
    /// The server switched to another protocol (`101`): it has left the pool and is the caller's.
    Upgraded, "upgraded", "the server switched to another protocol";
    /// Its dial was given up, then succeeded, and its room was taken by then.
    Overdue, "overdue", "its dial took so long that its place was given away";
    /// Whoever held its lease was dropped without a verdict.
    Abandoned, "abandoned", "its lease was lost";
}

impl CloseReason {
    /// How many reasons there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The reason's place in [`ALL`](Self::ALL), for tables of counters.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_in_the_order_of_index_and_names_differ() {
        for (index, reason) in CloseReason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
            let same = |other: &&CloseReason| other.as_str() == reason.as_str();
            assert_eq!(CloseReason::ALL.iter().filter(same).count(), 1, "{reason:?}");
        }
    }
}
