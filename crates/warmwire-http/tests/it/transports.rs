//! Unix sockets, IPv6 literals, and options of TCP sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use warmwire_http::{Agent, CloseReason, ErrorKind, Phase, Proxy, Tls};
use warmwire_testkit::{Certificates, Gate, Peer, ProxyScript, Server, ok};

use crate::support::{get, loopback, spawn_get, until};

/// A path in the directory for temporary files that is removed at the end.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> SocketPath {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = format!("warmwire-test-{process}-{number}.sock");
        SocketPath(std::env::temp_dir().join(name))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn describing(path: &Path) -> Server {
    Server::unix(path, |peer| {
        peer.serve(|request| {
            ok(format!("{} {}", request.header("host").unwrap_or("none"), request.target))
        })
    })
}

#[tokio::test]
async fn f026_http_over_a_unix_socket_with_host_and_path_of_the_url() {
    let path = SocketPath::new();
    let server = describing(&path.0);
    let agent = Agent::builder().unix_socket(&path.0).build().unwrap();
    assert_eq!(get(&agent, "http://docker/v1/info").await.unwrap(), "docker /v1/info");
    assert_eq!(get(&agent, "http://other:81/x?y").await.unwrap(), "other:81 /x?y");

    let plain = Agent::new();
    let response = plain.get("http://one/a").unix_socket(&path.0).send().await.unwrap();
    assert_eq!(response.connection().remote_address(), None);
    assert_eq!(response.text().await.unwrap(), "one /a");
    let origin = plain.origin(format!("unix:{}", path.0.display())).unwrap();
    let response = origin.get("/b").send().await.unwrap();
    assert!(response.connection().reused(), "one socket is one origin");
    assert_eq!(response.text().await.unwrap(), "localhost /b");
    assert_eq!(server.counts().accepted, 2);
    let own = origin.get("/c").tls(Tls::new()).send().await.unwrap();
    assert_eq!(own.text().await.unwrap(), "localhost /c", "on the socket, whatever else is set");
    let name = format!("unix:{}", path.0.display());
    assert_eq!(plain.stats().origin(&name).unwrap().requests, 3);
}

#[tokio::test]
async fn f026_limits_timers_and_numbers_are_those_of_tcp() {
    let path = SocketPath::new();
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::unix(&path.0, move |peer| peer.echo_targets_at(at.clone()));
    let agent = Agent::builder()
        .max_connections(2)
        .idle_timeout(Duration::from_millis(30))
        .unix_socket(&path.0)
        .build()
        .unwrap();
    let requests: Vec<_> = (0..10).map(|n| spawn_get(&agent, format!("http://a/{n}"))).collect();
    until(&agent, |total| total.active == 2 && total.waiting == 8).await;
    gate.open();
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap().unwrap(), format!("/{n}"));
    }
    let counts = server.until(|counts| counts.open == 0).await;
    assert_eq!((counts.accepted, counts.peak), (2, 2));
    assert_eq!(agent.stats().total.closed.get(CloseReason::IdleTimeout), 2);
}

#[tokio::test]
async fn f025_a_unix_peer_that_has_closed_is_found_before_a_post() {
    let path = SocketPath::new();
    let server = Server::unix(&path.0, |mut peer| async move {
        let Some(request) = peer.request().await else { return };
        peer.send(ok(&request.target)).await;
    });
    let agent = Agent::builder().unix_socket(&path.0).build().unwrap();
    for n in 0..10 {
        let response = agent.post(format!("http://a/{n}")).body("x").send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), format!("/{n}"));
        server.until(|counts| counts.open == 0).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn f026_abstract_unix_sockets() {
    let name = PathBuf::from(format!("@warmwire-test-{}", std::process::id()));
    let server = describing(&name);
    let agent = Agent::new();
    let response = agent.get("http://a/x").unix_socket(&name).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "a /x");
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn f026_a_unix_socket_that_is_not_there() {
    let path = SocketPath::new();
    let agent = Agent::builder().unix_socket(&path.0).build().unwrap();
    let error = get(&agent, "http://a/").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Connect, Phase::Connect), "{error}");
    assert!(error.to_string().starts_with("unix:/"), "{error}");
}

