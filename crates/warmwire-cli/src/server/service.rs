//! Answers requests, with hyper.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::ServerConfig;
use super::child::Counters;
use crate::timer::PreciseTimer;

/// Answers every request with the same body after the same time.
#[derive(Clone)]
pub(super) struct Service {
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
        Ok(Self { delay: config.delay, body: Bytes::from(vec![b'w'; length]), timer, counters })
    }

    /// Serves one connection until either side closes it.
    pub(super) async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
    ) -> anyhow::Result<()> {
        let service = hyper::service::service_fn(|request| self.answer(request));
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await?;
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
