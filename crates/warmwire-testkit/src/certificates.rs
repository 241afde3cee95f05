//! Certificates for tests, made anew each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::server::ServerTls;

static AUTHORITIES: AtomicUsize = AtomicUsize::new(1);

/// An authority of its own: two of these do not trust each other.
pub struct Certificates {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    root_pem: String,
}

/// A certificate with its key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl Identity {
    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> &[u8] {
        self.pem.as_bytes()
    }

    /// The key as PEM.
    pub fn key_pem(&self) -> Vec<u8> {
        self.key.serialize_pem().into_bytes()
    }

    /// The certificate in DER.
    pub fn certificate_der(&self) -> &[u8] {
        &self.certificate
    }

    fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Certificates::new()
    }
}

impl Certificates {
    /// A new authority.
    pub fn new() -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two authorities of one name are one to a verifier, with a bad signature.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("Warmwire test authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let root = params.self_signed(&key).expect("a root certificate");
        Certificates {
            root: root.der().clone(),
            root_pem: root.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The authority's own certificate as PEM, for clients to trust.
    pub fn root_pem(&self) -> &[u8] {
        self.root_pem.as_bytes()
    }

    /// A certificate for these host names and IP addresses.
    pub fn identity(&self, names: &[&str]) -> Identity {
        self.issue(names, false)
    }

    /// One whose time is over.
    pub fn expired(&self, names: &[&str]) -> Identity {
        self.issue(names, true)
    }

    fn issue(&self, names: &[&str], expired: bool) -> Identity {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names of hosts");
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 2, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate: certificate.der().clone(), pem: certificate.pem(), key }
    }

    /// A server with a good certificate for `localhost` and the loopback addresses.
    pub fn server(&self) -> ServerTls {
        self.server_as(&self.identity(&["localhost", "127.0.0.1", "::1"]))
    }

    /// A server with this certificate.
    pub fn server_as(&self, identity: &Identity) -> ServerTls {
        self.configure(identity, false, rustls::DEFAULT_VERSIONS)
    }

    /// A server that speaks TLS 1.2 only.
    pub fn server_tls12(&self) -> ServerTls {
        let identity = self.identity(&["localhost", "127.0.0.1"]);
        self.configure(&identity, false, &[&rustls::version::TLS12])
    }

    /// A server that takes early data of this many bytes.
    pub fn server_with_early_data(&self, bytes: u32) -> ServerTls {
        let ServerTls(config) = self.server();
        let mut config = Arc::unwrap_or_clone(config);
        config.max_early_data_size = bytes;
        ServerTls(Arc::new(config))
    }

    /// A server that talks only to clients with a certificate of this authority.
    pub fn server_for_known_clients(&self) -> ServerTls {
        let identity = self.identity(&["localhost", "127.0.0.1"]);
        self.configure(&identity, true, rustls::DEFAULT_VERSIONS)
    }

    fn configure(
        &self,
        identity: &Identity,
        known_clients: bool,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ServerTls {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .expect("the provider has these versions");
        let builder = if known_clients {
            let mut roots = RootCertStore::empty();
            roots.add(self.root.clone()).expect("the root is a certificate");
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().expect("there is a root"))
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![identity.certificate.clone()];
        let mut config = builder.with_single_cert(chain, identity.key_der()).expect("the key fits");
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        ServerTls(Arc::new(config))
    }
}
