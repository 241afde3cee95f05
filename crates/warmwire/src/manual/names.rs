//! Names: when they are looked up, which of their addresses a connection goes to, and names that
//! move.
//!
//! # Look-ups
//!
//! A name is looked up when a connection is opened and what is known of it is no longer valid. Dials
//! at the same time share one look-up; one of them that is given up does not end it for the others.
//! What was found holds for its TTL, counted from the look-up, however often it is used. The system's
//! resolver tells no TTL: [`dns_cache`] stands for it. A look-up that fails is not remembered.
//!
//! [`resolver`] puts another resolver in place, which can tell a TTL ([`Resolved`]). With the feature
//! `hickory` there is one that asks name servers itself, those of the system or others:
//!
//! ```
//! # #[cfg(feature = "hickory")]
//! # fn main() -> Result<(), warmwire::Error> {
//! use warmwire::Agent;
//! use warmwire::http::HickoryResolver;
//!
//! let agent = Agent::builder().resolver(HickoryResolver::system()).build()?;
//! # drop(agent);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "hickory"))]
//! # fn main() {}
//! ```
//!
//! It takes the shortest TTL of an answer's records, aliases included, and reads the system's
//! configuration again for each look-up: a machine that moves to another network is followed. Names
//! of the hosts file have no TTL. A name server that is silent is asked again, then the look-up fails;
//! `connect_timeout` bounds it in any case. Sources besides the DNS and the hosts file
//! (`nsswitch.conf`, mDNS) are the system's resolver's only, so that is the default.
//!
//! # Which address
//!
//! The one with the fewest connections of this agent, by chance among equals ([`spread`]). IPv6 and
//! IPv4 take turns, the resolver's first family first, and the next address is tried beside one that
//! is silent ([`happy_eyeballs_delay`], RFC 8305). So among the addresses of two families the first
//! family gets the connections as long as it can be reached.
//!
//! An address that could not be connected to, was silent while the next one was reached, or broke the
//! handshake with TLS or a proxy is tried after all others for a second ([`address_set_back`]), twice
//! as long after each further failure, up to 30 s, each shortened at random by up to a half. What many
//! dials see at once counts once. It is never left out: where all have failed, the one that is due
//! first leads. A connection whose handshakes are done clears it. An origin is [left in peace](super::dialling) only when no address
//! could be connected to; the error names them.
//!
//! # Names that move
//!
//! A connection would keep to its address for as long as it is used. So the name behind a connection
//! in use is looked up again after its TTL, at least a second, or each [`dns_refresh`]: beside a
//! request, without delaying it. Connections to an address that the name no longer has take no more
//! requests ([`CloseReason::AddressGone`]): idle ones are closed, others after their exchange. If the
//! look-up fails, all stays as it is. [`max_lifetime`] bounds the life of connections besides.
//!
//! A caller's own [`Connect`] does not tell where it connected to: its connections are counted on the
//! address that it was given first, and retire with that one.
//!
//! [`Agent::evict_origin`] and [`Agent::evict`] close connections on the spot.
//!
//! [`address_set_back`]: crate::http::AgentBuilder::address_set_back
//! [`dns_cache`]: crate::http::AgentBuilder::dns_cache
//! [`dns_refresh`]: crate::http::AgentBuilder::dns_refresh
//! [`resolver`]: crate::http::AgentBuilder::resolver
//! [`spread`]: crate::http::AgentBuilder::spread
//! [`happy_eyeballs_delay`]: crate::http::AgentBuilder::happy_eyeballs_delay
//! [`max_lifetime`]: crate::http::AgentBuilder::max_lifetime
//! [`Connect`]: crate::http::Connect
//! [`Resolved`]: crate::http::Resolved
//! [`CloseReason::AddressGone`]: crate::http::CloseReason::AddressGone
//! [`Agent::evict_origin`]: crate::Agent::evict_origin
//! [`Agent::evict`]: crate::Agent::evict
