//! The receiving half: what came, and where it ends.

use bytes::{Bytes, BytesMut};

use crate::chunked::{Chunked, Step};
use crate::head::{HeadScan, Parsed};
use crate::limits::Limits;
use crate::request::HeadFacts;
use crate::response::{BodyKind, Received};
use crate::response_error::{Cut, ResponseError, ResponseErrorKind};
use crate::reuse::Persistence;
use crate::store;

/// The receiving half of an exchange.
#[derive(Debug)]
pub(crate) struct Receiving {
    limits: Limits,
    phase: Phase,
    /// Bytes that came with the head and were not decoded yet.
    rest: Bytes,
    received_any: bool,
    informational: usize,
    /// Bytes after the end of the response.
    surplus: u64,
    end_told: bool,
    persistence: Option<Persistence>,
}

#[derive(Debug)]
enum Phase {
    Head(HeadScan),
    Length { remaining: u64, expected: u64 },
    Chunked(Chunked),
    UntilClose,
    Tunnel,
    Done,
}

impl Receiving {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            phase: Phase::Head(HeadScan::default()),
            rest: Bytes::new(),
            received_any: false,
            informational: 0,
            surplus: 0,
            end_told: false,
            persistence: None,
        }
    }

    pub(crate) fn decode(
        &mut self,
        input: &mut BytesMut,
        request: &HeadFacts,
    ) -> Result<Option<Received>, ResponseError> {
        if let Phase::Head(scan) = &mut self.phase {
            if input.is_empty() {
                return Ok(None);
            }
            let Some(parsed) = scan.decode(input, &self.limits, request)? else {
                return Ok(None);
            };
            return self.accept_head(parsed, input).map(Some);
        }
        if matches!(self.phase, Phase::Tunnel) {
            return Ok(None);
        }
        loop {
            if self.rest.is_empty() {
                self.rest = store::take_all(input);
            }
            let received = self.decode_body(input)?;
            if received.is_some() || input.is_empty() {
                return Ok(received);
            }
        }
    }

    pub(crate) fn decode_eof(&mut self) -> Result<Received, ResponseError> {
        let cut = match &self.phase {
            Phase::Head(_) if !self.received_any => Cut::BeforeResponse,
            Phase::Head(_) => Cut::Head,
            Phase::Length { remaining, expected } => {
                Cut::Body { received: expected - remaining, expected: *expected }
            }
            Phase::Chunked(chunked) => chunked.cut(),
            Phase::UntilClose if !self.rest.is_empty() => {
                return Ok(Received::Data(std::mem::take(&mut self.rest)));
            }
            Phase::UntilClose => {
                self.phase = Phase::Done;
                self.end_told = true;
                return Ok(Received::End);
            }
            Phase::Tunnel | Phase::Done => {
                self.end_told = true;
                return Ok(Received::End);
            }
        };
        Err(ResponseErrorKind::Cut(cut).into())
    }

    /// Notes that bytes came, whether or not they can be decoded.
    pub(crate) fn note(&mut self, input: &[u8]) {
        self.received_any |= !input.is_empty();
    }

    pub(crate) fn received_any(&self) -> bool {
        self.received_any
    }

    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Tunnel | Phase::Done)
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        matches!(self.phase, Phase::Tunnel)
    }

    pub(crate) fn remaining(&self) -> Option<u64> {
        match self.phase {
            Phase::Length { remaining, .. } => Some(remaining),
            Phase::Tunnel | Phase::Done => Some(0),
            Phase::Head(_) | Phase::Chunked(_) | Phase::UntilClose => None,
        }
    }

    pub(crate) fn surplus(&self) -> u64 {
        self.surplus
    }

    pub(crate) fn persistence(&self) -> Option<&Persistence> {
        self.persistence.as_ref()
    }

    pub(crate) fn take_leftover(&mut self) -> Bytes {
        match self.phase {
            Phase::Tunnel => std::mem::take(&mut self.rest),
            _ => Bytes::new(),
        }
    }

    fn accept_head(
        &mut self,
        parsed: Parsed,
        input: &mut BytesMut,
    ) -> Result<Received, ResponseError> {
        let Parsed { head, persistence, rest } = parsed;
        if head.status.is_informational() && head.body != BodyKind::Tunnel {
            self.informational += 1;
            if self.informational > self.limits.max_informational {
                return Err(ResponseErrorKind::TooManyInformational.into());
            }
            self.phase = Phase::Head(HeadScan::default());
            return Ok(Received::Informational(head));
        }
        self.persistence = Some(persistence);
        self.rest = rest;
        match head.body {
            BodyKind::None | BodyKind::Length(0) => self.end(input),
            BodyKind::Length(expected) => {
                self.phase = Phase::Length { remaining: expected, expected };
            }
            BodyKind::Chunked => self.phase = Phase::Chunked(Chunked::new()),
            BodyKind::UntilClose => self.phase = Phase::UntilClose,
            BodyKind::Tunnel => self.phase = Phase::Tunnel,
        }
        Ok(Received::Head(head))
    }

    fn decode_body(&mut self, input: &mut BytesMut) -> Result<Option<Received>, ResponseError> {
        match &mut self.phase {
            Phase::Head(_) | Phase::Tunnel => Ok(None),
            Phase::Done => {
                self.end(input);
                let first = !std::mem::replace(&mut self.end_told, true);
                Ok(first.then_some(Received::End))
            }
            _ if self.rest.is_empty() => Ok(None),
            Phase::UntilClose => Ok(Some(Received::Data(std::mem::take(&mut self.rest)))),
            Phase::Length { remaining, .. } => {
                let len = usize::try_from(*remaining).unwrap_or(usize::MAX).min(self.rest.len());
                *remaining -= len as u64;
                let is_last = *remaining == 0;
                let data = self.rest.split_to(len);
                if is_last {
                    self.end(input);
                }
                Ok(Some(Received::Data(data)))
            }
            Phase::Chunked(chunked) => match chunked.decode(&mut self.rest, &self.limits)? {
                Step::NeedMore => Ok(None),
                Step::Data(data) => Ok(Some(Received::Data(data))),
                Step::End(trailers) => {
                    self.end(input);
                    if !trailers.is_empty() {
                        return Ok(Some(Received::Trailers(trailers)));
                    }
                    self.end_told = true;
                    Ok(Some(Received::End))
                }
            },
        }
    }

    /// The last byte of the response was consumed: whatever else there is was
    /// not asked for.
    fn end(&mut self, input: &mut BytesMut) {
        self.phase = Phase::Done;
        self.surplus += (self.rest.len() + input.len()) as u64;
        self.rest = Bytes::new();
        input.clear();
    }
}
