//! Settings whose values stand in files: certificates and keys.
//!
//! They are read when the configuration is given to a builder: a configuration is names, and not what
//! they lead to.

use std::fs;

use warmwire_net::Tls;

use super::value::Value;

/// What a setting does to TLS settings, or why it cannot.
pub(crate) type TlsChange = Result<Box<dyn FnOnce(Tls) -> Tls + Send + Sync>, String>;

/// Trusts these roots and no longer the platform's.
pub(super) fn roots(value: &Value) -> TlsChange {
    let name = "tls_roots";
    let pem = read(name, value)?;
    change(name, value.text(), move |tls| tls.roots_pem(&pem))
}

/// Trusts these roots too.
pub(super) fn extra_roots(value: &Value) -> TlsChange {
    let name = "tls_extra_roots";
    let pem = read(name, value)?;
    change(name, value.text(), move |tls| tls.add_roots_pem(&pem))
}

/// Certificate and key to show to servers.
pub(super) fn client_certificate(value: &Value) -> TlsChange {
    let name = "tls_client_certificate";
    let [certificate, key] = value.pair();
    let (chain, key) = (read(name, certificate)?, read(name, key)?);
    change(name, certificate.text(), move |tls| tls.identity_pem(&chain, &key))
}

fn read(name: &str, path: &Value) -> Result<Vec<u8>, String> {
    let path = path.text();
    fs::read(path).map_err(|error| format!("{name}: {path:?}: {error}"))
}

/// Tries the change by itself, so that an error names the file.
fn change(
    name: &str,
    path: &str,
    change: impl Fn(Tls) -> Tls + Send + Sync + 'static,
) -> TlsChange {
    let tried = change(Tls::new()).check();
    tried.map_err(|error| format!("{name}: {path:?}: {error}"))?;
    Ok(Box::new(change))
}
