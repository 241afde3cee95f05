//! Names looked up by hickory, which tells how long an answer holds.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::{MAX_TTL, TokioResolver};
use tokio::task::JoinSet;

use crate::{BoxFuture, Resolve, Resolved};

/// Looks names up in the DNS by itself, without `getaddrinfo`: no thread waits for an answer, and
/// addresses hold for their TTL.
///
/// It asks for IPv6 and IPv4 addresses at once, over UDP and, where an answer does not fit, over
/// TCP. The time of an answer is the shortest of its records, aliases included. Answers are
/// remembered by the agent alone. `localhost` and names below it are loopback without a question.
///
/// Sources of names other than the DNS and the hosts file (mDNS, NIS, `nsswitch.conf`) are the
/// system's resolver's only.
#[derive(Clone, Debug, Default)]
pub struct HickoryResolver {
    /// `None` asks those that the system is set to.
    servers: Option<Vec<SocketAddr>>,
    timeout: Option<Duration>,
}

impl HickoryResolver {
    /// Asks the name servers of the system's configuration (`/etc/resolv.conf`; on Windows the
    /// registry), with its search domains and the hosts file. They are read again for each
    /// look-up, so that a machine that moves to another network is followed.
    pub fn system() -> HickoryResolver {
        HickoryResolver::default()
    }

    /// Asks these name servers and nothing else: no search domains, no hosts file. With none, each
    /// look-up fails.
    pub fn with_servers(servers: impl IntoIterator<Item = SocketAddr>) -> HickoryResolver {
        HickoryResolver { servers: Some(servers.into_iter().collect()), timeout: None }
    }

    /// How long an answer is waited for before the question is asked again. Default is the
    /// system's for [`system`](Self::system), 5 s for [`with_servers`](Self::with_servers). The
    /// agent's `connect_timeout` bounds the whole look-up besides.
    pub fn timeout(mut self, timeout: Duration) -> HickoryResolver {
        self.timeout = Some(timeout);
        self
    }

    /// One look-up's resolver. Its sockets belong to the runtime that makes it, and an agent may be
    /// used from many: none is kept.
    fn build(&self) -> Result<TokioResolver, NetError> {
        let mut builder = match &self.servers {
            None => TokioResolver::builder_tokio()?,
            Some(servers) => {
                let servers = servers.iter().map(|server| name_server(*server)).collect();
                let config = ResolverConfig::from_name_servers(servers);
                let mut builder = TokioResolver::builder_with_config(config, Default::default());
                builder.options_mut().use_hosts_file = ResolveHosts::Never;
                builder
            }
        };
        let options = builder.options_mut();
        options.cache_size = 0;
        // Aliases have TTLs too.
        options.preserve_intermediates = true;
        if let Some(timeout) = self.timeout {
            options.timeout = timeout;
        }
        builder.build()
    }

    async fn ask(self, host: String) -> io::Result<Resolved> {
        // Files are read.
        let built = tokio::task::spawn_blocking(move || self.build());
        let resolver = built.await.map_err(io::Error::other)?.map_err(explain)?;
        let found = resolver.lookup_ip(host).await.map_err(explain)?;
        let ttl = found.as_lookup().answers().iter().map(|record| record.ttl).min();
        // What is in no server, as names of the hosts file, has the longest there is.
        let ttl = ttl.filter(|ttl| *ttl < MAX_TTL);
        let valid_for = ttl.map(|seconds| Duration::from_secs(seconds.into()));
        Ok(Resolved::new(found.iter().collect(), valid_for))
    }
}

impl Resolve for HickoryResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        let (resolver, host) = (self.clone(), host.to_owned());
        Box::pin(async move {
            // On a task, since dials of several runtimes may wait for one look-up, and a timer
            // panics when it is polled after its runtime's end. Then another runtime begins anew.
            for _ in 0..RUNTIMES {
                let mut task = JoinSet::new();
                task.spawn(resolver.clone().ask(host.clone()));
                match task.join_next().await {
                    Some(Ok(found)) => return found,
                    Some(Err(error)) if error.is_panic() => return Err(io::Error::other(error)),
                    _ => {}
                }
            }
            Err(io::Error::other("every runtime that has looked the name up has ended"))
        })
    }
}

/// Runtimes that may end under one look-up.
const RUNTIMES: usize = 3;

fn name_server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.into())
}

fn explain(error: NetError) -> io::Error {
    let kind = match &error {
        NetError::Timeout => io::ErrorKind::TimedOut,
        NetError::Io(error) => error.kind(),
        error if error.is_no_records_found() => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
