//! Through proxies: which one, how it is asked, and that connections through it are pooled as any.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{advance, sleep};
use warmwire_http::{Agent, AgentBuilder, CloseReason, Proxy, ProxyRules, Tls};
use warmwire_testkit::{Certificates, Gate, Peer, ProxyScript, Server, ok};

use crate::support::{get, loopback, memory, spawn_get, until};

fn proxy(server: &Server) -> Proxy {
    Proxy::parse(format!("http://{}", server.address())).unwrap()
}

fn socks(kind: &str, server: &Server) -> Proxy {
    Proxy::parse(format!("{kind}://{}", server.address())).unwrap()
}

async fn http_proxy(script: &ProxyScript) -> Server {
    let script = script.clone();
    Server::tcp(move |peer| script.clone().http(peer)).await
}

fn trusting(certificates: &Certificates) -> AgentBuilder {
    Agent::builder().tls(Tls::new().roots_pem(certificates.root_pem()))
}

fn https(certificates: &Certificates) -> warmwire_testkit::ServerTls {
    certificates.server_as(&certificates.identity(&["a.example", "b.example"]))
}

#[tokio::test]
async fn f102_a_hundred_requests_through_one_tunnel() {
    let certificates = Certificates::new();
    let server = Server::tls(https(&certificates), Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:443", &server);
    let through = http_proxy(&script).await;
    let agent = trusting(&certificates).proxy(proxy(&through)).build().unwrap();
    for n in 0..100 {
        let response = agent.get(format!("https://a.example/{n}")).send().await.unwrap();
        let connection = response.connection().clone();
        assert_eq!(connection.reused(), n > 0);
        assert_eq!(connection.remote_address(), Some(through.address()), "the proxy is next");
        assert_eq!(connection.proxy(), Some(&proxy(&through)));
        assert_eq!(response.timings().proxy.is_zero(), n > 0);
        assert_eq!(response.text().await.unwrap(), format!("/{n}"));
    }
    let counts = through.counts();
    assert_eq!((counts.accepted, counts.requests.len()), (1, 1));
    let connect = &counts.requests[0];
    assert_eq!((&*connect.method, &*connect.target), ("CONNECT", "a.example:443"));
    assert_eq!(connect.header("host"), Some("a.example:443"));
    assert_eq!(server.counts().handshakes, 1);
    assert_eq!(agent.stats().origin("https://a.example").unwrap().reused, 99);
}

#[tokio::test(start_paused = true)]
async fn f102_timers_and_limits_apply_to_tunnels() {
    let server = Server::memory(Peer::echo_targets);
    let script = ProxyScript::new().leading("a.example:80", &server);
    let through = Server::memory(move |peer| script.clone().http(peer));
    let agent = Agent::builder()
        .connector(memory(&through))
        .resolver(loopback())
        .proxy(Proxy::parse("http://proxy.example:3128").unwrap().tunnel_http(true))
        .idle_timeout(Duration::from_secs(4))
        .max_requests_per_connection(2)
        .max_connections(1)
        .build()
        .unwrap();
    let url = "http://a.example/";
    get(&agent, url).await.unwrap();
    get(&agent, url).await.unwrap();
    let stats = until(&agent, |total| total.open == 0).await;
    assert_eq!(stats.total.closed.get(CloseReason::MaxRequests), 1);
    get(&agent, url).await.unwrap();
    advance(Duration::from_millis(3_900)).await;
    assert_eq!(agent.stats().total.idle, 1);
    sleep(Duration::from_secs(1)).await;
    let stats = until(&agent, |total| total.open == 0).await;
    assert_eq!(stats.total.closed.get(CloseReason::IdleTimeout), 1);
    let (one, other) = tokio::join!(get(&agent, url), get(&agent, url));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(agent.stats().total.max_open, 1);
}

#[tokio::test(start_paused = true)]
async fn f102_tunnels_have_a_lifetime() {
    let server = Server::memory(Peer::echo_targets);
    let script = ProxyScript::new().leading("a.example:80", &server);
    let own = script.clone();
    let through = Server::memory(move |peer| own.clone().http(peer));
    let agent = Agent::builder()
        .connector(memory(&through))
        .resolver(loopback())
        .proxy(Proxy::parse("http://proxy.example:3128").unwrap().tunnel_http(true))
        .max_lifetime(Duration::from_secs(2))
        .build()
        .unwrap();
    for _ in 0..50 {
        get(&agent, "http://a.example/").await.unwrap();
        sleep(Duration::from_millis(100)).await;
    }
    let total = agent.stats().total;
    let ended = total.closed.get(CloseReason::MaxLifetime);
    assert!((2..=3).contains(&ended) && total.opened <= ended + 1, "{total:?}");
    assert_eq!(script.asked().len() as u64, total.opened);
}

#[tokio::test]
async fn f101_tunnels_to_one_server_are_in_no_others_way() {
    let certificates = Certificates::new();
    let gate = Gate::shut();
    let held = {
        let gate = gate.clone();
        Server::tls(https(&certificates), move |peer: Peer| peer.echo_targets_at(gate.clone()))
            .await
    };
    let free = Server::tls(https(&certificates), Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:443", &held).leading("b.example:443", &free);
    let through = http_proxy(&script).await;
    let agent = trusting(&certificates).proxy(proxy(&through)).max_connections(2).build().unwrap();
    let waiting: Vec<_> = (0..3).map(|_| spawn_get(&agent, "https://a.example/")).collect();
    held.until(|counts| counts.requests.len() == 2).await;
    assert_eq!(get(&agent, "https://b.example/free").await.unwrap(), "/free");
    assert_eq!(agent.stats().origin("https://a.example").unwrap().max_open, 2);
    gate.open();
    for request in waiting {
        request.await.unwrap().unwrap();
    }
    assert_eq!(through.counts().accepted, 3);
}

#[tokio::test]
async fn f102_plain_requests_are_forwarded_on_connections_that_are_kept() {
    let nowhere = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example", &nowhere).leading("b.example", &nowhere);
    let through = http_proxy(&script.only_for("user", "dXNlcjpzZWNyZXQ=")).await;
    let with_user = proxy(&through).credentials("user", "secret").unwrap();
    let agent = Agent::builder().proxy(with_user).build().unwrap();
    for path in ["/x?y=1", "/", ""] {
        let url = format!("http://a.example{path}");
        let whole = if path.is_empty() { "http://a.example/" } else { &url };
        assert_eq!(get(&agent, &url).await.unwrap(), whole);
    }
    let origin = agent.origin("http://a.example").unwrap();
    let response = origin.post("/form").query(&[("a", 1)]).body("text").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "http://a.example/form?a=1");
    let other = agent.get("http://b.example:8080/").send().await.unwrap();
    assert!(!other.connection().reused(), "each server has connections of its own");
    assert_eq!(other.text().await.unwrap(), "http://b.example:8080/");
    let counts = through.counts();
    assert_eq!(counts.accepted, 2);
    assert_eq!(counts.requests[0].header("host"), Some("a.example"));
    assert_eq!(nowhere.counts().accepted, 0);
}

#[tokio::test]
async fn http_goes_through_a_tunnel_where_that_is_asked_for() {
    let server = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:80", &server);
    let through = http_proxy(&script).await;
    let agent = Agent::builder().proxy(proxy(&through).tunnel_http(true)).build().unwrap();
    assert_eq!(get(&agent, "http://a.example/x").await.unwrap(), "/x");
    assert_eq!(get(&agent, "http://a.example/y").await.unwrap(), "/y");
    assert_eq!(script.asked(), ["a.example:80"]);
    let sent = &server.counts().requests[0];
    assert_eq!(sent.header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_tunnel_whose_end_has_closed_is_not_used_again() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.request().await;
        peer.send(ok("once")).await;
    })
    .await;
    let script = ProxyScript::new().leading("a.example:80", &server);
    let through = http_proxy(&script).await;
    let agent = Agent::builder().proxy(proxy(&through).tunnel_http(true)).build().unwrap();
    for _ in 0..3 {
        let post = agent.post("http://a.example/").body("x").send().await.unwrap();
        assert_eq!(post.text().await.unwrap(), "once");
        until(&agent, |total| total.open == 0).await;
    }
    assert_eq!(script.asked().len(), 3);
}

