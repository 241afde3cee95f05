//! Frames on a stream: as few system calls as possible, and no more memory than is needed.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::poll_read_buf;
use warmwire_amp::{Frame, FrameError, FrameReader, FrameWriter};

/// What a quiet connection is given to read into.
const SMALLEST_READ: usize = 16 << 10;

/// What a connection grows to whose reads come back full: with 64 messages of 8 to 32 KiB in flight
/// it moves twice the bytes that 64 KiB do (`bench/rpc`).
const LARGEST_READ: usize = 512 << 10;

/// How much is asked for at once for a frame that has been announced. More is asked for when that
/// much has come: what a peer announces is a claim.
const TRUSTED: usize = 1 << 20;

/// Slices of one vectored write.
const SLICES: usize = 64;

/// A stream of frames, both ways.
#[derive(Debug)]
pub(crate) struct Wire<S> {
    stream: S,
    reader: FrameReader,
    input: BytesMut,
    read_size: usize,
    /// What is being written.
    pub(crate) out: FrameWriter,
    flushed: bool,
}

/// Why no more frames come.
#[derive(Debug)]
pub(crate) enum WireError {
    /// The peer has closed its side between two frames.
    Closed,
    /// The peer has closed its side within a frame.
    Cut,
    Io(io::Error),
    Frame(FrameError),
    /// A frame without arguments: the peer has lost step.
    NoArguments,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(crate) fn new(stream: S, max_message: usize) -> Self {
        Self {
            stream,
            reader: FrameReader::new(max_message),
            input: BytesMut::new(),
            read_size: SMALLEST_READ,
            out: FrameWriter::default(),
            flushed: true,
        }
    }

    /// The next frame that has come already.
    pub(crate) fn buffered(&mut self) -> Result<Option<Frame>, WireError> {
        self.reader.next(&mut self.input).map_err(WireError::Frame)
    }

    /// Reads more of the stream, once.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WireError>> {
        let announced = self.reader.missing(&self.input);
        let announced = announced.min(TRUSTED.max(self.input.len()));
        let spare = self.input.capacity() - self.input.len();
        // Half a read's room is read into before there is more: a copy of what is here may be due.
        if spare < announced.max(self.read_size / 2) {
            self.input.reserve(announced.max(self.read_size));
        }
        let offered = self.input.capacity() - self.input.len();
        let read = poll_read_buf(Pin::new(&mut self.stream), cx, &mut self.input);
        if read.is_pending() && self.input.is_empty() && self.read_size == SMALLEST_READ {
            // A quiet connection keeps no buffer: a new small one costs nothing beside the wait. A
            // large one is given back by the system's pages, which costs half of the throughput.
            self.input = BytesMut::new();
        }
        let count = ready!(read).map_err(WireError::Io)?;
        if count == 0 {
            return Poll::Ready(Err(if self.input.is_empty() {
                WireError::Closed
            } else {
                WireError::Cut
            }));
        }
        if count == offered {
            self.read_size = (self.read_size * 2).min(LARGEST_READ);
        } else if count < self.read_size / 8 {
            self.read_size = (self.read_size / 2).max(SMALLEST_READ);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what waits in [`out`](Self::out), as far as the peer takes it, and returns how many
    /// bytes that were. Ready when nothing waits any more.
    pub(crate) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        written: &mut u64,
    ) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = self.out.slices(&mut slices);
            let stream = Pin::new(&mut self.stream);
            let count = ready!(stream.poll_write_vectored(cx, &slices[..filled]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.flushed = false;
            *written += count as u64;
            self.out.advance(count);
        }
        // TLS keeps what the socket did not take; elsewhere this does nothing.
        if !self.flushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and forgets.
    pub(crate) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WireError>> {
        self.input.clear();
        self.reader = FrameReader::new(0);
        self.poll_read(cx)
    }

    /// Ends our side of the stream.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the connection"),
            Self::Cut => f.write_str("the peer closed the connection within a message"),
            Self::Io(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::NoArguments => f.write_str("a message without arguments: the peer has lost step"),
        }
    }
}
