//! When a connection is used again, the race that is left, and what `sent` means.
//!
//! # When a connection is kept
//!
//! After an exchange whose end is certain, on both sides: the request was sent whole, the response
//! was read whole, neither side asked to close, and nothing follows the response. A response that
//! ends with the connection, a message cut short, bytes that nobody asked for: each closes the
//! connection, and [`CloseReason`](crate::http::CloseReason) says which it was.
//!
//! It is kept for as long as the server says in `Keep-Alive: timeout=N`, less a second, or less a
//! tenth if `N` is small; at most
//! [`max_idle_timeout`](crate::http::AgentBuilder::max_idle_timeout). A server that says nothing
//! gets [`idle_timeout`](crate::http::AgentBuilder::idle_timeout). `timeout=0` and `max=1` mean: do
//! not keep it.
//!
//! # What is learned of a server
//!
//! Many servers close idle connections after a time that they do not announce. When that was seen
//! **twice** at about the same idle age, the agent keeps connections to this origin for less: a
//! second less, or a tenth if the time is short.
//! [`learned_idle_limit`](crate::http::OriginStats::learned_idle_limit) shows what was learned. It
//! lowers [`idle_timeout`](crate::http::AgentBuilder::idle_timeout) and what the server's header
//! asks for, and never raises them.
//!
//! A restart of the server closes connections too, all at one moment and at any age. So two closes
//! count only if the idle times did not overlap; those that did overlap count as one, and as none if
//! their ages differ by more than a fifth. Ages below 100 ms do not count: that is no idle limit.
//!
//! Since the agent now closes first, it cannot see that a server has got more patient. So after ten
//! minutes (ten times the limit, if that is more) it tries what it would do without the lesson. One
//! close at the same age brings the lesson back, each time for twice as long, up to a day; a
//! connection that is used again at a higher age ends it. What was learned outlives the origin's
//! connections, for about a thousand origins.
//! [`learn_idle_limit(false)`](crate::http::AgentBuilder::learn_idle_limit) switches it off.
//!
//! A response that is dropped before its end keeps its connection only if the rest is small: it is
//! then read in the background. See [`drain_bytes`](crate::http::AgentBuilder::drain_bytes).
//!
//! # The race
//!
//! A server may close an idle connection at any moment, also in the one in which a request is on
//! its way to it. The agent makes that rare and then harmless.
//!
//! *Rare:* it closes first, by the times above. It watches idle connections and drops those on
//! which anything happens. And it looks at a connection before it uses it again: the end of file, a
//! reset, or surplus bytes, and the next connection is taken. Only a connection that was looked at
//! less than a millisecond ago, when it became idle, is not looked at again for a request that could
//! be sent again.
//!
//! *Harmless:* what is left is answered by the retry rule. A request that fails on a **reused**
//! connection **before a byte of the response** came is sent again, **once**, on a fresh
//! connection, if one of these holds:
//!
//! - nothing of it was sent;
//! - its method is idempotent (RFC 9110, section 9.2.2): `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`,
//!   `DELETE`;
//! - the caller said so, by
//!   [`idempotent(true)`](crate::http::RequestBuilder::idempotent), or by an `Idempotency-Key` header
//!   where [`idempotency_key`](crate::http::AgentBuilder::idempotency_key) is on;
//!
//! and if its body can be sent again: no body, or one in memory, or a stream of which nothing was
//! taken yet. A failure on a fresh connection is never answered by a repeat.
//!
//! Repeats have a budget per origin, [`retry_budget`](crate::http::AgentBuilder::retry_budget): a
//! fifth of the requests, and a reserve of ten that comes back, one each second. While it is spent,
//! requests to that origin get fresh connections in place of idle ones, where limits and the server
//! allow: the budget bounds what a server is asked twice for, and a handshake is not that. What was
//! on its way when the budget ended is not sent again. A request that is
//! not sent again says why in its error's text, and
//! [`retry_outcomes`](crate::http::OriginStats::retry_outcomes) counts each case. After a repeat the
//! next hundred connections of the origin are looked at in any case.
//!
//! A server, or more often a proxy, may close after each response and not say so. Three connections
//! in a row that end so teach the agent to keep none of them, as it learns idle limits.
//!
//! Some servers say by a 408 that they give an idle connection up. If it comes before the next
//! request, the look finds it; if the two cross on the wire, it looks like the request's answer.
//! For an idempotent request in memory it counts as such a failure (RFC 9110, section 15.5.9); for
//! another it is given to the caller as it came.
//!
//! A `POST` may be made safe to repeat by a key that the server knows it by:
//!
//! ```no_run
//! # async fn example(agent: warmwire::Agent) -> Result<(), warmwire::Error> {
//! let response = agent
//!     .post("https://api.example.com/v1/charges")
//!     .header("idempotency-key", "a8098c1a-f86e-11da-bd1a-00112444be1e")
//!     .idempotent(true)
//!     .body("amount=100")
//!     .send()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Dead peers
//!
//! A peer may go without a word: a machine that is unplugged, a NAT that forgets. No end of file
//! comes, and its connections look alive.
//!
//! - An idle one is probed by TCP ([`tcp_keepalive`](crate::http::AgentBuilder::tcp_keepalive)) and is
//!   gone after a minute.
//! - One on which something was sent that is not acknowledged for
//!   [`tcp_user_timeout`](crate::http::AgentBuilder::tcp_user_timeout), a minute too, is given up. A
//!   request on a reused connection then follows the retry rule.
//! - When a request ends before that by its
//!   [`response_timeout`](crate::http::AgentBuilder::response_timeout) or
//!   [`timeout`](crate::http::AgentBuilder::timeout), the agent asks the kernel whether the peer's TCP
//!   has acknowledged the request. If it has, the server is slow and nothing else happens. If not, or
//!   where the kernel does not tell (it does on Linux), the idle connections to the same address are
//!   closed ([`CloseReason::PeerDead`](crate::http::CloseReason::PeerDead)), except those that were used
//!   since the request was sent. So one request fails, and the next ones get fresh connections.
//!
//! # What `sent` means
//!
//! Every error has [`sent()`](crate::http::Error::sent):
//!
//! | value | the server | to send it again |
//! |---|---|---|
//! | [`No`](crate::http::Sent::No) | has got nothing of the request | is always safe |
//! | [`Maybe`](crate::http::Sent::Maybe) | may have got some or all of it, and may have acted on it | is safe if the request is idempotent |
//! | [`Yes`](crate::http::Sent::Yes) | has got it: it has answered | repeats it |
