//! How long each part of an exchange may take.

use std::time::Duration;

use super::AgentBuilder;

impl AgentBuilder {
    /// How long a request may wait for a connection to be freed, before
    /// [`AcquireTimeout`](crate::ErrorKind::AcquireTimeout). Opening a connection does not count:
    /// it has [`connect_timeout`](Self::connect_timeout). Default 30 s: finite, so that connections
    /// held by mistake show as an error with numbers and not as a hang.
    pub fn acquire_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.timeouts_mut().acquire = timeout.into();
        self
    }

    /// How long look-up, connect and TLS handshake may take together. Default 10 s.
    pub fn connect_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.timeouts_mut().connect = timeout.into();
        self
    }

    /// How long the server may take from the last byte of the request that could be sent to the
    /// last byte of the response's head. While a request is still being sent, every piece that
    /// leaves starts it anew. Default 5 min, as undici's: the slowest answers of APIs take
    /// minutes, and a server that is gone must not hold a connection for ever.
    #[doc(alias = "headersTimeout")]
    pub fn response_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.timeouts_mut().response = timeout.into();
        self
    }

    /// How long the next piece of a response's body may take. Default 5 min, as undici's.
    #[doc(alias = "bodyTimeout")]
    pub fn read_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.timeouts_mut().read = timeout.into();
        self
    }

    /// How long the whole exchange may take, queueing and the response's body included. Default:
    /// none.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.timeouts_mut().total = timeout.into();
        self
    }

    /// How long a body waits for `100 Continue` when the request has `Expect: 100-continue`,
    /// before it is sent all the same (RFC 9110, section 10.1.1). Default 1 s, as curl's.
    pub fn expect_continue_timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeouts_mut().expect_continue = timeout;
        self
    }
}
