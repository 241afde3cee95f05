//! Redirects: none by default, and how to follow them without giving secrets away.
//!
//! # Why none
//!
//! An agent calls services that its program knows. There a redirect is a mistake in the URL more
//! often than a place to go: `http` for `https`, a slash too few, a name that has moved. Followed in
//! silence it costs one more exchange for each request for ever, turns a POST into a GET, and sends
//! what was meant for one server to another. So the response with its status of 3xx is yours, as with
//! undici and agentkeepalive; reqwest follows ten.
//!
//! ```
//! use warmwire::Agent;
//! use warmwire::http::RedirectPolicy;
//!
//! # async fn example() -> Result<(), warmwire::Error> {
//! let agent = Agent::builder().redirects(RedirectPolicy::limited(10)).build()?;
//! let page = agent.get("http://example.com/old").send().await?;
//! for hop in page.redirects() {
//!     println!("{} answered {}", hop.url, hop.status);
//! }
//! println!("from {:?}", page.url()); // None: no redirect
//! # Ok(())
//! # }
//! ```
//!
//! The policy can be another one for an [origin](crate::http::OriginPolicy::redirects) and for a
//! [request](crate::http::RequestBuilder::redirects).
//!
//! # What the next request is
//!
//! | status | POST | other methods |
//! |---|---|---|
//! | 301, 302 | GET without a body | the same method and body |
//! | 303 | GET without a body | GET without a body; HEAD stays HEAD |
//! | 307, 308 | POST with the body | the same method and body |
//!
//! A body that is bytes is sent again. One that was a stream cannot be: where it would have to, the
//! request fails with [`Redirect`], which says so. 300, 304 and responses without a `Location` are
//! yours as they are.
//!
//! # What stays behind
//!
//! When scheme, host or port change: `Authorization`, `Cookie`, `Proxy-Authorization`, a `Host` set
//! by hand, and every header of which a value is marked as sensitive. That holds for the request's
//! headers and for the agent's default headers, and they do not come back if a later redirect leads
//! to the first origin again: by then it is another server that decides where they go. TLS settings that the request has for itself,
//! a client's certificate among them, stay behind too: the other origin has those of the agent. A header with a
//! secret of its own name must be marked, as [`bearer_auth`] does:
//!
//! ```
//! use http::HeaderValue;
//! use warmwire::Agent;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut key = HeaderValue::from_static("sk-123");
//! key.set_sensitive(true);
//! let agent = Agent::builder().default_header("x-api-key", key).build()?;
//! # drop(agent);
//! # Ok(())
//! # }
//! ```
//!
//! # What is refused
//!
//! | where it leads | unless |
//! |---|---|
//! | one redirect more than the limit | |
//! | from `https` to `http` | [`allow_https_to_http`] |
//! | from a Unix socket to another host | [`allow_leaving_unix_socket`] |
//! | to a Unix socket, `file:`, any scheme but `http` and `https` | |
//! | to a URL with `user:password@` | |
//!
//! Each is an error of the kind [`Redirect`], which lists the way without the queries. It is no
//! response, so that it cannot be taken for one. To keep to known hosts, or out of your own network:
//!
//! ```
//! use warmwire::http::{RedirectAction, RedirectPolicy};
//!
//! let policy = RedirectPolicy::limited(5).choose(|redirect| match redirect.to.host() {
//!     Some(host) if host.ends_with(".example.com") => RedirectAction::Follow,
//!     Some(host) => RedirectAction::Refuse(format!("{host} is none of ours")),
//!     None => RedirectAction::Stop,
//! });
//! # drop(policy);
//! ```
//!
//! # Time, connections, errors
//!
//! `timeout` is for the whole way; the other timers begin anew with each request. What a redirect says
//! itself is read, within the bounds for dropped bodies, so that its connection is used again. A
//! failure on the way says `sent: yes`, since the first request was answered, and lists the redirects.
//! Layers around the agent, for cookies or caching, see the last response only.
//!
//! [`Redirect`]: crate::http::ErrorKind::Redirect
//! [`bearer_auth`]: crate::http::RequestBuilder::bearer_auth
//! [`allow_https_to_http`]: crate::http::RedirectPolicy::allow_https_to_http
//! [`allow_leaving_unix_socket`]: crate::http::RedirectPolicy::allow_leaving_unix_socket
