//! A request that is watched from its start to its response's head.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::error::Error;
use crate::response::Response;
use crate::send::RequestParts;

/// A request under way. Its span ends when this is dropped, as cancelled if that is before its end.
pub(crate) struct Watch {
    #[cfg(feature = "metrics")]
    method: &'static str,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
    #[cfg(feature = "tracing")]
    ended: bool,
}

impl Watch {
    pub(crate) fn new(request: &RequestParts) -> Watch {
        Watch {
            #[cfg(feature = "metrics")]
            method: super::method(&request.method),
            #[cfg(feature = "tracing")]
            span: super::traced::span(request),
            #[cfg(feature = "tracing")]
            ended: false,
        }
    }

    /// Runs a part of the request within its span.
    pub(crate) fn over<F>(&self, future: F) -> Within<'_, F> {
        Within { future, watch: self }
    }

    /// Reports how the request ended.
    pub(crate) fn ended(mut self, end: &Result<Response, Error>) {
        self.end(end.as_ref());
    }

    /// Reports that the request failed, and passes the error on.
    pub(crate) fn failed(&mut self, error: Error) -> Error {
        self.end(Err(&error));
        error
    }

    fn end(&mut self, end: Result<&Response, &Error>) {
        #[cfg(feature = "metrics")]
        super::metered::ended(self.method, end);
        #[cfg(feature = "tracing")]
        {
            self.ended = true;
            super::traced::ended(&self.span, end);
        }
    }
}

#[cfg(feature = "tracing")]
impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended {
            super::traced::cancelled(&self.span);
        }
    }
}

pin_project! {
    pub(crate) struct Within<'a, F> {
        #[pin]
        future: F,
        watch: &'a Watch,
    }
}

impl<F: Future> Future for Within<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        #[cfg(feature = "tracing")]
        let _within = this.watch.span.enter();
        #[cfg(not(feature = "tracing"))]
        let _ = this.watch;
        this.future.poll(cx)
    }
}
