//! Answers requests, with hyper.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

use super::ServerConfig;
use super::child::Counters;
use crate::timer::PreciseTimer;

/// Answers every request with the same body after the same time.
#[derive(Clone)]
pub(super) struct Service {
    http2: bool,
    streams: u32,
    delay: Duration,
    body: Bytes,
    timer: PreciseTimer,
    counters: Arc<Counters>,
}

impl Service {
    /// # Errors
    /// When a body of that length does not fit into memory.
    pub(super) fn new(
        config: &ServerConfig,
        timer: PreciseTimer,
        counters: Arc<Counters>,
    ) -> anyhow::Result<Self> {
        let length = usize::try_from(config.body).context("the body is longer than memory")?;
        Ok(Self {
            http2: config.http2,
            streams: config.streams(),
            delay: config.delay,
            body: Bytes::from(vec![b'w'; length]),
            timer,
            counters,
        })
    }

    /// Serves one connection until either side closes it.
    pub(super) async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> anyhow::Result<()> {
        let stream = TokioIo::new(stream);
        if self.http2 {
            // Requests of one connection are tasks of their own, which outlive this borrow.
            let this = self.clone();
            let service = service_fn(move |request| {
                let this = this.clone();
                async move { this.answer(request).await }
            });
            http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(self.streams)
                .serve_connection(stream, service)
                .await?;
        } else {
            let service = service_fn(|request| self.answer(request));
            http1::Builder::new().serve_connection(stream, service).await?;
        }
        Ok(())
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, hyper::Error> {
        let mut body = request.into_body();
        // A connection whose request was not read to its end cannot be kept.
        while !body.is_end_stream() {
            let Some(frame) = body.frame().await else { break };
            frame?;
        }
        self.timer.sleep(self.delay).await;
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        Ok(Response::new(Full::new(self.body.clone())))
    }
}
