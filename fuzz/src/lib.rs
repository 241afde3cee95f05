//! What the fuzz targets check, callable from a test on stable.
//!
//! A claim that does not hold panics, which is what both a fuzzer and a test
//! look for.

mod amp;
mod case;
mod differences;
mod hyper_side;
pub mod mutate;
mod our_side;

pub use amp::amp;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use warmwire_h1::KeepAlive;

use case::Case;

/// What a client makes of a response.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// A whole response, trailers left out.
    Response { status: StatusCode, headers: HeaderMap, body: Bytes },
    /// Refused or cut, in the head or in the body.
    Error,
}

/// The same response bytes into hyper and into ours: the same outcome, or a
/// difference that is written down.
///
/// # Panics
///
/// When they differ.
pub fn response_vs_hyper(data: &[u8]) {
    let Some(case) = Case::new(data) else { return };
    let ours = our_side::receive(&case, case.pieces());
    let theirs = hyper_side::receive(&case);
    if ours.outcome != theirs && differences::reason(&case, &ours, &theirs).is_none() {
        panic!("{case}\nours: {ours:?}\nhyper: {theirs:?}");
    }
}

/// However a response is cut into reads, the outcome is the same.
///
/// # Panics
///
/// When it is not.
pub fn response_splits(data: &[u8]) {
    let Some(case) = Case::new(data) else { return };
    let whole = our_side::receive(&case, vec![case.response]);
    for pieces in [case.pieces(), case.response.chunks(1).collect()] {
        let cut = our_side::receive(&case, pieces);
        assert_eq!(cut, whole, "{case}");
    }
}

/// Several `Keep-Alive` lines say the smallest of what each says alone, and no
/// line makes trouble. Lines are separated by LF.
///
/// # Panics
///
/// When they do not.
pub fn keep_alive(data: &[u8]) {
    let name = HeaderName::from_static("keep-alive");
    let lines = data.split(|&b| b == b'\n').filter_map(|l| HeaderValue::from_bytes(l).ok());
    let mut all = HeaderMap::new();
    let mut smallest = KeepAlive::default();
    for line in lines.take(100) {
        let alone = KeepAlive::from_headers(&HeaderMap::from_iter([(name.clone(), line.clone())]));
        smallest.timeout = smaller(smallest.timeout, alone.timeout);
        smallest.max = smaller(smallest.max, alone.max);
        all.append(&name, line);
    }
    assert_eq!(KeepAlive::from_headers(&all), smallest, "{}", data.escape_ascii());
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
