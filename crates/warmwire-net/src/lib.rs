//! Streams, name resolution, connecting, proxies and TLS for Warmwire.
//!
//! The one crate that names sockets. It opens a connection to a [`Target`] and hands over the
//! [`Stream`] with what was measured on the way, or listens on an [`Endpoint`]; it knows neither HTTP nor a pool, keeps nothing
//! between two calls (but TLS sessions, see [`Tls`], and what it knows of [`Names`]), and never
//! retries.
//!
//! [`Connector::connect`] goes through three phases, each of which is measured and named in the
//! error when it fails: look-up ([`Resolve`]), TCP or Unix connect (addresses raced as RFC 8305
//! says) and the TLS handshake. Through a [`Proxy`] a fourth one precedes the last: asking for the
//! target.

mod connect;
mod connector;
#[cfg(target_os = "linux")]
mod diagnosis;
mod dial;
mod endpoint;
mod error;
#[cfg(feature = "hickory")]
mod hickory;
mod listen;
mod names;
mod progress;
mod proxy;
mod race;
mod resolve;
mod socket;
mod stream;
mod tls;

pub use connect::{Connect, ConnectTarget, TcpConnect};
pub use connector::{Connected, Connector, Phases, Target};
pub use dial::Dialer;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Attempt, CertificateFault, ConnectError, ConnectFault, ConnectPhase, ProxyFault};
#[cfg(feature = "hickory")]
pub use hickory::HickoryResolver;
pub use listen::{Accepted, Credentials, ListenOptions, Listener, Peer, ServerStream, ServerTls};
pub use names::{AddressUse, NameSettings, Names, Spread};
pub use proxy::{Destination, Proxy, ProxyAnswer, ProxyError, ProxyRules};
pub use resolve::{Resolve, Resolved, SystemResolver};
pub use socket::SocketOptions;
pub use stream::{Io, Quiet, Socket, Stream};
pub use tls::{
    Alpn, CertificateChain, Tls, TlsError, TlsInfo, TlsVersion, is_certificate_error, is_tls_alert,
};

/// A boxed future, as the traits [`Connect`] and [`Resolve`] return it.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
