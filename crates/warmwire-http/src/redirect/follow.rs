//! Goes where redirects lead.

use std::pin::Pin;
use std::sync::Arc;

use http::{HeaderMap, StatusCode, Uri, header};
use tokio::time::{Instant, timeout};

use super::{Hop, Redirect, RedirectAction, RedirectPolicy, Redirected, Rules, Shown, next};
use crate::agent::Agent;
use crate::body::Body;
use crate::error::{Error, ErrorKind, Phase, Sent};
use crate::event::Event;
use crate::policy::Drain;
use crate::response::Response;
use crate::send::{self, RequestParts};

pub(crate) type Following = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

/// Follows the redirect that `response` is, and those after it, as `rules` say. `spare` is the body
/// of the request once more, if there can be one, and `started` when the request began.
pub(crate) fn follow(
    agent: Agent,
    request: RequestParts,
    spare: Option<Body>,
    response: Response,
    rules: Arc<Rules>,
    started: Instant,
) -> Following {
    let url = request.url();
    let way = Way { agent, rules, request, body: spare, url, hops: Vec::new() };
    Box::pin(way.go(response, started))
}

/// A request on its way from redirect to redirect.
struct Way {
    agent: Agent,
    rules: Arc<Rules>,
    /// The request that was sent last; changed into the next one.
    request: RequestParts,
    body: Option<Body>,
    /// Where it was sent.
    url: Uri,
    hops: Vec<Hop>,
}

impl Way {
    async fn go(mut self, mut response: Response, started: Instant) -> Result<Response, Error> {
        // The time for the whole is that of the first request's origin, from its start on.
        let timeouts = response.connection.origin().policy().timeouts.clone();
        let own = self.request.own.get_or_insert_default();
        own.timeouts.total = Some(own.timeouts.total.unwrap_or(timeouts.total));
        own.timeouts.total_from = Some(started);
        // One request at a time: what leads on from there is followed here.
        own.redirects = Some(RedirectPolicy::none());
        loop {
            let status = response.status();
            if !next::leads_elsewhere(status) || !response.headers().contains_key(header::LOCATION)
            {
                return Ok(self.arrived(response));
            }
            let to = match self.turn(status, response.headers()) {
                Ok(Some(to)) => to,
                Ok(None) => return Ok(self.arrived(response)),
                Err(why) => return Err(self.refuse(&response, &why, started)),
            };
            self.report(&response, &to);
            let drain = response.connection.origin().policy().drain;
            give_back(response, drain).await;
            self.hops.push(Hop { url: std::mem::replace(&mut self.url, to), status });
            response = self.send().await?;
        }
    }

    /// Turns the request into the next one and gives its URL; `None` if it is not to be sent, and
    /// an error if it must not be.
    fn turn(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Uri>, String> {
        let to = next::target(&self.url, headers)?;
        let same_origin = next::same_origin(&self.url, &to);
        let method = next::method(status, &self.request.method);
        self.check(&to)?;
        if let Some(choose) = &self.rules.choose {
            let redirect = Redirect {
                status,
                from: &self.url,
                to: &to,
                method: &method,
                same_origin,
                before: &self.hops,
            };
            match choose(&redirect) {
                RedirectAction::Follow => {}
                RedirectAction::Stop => return Ok(None),
                RedirectAction::Refuse(why) => return Err(why),
            }
        }
        if self.hops.len() >= self.rules.limit {
            let limit = self.rules.limit;
            return Err(format!("there are too many of them (the limit is {limit})"));
        }
        self.rewrite(method, same_origin, &to)?;
        Ok(Some(to))
    }

    fn check(&self, to: &Uri) -> Result<(), String> {
        let from = &self.url;
        if from.scheme_str() == Some("https")
            && to.scheme_str() == Some("http")
            && !self.rules.https_to_http
        {
            return Err("it leads from https to http (allow_https_to_http is off)".into());
        }
        if self.request.unix(self.agent.config()).is_some()
            && !next::same_origin(from, to)
            && !self.rules.leave_unix_socket
        {
            let why =
                "it leads from a Unix socket to another host (allow_leaving_unix_socket is off)";
            return Err(why.into());
        }
        Ok(())
    }

    fn rewrite(&mut self, method: http::Method, same_origin: bool, to: &Uri) -> Result<(), String> {
        let request = &mut self.request;
        if method != request.method {
            next::leave_body(&mut request.headers);
            self.body = Some(Body::empty());
            request.idempotent = None;
            request.method = method;
        } else if self.body.is_none() {
            return Err("the request's body was a stream, which cannot be sent again".into());
        }
        request.unix = if same_origin { request.unix(self.agent.config()) } else { None };
        if !same_origin {
            let of_agent = &self.agent.config().default_headers;
            let own = request.own.get_or_insert_default();
            next::leave_origin(own.defaults.get_or_insert_with(|| of_agent.clone()));
            next::leave_origin(&mut request.headers);
            if let Some(route) = &mut request.route {
                // Among them may be a client's certificate.
                route.tls = None;
            }
        }
        request.base = None;
        request.uri = to.clone();
        Ok(())
    }

    async fn send(&mut self) -> Result<Response, Error> {
        let body = self.body.take().unwrap_or_else(Body::empty);
        self.body = body.try_clone();
        let sent = send::send(self.agent.clone(), self.request.clone(), body, None).await;
        // The first request was answered, whatever has become of this one.
        sent.map_err(|error| error.with_sent(Sent::Yes).after(&self.chain()))
    }

    fn report(&self, response: &Response, to: &Uri) {
        self.agent.core().hooks.observer.report(|| Event::Redirected {
            origin: response.connection.origin().clone(),
            status: response.status(),
            to: Shown(to).to_string().into(),
        });
    }

    fn arrived(self, mut response: Response) -> Response {
        if !self.hops.is_empty() {
            response.redirected = Some(Box::new(Redirected { url: self.url, hops: self.hops }));
        }
        response
    }

    fn refuse(&self, response: &Response, why: &str, started: Instant) -> Error {
        let hop = Hop { url: self.url.clone(), status: response.status() };
        let chain = match self.hops.is_empty() {
            true => hop.to_string(),
            false => format!("{}, {hop}", self.chain()),
        };
        let text = format!("a redirect was not followed: {why}; redirects: {chain}");
        Error::new(ErrorKind::Redirect, Phase::Head, text).with_sent(Sent::Yes).with_exchange(
            Some(response.connection.origin().clone()),
            Some(response.connection.clone()),
            response.timings,
            started.elapsed(),
        )
    }

    fn chain(&self) -> String {
        let hops: Vec<_> = self.hops.iter().map(Hop::to_string).collect();
        hops.join(", ")
    }
}

/// Reads what is left of a redirect's own body, within the bounds for dropped ones, so that the next
/// request can have its connection.
async fn give_back(mut response: Response, drain: Drain) {
    let within = drain.bytes;
    if response.content_length().is_some_and(|length| length > within) {
        return;
    }
    let mut left = within;
    let reading = async {
        while let Ok(Some(piece)) = response.chunk().await {
            match left.checked_sub(piece.len() as u64) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // What is not read by then is not worth the wait.
    let _ = timeout(drain.time, reading).await;
}