#[tokio::test]
async fn ipv6_literals_are_connected_to_as_they_are() {
    let server = Server::on("[::1]:0", None, |peer| {
        peer.serve(|request| ok(request.header("host").unwrap_or("none")))
    })
    .await;
    let agent = Agent::new();
    let response = agent.get(server.url("/")).send().await.unwrap();
    assert_eq!(response.connection().remote_address(), Some(server.address()));
    assert_eq!(response.text().await.unwrap(), server.address().to_string());
    let name = format!("http://{}", server.address());
    assert!(agent.stats().origin(name).is_some());
}

#[tokio::test]
async fn f099_the_local_address_is_the_one_that_was_set() {
    let server = Server::tcp(Peer::echo_targets).await;
    let local = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let agent = Agent::builder().local_address(local).build().unwrap();
    let response = agent.get(server.url("/")).send().await.unwrap();
    assert_eq!(response.connection().local_address().unwrap().ip(), local);
}

/// The keep-alive timer of the socket at this local port: what is left of it, as the kernel's
/// table shows it.
#[cfg(target_os = "linux")]
fn keepalive_left(port: u16) -> Option<Duration> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has the table");
    let local = format!(":{port:04X}");
    let row = table.lines().find(|row| {
        let columns: Vec<_> = row.split_whitespace().collect();
        columns.get(1).is_some_and(|address| address.ends_with(&local))
            // 01 is ESTABLISHED.
            && columns.get(3) == Some(&"01")
    })?;
    // `tr:tm->when`: kind of timer (02 is keep-alive) and hundredths of a second.
    let (kind, left) = row.split_whitespace().nth(5)?.split_once(':')?;
    let left = u64::from_str_radix(left, 16).ok()?;
    (kind == "02").then(|| Duration::from_millis(10 * left))
}

#[cfg(target_os = "linux")]
/// Fails unless the kernel will probe the connection from this port about 100 s from now.
async fn assert_probed(port: u16) {
    // The acknowledgement of what was sent may be due first, on its own timer.
    let began = std::time::Instant::now();
    let left = loop {
        match keepalive_left(port) {
            Some(left) => break left,
            None => assert!(began.elapsed() < warmwire_testkit::GUARD, "no keep-alive timer"),
        }
        tokio::task::yield_now().await;
    };
    assert!(left > Duration::from_secs(80) && left <= Duration::from_secs(100), "{left:?}");
}

#[tokio::test]
async fn f121_tcp_keepalive_is_set_on_the_socket() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::builder().tcp_keepalive(Duration::from_secs(100)).build().unwrap();
    let response = agent.get(server.url("/")).send().await.unwrap();
    let port = response.connection().local_address().unwrap().port();
    response.text().await.unwrap();
    assert_probed(port).await;
}

#[tokio::test]
async fn f121_tcp_keepalive_is_set_with_tls_and_through_proxies_too() {
    let certificates = Certificates::new();
    let tls = certificates.server_as(&certificates.identity(&["a.example"]));
    let server = Server::tls(tls, Peer::echo_targets).await;
    let port = server.address().port();
    let script = ProxyScript::new().leading(&format!("a.example:{port}"), &server);
    let proxy = Server::tcp(move |peer| script.clone().http(peer)).await;
    let through = Proxy::parse(format!("http://{}", proxy.address())).unwrap();
    let agent = Agent::builder()
        .tcp_keepalive(Duration::from_secs(100))
        .tls(Tls::new().roots_pem(certificates.root_pem()))
        .resolver(loopback())
        .build()
        .unwrap();
    let (secure, plain) = (format!("https://a.example:{port}/"), "http://a.example/");
    for request in [
        agent.get(&secure),
        agent.get(&secure).proxy(through.clone()),
        agent.get(plain).proxy(through),
    ] {
        let response = request.send().await.unwrap();
        let port = response.connection().local_address().unwrap().port();
        response.text().await.unwrap();
        assert_probed(port).await;
    }
}

#[tokio::test]
async fn f094_a_dead_address_of_a_name_does_not_hold_up_the_other() {
    use crate::support::ResolveWith;
    let server = Server::tcp(Peer::echo_targets).await;
    // Nothing listens at ::1, so the second address is tried at once.
    let both = ResolveWith(|_| async {
        Ok(vec![IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)])
    });
    let agent = Agent::builder()
        .happy_eyeballs_delay(Duration::from_secs(3_600))
        .resolver(both)
        .build()
        .unwrap();
    let url = format!("http://localhost:{}/x", server.address().port());
    let response = agent.get(url).send().await.unwrap();
    assert_eq!(response.connection().remote_address(), Some(server.address()));
}
