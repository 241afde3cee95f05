//! One exchange on a connection: drives `warmwire-h1` over its stream.
//!
//! The state of an exchange stays in the connection's own allocation and is reset for the next
//! one: it is six hundred bytes that would otherwise be moved about for every request.
//!
//! Both halves run at once. Nothing here waits for anything but the stream and the request's own
//! body; timers and what a failure means are the callers' ([`send`](crate::send) for the head,
//! [`incoming`](crate::incoming) for the body).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body as _, Frame};
use tokio::io::AsyncWrite;
use tokio::time::Instant;
use tokio_util::io::poll_read_buf;
use warmwire_h1::{
    BodyLength, Exchange, Limits, Received, RequestError, RequestHead, ResponseError,
};
use warmwire_net::Stream;

use crate::body::Body;
use crate::buffers;
use crate::error::Error;

/// Pieces of a body up to this length are copied behind the head, so that both leave in one write
/// and one TLS record; longer ones are written from where they are.
const COPY: usize = 8 * 1024;

/// An exchange under way, or what the last one left behind.
pub(crate) struct Wire {
    pub(crate) exchange: Exchange,
    body: Body,
    body_begun: bool,
    out: Outgoing,
    input: BytesMut,
    progress: Progress,
    /// Why sending has stopped early. The server may have answered before it closed, so this is
    /// told only when no answer is found.
    broken: Option<io::Error>,
}

/// When bytes of the request have left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) last: Instant,
    pub(crate) complete: bool,
}

/// What ends an exchange before its time.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The stream failed; `writing` tells on which side it was noticed.
    Io { error: io::Error, writing: bool },
    /// What came breaks the protocol or was cut.
    Response(ResponseError),
    /// The request cannot be sent as it is.
    Request(RequestError),
    /// The request's body failed.
    Body(Error),
}

/// Bytes on their way out, in this order.
#[derive(Default)]
struct Outgoing {
    encoded: BytesMut,
    /// How much of `encoded` has left. Advancing the buffer itself would cost it its room for the
    /// next exchange.
    encoded_sent: usize,
    data: Bytes,
    after: &'static [u8],
    /// The body has been read to its end and framed.
    ended: bool,
    flushed: bool,
}

/// What the body is sent as.
fn length(head: &RequestHead<'_>, body: &mut Body) -> BodyLength {
    match body.exact_length() {
        // A declared length of zero differs from none: a caller may mean it.
        Some(0) if body.is_empty() => BodyLength::None,
        Some(length) => BodyLength::Known(length),
        // A caller may know what its stream does not.
        None => declared(head).map_or(BodyLength::Chunked, BodyLength::Known),
    }
}

/// Whether the request could be sent as it is, without sending it.
pub(crate) fn check(head: &RequestHead<'_>, body: &mut Body) -> Result<(), RequestError> {
    Exchange::new(Limits::default()).start(head, length(head, body), &mut BytesMut::new())
}

