//! From settings to what rustls takes.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_platform_verifier::Verifier;

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
        }
    }
}

impl Settings {
    pub(super) fn build(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        self.config(provider.clone(), self.verifier(provider)?)
    }

    pub(super) fn config(
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

    pub(super) fn own_roots(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
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
