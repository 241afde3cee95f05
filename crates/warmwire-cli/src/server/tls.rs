//! A certificate made at start, and one TLS version.

use std::sync::Arc;

use anyhow::Context;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, version};
use tokio_rustls::TlsAcceptor;

use super::TlsVersion;

/// Accepts `version` only and `protocol` (of ALPN) only, with session resumption, under a
/// certificate for `localhost` and 127.0.0.1 that is returned as PEM.
pub(super) fn acceptor(
    version: TlsVersion,
    protocol: &[u8],
) -> anyhow::Result<(TlsAcceptor, String)> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let versions = match version {
        TlsVersion::V12 => [&version::TLS12],
        TlsVersion::V13 => [&version::TLS13],
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), made.cert.pem()))
}