fn declared(head: &RequestHead<'_>) -> Option<u64> {
    head.headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

impl Outgoing {
    fn begin(&mut self) {
        *self = Outgoing { encoded: buffers::take(), ..Outgoing::default() };
    }

    fn give_buffer(&mut self) {
        buffers::give(std::mem::take(&mut self.encoded));
    }

    fn encoded(&self) -> &[u8] {
        &self.encoded[self.encoded_sent..]
    }

    fn is_empty(&self) -> bool {
        self.encoded().is_empty() && self.data.is_empty() && self.after.is_empty()
    }

    fn advance(&mut self, n: usize) {
        let encoded = n.min(self.encoded().len());
        self.encoded_sent += encoded;
        if self.encoded().is_empty() {
            self.encoded.clear();
            self.encoded_sent = 0;
        }
        let data = (n - encoded).min(self.data.len());
        self.data.advance(data);
        self.after.advance(n - encoded - data);
    }
}

impl Wire {
    pub(crate) fn new() -> Wire {
        Wire {
            exchange: Exchange::new(Limits::default()),
            body: Body::empty(),
            body_begun: false,
            out: Outgoing::default(),
            input: BytesMut::new(),
            progress: Progress { last: Instant::now(), complete: false },
            broken: None,
        }
    }

    /// Begins an exchange and encodes the request's head. Nothing is sent before the first poll.
    pub(crate) fn start(
        &mut self,
        limits: Limits,
        head: &RequestHead<'_>,
        mut body: Body,
        now: Instant,
    ) -> Result<(), RequestError> {
        let length = length(head, &mut body);
        self.exchange = Exchange::new(limits);
        self.body = body;
        self.body_begun = false;
        self.out.begin();
        self.progress = Progress { last: now, complete: false };
        self.exchange.start(head, length, &mut self.out.encoded).inspect_err(|_| {
            self.body = Body::empty();
            self.out.give_buffer();
        })
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// The request's body, if it was not touched and so can be sent elsewhere.
    pub(crate) fn take_unused_body(&mut self) -> Option<Body> {
        (!self.body_begun).then(|| std::mem::take(&mut self.body))
    }

    /// Whether there is more to send and somebody to send it to.
    pub(crate) fn is_sending(&self) -> bool {
        self.broken.is_none() && !self.progress.complete
    }

    /// Why sending has stopped early, for a caller who knows that no answer can come.
    pub(crate) fn take_broken(&mut self) -> Option<Fault> {
        self.broken.take().map(|error| Fault::Io { error, writing: true })
    }

    /// Sends what can be sent. `Ready` when the request is complete or sending has broken off.
    pub(crate) fn poll_send(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        while self.is_sending() {
            match ready!(self.poll_send_step(stream, cx)) {
                Ok(()) => {}
                Err(Fault::Io { error, .. }) => self.broken = Some(error),
                Err(fault) => return Poll::Ready(Err(fault)),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_send_step(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        // What is encoded waits for a first piece of the body that is there at once, so that
        // both leave together.
        if !self.out.ended && self.out.data.is_empty() && self.out.encoded().len() < COPY {
            match self.poll_fill(cx) {
                Poll::Ready(filled) => return Poll::Ready(filled),
                Poll::Pending if self.out.is_empty() => return self.poll_flush(stream, cx),
                Poll::Pending => {}
            }
        }
        if !self.out.is_empty() {
            return self.poll_write(stream, cx);
        }
        match ready!(self.poll_flush(stream, cx)) {
            Ok(()) if self.out.ended => {
                self.progress = Progress { last: Instant::now(), complete: true };
                self.out.give_buffer();
                Poll::Ready(Ok(()))
            }
            other => Poll::Ready(other),
        }
    }

    /// Frames the next piece of the body.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.exchange.awaiting_continue() {
            return Poll::Pending;
        }
        let frame = if self.body.is_empty() {
            None
        } else {
            self.body_begun = true;
            ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose().map_err(Fault::Body)?
        };
        Poll::Ready(match frame.map(Frame::into_data) {
            Some(Ok(data)) => self.frame_data(data),
            Some(Err(other)) => self.finish(other.into_trailers().ok().as_ref()),
            None => self.finish(None),
        })
    }

    fn frame_data(&mut self, data: Bytes) -> Result<(), Fault> {
        let frame = self.exchange.frame(data.len()).map_err(Fault::Request)?;
        self.out.flushed = false;
        self.out.encoded.extend_from_slice(frame.prefix());
        if data.len() <= COPY {
            self.out.encoded.extend_from_slice(&data);
            self.out.encoded.extend_from_slice(frame.suffix());
        } else {
            self.out.data = data;
            self.out.after = frame.suffix();
        }
        Ok(())
    }

    fn finish(&mut self, trailers: Option<&http::HeaderMap>) -> Result<(), Fault> {
        self.body = Body::empty();
        self.exchange.finish(trailers, &mut self.out.encoded).map_err(Fault::Request)?;
        self.out.ended = true;
        self.out.flushed = false;
        Ok(())
    }

    fn poll_write(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let out = &self.out;
        let stream = Pin::new(stream);
        let written = if out.data.is_empty() && out.after.is_empty() {
            stream.poll_write(cx, out.encoded())
        } else {
            let pieces =
                [IoSlice::new(out.encoded()), IoSlice::new(&out.data), IoSlice::new(out.after)];
            let first = pieces.iter().position(|piece| !piece.is_empty()).unwrap_or(0);
            stream.poll_write_vectored(cx, &pieces[first..])
        };
        let written = match ready!(written) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        };
        let n = written.map_err(|error| Fault::Io { error, writing: true })?;
        self.out.advance(n);
        self.exchange.wrote(n);
        if !(self.out.ended && self.out.is_empty()) {
            self.progress.last = Instant::now();
        }
        Poll::Ready(Ok(()))
    }

    /// TLS and callers' own streams may hold bytes back until they are flushed.
    fn poll_flush(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if !self.out.flushed {
            let flushed = ready!(Pin::new(stream).poll_flush(cx));
            flushed.map_err(|error| Fault::Io { error, writing: true })?;
            self.out.flushed = true;
        }
        // Flushed but not ended: the body has nothing to send yet and will wake the task.
        if self.out.ended { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// What of the body came along with the head: the first piece of it, or its trailers.
    pub(crate) fn take_ahead(&mut self) -> Option<Frame<Bytes>> {
        match self.exchange.decode(&mut self.input) {
            Ok(Some(Received::Data(data))) => Some(Frame::data(data)),
            Ok(Some(Received::Trailers(trailers))) => Some(Frame::trailers(trailers)),
            // An error is told again to whoever reads on.
            Ok(_) | Err(_) => None,
        }
    }

    /// The next thing that the response has.
    pub(crate) fn poll_receive(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Received, Fault>> {
        loop {
            if let Some(received) =
                self.exchange.decode(&mut self.input).map_err(Fault::Response)?
            {
                self.give_empty_input();
                return Poll::Ready(Ok(received));
            }
            if self.input.capacity() == 0 {
                self.input = buffers::take();
            }
            match poll_read_buf(Pin::new(&mut *stream), cx, &mut self.input) {
                Poll::Pending => {
                    self.give_empty_input();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(self.end()),
                Poll::Ready(Ok(_)) => {}
                // A peer that closes TLS without saying so may have been cut off by somebody
                // else (RFC 9112, 9.8): to the decoder that is the same end, and a body that
                // only ends with the connection must not pass for whole.
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.failed(error))),
            }
        }
    }

    fn end(&mut self) -> Result<Received, Fault> {
        self.exchange.decode_eof().map_err(|error| match self.broken.take() {
            Some(broken) if !self.exchange.received_any() => {
                Fault::Io { error: broken, writing: true }
            }
            _ => Fault::Response(error),
        })
    }

    fn failed(&mut self, error: io::Error) -> Fault {
        match self.broken.take() {
            Some(broken) => Fault::Io { error: broken, writing: true },
            None => Fault::Io { error, writing: false },
        }
    }

    fn give_empty_input(&mut self) {
        if self.input.is_empty() && self.input.capacity() > 0 {
            buffers::give(std::mem::take(&mut self.input));
        }
    }
}
