//! Finds and parses a response head.

use std::mem::MaybeUninit;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use httparse::{ParserConfig, Status};

use crate::keep_alive::KEEP_ALIVE;
use crate::length::body_kind;
use crate::limits::Limits;
use crate::notes::Notes;
use crate::request::HeadFacts;
use crate::response::ResponseHead;
use crate::response_error::{ResponseError, ResponseErrorKind};
use crate::reuse::Persistence;
use crate::store;

/// What every status line of HTTP/1.0 and 1.1 begins with. Empty lines before
/// it are refused: RFC 9112, 2.2, lets servers skip them, but to a client they
/// are bytes of another message than the response it waits for.
const PREFIX: &[u8] = b"HTTP/1.";

/// Where the hundreds of the status stand in a status line.
const STATUS_AT: usize = b"HTTP/1.1 ".len();

/// Header slots on the stack; a larger limit takes them from the heap.
const STACK_HEADERS: usize = 100;

/// Where the search for the end of a head stands.
///
/// An error is found at a position of the input and not at a read: in the
/// prefix, at the end of the status line, at the end of the head. So every way
/// to cut the same bytes into reads has the same outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadScan {
    /// Bytes that are known not to contain the end.
    scanned: usize,
    status_line_checked: bool,
}

/// A head, what it says about reuse, and what followed it in the input.
pub(crate) struct Parsed {
    pub(crate) head: Box<ResponseHead>,
    pub(crate) persistence: Persistence,
    pub(crate) rest: Bytes,
}

impl HeadScan {
    /// Returns the head once its end has come. Until then nothing is taken out
    /// of `input`.
    pub(crate) fn decode(
        &mut self,
        input: &mut BytesMut,
        limits: &Limits,
        request: &HeadFacts,
    ) -> Result<Option<Parsed>, ResponseError> {
        check_prefix(input)?;
        if self.scanned == 0
            && let Some(parsed) = parse_at_once(input, limits, request)
        {
            return Ok(Some(parsed));
        }
        let Some(len) = self.find_end(input, limits)? else { return Ok(None) };
        // The head after a 1xx head must lie in one piece, so what follows a
        // 1xx head stays in `input`.
        let mut all = if is_interim(input) {
            let head = store::copy(&input[..len]);
            input.advance(len);
            head
        } else {
            store::take_all(input)
        };
        let rest = all.split_off(len);
        match parse(&all, limits, request)? {
            Some((_, head, persistence)) => Ok(Some(Parsed { head, persistence, rest })),
            None => Err(locate_bad_line(&all)),
        }
    }

    /// The length of the head with its empty line. Lines may end in LF alone,
    /// which RFC 9112, 2.2, permits a recipient to accept.
    fn find_end(&mut self, input: &[u8], limits: &Limits) -> Result<Option<usize>, ResponseError> {
        let window = &input[..input.len().min(limits.max_head_bytes)];
        let mut at = self.scanned;
        while let Some(line_feed) = find_line_feed(&window[at..]) {
            at += line_feed + 1;
            if !self.status_line_checked {
                check_status_line(&window[..at])?;
                self.status_line_checked = true;
            } else if is_empty_line(&window[..at]) {
                return Ok(Some(at));
            }
        }
        self.scanned = window.len();
        match input.len() >= limits.max_head_bytes {
            true => Err(ResponseErrorKind::HeadTooLarge.into()),
            false => Ok(None),
        }
    }
}

/// Parses a final head that came in one small read, as nearly all do, without a
/// search for its end. What is not complete and flawless is left to the search,
/// which also finds where the fault lies.
fn parse_at_once(input: &mut BytesMut, limits: &Limits, request: &HeadFacts) -> Option<Parsed> {
    if input.len() > store::COPY_MAX.min(limits.max_head_bytes) || is_interim(input) {
        return None;
    }
    let mut all = store::copy(input);
    let (len, head, persistence) = parse(&all, limits, request).ok()??;
    let rest = all.split_off(len);
    input.clear();
    Some(Parsed { head, persistence, rest })
}

/// Whether a head has a 1xx status. (A 101 is not one: it ends HTTP on this
/// connection.)
fn is_interim(head: &[u8]) -> bool {
    let status = head.get(STATUS_AT..).unwrap_or_default();
    status.starts_with(b"1") && !status.starts_with(b"101")
}

/// Says early that the peer speaks another protocol, which may wait for us
/// before it sends an empty line.
fn check_prefix(input: &[u8]) -> Result<(), ResponseError> {
    let len = input.len().min(PREFIX.len());
    match input[..len] == PREFIX[..len] {
        true => Ok(()),
        false => Err(ResponseError::quoting(ResponseErrorKind::NotHttp, input).at(0)),
    }
}

fn check_status_line(line: &[u8]) -> Result<(), ResponseError> {
    let kind = match httparse::Response::new(&mut []).parse(line) {
        Ok(_) if line[STATUS_AT] != b'0' => return Ok(()),
        Err(httparse::Error::Version) => ResponseErrorKind::NotHttp,
        _ => ResponseErrorKind::InvalidStatusLine,
    };
    Err(ResponseError::quoting(kind, line.trim_ascii_end()).at(0))
}

