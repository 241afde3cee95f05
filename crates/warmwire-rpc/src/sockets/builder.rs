//! What a socket does, and how much.

use std::sync::Arc;
use std::time::Duration;

use warmwire_amp::DEFAULT_MAX_MESSAGE;
use warmwire_net::{Dialer, ListenOptions, ServerTls, Tls};

use super::core::Core;
use super::{Pub, Pull, Push, Sub};

/// What happens to a message for which a queue has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullPolicy {
    /// Who sends waits. A [`Pub`], which never waits for one of its peers, drops the oldest.
    Wait,
    /// The message that has waited longest is dropped.
    DropOld,
    /// The message is not taken.
    DropNew,
    /// The peer that is behind is disconnected; with no peer the message is not taken.
    Disconnect,
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) policy: FullPolicy,
    pub(super) max_messages: usize,
    pub(super) max_bytes: usize,
    pub(super) max_message: usize,
    pub(super) inbox: usize,
    pub(super) backoff: (Duration, Duration),
    pub(super) listen: ListenOptions,
}

/// Describes a [`Push`], [`Pull`], [`Pub`] or [`Sub`].
///
/// | option | default |
/// |---|---|
/// | [`when_full`](Self::when_full) | `Wait` |
/// | [`queue_limits`](Self::queue_limits) | 1024 messages, 4 MiB |
/// | [`inbox`](Self::inbox) | 64 messages |
/// | [`max_message`](Self::max_message) | 16 MiB |
/// | [`backoff`](Self::backoff) | 100 ms to 5 s |
#[derive(Clone, Debug)]
pub struct SocketBuilder {
    options: Options,
    tls: Tls,
    connect_timeout: Option<Duration>,
}

impl Default for SocketBuilder {
    fn default() -> Self {
        Self {
            options: Options {
                policy: FullPolicy::Wait,
                max_messages: 1024,
                max_bytes: 4 << 20,
                max_message: DEFAULT_MAX_MESSAGE,
                inbox: 64,
                backoff: (Duration::from_millis(100), Duration::from_secs(5)),
                listen: ListenOptions::default(),
            },
            tls: Tls::new(),
            connect_timeout: Some(Duration::from_secs(10)),
        }
    }
}

impl SocketBuilder {
    /// What happens to a message for which there is no room. Default [`FullPolicy::Wait`].
    #[must_use]
    pub fn when_full(mut self, policy: FullPolicy) -> Self {
        self.options.policy = policy;
        self
    }

    /// How many messages, and how many bytes, may wait for each peer, and in a [`Push`] for a peer
    /// to come; at least one message. Default 1024 and 4 MiB.
    #[must_use]
    pub fn queue_limits(mut self, messages: usize, bytes: usize) -> Self {
        self.options.max_messages = messages.max(1);
        self.options.max_bytes = bytes;
        self
    }

    /// How many messages that have come may wait to be taken, at least 1; then nothing more is read.
    /// Default 64.
    #[must_use]
    pub fn inbox(mut self, messages: usize) -> Self {
        self.options.inbox = messages.max(1);
        self
    }

    /// The most bytes of a message, both ways. Default 16 MiB.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.options.max_message = bytes.min(crate::LARGEST_MESSAGE);
        self
    }

    /// How long to wait before connecting again after the first failure, and at most; each peer has
    /// waits of its own. Default 100 ms and 5 s, axon's values, with a jitter of a quarter.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        let first = first.max(Duration::from_millis(1));
        self.options.backoff = (first, longest.max(first));
        self
    }

    /// The mode of the file of a Unix socket that is listened on, such as `0o660`.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.options.listen = self.options.listen.mode(mode);
        self
    }

    /// Who may connect to a Unix socket that is listened on, by user id.
    #[must_use]
    pub fn allowed_uids(mut self, uids: impl IntoIterator<Item = u32>) -> Self {
        self.options.listen = self.options.listen.allowed_uids(uids);
        self
    }

    /// The certificate of `tls://` endpoints that are listened on.
    #[must_use]
    pub fn tls_server(mut self, tls: ServerTls) -> Self {
        self.options.listen = self.options.listen.tls(tls);
        self
    }

    /// The TLS settings towards `tls://` endpoints that are connected to.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// A socket that gives each message to one peer.
    ///
    /// # Panics
    ///
    /// When it listens or connects outside a tokio runtime; so for the others.
    pub fn push(self) -> Push {
        Push::new(self.core())
    }

    /// A socket that receives.
    pub fn pull(self) -> Pull {
        Pull::new(self.core())
    }

    /// A socket that gives each message to all peers.
    pub fn publish(self) -> Pub {
        Pub::new(self.core())
    }

    /// A socket that receives what its patterns match.
    pub fn subscribe(self) -> Sub {
        Sub::new(self.core())
    }

    fn core(self) -> Core {
        let dialer = Dialer::new(self.tls, None, self.connect_timeout);
        Core::new(self.options, Arc::new(dialer))
    }
}
