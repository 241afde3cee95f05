//! A wire whose every direction is late by the same time.

use std::io;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;

use crate::timer::{PreciseTimer, Timer};

/// The most that is read from the wire at once.
const PIECE: usize = 16 * 1024;
/// Pieces under way in one direction: with [`PIECE`] a bound of 1 MiB, which at half a round trip
/// of 12.5 ms lets 80 MB/s through. When it is reached, nothing more is read and TCP slows the
/// peer.
const UNDER_WAY: usize = 64;

/// The far end of `wire`, where everything arrives `late` after it was sent, in order.
pub(super) fn late_by(
    late: Duration,
    wire: impl AsyncRead + AsyncWrite + Send + 'static,
    timer: PreciseTimer,
) -> DuplexStream {
    let (far, near) = tokio::io::duplex(PIECE);
    let (near_read, near_write) = tokio::io::split(near);
    let (wire_read, wire_write) = tokio::io::split(wire);
    tokio::spawn(direction(late, wire_read, near_write, timer.clone()));
    tokio::spawn(direction(late, near_read, wire_write, timer));
    far
}

/// Carries one direction until it ends, its end being late as well.
async fn direction(
    late: Duration,
    from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin,
    timer: PreciseTimer,
) {
    let (sender, mut pieces) = mpsc::channel(UNDER_WAY);
    tokio::spawn(read(late, from, sender));
    while let Some((due, piece)) = pieces.recv().await {
        timer.sleep_until(due).await;
        let Ok(Some(bytes)) = piece else { break };
        if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    // The peer may have gone; then there is nobody left to tell.
    let _ = to.shutdown().await;
}

/// What came off the wire and when it is due at the other end; `None` for the end.
type Piece = (Instant, io::Result<Option<Bytes>>);

async fn read(late: Duration, mut from: impl AsyncRead + Unpin, pieces: mpsc::Sender<Piece>) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PIECE);
        let piece = match from.read_buf(&mut buffer).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(buffer.split().freeze())),
            Err(error) => Err(error),
        };
        let is_last = !matches!(piece, Ok(Some(_)));
        if pieces.send((Instant::now() + late, piece)).await.is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_arrive_late_in_order_and_whole() {
        let late = Duration::from_millis(4);
        let (mut near, wire) = tokio::io::duplex(1 << 20);
        let mut far = late_by(late, wire, PreciseTimer::start().unwrap());

        // More than may be under way, so that back-pressure is met on the way.
        let sent: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        let expected = sent.clone();
        let start = Instant::now();
        let writer = tokio::spawn(async move {
            near.write_all(&sent).await.unwrap();
            near.shutdown().await.unwrap();
            let mut answer = Vec::new();
            near.read_to_end(&mut answer).await.unwrap();
            answer
        });
        let mut received = Vec::new();
        far.read_to_end(&mut received).await.unwrap();
        assert!(start.elapsed() >= late);
        assert!(received == expected, "{} bytes of {}", received.len(), expected.len());

        far.write_all(b"answer").await.unwrap();
        far.shutdown().await.unwrap();
        assert_eq!(writer.await.unwrap(), b"answer");
        assert!(start.elapsed() >= 2 * late);
    }
}
