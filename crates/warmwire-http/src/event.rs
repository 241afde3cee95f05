//! Every step in a connection's life, as a callback sees it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use warmwire_pool::{CloseReason, ConnectionId};

use crate::key::OriginName;
use crate::observe;

/// A step in the life of a connection or of a request's wait for one.
///
/// Events of one connection come in the order in which they happen; those of different
/// connections may come from different threads at once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A request has to wait: no connection is free and no more may be opened.
    #[non_exhaustive]
    Queued {
        /// Where the request goes.
        origin: OriginName,
    },
    /// A connection is being opened.
    #[non_exhaustive]
    Connecting {
        /// Where to.
        origin: OriginName,
    },
    /// A connection is up.
    #[non_exhaustive]
    Connected {
        /// Where to.
        origin: OriginName,
        /// Its number, unique within the agent.
        connection: ConnectionId,
        /// What look-up, connect and handshake took together.
        elapsed: Duration,
    },
    /// A connection could not be opened.
    #[non_exhaustive]
    ConnectFailed {
        /// Where to.
        origin: OriginName,
        /// After how long.
        elapsed: Duration,
        /// Why, as text.
        error: Arc<str>,
    },
    /// A request got a connection.
    #[non_exhaustive]
    Acquired {
        /// Where the request goes.
        origin: OriginName,
        /// The connection.
        connection: ConnectionId,
        /// Whether the request was spared the handshake.
        reused: bool,
        /// How long the request waited, opening a connection included.
        waited: Duration,
    },
    /// An exchange has ended and its connection is kept.
    #[non_exhaustive]
    Released {
        /// Where to.
        origin: OriginName,
        /// The connection.
        connection: ConnectionId,
    },
    /// A request that failed on a reused connection, before a byte of the response came, is sent
    /// again on a fresh one.
    #[non_exhaustive]
    Retried {
        /// Where the request goes.
        origin: OriginName,
        /// The connection that failed.
        connection: ConnectionId,
    },
    /// A redirect is followed.
    #[non_exhaustive]
    Redirected {
        /// Who answered with it.
        origin: OriginName,
        /// The status.
        status: StatusCode,
        /// Where it leads, without the query.
        to: Arc<str>,
    },
    /// A response is held unread for longer than [`held_after`](crate::AgentBuilder::held_after):
    /// it keeps its connection, or with HTTP/2 its stream, from everybody else. Told once, until
    /// something of it is read.
    #[non_exhaustive]
    Held {
        /// Where the response came from.
        origin: OriginName,
        /// The connection that it holds, or is a stream of.
        connection: ConnectionId,
        /// For how long nothing of it was read.
        unread: Duration,
    },
    /// A connection is closed.
    #[non_exhaustive]
    Closed {
        /// Where it went.
        origin: OriginName,
        /// The connection.
        connection: ConnectionId,
        /// Why.
        reason: CloseReason,
        /// How many requests it carried.
        requests: u64,
        /// Time since it was opened.
        age: Duration,
    },
}

/// The caller's callback, if there is one.
///
/// It runs on the task that caused the event, outside every lock: a slow one delays that task
/// alone, and a panic ends in here.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Callback>>);

type Callback = dyn Fn(&Event) + Send + Sync;

impl Observer {
    pub(crate) fn new(callback: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Observer(Some(Arc::new(callback)))
    }

    /// Reports the event that `make` makes; it is not made if nobody listens.
    pub(crate) fn report(&self, make: impl FnOnce() -> Event) {
        if self.0.is_none() && !observe::listens() {
            return;
        }
        let event = make();
        observe::event(&event);
        if let Some(callback) = &self.0 {
            // The panic hook has already told the user; the exchange must not suffer for it.
            let _ = catch_unwind(AssertUnwindSafe(|| callback(&event)));
        }
    }
}
