//! Why a connection could not be opened.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::CertificateError;

use crate::tls::refusal;
use crate::{Phases, ProxyAnswer, TlsError};

/// The part of opening a connection that was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectPhase {
    /// Looking the name up.
    Dns,
    /// The TCP or Unix connect.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Everything up to the way through a proxy being open: looking the proxy's name up,
    /// connecting to it, TLS with it, asking for the target.
    Proxy,
}

/// What is wrong with the peer's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateFault {
    /// Its time is over.
    Expired,
    /// It is for other names.
    WrongName,
    /// No root that is trusted here has signed it.
    UnknownIssuer,
    /// A [pin](crate::Tls::pin) refused it.
    Pin,
    /// Anything else: not yet valid, revoked, a broken signature, …
    Other,
}

/// What went wrong.
#[derive(Debug)]
pub enum ConnectFault {
    /// The connect timeout passed; [`ConnectError::phase`] tells during what.
    TimedOut,
    /// The resolver failed, or knows no address.
    Dns(io::Error),
    /// No address could be connected to; [`ConnectError::attempts`] has each.
    Connect(io::Error),
    /// The peer's certificate was not accepted.
    Certificate(CertificateFault, io::Error),
    /// The handshake failed otherwise.
    Tls(io::Error),
    /// The TLS settings cannot be used: bad PEM, no roots on this system, a host that cannot be a
    /// server name.
    Settings(TlsError),
    /// The proxy did not open the way.
    Proxy(ProxyFault),
}

/// What a proxy that was connected to did in place of opening the way.
#[derive(Debug)]
pub enum ProxyFault {
    /// An HTTP proxy wants credentials, or other ones (407; 401 from some).
    Authentication(ProxyAnswer),
    /// A SOCKS proxy does, or wants an authentication that is not known here.
    SocksAuthentication(&'static str),
    /// An HTTP proxy answered otherwise than by a tunnel.
    Refused(ProxyAnswer),
    /// A SOCKS proxy replied that it cannot or does not want to.
    SocksRefused {
        /// The reply's code.
        code: u8,
        /// What it stands for.
        meaning: &'static str,
    },
    /// The connection to it failed while it was asked, or it said what is no answer.
    Broken(io::Error),
}

/// One address that was tried in vain.
#[derive(Debug)]
pub struct Attempt {
    /// The address.
    pub address: SocketAddr,
    /// How long the attempt took.
    pub elapsed: Duration,
    /// Its end.
    pub error: io::Error,
}

/// A connection that could not be opened.
#[derive(Debug)]
pub struct ConnectError {
    /// What was under way.
    pub phase: ConnectPhase,
    /// What went wrong.
    pub fault: ConnectFault,
    /// Every address that was tried.
    pub attempts: Vec<Attempt>,
    /// How long each phase took, the last one as far as it got.
    pub phases: Phases,
}

impl ConnectFault {
    /// Of an error that ended a handshake.
    pub fn handshake(error: io::Error) -> ConnectFault {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let Some(rustls::Error::InvalidCertificate(certificate)) = tls else {
            return ConnectFault::Tls(error);
        };
        if let Some(why) = refusal(certificate) {
            let error = io::Error::new(error.kind(), why.to_owned());
            return ConnectFault::Certificate(CertificateFault::Pin, error);
        }
        let fault = match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                CertificateFault::Expired
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                CertificateFault::WrongName
            }
            CertificateError::UnknownIssuer => CertificateFault::UnknownIssuer,
            _ => CertificateFault::Other,
        };
        ConnectFault::Certificate(fault, error)
    }
}

impl fmt::Display for ConnectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectFault::TimedOut => f.write_str("timed out"),
            ConnectFault::Dns(error)
            | ConnectFault::Connect(error)
            | ConnectFault::Certificate(_, error)
            | ConnectFault::Tls(error) => error.fmt(f),
            ConnectFault::Settings(error) => error.fmt(f),
            ConnectFault::Proxy(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyFault::Authentication(answer) | ProxyFault::Refused(answer) => {
                write!(f, "it answered {answer}")
            }
            ProxyFault::SocksAuthentication(why) => f.write_str(why),
            ProxyFault::SocksRefused { code, meaning } => {
                write!(f, "it answered {code}, {meaning}")
            }
            ProxyFault::Broken(error) => error.fmt(f),
        }
    }
}

/// Addresses that the text of an error names.
const MOST_NAMED: usize = 16;

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)?;
        if !matches!(self.phase, ConnectPhase::Dns | ConnectPhase::Tls) {
            let named = self.attempts.iter().take(MOST_NAMED);
            for (index, Attempt { address, elapsed, error }) in named.enumerate() {
                f.write_str(if index == 0 { " (tried " } else { "; " })?;
                write!(f, "{address}: {error} after {elapsed:.0?}")?;
            }
            if let Some(more @ 1..) = self.attempts.len().checked_sub(MOST_NAMED) {
                write!(f, "; and {more} more")?;
            }
            if !self.attempts.is_empty() {
                f.write_str(")")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            ConnectFault::TimedOut => None,
            ConnectFault::Dns(error)
            | ConnectFault::Connect(error)
            | ConnectFault::Certificate(_, error)
            | ConnectFault::Tls(error)
            | ConnectFault::Proxy(ProxyFault::Broken(error)) => Some(error),
            ConnectFault::Settings(error) => Some(error),
            ConnectFault::Proxy(_) => None,
        }
    }
}
