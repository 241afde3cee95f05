//! The sending half: framing of the body, and how much has left.

use std::fmt;

use bytes::BytesMut;
use http::HeaderMap;

use crate::fields::is_forbidden_in_trailers;
use crate::request::{self, BodyLength, HeadFacts, RequestHead};
use crate::request_error::{RequestError, RequestErrorKind};

/// How much of a request may have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport accepted no byte of it: the server cannot have seen it,
    /// and any request may be sent again.
    No,
    /// The transport accepted a byte or more, and no byte of a response came.
    /// The server may have acted on it.
    Maybe,
    /// A byte of a response came: the server has seen the request. (One
    /// response answers no request: a 408 that a server sends as it gives up
    /// an idle connection, and that crosses the request on its way.)
    Yes,
}

impl Sent {
    /// The name in snake case, for labels of metrics: `maybe`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Maybe => "maybe",
            Self::Yes => "yes",
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What stands around one piece of body data on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Sixteen hexadecimal digits and CRLF at most.
    prefix: [u8; 18],
    start: u8,
    suffix: &'static [u8],
}

impl Frame {
    /// The bytes to write before the data: a chunk's size line, or nothing.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix[usize::from(self.start)..]
    }

    /// The bytes to write after the data: a chunk's CRLF, or nothing.
    pub fn suffix(&self) -> &'static [u8] {
        self.suffix
    }

    const EMPTY: Self = Self { prefix: [0; 18], start: 18, suffix: b"" };

    fn chunk(len: u64) -> Self {
        let mut frame = Self { suffix: b"\r\n", ..Self::EMPTY };
        frame.prefix[16..].copy_from_slice(b"\r\n");
        let mut start = 16;
        let mut rest = len;
        while rest > 0 {
            start -= 1;
            frame.prefix[start] = b"0123456789abcdef"[(rest % 16) as usize];
            rest /= 16;
        }
        frame.start = start as u8;
        frame
    }
}

/// The sending half of an exchange.
#[derive(Debug)]
pub(crate) struct Sending {
    body: BodyState,
    facts: HeadFacts,
    awaiting_continue: bool,
    /// Bytes that the encoder has produced or framed.
    framed: u64,
    /// Bytes that the transport has accepted.
    written: u64,
}

#[derive(Clone, Copy, Debug)]
enum BodyState {
    NotStarted,
    Length {
        declared: u64,
        framed: u64,
    },
    Chunked,
    /// All of a body whose length the head told has been framed.
    LengthEnded {
        declared: u64,
    },
    /// The last chunk has been framed.
    ChunksEnded,
}

impl Sending {
    pub(crate) fn new() -> Self {
        Self {
            body: BodyState::NotStarted,
            facts: HeadFacts::default(),
            awaiting_continue: false,
            framed: 0,
            written: 0,
        }
    }

    pub(crate) fn start(
        &mut self,
        head: &RequestHead<'_>,
        length: BodyLength,
        out: &mut BytesMut,
    ) -> Result<(), RequestError> {
        if !matches!(self.body, BodyState::NotStarted) {
            return Err(RequestErrorKind::OutOfOrder.into());
        }
        let before = out.len();
        self.facts = request::encode(head, length, out)?;
        self.framed = (out.len() - before) as u64;
        self.awaiting_continue = self.facts.expect_continue;
        self.body = match length {
            BodyLength::None | BodyLength::Known(0) => BodyState::LengthEnded { declared: 0 },
            BodyLength::Known(declared) => BodyState::Length { declared, framed: 0 },
            BodyLength::Chunked => BodyState::Chunked,
        };
        Ok(())
    }

    pub(crate) fn frame(&mut self, len: usize) -> Result<Frame, RequestError> {
        let len = len as u64;
        match self.body {
            BodyState::Length { declared, framed } => {
                if len > declared - framed {
                    return Err(RequestErrorKind::BodyTooLong { declared }.into());
                }
                let framed = framed + len;
                self.body = if framed == declared {
                    BodyState::LengthEnded { declared }
                } else {
                    BodyState::Length { declared, framed }
                };
                self.framed = self.framed.saturating_add(len);
                Ok(Frame::EMPTY)
            }
            // A chunk of no bytes would end the body.
            BodyState::Chunked if len == 0 => Ok(Frame::EMPTY),
            BodyState::Chunked => {
                let frame = Frame::chunk(len);
                let around = (frame.prefix().len() + frame.suffix().len()) as u64;
                self.framed = self.framed.saturating_add(len).saturating_add(around);
                Ok(frame)
            }
            BodyState::LengthEnded { .. } if len == 0 => Ok(Frame::EMPTY),
            BodyState::LengthEnded { declared } => {
                Err(RequestErrorKind::BodyTooLong { declared }.into())
            }
            BodyState::NotStarted | BodyState::ChunksEnded => {
                Err(RequestErrorKind::OutOfOrder.into())
            }
        }
    }

    pub(crate) fn finish(
        &mut self,
        trailers: Option<&HeaderMap>,
        out: &mut BytesMut,
    ) -> Result<(), RequestError> {
        let has_trailers = trailers.is_some_and(|trailers| !trailers.is_empty());
        match self.body {
            BodyState::NotStarted | BodyState::ChunksEnded => {
                return Err(RequestErrorKind::OutOfOrder.into());
            }
            BodyState::Length { declared, framed } => {
                return Err(RequestErrorKind::BodyTooShort { declared, framed }.into());
            }
            BodyState::LengthEnded { .. } if has_trailers => {
                return Err(RequestErrorKind::TrailersWithoutChunks.into());
            }
            BodyState::LengthEnded { .. } => return Ok(()),
            BodyState::Chunked => {}
        }
        let before = out.len();
        write_last_chunk(trailers, out).inspect_err(|_| out.truncate(before))?;
        self.framed = self.framed.saturating_add((out.len() - before) as u64);
        self.body = BodyState::ChunksEnded;
        Ok(())
    }

    pub(crate) fn wrote(&mut self, n: usize) {
        self.written = self.written.saturating_add(n as u64);
    }

    pub(crate) fn any_written(&self) -> bool {
        self.written > 0
    }

    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.body, BodyState::LengthEnded { .. } | BodyState::ChunksEnded)
            && self.written >= self.framed
    }

    pub(crate) fn awaiting_continue(&self) -> bool {
        self.awaiting_continue
    }

    pub(crate) fn stop_waiting(&mut self) {
        self.awaiting_continue = false;
    }

    pub(crate) fn facts(&self) -> &HeadFacts {
        &self.facts
    }
}

fn write_last_chunk(trailers: Option<&HeaderMap>, out: &mut BytesMut) -> Result<(), RequestError> {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers.into_iter().flatten() {
        if is_forbidden_in_trailers(name) {
            let name = name.as_str().as_bytes();
            return Err(RequestError::quoting(RequestErrorKind::ForbiddenTrailer, name));
        }
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}