/// Whether the last line of `head`, which ends in LF, is empty.
fn is_empty_line(head: &[u8]) -> bool {
    head.ends_with(b"\n\n") || head.ends_with(b"\n\r\n")
}

/// The position of the first LF. Whole blocks are compared at once, which the
/// compiler turns into vector instructions.
fn find_line_feed(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        if block.iter().fold(false, |found, &b| found | (b == b'\n')) {
            break;
        }
        at += BLOCK;
    }
    bytes[at..].iter().position(|&b| b == b'\n').map(|position| at + position)
}

/// Parses the head that `bytes` begin with; `None` when its end is missing.
fn parse(
    bytes: &Bytes,
    limits: &Limits,
    request: &HeadFacts,
) -> Result<Option<(usize, Box<ResponseHead>, Persistence)>, ResponseError> {
    let mut stack = [const { MaybeUninit::uninit() }; STACK_HEADERS];
    let mut heap = Vec::new();
    let slots = if limits.max_headers <= STACK_HEADERS {
        &mut stack[..limits.max_headers]
    } else {
        // A header line has three bytes at least, which bounds the allocation.
        heap.resize_with(limits.max_headers.min(bytes.len() / 3), MaybeUninit::uninit);
        &mut heap[..]
    };
    // RFC 9112, 5.2: a user agent must take a folded line for a space.
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);

    let mut response = httparse::Response::new(&mut []);
    match config.parse_response_with_uninit_headers(&mut response, bytes, slots) {
        Ok(Status::Complete(len)) => {
            let (head, persistence) = build(&response, bytes, request)?;
            Ok(Some((len, head, persistence)))
        }
        Ok(Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(ResponseErrorKind::TooManyHeaders.into()),
        Err(_) => Err(locate_bad_line(bytes)),
    }
}

fn build(
    response: &httparse::Response<'_, '_>,
    bytes: &Bytes,
    request: &HeadFacts,
) -> Result<(Box<ResponseHead>, Persistence), ResponseError> {
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(ResponseErrorKind::InvalidStatusLine)?;
    let version = if response.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let reason = response.reason.unwrap_or_default();
    let reason = match status.canonical_reason() {
        Some(usual) if usual == reason => None,
        _ if reason.is_empty() => None,
        _ => Some(bytes.slice_ref(reason.as_bytes())),
    };

    let too_many = |_| ResponseErrorKind::TooManyHeaders;
    let mut headers = HeaderMap::try_with_capacity(response.headers.len()).map_err(too_many)?;
    let mut notes = Notes::default();
    for header in response.headers.iter() {
        let Some(name) = header_name(header.name) else { return Err(locate_bad_line(bytes)) };
        let value = match HeaderValue::from_maybe_shared(bytes.slice_ref(header.value)) {
            Ok(value) => value,
            Err(_) => unfold(header.value).ok_or_else(|| locate_bad_line(bytes))?,
        };
        notes.add(&name, &value);
        headers.try_append(name, value).map_err(too_many)?;
    }
    let body = body_kind(request, version, status, &notes);
    let body = body.map_err(|kind| framing_error(kind, &headers))?;
    let persistence = Persistence::new(version, body, &notes);
    Ok((Box::new(ResponseHead { status, version, headers, reason, body }), persistence))
}

/// Quotes the header that the kind speaks of.
fn framing_error(kind: ResponseErrorKind, headers: &HeaderMap) -> ResponseError {
    let name = match kind {
        ResponseErrorKind::InvalidContentLength => header::CONTENT_LENGTH,
        ResponseErrorKind::UnsupportedTransferEncoding => header::TRANSFER_ENCODING,
        _ => return kind.into(),
    };
    let values: Vec<_> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    ResponseError::quoting(kind, &values.join(&b"; "[..]))
}

/// A name that `http` does not know costs an allocation, which the one that a
/// keep-alive server sends with every response is spared.
fn header_name(name: &str) -> Option<HeaderName> {
    if name.eq_ignore_ascii_case(KEEP_ALIVE.as_str()) {
        return Some(KEEP_ALIVE.clone());
    }
    HeaderName::from_bytes(name.as_bytes()).ok()
}

/// RFC 9112, 5.2: each line end with the blanks around it becomes one space.
fn unfold(value: &[u8]) -> Option<HeaderValue> {
    let lines: Vec<&[u8]> = value.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).collect();
    HeaderValue::from_bytes(lines.join(&b' ').trim_ascii()).ok()
}

/// Finds the line that the parser refused, so that the error can quote it.
fn locate_bad_line(head: &[u8]) -> ResponseError {
    let mut offset = 0;
    for (index, line) in head.split_inclusive(|&b| b == b'\n').enumerate() {
        let is_continuation = index > 1 && matches!(line.first(), Some(b' ' | b'\t'));
        if index > 0 && !is_continuation {
            let alone = [line, b"\r\n"].concat();
            if !matches!(
                httparse::parse_headers(&alone, &mut [httparse::EMPTY_HEADER]),
                Ok(Status::Complete(_))
            ) {
                let line = line.trim_ascii_end();
                return ResponseError::quoting(ResponseErrorKind::InvalidHeader, line).at(offset);
            }
        }
        offset += line.len() as u64;
    }
    ResponseErrorKind::InvalidHeader.into()
}
