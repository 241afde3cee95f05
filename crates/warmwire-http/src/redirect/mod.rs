//! Redirects: whether they are followed, and how far (RFC 9110, section 15.4).

mod follow;
mod next;

use std::fmt;
use std::sync::Arc;

use http::{Method, StatusCode, Uri};

pub(crate) use self::follow::{Following, follow};

/// What is done about a response that says that what was asked for is elsewhere: 301, 302, 303, 307
/// or 308 with a `Location`.
///
/// The default is [`none`](Self::none): the response is the caller's.
///
/// # What is never done
///
/// When scheme, host or port change, `Authorization`, `Cookie`, `Proxy-Authorization` and every
/// header whose value is marked as sensitive stay behind, the agent's default headers included,
/// and do not come back on a later redirect. So do TLS settings that the request has for itself. A `Location` with credentials in it, with another
/// scheme than `http` and `https`, or with a Unix socket is refused. Each of these is an error of the kind
/// [`Redirect`](crate::ErrorKind::Redirect), and so are the two that can be allowed:
/// [`allow_https_to_http`](Self::allow_https_to_http) and
/// [`allow_leaving_unix_socket`](Self::allow_leaving_unix_socket).
///
/// # Method and body
///
/// After 303 the next request is a GET (or HEAD, if the first was), and so it is after a POST that
/// was answered by 301 or 302, as every client does it. Otherwise method and body stay, and a body
/// that was a stream cannot be sent again, which is an error.
#[derive(Clone, Default)]
pub struct RedirectPolicy(Option<Arc<Rules>>);

#[derive(Clone)]
pub(crate) struct Rules {
    limit: usize,
    https_to_http: bool,
    leave_unix_socket: bool,
    choose: Option<Arc<Choose>>,
}

type Choose = dyn Fn(&Redirect<'_>) -> RedirectAction + Send + Sync;

impl RedirectPolicy {
    /// Follows none: a response with a status of 3xx is the caller's. The default.
    pub fn none() -> RedirectPolicy {
        RedirectPolicy(None)
    }

    /// Follows as many in a row as `limit`; one more is an error that lists them all. 0 makes an
    /// error of the first.
    #[doc(alias = "maxRedirections")]
    pub fn limited(limit: usize) -> RedirectPolicy {
        RedirectPolicy(Some(Arc::new(Rules {
            limit,
            https_to_http: false,
            leave_unix_socket: false,
            choose: None,
        })))
    }

    /// Whether a redirect may lead from `https` to `http`, where everybody on the way can read and
    /// change what is sent. Default `false`.
    pub fn allow_https_to_http(self, allow: bool) -> RedirectPolicy {
        self.with(|rules| rules.https_to_http = allow)
    }

    /// Whether a redirect of a request over a Unix socket may lead to another host. To the same
    /// host it stays on the socket; to another one it goes over TCP, or over the agent's socket if
    /// that is where all requests go. Default `false`: what a local service answers must not choose
    /// hosts on the network.
    pub fn allow_leaving_unix_socket(self, allow: bool) -> RedirectPolicy {
        self.with(|rules| rules.leave_unix_socket = allow)
    }

    /// Asks `choose` about every redirect that the other rules let pass, for example to keep to
    /// known hosts. It cannot allow what they refuse.
    pub fn choose(
        self,
        choose: impl Fn(&Redirect<'_>) -> RedirectAction + Send + Sync + 'static,
    ) -> RedirectPolicy {
        self.with(|rules| rules.choose = Some(Arc::new(choose)))
    }

    pub(crate) fn rules(&self) -> Option<&Arc<Rules>> {
        self.0.as_ref()
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> RedirectPolicy {
        if let Some(rules) = &mut self.0 {
            change(Arc::make_mut(rules));
        }
        self
    }
}

impl fmt::Debug for RedirectPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(rules) = &self.0 else { return f.write_str("RedirectPolicy::none()") };
        f.debug_struct("RedirectPolicy")
            .field("limit", &rules.limit)
            .field("https_to_http", &rules.https_to_http)
            .field("leave_unix_socket", &rules.leave_unix_socket)
            .field("choose", &rules.choose.is_some())
            .finish()
    }
}

/// A redirect that [`RedirectPolicy::choose`] is asked about.
#[derive(Debug)]
#[non_exhaustive]
pub struct Redirect<'a> {
    /// The status of the response.
    pub status: StatusCode,
    /// The URL that gave it.
    pub from: &'a Uri,
    /// Where it leads.
    pub to: &'a Uri,
    /// The method of the next request.
    pub method: &'a Method,
    /// Whether scheme, host and port stay the same.
    pub same_origin: bool,
    /// The redirects before this one.
    pub before: &'a [Hop],
}

/// What [`RedirectPolicy::choose`] answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectAction {
    /// Goes there.
    Follow,
    /// Gives the response with the status of 3xx to the caller.
    Stop,
    /// Fails with [`ErrorKind::Redirect`](crate::ErrorKind::Redirect) and this reason.
    Refuse(String),
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hop {
    /// The URL that answered with it.
    pub url: Uri,
    /// The status.
    pub status: StatusCode,
}

impl fmt::Display for Hop {
    /// Without the query, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", Shown(&self.url), self.status.as_u16())
    }
}

/// The way that a response has come, if redirects were followed: in
/// [`Response::url`](crate::Response::url) and [`Response::redirects`](crate::Response::redirects),
/// and in the extensions of an `http::Response`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirected {
    url: Uri,
    hops: Vec<Hop>,
}

impl Redirected {
    /// The URL that the response is from.
    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// The redirects that led there, at least one.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }
}

/// The longest path that errors show.
const SHOWN: usize = 200;

/// A URL for errors and events: without its query, which may hold secrets, and not without end.
pub(crate) struct Shown<'a>(pub(crate) &'a Uri);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(uri) = self;
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        write!(f, "{scheme}://{authority}")?;
        match uri.path() {
            path if path.len() > SHOWN && path.is_char_boundary(SHOWN) => {
                write!(f, "{}…", &path[..SHOWN])?;
            }
            path => f.write_str(path)?,
        }
        f.write_str(if uri.query().is_some() { "?…" } else { "" })
    }
}
