//! The server's side of TLS.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// A server's certificate, and whose certificates it asks for.
///
/// Settings that cannot be used are told of where the server listens.
#[derive(Clone)]
pub struct ServerTls(Result<Arc<ServerConfig>, String>);

impl ServerTls {
    /// A server with a certificate: its `chain`, the server's own first, and its private `key`,
    /// both in PEM. TLS 1.2 and 1.3, no certificate is asked for.
    pub fn new(chain: &[u8], key: &[u8]) -> ServerTls {
        ServerTls(configure(chain, key, None).map(Arc::new))
    }

    /// A server that accepts only peers with a certificate which one of `roots`, in PEM, has signed.
    pub fn with_client_roots(chain: &[u8], key: &[u8], roots: &[u8]) -> ServerTls {
        ServerTls(configure(chain, key, Some(roots)).map(Arc::new))
    }

    /// A whole configuration of rustls.
    pub fn from_rustls(config: ServerConfig) -> ServerTls {
        ServerTls(Ok(Arc::new(config)))
    }

    pub(super) fn check(&self) -> io::Result<()> {
        match &self.0 {
            Ok(_) => Ok(()),
            Err(why) => Err(io::Error::new(io::ErrorKind::InvalidInput, why.clone())),
        }
    }

    /// What accepts. Settings were [checked](Self::check) before there is anything to accept.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        match &self.0 {
            Ok(config) => TlsAcceptor::from(Arc::clone(config)),
            Err(why) => unreachable!("a listener with {why}"),
        }
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerTls").field(&self.0.as_ref().map(|_| "…")).finish()
    }
}

fn configure(chain: &[u8], key: &[u8], roots: Option<&[u8]>) -> Result<ServerConfig, String> {
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let chain = certificates(chain, "certificate chain")?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key: {error}"))?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match roots {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let mut store = RootCertStore::empty();
            for root in certificates(roots, "client roots")? {
                store.add(root).map_err(|error| format!("the client roots: {error}"))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider);
            let verifier =
                verifier.build().map_err(|error| format!("the client roots: {error}"))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder.with_single_cert(chain, key).map_err(|error| format!("certificate and key: {error}"))
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err(format!("the {what}: no certificate in the PEM")),
        Ok(all) => Ok(all),
        Err(error) => Err(format!("the {what}: {error}")),
    }
}
