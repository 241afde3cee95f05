//! A request as a server reads it.

use bytes::Bytes;

/// A request's head, and its body once that was read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The number of the connection that it came on, from 0.
    pub connection: usize,
    /// `GET`, `POST`, …
    pub method: String,
    /// The request's target, as sent.
    pub target: String,
    /// Header lines, names as sent.
    pub headers: Vec<(String, String)>,
    /// The body; empty until it was read.
    pub body: Bytes,
    /// The trailers, names as sent.
    pub trailers: Vec<(String, String)>,
    pub(crate) place: usize,
}

impl Request {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text, with what is not UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn parse(connection: usize, head: &str) -> Request {
        let (first, rest) = head.split_once("\r\n").unwrap_or((head, ""));
        let mut words = first.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (method, target) = (word(), word());
        Request { connection, method, target, headers: fields(rest), ..Request::default() }
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.ends_with("chunked"))
    }

    pub(crate) fn content_length(&self) -> usize {
        self.header("content-length").map_or(0, |value| value.parse().expect("a length"))
    }
}

/// Header lines as pairs.
pub(crate) fn fields(lines: &str) -> Vec<(String, String)> {
    let pairs = lines.split("\r\n").filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}
