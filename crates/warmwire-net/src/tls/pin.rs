//! A caller's own look at a server's certificates, after the usual verification.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use super::TlsError;

pub(super) type Pin = dyn Fn(&CertificateChain<'_>) -> Result<(), String> + Send + Sync;

/// What a server has shown in a handshake.
///
/// Only its own certificate is the verified one. The others are what it sent along; it may send more
/// than were needed to verify its own, so finding a certificate among them proves nothing.
#[derive(Clone, Copy)]
pub struct CertificateChain<'a> {
    own: &'a CertificateDer<'a>,
    others: &'a [CertificateDer<'a>],
    host: &'a ServerName<'a>,
}

impl<'a> CertificateChain<'a> {
    /// The server's certificate, in DER.
    pub fn certificate(&self) -> &'a [u8] {
        self.own
    }

    /// What it sent along, each in DER.
    pub fn others(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.others.iter().map(AsRef::as_ref)
    }

    /// The name or address that the certificate was verified for.
    pub fn host(&self) -> String {
        self.host.to_str().into_owned()
    }

    /// SHA-256 of the certificate's public key (its `SubjectPublicKeyInfo`), which outlives
    /// certificates that are renewed with the same key. `None` if the certificate cannot be read.
    pub fn public_key_sha256(&self) -> Option<[u8; 32]> {
        let key = ParsedCertificate::try_from(self.own).ok()?.subject_public_key_info();
        let sha256 = TLS13_AES_128_GCM_SHA256.tls13()?.common.hash_provider;
        sha256.hash(&key).as_ref().try_into().ok()
    }
}

impl fmt::Debug for CertificateChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateChain")
            .field("host", &self.host())
            .field("others", &self.others.len())
            .finish_non_exhaustive()
    }
}

/// A pin on any of these public keys: `sha256/BASE64`, or `sha256//BASE64` as curl has it.
pub(super) fn public_keys<'a>(
    keys: impl IntoIterator<Item = &'a str>,
) -> Result<Arc<Pin>, TlsError> {
    let keys: Result<Vec<[u8; 32]>, _> = keys.into_iter().map(public_key).collect();
    let keys = keys?;
    if keys.is_empty() {
        return Err(TlsError("pinned public keys: there is none".into()));
    }
    Ok(Arc::new(move |chain| {
        let shown = chain.public_key_sha256();
        match shown.filter(|shown| keys.contains(shown)) {
            Some(_) => Ok(()),
            None => {
                let shown = shown.map(|key| BASE64_STANDARD.encode(key)).unwrap_or_default();
                Err(format!("its public key is none of those that are pinned: sha256/{shown}"))
            }
        }
    }))
}

fn public_key(text: &str) -> Result<[u8; 32], TlsError> {
    // Both are tried: a second slash may be a digit of base64.
    let digest = |prefix| {
        let bytes = BASE64_STANDARD.decode(text.strip_prefix(prefix)?).ok()?;
        bytes.try_into().ok()
    };
    digest("sha256/").or_else(|| digest("sha256//")).ok_or_else(|| {
        TlsError(format!("pinned public key {text:?}: it is not sha256/ and 32 bytes in base64"))
    })
}

/// A certificate that was verified and that a pin refused.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What a pin said of a certificate, if that is why it was refused.
pub(crate) fn refusal(error: &CertificateError) -> Option<&str> {
    match error {
        CertificateError::Other(OtherError(error)) => {
            error.downcast_ref::<Refused>().map(|refused| refused.0.as_str())
        }
        _ => None,
    }
}

/// Verifies as another does, and then asks the pins.
pub(super) struct Pinned {
    pub(super) verifier: Arc<dyn ServerCertVerifier>,
    pub(super) pins: Vec<Arc<Pin>>,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(own, others, host, ocsp, now)?;
        let chain = CertificateChain { own, others, host };
        for pin in &self.pins {
            pin(&chain).map_err(|why| {
                let refused = OtherError(Arc::new(Refused(why)));
                Error::InvalidCertificate(CertificateError::Other(refused))
            })?;
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.verifier.root_hint_subjects()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_may_begin_with_a_slash() {
        let digest = BASE64_STANDARD.encode([0xff; 32]);
        assert!(digest.starts_with('/'));
        for prefix in ["sha256/", "sha256//"] {
            assert_eq!(public_key(&format!("{prefix}{digest}")).unwrap(), [0xff; 32]);
        }
    }
}
