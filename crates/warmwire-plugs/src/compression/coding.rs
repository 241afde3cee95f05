//! The content codings (RFC 9110, 8.4.1).

use http::HeaderMap;
use http::header;

/// What is asked for, best for most first.
pub(super) const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// Codings on top of one another, at most: no honest server needs more, and each one multiplies what
/// a few bytes can decode to.
const MAX_CODINGS: usize = 4;

/// One content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Brotli,
    Zstd,
    Deflate,
}

impl Coding {
    /// The codings of a body in the order in which they were applied; `None` if there are none, or
    /// one that is not known.
    pub(super) fn of(headers: &HeaderMap) -> Option<Vec<Coding>> {
        let mut codings = Vec::new();
        for value in headers.get_all(header::CONTENT_ENCODING) {
            for name in value.to_str().ok()?.split(',').map(str::trim) {
                if !name.is_empty() && !name.eq_ignore_ascii_case("identity") {
                    codings.push(Coding::from_name(name)?);
                }
            }
        }
        (1..=MAX_CODINGS).contains(&codings.len()).then_some(codings)
    }

    fn from_name(name: &str) -> Option<Coding> {
        let known = [
            ("gzip", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("br", Coding::Brotli),
            ("zstd", Coding::Zstd),
            ("deflate", Coding::Deflate),
        ];
        known.into_iter().find(|(other, _)| name.eq_ignore_ascii_case(other)).map(|(_, it)| it)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Deflate => "deflate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<Vec<Coding>> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
        }
        Coding::of(&headers)
    }

    #[test]
    fn codings_come_from_all_lines_and_unknown_ones_leave_the_body_alone() {
        assert_eq!(of(&["X-GZip"]), Some(vec![Coding::Gzip]));
        assert_eq!(of(&["gzip, identity", "br"]), Some(vec![Coding::Gzip, Coding::Brotli]));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["identity"]), None);
        assert_eq!(of(&["gzip", "compress"]), None);
        assert_eq!(of(&["gzip, gzip, gzip, gzip, gzip"]), None);
    }
}
