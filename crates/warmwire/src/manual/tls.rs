//! TLS: whom to trust, what keeps connections apart, and sending before the handshake is done.
//!
//! # Trust domains
//!
//! A [`Tls`] and its clones are one trust domain: connections that were opened with one of them may
//! be used by all, and sessions are resumed among them. Two that were made apart share nothing, even
//! if they look alike; so does what an option makes of one. An agent has one, an origin may have its
//! own, and a request too:
//!
//! ```
//! use warmwire::Agent;
//! use warmwire::http::Tls;
//!
//! # fn example(root: &[u8], chain: &[u8], key: &[u8]) -> Result<(), warmwire::Error> {
//! let intern = Tls::new().roots_pem(root);
//! let agent = Agent::builder()
//!     .for_origin("https://db.intern:8443", move |origin| origin.tls(intern))
//!     .build()?;
//! // Made once and cloned for each request: a new one each time would never reuse a connection.
//! let as_tenant = Tls::new().identity_pem(chain, key);
//! let request = agent.get("https://api.example.com/").tls(as_tenant.clone());
//! # Ok(())
//! # }
//! ```
//!
//! In statistics a request's own settings stand behind the origin: `https://api.example.com (tls 2)`.
//!
//! # Pins
//!
//! [`Tls::pin_public_keys`] accepts, of the certificates that pass the usual verification, only those
//! with one of the given keys; [`Tls::pin`] asks a closure. Pins add no trust. What they refuse is
//! [`ErrorKind::CertificatePin`], whose text has the digest that was shown.
//!
//! # Revocation
//!
//! Whether a certificate was revoked is the platform verifier's to know: where the system looks at
//! that, so does the agent; on Linux it does not. Certificates that live for days are the answer there,
//! or a verifier of one's own by [`Tls::from_rustls`], which also takes another crypto provider and
//! keys in hardware.
//!
//! # Early data
//!
//! A resumed TLS 1.3 handshake can carry the first request, which spares a round trip on each new
//! connection. Somebody who records it can send it to the server again, so it is off until
//! [`Tls::early_data`] turns it on, and then only for GET, HEAD, OPTIONS and TRACE without a body.
//! [`RequestBuilder::early_data`] takes one of them out, or lets another idempotent request be early
//! that may be replayed. If the server does not take it, it is sent again when the handshake is done;
//! a 425 (RFC 8470) is answered by the same request after the handshake.
//! [`ConnectionInfo::early_data`] says what happened.
//!
//! # Reading what is sent
//!
//! [`Tls::key_log`] writes the keys of sessions to the file that `SSLKEYLOGFILE` names, for Wireshark.
//! The variable alone does nothing.
//!
//! [`Tls`]: crate::http::Tls
//! [`Tls::pin_public_keys`]: crate::http::Tls::pin_public_keys
//! [`Tls::pin`]: crate::http::Tls::pin
//! [`Tls::from_rustls`]: crate::http::Tls::from_rustls
//! [`Tls::early_data`]: crate::http::Tls::early_data
//! [`Tls::key_log`]: crate::http::Tls::key_log
//! [`ErrorKind::CertificatePin`]: crate::http::ErrorKind::CertificatePin
//! [`RequestBuilder::early_data`]: crate::http::RequestBuilder::early_data
//! [`ConnectionInfo::early_data`]: crate::http::ConnectionInfo::early_data
