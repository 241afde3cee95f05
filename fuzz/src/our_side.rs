//! The response as `warmwire-h1` reads it.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Uri};
use warmwire_h1::{
    BodyLength, Exchange, Limits, Received, RequestHead, ResponseErrorKind, ResponseHead, Target,
    Verdict,
};

use crate::Outcome;
use crate::case::{Case, Kind};

/// The outcome, and what only ours can tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ours {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<ResponseErrorKind>,
    trailers: HeaderMap,
    verdict: Verdict,
}

/// Feeds the reads, then the end of file.
pub(crate) fn receive(case: &Case<'_>, pieces: Vec<&[u8]>) -> Ours {
    let mut exchange = sent(case.kind);
    let mut parts = Parts::default();
    let error = drive(&mut exchange, pieces, &mut parts).err();
    let outcome = match (error, parts.head) {
        (None, Some(head)) => Outcome::Response {
            status: head.status,
            headers: head.headers,
            body: Bytes::from(parts.body),
        },
        _ => Outcome::Error,
    };
    Ours { outcome, error, trailers: parts.trailers, verdict: exchange.verdict() }
}

#[derive(Default)]
struct Parts {
    head: Option<ResponseHead>,
    body: Vec<u8>,
    trailers: HeaderMap,
    ended: bool,
}

impl Parts {
    fn take(&mut self, received: Received) {
        assert!(!self.ended, "nothing comes after the end");
        match received {
            Received::Informational(_) => assert!(self.head.is_none()),
            Received::Head(head) => assert!(self.head.replace(*head).is_none()),
            Received::Data(data) => self.body.extend_from_slice(&data),
            Received::Trailers(trailers) => self.trailers = trailers,
            Received::End => self.ended = true,
        }
    }
}

fn drive(
    exchange: &mut Exchange,
    pieces: Vec<&[u8]>,
    parts: &mut Parts,
) -> Result<(), ResponseErrorKind> {
    let mut input = BytesMut::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        while let Some(received) = exchange.decode(&mut input).map_err(|e| e.kind())? {
            parts.take(received);
        }
    }
    while !parts.ended {
        let received = exchange.decode_eof().map_err(|e| e.kind())?;
        parts.take(received);
    }
    Ok(())
}

fn sent(kind: Kind) -> Exchange {
    let uri = Uri::from_static("/");
    let mut headers = HeaderMap::new();
    if kind == Kind::Upgrade {
        headers.insert("connection", HeaderValue::from_static("upgrade"));
        headers.insert("upgrade", HeaderValue::from_static("x"));
    }
    let head = RequestHead {
        method: &kind.method(),
        target: match kind {
            Kind::Connect => Target::Authority("h:1"),
            _ => Target::Origin(&uri),
        },
        host: "h",
        headers: &headers,
        defaults: &HeaderMap::new(),
    };
    let mut exchange = Exchange::new(Limits::default());
    let mut out = BytesMut::new();
    exchange.start(&head, BodyLength::None, &mut out).expect("the request is a good one");
    exchange.wrote(out.len());
    exchange
}
