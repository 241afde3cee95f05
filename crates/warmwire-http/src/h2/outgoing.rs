//! A request's body on its way to hyper.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use crate::body::Body;
use crate::error::Error;

/// hyper takes the body away; this tells how far it came.
pub(crate) struct Outgoing {
    body: Body,
    progress: Option<Arc<Progress>>,
    begun: bool,
}

/// How far a body came. There is none for an empty one.
pub(super) struct Progress(Mutex<State>);

struct State {
    last: Instant,
    complete: bool,
    failure: Option<Failure>,
}

/// What a body failed with.
pub(super) enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the last piece was taken, and whether it was the last one.
    pub(super) fn last(&self) -> (Instant, bool) {
        let state = self.lock();
        (state.last, state.complete)
    }

    /// What the body failed with.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.lock().failure.take()
    }
}

impl Outgoing {
    pub(super) fn new(body: Body, now: Instant) -> (Outgoing, Option<Arc<Progress>>) {
        let state = || State { last: now, complete: false, failure: None };
        let progress = (!body.is_empty()).then(|| Arc::new(Progress(Mutex::new(state()))));
        (Outgoing { body, progress: progress.clone(), begun: false }, progress)
    }

    /// The body, if nothing of it was taken.
    pub(super) fn unused(self) -> Option<Body> {
        (!self.begun).then_some(self.body)
    }

    fn note(&self, complete: bool, failure: Option<Failure>) {
        if let Some(progress) = &self.progress {
            let mut state = progress.lock();
            state.last = Instant::now();
            state.complete |= complete;
            state.failure = failure.or(state.failure.take());
        }
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.begun = true;
        // It is polled by the task of a connection that others use too.
        let body = Pin::new(&mut self.body);
        let frame = match catch_unwind(AssertUnwindSafe(|| body.poll_frame(cx))) {
            Ok(polled) => ready!(polled).map(|frame| frame.map_err(Failure::Error)),
            Err(panic) => Some(Err(Failure::Panic(panic))),
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                self.note(self.body.is_end_stream(), None);
                Some(Ok(frame))
            }
            Some(Err(failure)) => {
                self.note(true, Some(failure));
                Some(Err(Broken))
            }
            None => {
                self.note(true, None);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body has failed; [`Progress`] knows with what.
#[derive(Debug)]
pub(crate) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request's body failed")
    }
}

impl std::error::Error for Broken {}
