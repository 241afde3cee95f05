//! The exchange: both halves and the verdict.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use crate::limits::Limits;
use crate::receive::Receiving;
use crate::request::{BodyLength, RequestHead};
use crate::request_error::RequestError;
use crate::response::Received;
use crate::response_error::{ResponseError, ResponseErrorKind};
use crate::reuse::{CloseReason, Verdict};
use crate::send::{Frame, Sending, Sent};

/// One request and its response on one connection.
///
/// It is made anew for each request and costs no allocation. The order of the
/// calls is in the [crate's documentation](crate).
#[derive(Debug)]
pub struct Exchange {
    sending: Sending,
    receiving: Receiving,
    failed: Option<ResponseError>,
}

impl Exchange {
    /// An exchange that has not begun.
    pub fn new(limits: Limits) -> Self {
        Self { sending: Sending::new(), receiving: Receiving::new(limits), failed: None }
    }

    /// Appends the request head to `out` and decides how the body is framed.
    ///
    /// # Errors
    ///
    /// When the head must not be sent as it is, or when the exchange has begun.
    /// Then `out` is as it was, and no byte of the request can have left.
    pub fn start(
        &mut self,
        head: &RequestHead<'_>,
        length: BodyLength,
        out: &mut BytesMut,
    ) -> Result<(), RequestError> {
        self.sending.start(head, length, out)
    }

    /// What to write around `len` bytes of the body. With no bytes there is
    /// nothing to write.
    ///
    /// # Errors
    ///
    /// When the body is longer than declared (nothing of the excess may be
    /// written), or has ended, or has not begun.
    pub fn frame(&mut self, len: usize) -> Result<Frame, RequestError> {
        self.sending.frame(len)
    }

    /// Ends the body: appends the last chunk and the trailers to `out`. A body
    /// of known length appends nothing and may leave the call out.
    ///
    /// # Errors
    ///
    /// When the body is shorter than declared, which ruins the connection, or
    /// when the trailers cannot be sent. Then `out` is as it was.
    pub fn finish(
        &mut self,
        trailers: Option<&HeaderMap>,
        out: &mut BytesMut,
    ) -> Result<(), RequestError> {
        self.sending.finish(trailers, out)
    }

    /// The transport accepted `n` bytes of the request, framing included. It
    /// must be told before the bytes that answer them are decoded.
    pub fn wrote(&mut self, n: usize) {
        self.sending.wrote(n);
    }

    /// Whether all of the request, its body included, has been written.
    pub fn request_complete(&self) -> bool {
        self.sending.is_complete()
    }

    /// How much of the request may have reached the server.
    pub fn sent(&self) -> Sent {
        match (self.sending.any_written(), self.receiving.received_any()) {
            (false, _) => Sent::No,
            (true, false) => Sent::Maybe,
            (true, true) => Sent::Yes,
        }
    }

    /// Whether the body must wait, since the request said
    /// `Expect: 100-continue`. It ends with a 100, with a final head, or with
    /// [`skip_wait_for_continue`](Self::skip_wait_for_continue).
    ///
    /// After a final head the server may not read the body at all: the caller
    /// either sends it or gives up the connection (RFC 9110, 10.1.1).
    pub fn awaiting_continue(&self) -> bool {
        self.sending.awaiting_continue()
    }

    /// Ends the wait for a 100, which a server may never send. The time is the
    /// caller's.
    pub fn skip_wait_for_continue(&mut self) {
        self.sending.stop_waiting();
    }

    /// Takes what was read out of `input` and returns the next thing that the
    /// response had, or `None` when more bytes are needed. To be called until
    /// `None`.
    ///
    /// While a head is incomplete its bytes stay in `input`; otherwise `input`
    /// is empty afterwards. Up to 4 KiB are copied, so `input` keeps its
    /// allocation; more than that takes the allocation along.
    ///
    /// # Errors
    ///
    /// When the response breaks the protocol or a limit. The error is sticky.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Received>, ResponseError> {
        self.check_not_failed()?;
        self.receiving.note(input);
        if !input.is_empty() && !self.sending.any_written() {
            let error = ResponseError::quoting(ResponseErrorKind::Unsolicited, input);
            return Err(self.fail(error));
        }
        let decoded = self.receiving.decode(input, self.sending.facts());
        let received = decoded.map_err(|error| self.fail(error))?;
        let ends_wait = match &received {
            Some(Received::Informational(head)) => head.status == http::StatusCode::CONTINUE,
            Some(Received::Head(_)) => true,
            _ => false,
        };
        if ends_wait {
            self.sending.stop_waiting();
        }
        Ok(received)
    }

    /// The transport came to its end. To be called after [`decode`](Self::decode)
    /// returned `None`. It returns [`Received::End`] when the response is whole,
    /// and before it what a caller has left undecoded of a body until close.
    ///
    /// # Errors
    ///
    /// When the response is not whole: [`ResponseError::cut`] says where it was
    /// cut. The error is sticky.
    pub fn decode_eof(&mut self) -> Result<Received, ResponseError> {
        self.check_not_failed()?;
        self.receiving.decode_eof().map_err(|error| self.fail(error))
    }

    /// Whether the last byte of the response has been handed out. This is so
    /// with the last [`Received::Data`] of a body of known length, and with the
    /// head if there is no body: [`Received::End`] need not be awaited.
    pub fn response_complete(&self) -> bool {
        self.failed.is_none() && self.receiving.is_complete()
    }

    /// Bytes of the body that were not handed out yet, if that is known.
    pub fn remaining(&self) -> Option<u64> {
        self.receiving.remaining()
    }

    /// Whether a byte of a response has come.
    pub fn received_any(&self) -> bool {
        self.receiving.received_any()
    }

    /// After an upgrade: the bytes that were read past the head. They come
    /// before anything that is read from then on, and are given once.
    pub fn take_leftover(&mut self) -> Bytes {
        self.receiving.take_leftover()
    }

    /// May the connection be used again, as things stand?
    ///
    /// It can be asked at any time. The verdict is final once both
    /// [`request_complete`](Self::request_complete) and
    /// [`response_complete`](Self::response_complete) hold and no more bytes
    /// come. An exchange of which [`sent`](Self::sent) says `No` before any
    /// byte came has not touched the connection, although it says `Close`.
    pub fn verdict(&self) -> Verdict {
        if self.failed.is_some() {
            return Verdict::Close(CloseReason::Failed);
        }
        if self.receiving.is_tunnel() {
            return Verdict::Upgraded;
        }
        let persistence = match self.receiving.persistence() {
            Some(persistence) if self.receiving.is_complete() => persistence,
            _ => return Verdict::Close(CloseReason::ResponseIncomplete),
        };
        if self.receiving.surplus() > 0 {
            return Verdict::Close(CloseReason::SurplusBytes(self.receiving.surplus()));
        }
        if let Some(reason) = persistence.close {
            return Verdict::Close(reason);
        }
        if self.sending.facts().close {
            return Verdict::Close(CloseReason::ClientAsked);
        }
        if !self.sending.is_complete() {
            return Verdict::Close(CloseReason::RequestIncomplete);
        }
        Verdict::Reuse(persistence.keep_alive)
    }

    fn check_not_failed(&self) -> Result<(), ResponseError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn fail(&mut self, error: ResponseError) -> ResponseError {
        self.failed = Some(error.clone());
        error
    }
}