#[tokio::test]
async fn tls_within_tls_with_the_proxy() {
    let certificates = Certificates::new();
    let server = Server::tls(https(&certificates), Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:443", &server).leading("b.example", &server);
    let tls = certificates.server_as(&certificates.identity(&["proxy.example"]));
    let own = script.clone();
    let through = Server::tls(tls, move |peer| own.clone().http(peer)).await;
    let secure = Proxy::parse(format!("https://proxy.example:{}", through.address().port()));
    let secure = secure.unwrap().tls(Tls::new().roots_pem(certificates.root_pem()));
    let agent = trusting(&certificates).proxy(secure).resolver(loopback()).build().unwrap();
    for n in 0..20 {
        let response = agent.get(format!("https://a.example/{n}")).send().await.unwrap();
        assert_eq!(response.connection().reused(), n > 0);
        assert_eq!(response.text().await.unwrap(), format!("/{n}"));
        let plain = agent.get("http://b.example/").send().await.unwrap();
        assert_eq!(plain.connection().reused(), n > 0);
        assert_eq!(plain.text().await.unwrap(), "http://b.example/");
    }
    assert_eq!(server.counts().handshakes, 1);
    assert_eq!(through.counts().handshakes, 2);
}

#[tokio::test]
async fn socks_5_asks_by_name_or_by_address() {
    let certificates = Certificates::new();
    let server = Server::tls(https(&certificates), Peer::echo_targets).await;
    let script = ProxyScript::new()
        .leading("a.example:443", &server)
        .leading("127.0.0.1:443", &server)
        .only_for("user", "pass word");
    let own = script.clone();
    let through = Server::tcp(move |peer| own.clone().socks5(peer)).await;
    for (kind, asked) in [("socks5h", "a.example:443"), ("socks5", "127.0.0.1:443")] {
        let with_user = socks(kind, &through).credentials("user", "pass word").unwrap();
        let agent = trusting(&certificates).proxy(with_user).resolver(loopback()).build().unwrap();
        for n in 0..10 {
            let url = format!("https://a.example/{n}");
            assert_eq!(get(&agent, url).await.unwrap(), format!("/{n}"));
        }
        assert_eq!(script.asked().last().map(String::as_str), Some(asked));
    }
    assert_eq!((through.counts().accepted, script.asked().len()), (2, 2));
}

#[tokio::test]
async fn socks_4_asks_by_address_and_4a_by_name() {
    let server = Server::tcp(Peer::echo_targets).await;
    let script =
        ProxyScript::new().leading("a.example:80", &server).leading("127.0.0.1:80", &server);
    let own = script.clone();
    let through = Server::tcp(move |peer| own.clone().socks4(peer)).await;
    for (kind, asked) in [("socks4a", "a.example:80"), ("socks4", "127.0.0.1:80")] {
        let agent =
            Agent::builder().proxy(socks(kind, &through)).resolver(loopback()).build().unwrap();
        for _ in 0..3 {
            assert_eq!(get(&agent, "http://a.example/x").await.unwrap(), "/x");
        }
        assert_eq!(script.asked().last().map(String::as_str), Some(asked));
    }
    assert_eq!(through.counts().accepted, 2);
}

#[tokio::test]
async fn f099_requests_through_other_proxies_share_nothing() {
    let server = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:80", &server);
    let (one, other) = (http_proxy(&script).await, http_proxy(&script).await);
    let direct = Agent::builder().resolver(loopback()).build().unwrap();
    let url = "http://a.example/";
    let tunnel = |server: &Server| proxy(server).tunnel_http(true);
    let user = |name: &str| tunnel(&one).credentials(name, "secret").unwrap();
    for reused in [false, true] {
        for proxy in [tunnel(&one), tunnel(&other), user("me"), user("you")] {
            let response = direct.get(url).proxy(proxy).send().await.unwrap();
            assert_eq!(response.connection().reused(), reused);
            response.text().await.unwrap();
        }
    }
    let stats = direct.stats();
    assert_eq!(stats.origins.len(), 4, "each has a name of its own: {stats}");
    let name = format!("http://a.example via http://{}", one.address());
    assert!(stats.origins.keys().all(|name| !name.contains("secret")), "{stats}");
    assert!(stats.origins.keys().filter(|other| other.starts_with(&name)).count() == 3, "{stats}");
}

#[tokio::test]
async fn f099_what_a_request_says_as_its_origin_does_is_the_origins() {
    let nowhere = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("127.0.0.1", &nowhere);
    let through = http_proxy(&script).await;
    let agent =
        Agent::builder().proxy(ProxyRules::all(proxy(&through)).loopback(true)).build().unwrap();
    let url = nowhere.url("/x");
    assert_eq!(get(&agent, &url).await.unwrap(), url);
    let same = agent.get(&url).proxy(proxy(&through)).send().await.unwrap();
    assert!(same.connection().reused());
    drop(same);
    let direct = agent.get(&url).proxy(None).send().await.unwrap();
    assert_eq!(direct.connection().proxy(), None);
    assert_eq!(direct.connection().origin().as_str(), {
        format!("http://{} without a proxy", nowhere.address())
    });
    assert_eq!(direct.text().await.unwrap(), "/x");
}

#[tokio::test]
async fn rules_are_asked_once_for_an_origin() {
    let nowhere = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example", &nowhere);
    let through = http_proxy(&script).await;
    let (asked, chosen) = (Arc::new(AtomicUsize::new(0)), proxy(&through));
    let count = asked.clone();
    let rules = ProxyRules::by(move |to| {
        count.fetch_add(1, Ordering::Relaxed);
        (to.host == "a.example").then(|| chosen.clone())
    });
    let agent = Agent::builder().proxy(rules).build().unwrap();
    for _ in 0..5 {
        get(&agent, "http://a.example/").await.unwrap();
        assert_eq!(get(&agent, nowhere.url("/direct")).await.unwrap(), "/direct");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn origins_may_have_their_own_proxy_and_loopback_has_none() {
    let server = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example", &server);
    let through = http_proxy(&script).await;
    let resolver =
        crate::support::ResolveWith(|_| async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) });
    let port = server.address().port();
    let agent = Agent::builder()
        .resolver(resolver)
        .proxy(proxy(&through))
        .for_origin(format!("http://direct.example:{port}"), |origin| origin.proxy(None))
        .build()
        .unwrap();
    assert_eq!(get(&agent, "http://a.example/").await.unwrap(), "http://a.example/");
    let direct = format!("http://direct.example:{port}/x");
    assert_eq!(get(&agent, direct).await.unwrap(), "/x");
    assert_eq!(get(&agent, format!("http://localhost:{port}/y")).await.unwrap(), "/y");
    assert_eq!(get(&agent, server.url("/z")).await.unwrap(), "/z");
    assert_eq!(through.counts().accepted, 1);
}

#[tokio::test]
async fn unix_sockets_have_no_proxy() {
    let path = std::env::temp_dir().join(format!("warmwire-proxies-{}.sock", std::process::id()));
    let server = Server::unix(&path, Peer::echo_targets);
    let nowhere = Proxy::parse("http://192.0.2.1:1").unwrap();
    let agent = Agent::builder().proxy(nowhere.clone()).unix_socket(&path).build().unwrap();
    assert_eq!(get(&agent, "http://a.example/x").await.unwrap(), "/x");
    let named = agent.get("http://a.example/y").proxy(nowhere).send().await.unwrap();
    assert!(named.connection().reused());
    assert_eq!(named.text().await.unwrap(), "/y");
    drop(server);
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn f099_a_local_address_is_that_of_the_connection_to_the_proxy() {
    let nowhere = Server::tcp(Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example", &nowhere);
    let through = http_proxy(&script).await;
    let agent = Agent::builder().proxy(proxy(&through)).build().unwrap();
    let from: IpAddr = "127.0.0.2".parse().unwrap();
    let response = agent.get("http://a.example/").local_address(from).send().await.unwrap();
    assert_eq!(response.connection().local_address().unwrap().ip(), from);
}
