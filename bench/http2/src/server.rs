//! The server: hyper's, HTTP/2 by prior knowledge, the same body for every request.

use std::convert::Infallible;
use std::io;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;

/// Prints its address, then for every line that it reads how many connections it has accepted until
/// then; ends when its standard input does.
pub async fn run(bytes: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    tell(&listener.local_addr()?)?;
    let accepted = Arc::new(AtomicU64::new(0));
    tokio::spawn(accept(listener, Bytes::from(vec![b'w'; bytes]), accepted.clone()));
    let mut questions = BufReader::new(tokio::io::stdin()).lines();
    while questions.next_line().await?.is_some() {
        tell(&accepted.load(Ordering::Relaxed))?;
    }
    Ok(())
}

async fn accept(listener: TcpListener, body: Bytes, accepted: Arc<AtomicU64>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        accepted.fetch_add(1, Ordering::Relaxed);
        stream.set_nodelay(true)?;
        let body = body.clone();
        let answer = service_fn(move |_: Request<Incoming>| {
            let response = Response::new(Full::new(body.clone()));
            std::future::ready(Ok::<_, Infallible>(response))
        });
        // That a client goes away without a goodbye is nothing to tell.
        tokio::spawn(
            http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer),
        );
    }
}

fn tell(answer: &impl std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}
