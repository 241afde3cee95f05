//! A body with one coding undone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::{Buf, Bytes, BytesMut};
use http::{Extensions, HeaderMap};
use http_body::{Body as HttpBody, Frame};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};
use tokio_util::io::poll_read_buf;
use warmwire_http::{Body, ConnectionInfo, Error, Timings};

use super::coding::Coding;

/// What is decoded at a time, at most.
const PIECE: usize = 16 * 1024;

/// 8 MB, as RFC 9659 bounds the window of `zstd` in HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A body with one coding undone.
pub(super) struct Decoded {
    state: State,
    coding: Coding,
    out: BytesMut,
    /// Which exchange an error was part of, if the service below tells.
    exchange: Option<(ConnectionInfo, Timings)>,
}

enum State {
    /// Until the first byte has come, which says whether there is anything to decode.
    First(Encoded),
    Decoding(Box<Decoder>),
    /// All is decoded, and nothing more may come.
    Rest(Encoded),
    Done,
}

impl Decoded {
    pub(super) fn new(body: Body, coding: Coding, extensions: &Extensions) -> Decoded {
        let connection = extensions.get::<ConnectionInfo>().cloned();
        let timings = extensions.get::<Timings>().copied().unwrap_or_default();
        Decoded {
            state: State::First(Encoded { body, piece: Bytes::new(), end: None }),
            coding,
            out: BytesMut::new(),
            exchange: connection.map(|connection| (connection, timings)),
        }
    }

    /// The next piece; `None` at the end, when the state is [`State::Rest`] or [`State::Done`].
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Done) {
                State::First(mut encoded) => match encoded.poll_first(cx)? {
                    Poll::Pending => {
                        self.state = State::First(encoded);
                        return Poll::Pending;
                    }
                    // No byte at all is an empty body in every coding.
                    Poll::Ready(None) => State::Rest(encoded),
                    Poll::Ready(Some(first)) => {
                        State::Decoding(Box::new(Decoder::new(encoded, self.coding, first)))
                    }
                },
                State::Decoding(mut decoder) => {
                    self.out.reserve(PIECE);
                    match poll_read_buf(Pin::new(&mut *decoder), cx, &mut self.out)? {
                        Poll::Ready(0) => State::Rest(decoder.into_inner()),
                        polled => {
                            self.state = State::Decoding(decoder);
                            return polled.map(|_| Ok(Some(self.out.split().freeze())));
                        }
                    }
                }
                State::Rest(mut encoded) => match encoded.poll_first(cx)? {
                    Poll::Ready(Some(_)) => {
                        let text = "it goes on after its end";
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
                    }
                    polled => {
                        self.state = State::Rest(encoded);
                        return polled.map(|_| Ok(None));
                    }
                },
                State::Done => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// What the body below failed with stays as it is; what is left is about its content.
    fn explain(&self, error: io::Error) -> Error {
        let error = match error.downcast::<Error>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it is cut short".to_owned(),
            _ => error.to_string(),
        };
        let text = format!("the response's body is not valid {}: {why}", self.coding.name());
        let failed = Error::decode(text, error);
        match &self.exchange {
            Some((connection, timings)) => failed.on(connection.clone(), *timings),
            None => failed,
        }
    }
}

impl HttpBody for Decoded {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match ready!(self.poll_piece(cx)) {
            Ok(Some(piece)) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            Ok(None) => match std::mem::replace(&mut self.state, State::Done) {
                State::Rest(Encoded { end: Some(Some(trailers)), .. }) => {
                    Poll::Ready(Some(Ok(Frame::trailers(trailers))))
                }
                _ => Poll::Ready(None),
            },
            Err(error) => {
                self.state = State::Done;
                Poll::Ready(Some(Err(self.explain(error))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Done)
    }
}

/// The bytes below, as a decoder reads them.
struct Encoded {
    body: Body,
    piece: Bytes,
    /// The end has come, maybe with trailers.
    end: Option<Option<HeaderMap>>,
}

impl Encoded {
    /// The next byte, which stays to be read; `None` at the end.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        while self.piece.is_empty() && self.end.is_none() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => self.end = Some(None),
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(frame) => self.end = Some(frame.into_trailers().ok()),
                },
            }
        }
        Poll::Ready(Ok(self.piece.first().copied()))
    }
}

impl AsyncRead for Encoded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_first(cx))?;
        let length = self.piece.len().min(buffer.remaining());
        buffer.put_slice(&self.piece.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Encoded {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_first(cx))?;
        Poll::Ready(Ok(&this.piece))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.piece.advance(amount);
    }
}

enum Decoder {
    Gzip(GzipDecoder<Encoded>),
    Brotli(BrotliDecoder<Encoded>),
    Zstd(ZstdDecoder<Encoded>),
    Zlib(ZlibDecoder<Encoded>),
    Deflate(DeflateDecoder<Encoded>),
}

macro_rules! on_decoder {
    ($self:expr, $decoder:ident => $call:expr) => {
        match $self {
            Decoder::Gzip($decoder) => $call,
            Decoder::Brotli($decoder) => $call,
            Decoder::Zstd($decoder) => $call,
            Decoder::Zlib($decoder) => $call,
            Decoder::Deflate($decoder) => $call,
        }
    };
}

impl Decoder {
    fn new(encoded: Encoded, coding: Coding, first: u8) -> Decoder {
        match coding {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(encoded);
                decoder.multiple_members(true);
                Decoder::Gzip(decoder)
            }
            Coding::Brotli => Decoder::Brotli(BrotliDecoder::new(encoded)),
            Coding::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
                let mut decoder = ZstdDecoder::with_params(encoded, &[window]);
                decoder.multiple_members(true);
                Decoder::Zstd(decoder)
            }
            // RFC 9110, 8.4.1.2: it is the zlib format (whose first byte ends in 8), and some
            // servers send the bare format.
            Coding::Deflate if first & 0x0f == 8 => Decoder::Zlib(ZlibDecoder::new(encoded)),
            Coding::Deflate => Decoder::Deflate(DeflateDecoder::new(encoded)),
        }
    }

    fn into_inner(self) -> Encoded {
        on_decoder!(self, decoder => decoder.into_inner())
    }
}

impl AsyncRead for Decoder {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_decoder!(self.get_mut(), decoder => Pin::new(decoder).poll_read(cx, buffer))
    }
}
