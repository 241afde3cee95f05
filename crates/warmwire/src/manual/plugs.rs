//! Plugs: the agent in what people run already.
//!
//! [`Agent`](crate::Agent) is a `tower::Service` over `http` types, so everything that is built on
//! tower takes it as it is. The module `plugs` has the rest, each part behind the feature of its
//! name; `examples/` in the repository has a program for each that brings its own server.
//!
//! Layers stack; the first one named sees the request first and the response last:
//!
//! ```
//! # #[cfg(all(feature = "compression", feature = "cookies"))] {
//! use warmwire::Agent;
//! use warmwire::plugs::compression::Decompress;
//! use warmwire::plugs::cookies::{CookieJar, Cookies};
//!
//! let service = Cookies::new(Decompress::new(Agent::new()), CookieJar::new());
//! # let _ = service;
//! # }
//! ```
//!
//! A request for a stack can be built as one for the agent is, and keeps what was said of it alone,
//! such as its time-outs: `service.call(agent.get(url).timeout(limit).into_request()?)`.
//!
//! # `aws` and `object-store`
//!
//! `plugs::aws::AwsHttpClient` goes into the SDK's configuration as `http_client`,
//! `plugs::object_store::AgentConnector` into a store's builder as `with_http_connector`. One agent
//! can serve all of a program's clients, and its statistics show them all. Time-outs that are set
//! there hold; connections are the agent's business. Their retries sit above the agent, which
//! itself sends again only what failed on a stale connection; errors are of the kinds by which they
//! decide.
//!
//! # `cache`
//!
//! `plugs::cache::Cache` is a private cache by RFC 9111 over a store in memory or of your own: it
//! answers what is fresh, asks whether what is stale still holds, minds `Vary`, and forgets what an
//! unsafe request has changed. Which of the three it was is in a response's extensions, as
//! `CacheStatus`.
//!
//! # `tonic`
//!
//! `plugs::tonic::GrpcChannel` is an agent and an origin, and what `tonic`'s generated clients are
//! made with. Over `http://` the agent must be told to speak HTTP/2 (`http_version`); over
//! `https://` servers choose it. Failures are a `Status` with the code that says what to do.
//!
//! # `compression`
//!
//! `plugs::compression::Decompress` asks for gzip, br, zstd and deflate and decodes what comes. A
//! request that sets `Accept-Encoding` itself gets what the server sends. How much a body may
//! decode to is for its reader to bound: a few kilobytes can hold gigabytes.
//!
//! # `cookies`
//!
//! `plugs::cookies::CookieJar` belongs to one user, `Cookies` is a service with a jar. The agent
//! below knows nothing of cookies, so many jars can share its connections.
//!
//! # Tests without a network: `mock`
//!
//! `plugs::mock::Mock` is a scripted server in memory. It stands below the agent, where the sockets
//! are otherwise, so that a test of yours goes through the real pool, timers and retries:
//!
//! ```
//! # #[cfg(feature = "mock")] {
//! use std::time::Duration;
//! use warmwire::Agent;
//! use warmwire::http::ErrorKind;
//! use warmwire::plugs::mock::Mock;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
//! # .block_on(async {
//! let mock = Mock::new().stall().reply("hello");
//! let agent = mock.install(Agent::builder()).response_timeout(Duration::from_secs(5)).build()?;
//!
//! // An hour would do as well: the clock is tokio's, and it is paused.
//! let error = agent.get("http://api.test/").send().await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::ResponseTimeout);
//! assert_eq!(agent.get("http://api.test/").send().await?.text().await?, "hello");
//! mock.assert_all_used();
//! # Ok::<_, warmwire::Error>(()) }).unwrap();
//! # }
//! ```
//!
//! It can also be late, refuse, reset, close, cut a body short, and close what was idle for too
//! long, as servers do.
