//! Decodes a body in chunks (RFC 9112, 7.1).

use bytes::{Buf, Bytes};
use http::HeaderMap;

use crate::limits::Limits;
use crate::response_error::{Cut, ResponseError, ResponseErrorKind};
use crate::trailers;

/// As many digits as a `u64` has: no size can overflow.
const MAX_SIZE_DIGITS: u8 = 16;

/// The state of one chunked body.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// The size of the chunk at hand, then what is left of it.
    size: u64,
    digits: u8,
    /// Bytes of the size line at hand.
    line: usize,
    /// Bytes of extensions in the whole body.
    extensions: usize,
    /// Bytes of data that were handed out.
    received: u64,
    /// Bytes of the framed body that were consumed, for error messages.
    consumed: u64,
    trailers: Vec<u8>,
}

/// What a step of the decoder found.
pub(crate) enum Step {
    NeedMore,
    Data(Bytes),
    /// The end, with the trailers that may be used.
    End(HeaderMap),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    /// Blanks after the size, which some servers pad it with.
    Blank,
    Extension,
    SizeLineFeed,
    Data,
    DataCarriageReturn,
    DataLineFeed,
    Trailers,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size,
            size: 0,
            digits: 0,
            line: 0,
            extensions: 0,
            received: 0,
            consumed: 0,
            trailers: Vec::new(),
        }
    }

    /// Takes the next step out of `rest`.
    pub(crate) fn decode(
        &mut self,
        rest: &mut Bytes,
        limits: &Limits,
    ) -> Result<Step, ResponseError> {
        loop {
            match self.state {
                _ if rest.is_empty() => return Ok(Step::NeedMore),
                State::Data => return Ok(Step::Data(self.take_data(rest))),
                State::Trailers => {
                    if self.take_trailers(rest, limits)? {
                        return trailers::parse(&self.trailers, limits).map(Step::End);
                    }
                }
                _ => self.take_framing(rest, limits)?,
            }
        }
    }

    /// Where the peer closed, if it does so now.
    pub(crate) fn cut(&self) -> Cut {
        match self.state {
            State::Trailers => Cut::Trailers,
            _ => Cut::Chunks { received: self.received },
        }
    }

    fn take_data(&mut self, rest: &mut Bytes) -> Bytes {
        let len = usize::try_from(self.size).unwrap_or(usize::MAX).min(rest.len());
        self.size -= len as u64;
        self.received += len as u64;
        self.consumed += len as u64;
        if self.size == 0 {
            self.state = State::DataCarriageReturn;
        }
        rest.split_to(len)
    }

    /// Consumes framing up to data, the trailers, or the end of `rest`.
    fn take_framing(&mut self, rest: &mut Bytes, limits: &Limits) -> Result<(), ResponseError> {
        let mut taken = 0;
        for &byte in rest.iter() {
            if matches!(self.state, State::Data | State::Trailers) {
                break;
            }
            self.framing_byte(byte, limits).map_err(|kind| {
                ResponseError::quoting(kind, &rest[taken..]).at(self.consumed + taken as u64)
            })?;
            taken += 1;
        }
        self.consumed += taken as u64;
        rest.advance(taken);
        Ok(())
    }

    fn framing_byte(&mut self, byte: u8, limits: &Limits) -> Result<(), ResponseErrorKind> {
        if matches!(self.state, State::Size | State::Blank | State::Extension) && byte != b'\r' {
            self.line += 1;
            if self.line > limits.max_chunk_line {
                return Err(ResponseErrorKind::ChunkLineTooLong);
            }
        }
        self.state = match (self.state, byte) {
            (State::Size, _) if byte.is_ascii_hexdigit() => self.size_digit(byte)?,
            (State::Size, _) if self.digits == 0 => {
                return Err(ResponseErrorKind::InvalidChunkSize);
            }
            (State::Size | State::Blank, b' ' | b'\t') => State::Blank,
            (State::Size | State::Blank, b';') => State::Extension,
            (State::Size | State::Blank | State::Extension, b'\r') => State::SizeLineFeed,
            // A lone LF is an end of line to some and part of the extension to
            // others: the difference has been used to smuggle requests.
            (State::Size | State::Blank | State::Extension, b'\n') => {
                return Err(ResponseErrorKind::InvalidChunkLine);
            }
            (State::Extension, _) => self.extension_byte(limits)?,
            (State::Size | State::Blank, _) => return Err(ResponseErrorKind::InvalidChunkSize),
            (State::SizeLineFeed, b'\n') => self.end_of_size_line(),
            (State::SizeLineFeed, _) => return Err(ResponseErrorKind::InvalidChunkLine),
            (State::DataCarriageReturn, b'\r') => State::DataLineFeed,
            (State::DataLineFeed, b'\n') => State::Size,
            (State::DataCarriageReturn | State::DataLineFeed, _) => {
                return Err(ResponseErrorKind::InvalidChunkEnd);
            }
            (State::Data | State::Trailers, _) => self.state,
        };
        Ok(())
    }

    fn size_digit(&mut self, byte: u8) -> Result<State, ResponseErrorKind> {
        if self.digits == MAX_SIZE_DIGITS {
            return Err(ResponseErrorKind::InvalidChunkSize);
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => byte - b'A' + 10,
        };
        self.digits += 1;
        self.size = self.size << 4 | u64::from(digit);
        Ok(State::Size)
    }

    fn extension_byte(&mut self, limits: &Limits) -> Result<State, ResponseErrorKind> {
        self.extensions += 1;
        match self.extensions > limits.max_chunk_extensions {
            true => Err(ResponseErrorKind::ChunkExtensionsTooLong),
            false => Ok(State::Extension),
        }
    }

    fn end_of_size_line(&mut self) -> State {
        self.digits = 0;
        self.line = 0;
        match self.size {
            0 => State::Trailers,
            _ => State::Data,
        }
    }

    /// Collects the trailer section; true when it is whole.
    fn take_trailers(&mut self, rest: &mut Bytes, limits: &Limits) -> Result<bool, ResponseError> {
        let mut taken = 0;
        for &byte in rest.iter() {
            taken += 1;
            if byte == b'\n' && self.trailers.last() != Some(&b'\r') {
                let kind = ResponseErrorKind::InvalidTrailer;
                return Err(ResponseError::quoting(kind, &self.trailers));
            }
            self.trailers.push(byte);
            if self.trailers.len() > limits.max_trailer_bytes {
                return Err(ResponseErrorKind::TrailersTooLarge.into());
            }
            if self.trailers == b"\r\n" || self.trailers.ends_with(b"\r\n\r\n") {
                rest.advance(taken);
                return Ok(true);
            }
        }
        rest.advance(taken);
        Ok(false)
    }
}
