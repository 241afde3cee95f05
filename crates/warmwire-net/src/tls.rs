//! TLS settings, and the handshake.
//!
//! The cryptography is aws-lc-rs: rustls' own default, the faster of its two providers on the
//! bulk ciphers that a kept connection spends its time in, and the one with the post-quantum key
//! exchange that servers have begun to prefer. It builds with a C compiler alone.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use self::settings::{Settings, server_name};
use crate::{ConnectFault, Socket};

mod danger;
mod pin;
mod settings;

pub use self::pin::CertificateChain;
pub(crate) use self::pin::refusal;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246): two round trips for a full handshake.
    Tls12,
    /// TLS 1.3 (RFC 8446): one round trip.
    Tls13,
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsVersion::Tls12 => "TLS 1.2",
            TlsVersion::Tls13 => "TLS 1.3",
        })
    }
}

/// The protocols that a handshake offers by ALPN (RFC 7301).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alpn {
    /// HTTP/2 and HTTP/1.1; the server chooses.
    #[default]
    Both,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone.
    Http2,
    /// Nothing: what is spoken has no name there.
    None,
}

impl Alpn {
    fn protocols(self) -> Vec<Vec<u8>> {
        let names: &[&[u8]] = match self {
            Alpn::Both => &[b"h2", b"http/1.1"],
            Alpn::Http1 => &[b"http/1.1"],
            Alpn::Http2 => &[b"h2"],
            Alpn::None => &[],
        };
        names.iter().map(|name| name.to_vec()).collect()
    }
}

/// What a handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// The version.
    pub version: TlsVersion,
    /// The protocol agreed on by ALPN, if any: `h2`, `http/1.1`.
    pub alpn: Option<Box<str>>,
    /// Whether a session was resumed, which spares the certificate and most of the cryptography.
    pub resumed: bool,
    /// Whether the server took early data.
    pub early_data: bool,
}

/// Whether an error of a stream is the peer's word that it ends the TLS session: with TLS 1.3 a server
/// that misses a client certificate says so only after the handshake.
pub fn is_tls_alert(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::AlertReceived(_)))
}

