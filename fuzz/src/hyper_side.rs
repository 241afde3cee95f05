//! The response as hyper reads it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::future::join;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};

use crate::Outcome;
use crate::case::{Case, Kind};

/// Runs one request against the response, then the end of file.
pub(crate) fn receive(case: &Case<'_>) -> Outcome {
    let pieces = case.pieces().into_iter().map(Bytes::copy_from_slice).collect();
    let script = Script { pieces, next: 0, asked: false, reader: None };
    let outcome = futures_executor::block_on(async {
        let (mut sender, connection) = http1::Builder::new()
            // RFC 9112, 5.2, has a user agent accept folded lines.
            .allow_obsolete_multiline_headers_in_responses(true)
            .handshake(script)
            .await?;
        let exchange = async {
            let response = sender.send_request(request(case.kind)).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(Outcome::Response { status: head.status, headers: head.headers, body })
        };
        join(exchange, connection.with_upgrades()).await.0
    });
    outcome.unwrap_or_else(|_: hyper::Error| Outcome::Error)
}

fn request(kind: Kind) -> Request<Empty<Bytes>> {
    let request = Request::builder().method(kind.method()).header("host", "h");
    let request = match kind {
        Kind::Connect => request.uri("h:1"),
        Kind::Upgrade => request.uri("/").header("connection", "upgrade").header("upgrade", "x"),
        Kind::Get | Kind::Head | Kind::Post => request.uri("/"),
    };
    request.body(Empty::new()).expect("the request is a good one")
}

/// A peer that answers once it was asked, and then closes.
struct Script {
    pieces: Vec<Bytes>,
    next: usize,
    asked: bool,
    reader: Option<Waker>,
}

impl Read for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let next = self.next;
        if let Some(piece) = self.pieces.get_mut(next) {
            let len = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece.split_to(len));
            if piece.is_empty() {
                self.next += 1;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Script {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
