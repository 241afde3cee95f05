//! From what a caller calls a URL to an [`http::Uri`].

use std::path::Path;

use http::Uri;

use crate::error::{Error, ErrorKind};
use crate::shown;

/// What can be used as a URL: `&str`, `String`, [`http::Uri`].
///
/// Text goes through `http::Uri`; what that does not take (spaces, names with other letters than
/// ASCII) is read as the WHATWG URL standard says. A URL with credentials (`user:password@`) is
/// refused: [`basic_auth`](crate::RequestBuilder::basic_auth) is the place for them, where they
/// cannot end up in a log.
///
/// This trait is sealed.
pub trait IntoUri: sealed::Sealed {}

impl<T: sealed::Sealed> IntoUri for T {}

pub(crate) mod sealed {
    use super::*;

    pub trait Sealed {
        fn into_uri(self) -> Result<Uri, Error>;
    }

    impl Sealed for Uri {
        fn into_uri(self) -> Result<Uri, Error> {
            check(self)
        }
    }

    impl Sealed for &Uri {
        fn into_uri(self) -> Result<Uri, Error> {
            check(self.clone())
        }
    }

    impl Sealed for &str {
        fn into_uri(self) -> Result<Uri, Error> {
            parse(self)
        }
    }

    impl Sealed for String {
        fn into_uri(self) -> Result<Uri, Error> {
            parse(&self)
        }
    }

    impl Sealed for &String {
        fn into_uri(self) -> Result<Uri, Error> {
            parse(self)
        }
    }
}

/// An origin: `https://api.example.com`, or `unix:/path`, whose URL is that of a local server.
pub(crate) fn origin(text: &str) -> Result<(Uri, Option<&Path>), Error> {
    let refuse = |why: &str| {
        let text = format!("{:?} is not an origin: {why}", shown::url(text));
        Err(Error::request(ErrorKind::InvalidRequest, text))
    };
    if let Some(path) = text.strip_prefix("unix:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() {
            return refuse("it names no Unix socket: write unix:/path");
        }
        return Ok((Uri::from_static("http://localhost/"), Some(Path::new(path))));
    }
    let uri = parse(text)?;
    // Without a scheme there is no path either: that has an error of its own.
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return refuse("it has a path or a query");
    }
    Ok((uri, None))
}

fn parse(text: &str) -> Result<Uri, Error> {
    if text.starts_with("unix:") {
        let text = "a URL names no Unix socket: use Agent::origin(\"unix:/path\") or \
                    RequestBuilder::unix_socket";
        return Err(Error::request(ErrorKind::InvalidRequest, text));
    }
    if let Ok(uri) = text.parse::<Uri>() {
        return check(uri);
    }
    let refuse = |why: &dyn std::fmt::Display| {
        let text = format!("{:?} is not a URL: {why}", shown::url(text));
        Error::request(ErrorKind::InvalidRequest, text)
    };
    // The WHATWG parser drops these without a word.
    if text.contains(|c: char| c.is_control()) {
        return Err(refuse(&"it has a control character"));
    }
    let url = url::Url::parse(text).map_err(|error| refuse(&error))?;
    check(Uri::try_from(url.as_str()).map_err(|error| refuse(&error))?)
}

fn check(uri: Uri) -> Result<Uri, Error> {
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        let text = "the URL carries credentials (user:password@): give them to basic_auth()";
        return Err(Error::request(ErrorKind::InvalidRequest, text));
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_only_the_whatwg_parser_takes() {
        let uri = parse("http://example.com/a b?c=d e").expect("a URL");
        assert_eq!(uri, "http://example.com/a%20b?c=d%20e");
        assert_eq!(
            parse("http://bücher.example/").expect("a URL").host(),
            Some("xn--bcher-kva.example")
        );
    }

    #[test]
    fn refusals_name_the_text_and_the_reason() {
        assert!(parse("http://").unwrap_err().to_string().contains("\"http://\""));
        let error = parse("unix:/run/a.sock").unwrap_err().to_string();
        assert!(error.contains("Agent::origin") && error.contains("unix_socket"), "{error}");
        let error = parse("http://user:secret@example.com/").unwrap_err().to_string();
        assert!(error.contains("basic_auth") && !error.contains("secret"), "{error}");
        let error = parse("http://user:secret@example.com:port/").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        let error = parse("http://a b/?key=secret").unwrap_err().to_string();
        assert!(error.contains("http://a b/?…") && !error.contains("secret"), "{error}");
    }
}
