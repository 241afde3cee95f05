//! TLS settings, and the handshake.
//!
//! The cryptography is aws-lc-rs: rustls' own default, the faster of its two providers on the
//! bulk ciphers that a kept connection spends its time in, and the one with the post-quantum key
//! exchange that servers have begun to prefer. It builds with a C compiler alone.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, HandshakeKind, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
};
use rustls_platform_verifier::Verifier;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{ConnectFault, Socket};

mod danger;

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

/// What a handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// The version.
    pub version: TlsVersion,
    /// The protocol agreed on by ALPN, if any: `http/1.1`.
    pub alpn: Option<Box<str>>,
    /// Whether a session was resumed, which spares the certificate and most of the cryptography.
    pub resumed: bool,
}

/// Whether an error of a stream is the peer's word that it ends the TLS session: with TLS 1.3 a server
/// that misses a client certificate says so only after the handshake.
pub fn is_tls_alert(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::AlertReceived(_)))
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
/// does), no client certificate, TLS 1.2 and 1.3, server name indication, 256 sessions.
#[derive(Clone)]
pub struct Tls {
    settings: Settings,
    built: Arc<OnceLock<Result<Arc<ClientConfig>, TlsError>>>,
}

#[derive(Clone)]
struct Settings {
    roots: Vec<Vec<u8>>,
    platform_roots: bool,
    identity: Option<(Vec<u8>, Vec<u8>)>,
    versions: (TlsVersion, TlsVersion),
    server_name: Option<String>,
    sni: bool,
    sessions: usize,
    accept_any: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Tls::new()
    }
}

impl Tls {
    /// The defaults.
    pub fn new() -> Tls {
        let settings = Settings {
            roots: Vec::new(),
            platform_roots: true,
            identity: None,
            versions: (TlsVersion::Tls12, TlsVersion::Tls13),
            server_name: None,
            sni: true,
            sessions: 256,
            accept_any: false,
        };
        Tls { settings, built: Arc::default() }
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
    /// 256, the least recently used goes first.
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

    /// Checks the settings, without looking at the platform's roots.
    ///
    /// # Errors
    ///
    /// Says which PEM text holds no certificate or key, that a certificate and a key do not belong
    /// together, which versions make no range, or which name cannot be a server's.
    pub fn check(&self) -> Result<(), TlsError> {
        self.settings.own_roots()?;
        if let Some(name) = &self.settings.server_name {
            server_name(name)?;
        }
        // Made for what rustls says of it, such as whether certificate and key belong together.
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Arc::new(danger::AcceptAny::new(provider.clone()));
        self.settings.config(provider, verifier).map(|_| ())
    }

    pub(crate) async fn handshake(
        &self,
        host: &str,
        socket: Socket,
    ) -> Result<(TlsStream<Socket>, TlsInfo), ConnectFault> {
        // Reading the platform's roots takes milliseconds, so it waits for the first handshake.
        let config = self.built.get_or_init(|| self.settings.build().map(Arc::new));
        let config = config.as_ref().map_err(|error| ConnectFault::Settings(error.clone()))?;
        let name = self.settings.server_name.as_deref().unwrap_or(host);
        let name = server_name(name).map_err(ConnectFault::Settings)?;
        let connecting = TlsConnector::from(config.clone()).connect(name, socket);
        let stream = connecting.await.map_err(ConnectFault::handshake)?;
        let info = info(&stream);
        Ok((stream, info))
    }

    /// A changed copy is another trust domain: it must not share what the first has built.
    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Tls {
        change(&mut self.settings);
        self.built = Arc::default();
        self
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither certificates nor keys belong in a log.
        f.debug_struct("Tls")
            .field("platform_roots", &self.settings.platform_roots)
            .field("own_roots", &self.settings.roots.len())
            .field("identity", &self.settings.identity.is_some())
            .field("versions", &self.settings.versions)
            .field("accept_any", &self.settings.accept_any)
            .finish_non_exhaustive()
    }
}

impl Settings {
    fn build(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        self.config(provider.clone(), self.verifier(provider)?)
    }

    fn config(
        &self,
        provider: Arc<CryptoProvider>,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> Result<ClientConfig, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions()?)
            .map_err(|error| TlsError(format!("TLS versions: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match self.identity()? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| TlsError(format!("client certificate: {error}")))?,
        };
        config.enable_sni = self.sni;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = match self.sessions {
            0 => Resumption::disabled(),
            sessions => Resumption::in_memory_sessions(sessions),
        };
        Ok(config)
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        if self.accept_any {
            return Ok(Arc::new(danger::AcceptAny::new(provider)));
        }
        let roots = self.own_roots()?;
        if self.platform_roots {
            let verifier = Verifier::new_with_extra_roots(roots, provider)
                .map_err(|error| TlsError(format!("the platform's roots: {error}")))?;
            return Ok(Arc::new(verifier));
        }
        let mut store = RootCertStore::empty();
        for root in roots {
            store.add(root).map_err(|error| TlsError(format!("root certificate: {error}")))?;
        }
        let verifier =
            rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
        let verifier = verifier.build().map_err(|error| TlsError(format!("roots: {error}")))?;
        Ok(verifier)
    }

    fn versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
        let (min, max) = self.versions;
        let known = [
            (TlsVersion::Tls12, &rustls::version::TLS12),
            (TlsVersion::Tls13, &rustls::version::TLS13),
        ];
        if min > max {
            return Err(TlsError(format!("TLS versions from {min} to {max} are no range")));
        }
        let wanted = known.iter().filter(|(version, _)| (min..=max).contains(version));
        Ok(wanted.map(|(_, supported)| *supported).collect())
    }

    fn own_roots(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let mut roots = Vec::new();
        for pem in &self.roots {
            roots.extend(certificates("root certificates", pem)?);
        }
        Ok(roots)
    }

    fn identity(&self) -> Result<Option<Identity>, TlsError> {
        let Some((chain, key)) = &self.identity else { return Ok(None) };
        let chain = certificates("client certificate", chain)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError(format!("client key: {error}")))?;
        Ok(Some((chain, key)))
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| TlsError(format!("{name:?} cannot be a TLS server name")))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(TlsError(format!("{what}: the PEM text holds no certificate")))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(TlsError(format!("{what}: {error}"))),
    }
}

fn info(stream: &TlsStream<Socket>) -> TlsInfo {
    let session = stream.get_ref().1;
    TlsInfo {
        version: match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
            _ => TlsVersion::Tls13,
        },
        alpn: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into()),
        resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
    }
}
