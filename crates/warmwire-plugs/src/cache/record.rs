//! A body that is written down as it passes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use warmwire_http::{Body, Error};

/// A body that is written down as it passes, and given to `done` if it comes to its end.
pub(super) struct Recording<F> {
    body: Body,
    /// `None` once there is nothing to be written down any more.
    record: Option<(BytesMut, F)>,
    max: usize,
}

impl<F: FnOnce(Bytes) + Unpin> Recording<F> {
    /// Of at most `max` bytes: what is longer passes and is not kept.
    pub(super) fn new(body: Body, max: usize, done: F) -> Recording<F> {
        let mut recording = Recording { body, record: Some((BytesMut::new(), done)), max };
        recording.look_for_end();
        recording
    }

    /// A reader who knows the length reads no further than to it.
    fn look_for_end(&mut self) {
        if self.body.is_end_stream() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if let Some((record, done)) = self.record.take() {
            done(record.freeze());
        }
    }

    fn note(&mut self, frame: &Frame<Bytes>) {
        let Some((record, _)) = &mut self.record else { return };
        match frame.data_ref() {
            Some(data) if record.len() + data.len() <= self.max => record.extend_from_slice(data),
            // Too long, or trailers, which a kept response could not give back.
            _ => self.record = None,
        }
    }
}

impl<F: FnOnce(Bytes) + Unpin> HttpBody for Recording<F> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                self.note(frame);
                self.look_for_end();
            }
            Some(Err(_)) => self.record = None,
            None => self.finish(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
