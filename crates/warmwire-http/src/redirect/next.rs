//! What the request after a redirect is.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};
use url::Url;

use crate::key::Address;

/// Whether a response of this status leads elsewhere, if it has a `Location`.
pub(super) fn leads_elsewhere(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// RFC 9110, 15.4.2 to 15.4.9. HEAD stays HEAD: it asks for as little as GET.
pub(super) fn method(status: StatusCode, method: &Method) -> Method {
    let becomes_get = match status {
        StatusCode::SEE_OTHER => *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    };
    if becomes_get { Method::GET } else { method.clone() }
}

/// The URL that `Location` names, or why it is refused.
pub(super) fn target(from: &Uri, headers: &HeaderMap) -> Result<Uri, String> {
    let mut all = headers.get_all(header::LOCATION).iter();
    let location = all.next().map(HeaderValue::as_bytes).unwrap_or_default();
    if all.any(|other| other.as_bytes() != location) {
        return Err("it has two Locations that differ".into());
    }
    let text = std::str::from_utf8(location).map_err(|_| "its Location is not text")?;
    let unusable = |error: &dyn std::fmt::Display| format!("its Location is not a URL: {error}");
    let from = Url::parse(&from.to_string()).map_err(|error| unusable(&error))?;
    let mut url = from.join(text).map_err(|error| unusable(&error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("it leads to the scheme {:?}", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its Location carries credentials (user:password@)".into());
    }
    // A fragment is for whoever reads the document. It is never sent, so there is none to inherit.
    url.set_fragment(None);
    url.as_str().parse().map_err(|error| unusable(&error))
}

pub(super) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let (Ok(one), Ok(other)) = (Address::of(one, None), Address::of(other, None)) else {
        return false;
    };
    one.scheme == other.scheme
        && one.port == other.port
        && one.host.eq_ignore_ascii_case(&other.host)
}

/// Removes what is about the origin that the request was for: credentials, and a `Host` set by hand.
pub(super) fn leave_origin(headers: &mut HeaderMap) {
    const OF_THE_ORIGIN: [HeaderName; 5] = [
        header::AUTHORIZATION,
        header::COOKIE,
        HeaderName::from_static("cookie2"),
        header::PROXY_AUTHORIZATION,
        header::HOST,
    ];
    for name in OF_THE_ORIGIN {
        headers.remove(name);
    }
    // One value that is marked makes a secret of the name.
    let mut secret: Vec<_> = headers
        .iter()
        .filter(|(_, value)| value.is_sensitive())
        .map(|(name, _)| name.clone())
        .collect();
    secret.dedup();
    for name in secret {
        headers.remove(name);
    }
}

/// Removes what is about a body that is not sent again (RFC 9110, 15.4, item 5).
pub(super) fn leave_body(headers: &mut HeaderMap) {
    const OF_THE_BODY: [HeaderName; 10] = [
        header::CONTENT_ENCODING,
        header::CONTENT_LANGUAGE,
        header::CONTENT_LENGTH,
        header::CONTENT_LOCATION,
        header::CONTENT_TYPE,
        header::EXPECT,
        header::LAST_MODIFIED,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        HeaderName::from_static("digest"),
    ];
    for name in OF_THE_BODY {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_rewritten_as_rfc_9110_says() {
        for (status, before, after) in [
            (301, Method::POST, Method::GET),
            (302, Method::POST, Method::GET),
            (301, Method::PUT, Method::PUT),
            (302, Method::DELETE, Method::DELETE),
            (302, Method::HEAD, Method::HEAD),
            (303, Method::POST, Method::GET),
            (303, Method::PUT, Method::GET),
            (303, Method::HEAD, Method::HEAD),
            (307, Method::POST, Method::POST),
            (308, Method::PATCH, Method::PATCH),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(method(status, &before), after, "{status} after {before}");
        }
        for status in [300, 304, 305, 306, 399, 200] {
            assert!(!leads_elsewhere(StatusCode::from_u16(status).unwrap()), "{status}");
        }
    }

    fn resolve(from: &'static str, location: &'static str) -> Result<String, String> {
        let headers = [(header::LOCATION, HeaderValue::from_static(location))];
        let target = target(&Uri::from_static(from), &headers.into_iter().collect());
        target.map(|uri| uri.to_string())
    }

    #[test]
    fn references_are_resolved_as_rfc_3986_says() {
        let from = "http://a.example/b/c/d?q";
        for (location, wanted) in [
            ("g", "http://a.example/b/c/g"),
            ("/g", "http://a.example/g"),
            ("../g", "http://a.example/b/g"),
            ("../../../../g", "http://a.example/g"),
            ("?y", "http://a.example/b/c/d?y"),
            ("#there", "http://a.example/b/c/d?q"),
            ("//other.example", "http://other.example/"),
            ("https://other.example:443/x#there", "https://other.example/x"),
            ("/a b", "http://a.example/a%20b"),
            ("\\\\evil.example\\x", "http://evil.example/x"),
        ] {
            assert_eq!(resolve(from, location).as_deref(), Ok(wanted), "{location}");
        }
    }

    #[test]
    fn what_is_no_place_to_go_is_refused() {
        for (location, why) in [
            ("ftp://files.example/", "scheme \"ftp\""),
            ("unix:/run/docker.sock", "scheme \"unix\""),
            ("http+unix://%2Frun%2Fdocker.sock/", "scheme \"http+unix\""),
            ("file:///etc/passwd", "scheme \"file\""),
            ("javascript:alert(1)", "scheme \"javascript\""),
            ("http://user:secret@a.example/", "carries credentials"),
            ("//user@a.example/", "carries credentials"),
            ("http://", "not a URL"),
            ("http://a.example:99999/", "not a URL"),
        ] {
            let error = resolve("http://a.example/", location).unwrap_err();
            assert!(error.contains(why) && !error.contains("secret"), "{location}: {error}");
        }
        let location = |value| (header::LOCATION, HeaderValue::from_static(value));
        let two: HeaderMap = [location("/one"), location("/two")].into_iter().collect();
        assert!(target(&Uri::from_static("http://a.example/"), &two).is_err());
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (one, other, same) in [
            ("http://a.example/x", "http://A.example:80/y", true),
            ("http://a.example", "https://a.example", false),
            ("http://a.example", "http://a.example:8080", false),
            ("http://a.example", "http://sub.a.example", false),
        ] {
            assert_eq!(same_origin(&Uri::from_static(one), &Uri::from_static(other)), same);
        }
    }

    #[test]
    fn secrets_stay_behind() {
        let mut secret = HeaderValue::from_static("k");
        secret.set_sensitive(true);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "cookie", "proxy-authorization", "host", "accept"] {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        headers.append("x-api-key", secret);
        headers.append("x-api-key", HeaderValue::from_static("not marked"));
        leave_origin(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["accept"]);
    }
}
