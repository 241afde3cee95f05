//! What debug output shows of requests and responses: nothing that lets its bearer in.

use std::fmt;

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderName};

/// Headers whose values are secrets, besides those that are marked as sensitive.
const SECRET: [HeaderName; 4] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE];

/// Headers, with `…` in place of secrets.
pub(crate) struct Headers<'a>(pub(crate) &'a HeaderMap);

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in self.0 {
            match value.is_sensitive() || SECRET.contains(name) {
                true => map.entry(name, &format_args!("…")),
                false => map.entry(name, value),
            };
        }
        map.finish()
    }
}

/// A text that was given for a URL, without its query, and without what may be a password before an
/// `@`.
pub(crate) fn url(text: &str) -> String {
    match text.find(['?', '#']) {
        _ if text.contains('@') => "a text with an @".to_owned(),
        Some(at) => format!("{}…", &text[..=at]),
        None => text.to_owned(),
    }
}
