//! Connecting to an [`Endpoint`].

use std::sync::Arc;
use std::time::Duration;

use crate::{
    Alpn, ConnectError, Connected, Connector, Endpoint, NameSettings, Names, Resolve,
    SystemResolver, Target, TcpConnect, Tls,
};

/// Connects to endpoints.
pub struct Dialer {
    connector: Connector,
    tls: Tls,
    timeout: Option<Duration>,
}

impl Dialer {
    /// Connects with these TLS settings, looking names up by `resolver` or else by the system;
    /// look-up, connect and handshake together may take `timeout`.
    pub fn new(tls: Tls, resolver: Option<Arc<dyn Resolve>>, timeout: Option<Duration>) -> Dialer {
        let resolver = resolver.unwrap_or_else(|| Arc::new(SystemResolver));
        let names = Names::new(resolver, NameSettings::default());
        let connector = Connector { names, tcp: TcpConnect::default(), custom: None };
        Dialer { connector, tls, timeout }
    }

    /// Connects to `endpoint`; to loopback if that says all interfaces.
    ///
    /// # Errors
    ///
    /// A [`ConnectError`] that names the phase, what went wrong and every address tried.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it had opened.
    pub async fn dial(&self, endpoint: &Endpoint) -> Result<Connected, ConnectError> {
        let mut target = Target {
            host: String::new(),
            port: 0,
            unix: None,
            proxy: None,
            tls: None,
            local_address: None,
            alpn: Alpn::None,
        };
        match endpoint {
            Endpoint::Tcp { host, port } | Endpoint::Tls { host, port } => {
                target.host = Endpoint::dialled_host(host).to_owned();
                target.port = *port;
            }
            Endpoint::Unix(path) => target.unix = Some(path.clone()),
            Endpoint::Abstract(name) => target.unix = Some(format!("@{name}").into()),
        }
        if matches!(endpoint, Endpoint::Tls { .. }) {
            target.tls = Some(self.tls.clone());
        }
        self.connector.connect(&target, self.timeout, &|_| {}).await
    }
}
