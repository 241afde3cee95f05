//! From settings to what rustls takes.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, KeyLogFile, RootCertStore, SupportedProtocolVersion};
use rustls_platform_verifier::Verifier;

use super::pin::{Pin, Pinned};
use super::{TlsError, TlsVersion, danger};

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) roots: Vec<Vec<u8>>,
    pub(super) platform_roots: bool,
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) versions: (TlsVersion, TlsVersion),
    pub(super) server_name: Option<String>,
    pub(super) sni: bool,
    pub(super) sessions: usize,
    pub(super) accept_any: bool,
    pub(super) pins: Vec<Arc<Pin>>,
    pub(super) key_log: bool,
    pub(super) early_data: bool,
    /// A caller's whole configuration, in place of what would be built of roots, identity,
    /// versions and pins.
    pub(super) base: Option<Arc<ClientConfig>>,
    /// The first option that cannot be used.
    pub(super) invalid: Option<TlsError>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            roots: Vec::new(),
            platform_roots: true,
            identity: None,
            versions: (TlsVersion::Tls12, TlsVersion::Tls13),
            server_name: None,
            sni: true,
            sessions: 256,
            accept_any: false,
            pins: Vec::new(),
            key_log: false,
            early_data: false,
            base: None,
            invalid: None,
        }
    }
}

impl Settings {
    pub(super) fn build(&self) -> Result<ClientConfig, TlsError> {
        if let Some(base) = &self.base {
            return Ok(self.finish(ClientConfig::clone(base)));
        }
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
        let config = match self.identity()? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| TlsError(format!("client certificate: {error}")))?,
        };
        Ok(self.finish(config))
    }

    /// Sets what is not about trust. Sessions are never those of another configuration.
    fn finish(&self, mut config: ClientConfig) -> ClientConfig {
        config.enable_sni = self.sni;
        config.enable_early_data = self.early_data;
        if self.key_log {
            config.key_log = Arc::new(KeyLogFile::new());
        }
        config.resumption = match self.sessions {
            0 => Resumption::disabled(),
            sessions => Resumption::in_memory_sessions(sessions),
        };
        config
    }

    /// Whether all of it can be used, together.
    pub(super) fn check(&self) -> Result<(), TlsError> {
        if let Some(error) = &self.invalid {
            return Err(error.clone());
        }
        if let Some(name) = &self.server_name {
            server_name(name)?;
        }
        if self.base.is_some() {
            let own = Settings::default();
            let as_they_were = self.roots.is_empty()
                && self.platform_roots
                && self.identity.is_none()
                && self.versions == own.versions
                && !self.accept_any
                && self.pins.is_empty();
            return match as_they_were {
                true => Ok(()),
                false => Err(TlsError(
                    "roots, client certificate, versions, pins and the like are those of the \
                     rustls configuration and cannot be set beside it"
                        .into(),
                )),
            };
        }
        self.own_roots()?;
        // Made for what rustls says of it, such as whether certificate and key belong together.
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Arc::new(danger::AcceptAny::new(provider.clone()));
        self.config(provider, verifier).map(|_| ())
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let verifier = self.usual_verifier(provider)?;
        Ok(match self.pins.is_empty() {
            true => verifier,
            false => Arc::new(Pinned { verifier, pins: self.pins.clone() }),
        })
    }

    fn usual_verifier(
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

pub(super) fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
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