/// Whether an error of a stream says that the server's certificate was not accepted.
pub fn is_certificate_error(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

/// TLS settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// TLS settings: whom to trust, who we are, which versions, how sessions are resumed.
///
/// Everything here affects trust. All connections that are opened with one `Tls` and its clones
/// form one trust domain: they share a cache of sessions, so that a second connection to a server
/// resumes; two values made apart never share a session.
///
/// # Defaults
///
/// The platform's roots and its verifier (which also looks at revocation where the platform
/// does), no client certificate, TLS 1.2 and 1.3, server name indication, 256 sessions; no pins, no
/// key log, no early data.
#[derive(Clone)]
pub struct Tls(Arc<Domain>);

/// A trust domain: the settings, and what was built of them.
struct Domain {
    settings: Settings,
    built: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
    number: OnceLock<u64>,
}

impl Default for Tls {
    fn default() -> Self {
        Tls::new()
    }
}

impl Tls {
    /// The defaults.
    pub fn new() -> Tls {
        Tls::of(Settings::default())
    }

    fn of(settings: Settings) -> Tls {
        Tls(Arc::new(Domain { settings, built: OnceLock::new(), number: OnceLock::new() }))
    }

    /// A number that tells this value and its clones from all others of the process, for names:
    /// given when it is first asked for, from 1 on.
    pub fn number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        *self.0.number.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Trusts the certificates of a PEM text, and no longer the platform's. May be called several
    /// times; all are trusted.
    #[must_use]
    pub fn roots_pem(self, pem: &[u8]) -> Tls {
        self.with(|settings| {
            settings.platform_roots = false;
            settings.roots.push(pem.to_vec());
        })
    }

    /// Trusts the certificates of a PEM text besides those that are trusted already.
    #[must_use]
    pub fn add_roots_pem(self, pem: &[u8]) -> Tls {
        self.with(|settings| settings.roots.push(pem.to_vec()))
    }

    /// Shows this certificate (a PEM chain, own certificate first) to servers that ask for one;
    /// `key` is its private key in PEM.
    #[must_use]
    pub fn identity_pem(self, chain: &[u8], key: &[u8]) -> Tls {
        self.with(|settings| settings.identity = Some((chain.to_vec(), key.to_vec())))
    }

    /// The versions to offer, from `min` to `max`. Default: TLS 1.2 to 1.3.
    #[must_use]
    pub fn versions(self, min: TlsVersion, max: TlsVersion) -> Tls {
        self.with(|settings| settings.versions = (min, max))
    }

    /// The name that is sent (SNI) and that the certificate must be for, in place of the URL's
    /// host.
    #[must_use]
    pub fn server_name(self, name: impl Into<String>) -> Tls {
        let name = name.into();
        self.with(|settings| settings.server_name = Some(name))
    }

    /// Whether the server's name is sent in the clear (SNI, RFC 6066, section 3). Default `true`.
    #[must_use]
    pub fn sni(self, on: bool) -> Tls {
        self.with(|settings| settings.sni = on)
    }

    /// How many sessions are kept for resumption; 0 makes every handshake a full one. Default
    /// 256: 32 servers with eight sessions each, and the server that was met first goes first.
    #[must_use]
    pub fn resumption(self, sessions: usize) -> Tls {
        self.with(|settings| settings.sessions = sessions)
    }

    /// Accepts whatever certificate a server shows. Anyone between here and the server can then
    /// read and change everything; for tests and diagnosis only.
    #[must_use]
    pub fn danger_accept_any_certificate(self) -> Tls {
        self.with(|settings| settings.accept_any = true)
    }

    /// Asks `pin` about each certificate that was verified as usual; what it refuses fails the
    /// handshake, with its text. Several pins must all agree.
    ///
    /// A resumed session asks nobody again: the sessions of a `Tls` begin with handshakes that its
    /// pins have seen.
    #[must_use]
    pub fn pin(
        self,
        pin: impl Fn(&CertificateChain<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Tls {
        self.with(|settings| settings.pins.push(Arc::new(pin)))
    }

    /// Accepts, of the certificates that were verified as usual, only those with one of these
    /// public keys: SHA-256 of the key in base64, `sha256/BBBB…`, or `sha256//BBBB…` as curl has
    /// it. Name a second key that is kept ready, or a lost key locks everybody out.
    #[must_use]
    pub fn pin_public_keys<'a>(self, keys: impl IntoIterator<Item = &'a str>) -> Tls {
        let pin = pin::public_keys(keys);
        self.with(|settings| match pin {
            Ok(pin) => settings.pins.push(pin),
            Err(error) => {
                settings.invalid.get_or_insert(error);
            }
        })
    }

    /// Writes the keys of each session to the file that the variable `SSLKEYLOGFILE` names when the
    /// settings are first used, for programs such as Wireshark; whoever has that file can read all
    /// that was sent. Default `false`: the variable alone does nothing.
    #[must_use]
    pub fn key_log(self, on: bool) -> Tls {
        self.with(|settings| settings.key_log = on)
    }

    /// Sends requests that are fit for it (safe ones without a body, unless they say otherwise) within the first flight of a resumed TLS 1.3 handshake
    /// (RFC 8446, section 2.3), which spares a round trip. Default `false`: somebody who records
    /// that flight can send it to the server once more, so only requests may travel in it that do
    /// no harm when they are done twice (RFC 8470).
    ///
    /// If the server does not take early data, it is sent again within the connection when the
    /// handshake is done. A handshake that can carry early data is done with the connection's first
    /// request, and is bounded by that request's timers.
    #[must_use]
    pub fn early_data(self, on: bool) -> Tls {
        self.with(|settings| settings.early_data = on)
    }

    /// A configuration of rustls as it is: another crypto provider, another verifier, keys in
    /// hardware. ALPN, SNI, sessions, and the key log and early data if they are on, are set by the
    /// options here; those that would change trust are refused beside it.
    pub fn from_rustls(config: ClientConfig) -> Tls {
        Tls::of(Settings { base: Some(Arc::new(config)), ..Settings::default() })
    }

    /// Checks the settings, without looking at the platform's roots.
    ///
    /// # Errors
    ///
    /// Says which PEM text holds no certificate or key, that a certificate and a key do not belong
    /// together, which versions make no range, or which name cannot be a server's.
    pub fn check(&self) -> Result<(), TlsError> {
        self.0.settings.check()
    }

    pub(crate) async fn handshake(
        &self,
        host: &str,
        alpn: Alpn,
        socket: Socket,
    ) -> Result<(TlsStream<Socket>, TlsInfo), ConnectFault> {
        let Domain { settings, built, .. } = &*self.0;
        // Reading the platform's roots takes milliseconds, so it waits for the first handshake.
        let config = built.get_or_init(|| settings.build().map(Arc::new));
        let config = config.as_ref().map_err(|error| ConnectFault::Settings(error.clone()))?;
        let name = settings.server_name.as_deref().unwrap_or(host);
        let name = server_name(name).map_err(ConnectFault::Settings)?;
        // Early data goes out before the server has chosen, so there must be one choice, and it is
        // HTTP/1.1 that uses it.
        let early = settings.early_data && alpn != Alpn::Http2;
        let alpn = if early { Alpn::Http1 } else { alpn };
        let connector = TlsConnector::from(config.clone()).early_data(early);
        let connecting = connector.with_alpn(alpn.protocols()).connect(name, socket);
        let stream = connecting.await.map_err(ConnectFault::handshake)?;
        let info = info(&stream);
        Ok((stream, info))
    }

    /// A changed copy is another trust domain: it must not share what the first has built.
    fn with(self, change: impl FnOnce(&mut Settings)) -> Tls {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        Tls::of(settings)
    }
}

/// Two are equal if one is a clone of the other: settings that only look alike are two trust
/// domains.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tls {}

impl Hash for Tls {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.0.settings;
        // Neither certificates nor keys belong in a log.
        f.debug_struct("Tls")
            .field("platform_roots", &settings.platform_roots)
            .field("own_roots", &settings.roots.len())
            .field("identity", &settings.identity.is_some())
            .field("versions", &settings.versions)
            .field("accept_any", &settings.accept_any)
            .field("pins", &settings.pins.len())
            .field("key_log", &settings.key_log)
            .field("early_data", &settings.early_data)
            .finish_non_exhaustive()
    }
}

pub(crate) fn info(stream: &TlsStream<Socket>) -> TlsInfo {
    let session = stream.get_ref().1;
    TlsInfo {
        version: match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
            _ => TlsVersion::Tls13,
        },
        alpn: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into()),
        resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
        early_data: session.is_early_data_accepted(),
    }
}
