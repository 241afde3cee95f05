//! A request that is watched from its start to its response's head.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::error::Error;
use crate::response::Response;
use crate::send::RequestParts;

/// What is known of a request before it is sent.
pub(crate) struct Watch {
    #[cfg(feature = "metrics")]
    method: &'static str,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl Watch {
    pub(crate) fn new(request: &RequestParts) -> Watch {
        Watch {
            #[cfg(feature = "metrics")]
            method: super::method(&request.method),
            #[cfg(feature = "tracing")]
            span: super::traced::span(request),
        }
    }

    /// Reports how `future`, which sends the request, ends; it runs within the request's span.
    pub(crate) fn over<F>(self, future: F) -> Watched<F> {
        Watched { future, watch: self }
    }
}

pin_project! {
    pub(crate) struct Watched<F> {
        #[pin]
        future: F,
        watch: Watch,
    }
}

impl<F> Future for Watched<F>
where
    F: Future<Output = Result<Response, Error>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        #[cfg(feature = "tracing")]
        let _within = this.watch.span.enter();
        let polled = this.future.poll(cx);
        if let Poll::Ready(result) = &polled {
            #[cfg(feature = "metrics")]
            super::metered::ended(this.watch.method, result);
            #[cfg(feature = "tracing")]
            super::traced::ended(&this.watch.span, result);
        }
        polled
    }
}
