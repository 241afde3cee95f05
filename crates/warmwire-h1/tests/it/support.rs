//! Requests and responses in few words.

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use warmwire_h1::{
    BodyLength, Cut, Exchange, Limits, Received, RequestError, RequestErrorKind, RequestHead,
    ResponseError, ResponseErrorKind, ResponseHead, Target, Verdict,
};

/// Everything that one response turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) informational: Vec<StatusCode>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) headers: HeaderMap,
    pub(crate) reason: Option<Vec<u8>>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
    pub(crate) ended: bool,
    pub(crate) error: Option<ResponseError>,
    pub(crate) verdict: Verdict,
}

impl Outcome {
    pub(crate) fn error_kind(&self) -> Option<ResponseErrorKind> {
        self.error.as_ref().map(ResponseError::kind)
    }
}

pub(crate) fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// A request whose parts a test changes.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) host: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) defaults: HeaderMap,
    pub(crate) length: BodyLength,
}

impl Request {
    pub(crate) fn new(method: Method) -> Self {
        Self {
            method,
            uri: Uri::from_static("http://example.test/path?query"),
            host: "example.test",
            headers: HeaderMap::new(),
            defaults: HeaderMap::new(),
            length: BodyLength::None,
        }
    }

    pub(crate) fn get() -> Self {
        Self::new(Method::GET)
    }

    pub(crate) fn with(mut self, lines: &[(&str, &str)]) -> Self {
        self.headers = headers(lines);
        self
    }

    pub(crate) fn body(mut self, length: BodyLength) -> Self {
        self.length = length;
        self
    }

    pub(crate) fn start(&self, exchange: &mut Exchange) -> Result<Vec<u8>, RequestError> {
        let target = match self.method {
            Method::CONNECT => Target::Authority("example.test:443"),
            _ => Target::Origin(&self.uri),
        };
        self.start_with(exchange, target)
    }

    pub(crate) fn start_with(
        &self,
        exchange: &mut Exchange,
        target: Target<'_>,
    ) -> Result<Vec<u8>, RequestError> {
        let head = RequestHead {
            method: &self.method,
            target,
            host: self.host,
            headers: &self.headers,
            defaults: &self.defaults,
        };
        let mut out = BytesMut::from(&b"before"[..]);
        let started = exchange.start(&head, self.length, &mut out);
        assert!(out.starts_with(b"before"), "the output is only appended to");
        let written = out.split_off(6).to_vec();
        assert!(started.is_ok() || written.is_empty(), "a refused head leaves no bytes");
        started.map(|()| written)
    }

    /// The head as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.start(&mut Exchange::new(Limits::default())).unwrap()).unwrap()
    }

    pub(crate) fn refused(&self) -> RequestErrorKind {
        self.start(&mut Exchange::new(Limits::default())).unwrap_err().kind()
    }

    /// An exchange of which the head has been written.
    pub(crate) fn sent(&self) -> Exchange {
        self.sent_within(Limits::default())
    }

    pub(crate) fn sent_within(&self, limits: Limits) -> Exchange {
        let mut exchange = Exchange::new(limits);
        let head = self.start(&mut exchange).unwrap();
        exchange.wrote(head.len());
        exchange
    }
}

/// Feeds `pieces` and then the end of file, unless the response ends before.
pub(crate) fn receive<'a>(
    exchange: &mut Exchange,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Outcome {
    let mut collector = Collector::default();
    let mut input = BytesMut::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match exchange.decode(&mut input) {
                Ok(Some(received)) => collector.take(received),
                Ok(None) => break,
                Err(error) => return collector.fail(exchange, error),
            }
        }
    }
    while !collector.ended && exchange.verdict() != Verdict::Upgraded {
        match exchange.decode_eof() {
            Ok(received) => collector.take(received),
            Err(error) => return collector.fail(exchange, error),
        }
    }
    collector.outcome(exchange, None)
}

/// The response to a GET, in one read, then the end of file.
pub(crate) fn get(response: &[u8]) -> Outcome {
    receive(&mut Request::get().sent(), [response])
}

pub(crate) fn cut(outcome: &Outcome) -> Option<Cut> {
    outcome.error.as_ref().and_then(ResponseError::cut)
}

#[derive(Default)]
struct Collector {
    informational: Vec<StatusCode>,
    head: Option<ResponseHead>,
    body: Vec<u8>,
    trailers: HeaderMap,
    ended: bool,
}

impl Collector {
    fn take(&mut self, received: Received) {
        assert!(!self.ended, "nothing comes after the end");
        match received {
            Received::Informational(head) => self.informational.push(head.status),
            Received::Head(head) => assert!(self.head.replace(*head).is_none()),
            Received::Data(data) => {
                assert!(!data.is_empty());
                self.body.extend_from_slice(&data);
            }
            Received::Trailers(trailers) => self.trailers = trailers,
            Received::End => self.ended = true,
        }
    }

    fn fail(self, exchange: &mut Exchange, error: ResponseError) -> Outcome {
        let again = exchange.decode(&mut BytesMut::from(&b"more"[..]));
        assert_eq!(again.unwrap_err(), error, "an error is sticky");
        assert!(!exchange.response_complete());
        self.outcome(exchange, Some(error))
    }

    fn outcome(self, exchange: &Exchange, error: Option<ResponseError>) -> Outcome {
        let (status, headers, reason) = match self.head {
            Some(head) => (Some(head.status), head.headers, head.reason.map(|r| r.to_vec())),
            None => (None, HeaderMap::new(), None),
        };
        Outcome {
            informational: self.informational,
            status,
            headers,
            reason,
            body: self.body,
            trailers: self.trailers,
            ended: self.ended,
            error,
            verdict: exchange.verdict(),
        }
    }
}
