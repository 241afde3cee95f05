//! What a handler may know of its call.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::{CancellationToken, DropGuard};
use warmwire_net::Peer;

/// What a handler may know of its call: an optional first parameter of a handler.
///
/// A handler whose caller goes away or cancels is dropped at its next await. What it has spawned is
/// not: that can watch [`cancelled`](Self::cancelled).
#[derive(Clone, Debug)]
pub struct Context {
    peer: Arc<Peer>,
    deadline: Option<Instant>,
    cancelled: CancellationToken,
}

impl Context {
    /// Who calls: its address, its process, its certificates.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// When the caller gives up. `None` if it waits for ever, or does not tell (axon).
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether nobody waits for the result any more, or there is one.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Waits until nobody waits for the result any more (the caller cancelled, went away, or its time
    /// is over), or the handler has ended.
    ///
    /// # Cancel safety
    ///
    /// May be dropped and called again.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

/// Who calls, for handlers that ask: what they are given is made only then.
#[derive(Debug)]
pub struct Caller<'a> {
    peer: &'a Arc<Peer>,
    deadline: Option<Instant>,
    cancelled: OnceCell<CancellationToken>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(peer: &'a Arc<Peer>, deadline: Option<Instant>) -> Self {
        Self { peer, deadline, cancelled: OnceCell::new() }
    }

    pub(super) fn context(&self) -> Context {
        Context {
            peer: Arc::clone(self.peer),
            deadline: self.deadline,
            cancelled: self.cancelled.get_or_init(CancellationToken::new).clone(),
        }
    }

    /// Tells the handler, if it asked, when this is dropped.
    pub(super) fn into_guard(self) -> Option<DropGuard> {
        self.cancelled.into_inner().map(CancellationToken::drop_guard)
    }
}
