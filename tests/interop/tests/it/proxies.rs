//! Through tinyproxy and microsocks: connections through them are kept, counted per server, and
//! found closed before they are used again.

use std::time::Duration;

use warmwire::Agent;
use warmwire::http::{CloseReason, ErrorKind, Proxy, ProxyRules};
use warmwire_interop::Peer;

use crate::load;

/// The servers are on loopback, which no other program's proxy could reach.
fn through(proxy: Proxy) -> ProxyRules {
    ProxyRules::all(proxy).loopback(true)
}

async fn node() -> Option<Peer> {
    Peer::node(Duration::from_secs(60), true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn f102_two_thousand_requests_through_ten_tunnels_of_tinyproxy() {
    let (Some(server), Some(proxy)) = (node().await, Peer::tinyproxy(60).await) else { return };
    let tunnels = through(proxy.proxy_for_user("http").tunnel_http(true));
    let agent = Agent::builder().proxy(tunnels).max_connections(10).build().unwrap();
    let stats = load::run(&agent, &server).await;
    assert_eq!((stats.requests, stats.retries), (load::REQUESTS, 0));
    assert!(stats.opened <= 10, "{stats:?}");
    assert_eq!(proxy.logged("CONNECT", &server) as u64, stats.opened);
}

#[tokio::test(flavor = "multi_thread")]
async fn f102_two_thousand_requests_through_ten_connections_of_microsocks() {
    let (Some(server), Some(proxy)) = (node().await, Peer::microsocks().await) else { return };
    for (protocol, logged) in [("socks5", 10), ("socks5h", 20)] {
        let rules = through(proxy.proxy_for_user(protocol));
        let agent = Agent::builder().proxy(rules).max_connections(10).build().unwrap();
        let stats = load::run(&agent, &server).await;
        assert_eq!((stats.requests, stats.retries), (load::REQUESTS, 0));
        assert!(stats.opened <= 10, "{stats:?}");
        assert!(proxy.logged("connected to", &server) <= logged);
    }
}

/// tinyproxy closes after each request that it forwards, and does not say so: what a POST could be
/// lost to. The agent finds that out by the first requests and keeps none of these connections.
#[tokio::test(flavor = "multi_thread")]
async fn f003_what_tinyproxy_forwards_meets_no_connection_that_it_closes() {
    let (Some(server), Some(proxy)) = (node().await, Peer::tinyproxy(60).await) else { return };
    let rules = through(proxy.proxy_for_user("http"));
    let agent = Agent::builder().proxy(rules).max_connections(10).build().unwrap();
    for _ in 0..5 {
        agent.get(server.url("/x")).send().await.unwrap().text().await.unwrap();
        while agent.stats().total.open > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let before = agent.stats().total;
    load::send(&agent, &server).await;
    let after = agent.stats().total;
    assert_eq!(after.requests - before.requests, load::REQUESTS);
    assert_eq!((after.opened, after.reused, after.retries), (after.requests, 0, 0));
}

/// Without what was learned: no GET is lost, however often one meets a close.
#[tokio::test(flavor = "multi_thread")]
async fn f002_no_get_is_lost_to_a_proxy_that_closes_after_each_response() {
    let (Some(server), Some(proxy)) = (node().await, Peer::tinyproxy(60).await) else { return };
    let rules = through(proxy.proxy_for_user("http"));
    let agent = Agent::builder().proxy(rules).learn_idle_limit(false).build().unwrap();
    for n in 0..500 {
        let response = agent.get(server.url(&format!("/{n}"))).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), format!("/{n}"));
    }
    let total = agent.stats().total;
    assert_eq!(total.retry_outcomes.over_budget, 0);
    assert_eq!(total.requests, 500 + total.retries);
}

#[tokio::test]
async fn f101_limits_are_per_server_and_not_per_proxy() {
    let (Some(one), Some(other)) = (node().await, node().await) else { return };
    let Some(proxy) = Peer::tinyproxy(60).await else { return };
    let tunnels = through(proxy.proxy_for_user("http").tunnel_http(true));
    let agent = Agent::builder().proxy(tunnels).max_connections(2).build().unwrap();
    let tasks = (0..20).map(|task| {
        let (agent, url) = (agent.clone(), [&one, &other][task % 2].url("/x"));
        tokio::spawn(async move {
            for _ in 0..10 {
                agent.get(&url).send().await.unwrap().text().await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for server in [&one, &other] {
        assert_eq!(agent.stats().origin(server.url("/")).unwrap().max_open, 2);
        assert_eq!(proxy.logged("CONNECT", server), 2);
    }
    assert_eq!(agent.stats().total.open, 4);
}

#[tokio::test]
async fn f102_who_has_no_credentials_is_told_so_by_the_proxy() {
    let Some(server) = node().await else { return };
    let refused = |proxy: Proxy| {
        let agent = Agent::builder().proxy(through(proxy)).build().unwrap();
        let url = server.url("/x");
        async move {
            let error = agent.get(url).send().await.unwrap_err();
            assert_eq!(agent.stats().total.open, 0);
            error
        }
    };
    if let Some(proxy) = Peer::tinyproxy(60).await {
        let wrong = proxy.proxy("http").credentials("user", "wrong").unwrap();
        let none = proxy.proxy("http");
        // To a wrong password tinyproxy says 401, which of a forwarded request could be the
        // server's own answer.
        for (proxy, status) in
            [(none.clone(), 407), (none.tunnel_http(true), 407), (wrong.tunnel_http(true), 401)]
        {
            let error = refused(proxy).await;
            assert_eq!(error.kind(), ErrorKind::ProxyAuthentication, "{error}");
            assert_eq!(error.proxy_response().map(|answer| answer.status().as_u16()), Some(status));
            assert!(!error.to_string().contains("timed out"), "{error}");
        }
    }
    if let Some(proxy) = Peer::microsocks().await {
        let wrong = proxy.proxy("socks5").credentials("user", "wrong").unwrap();
        for proxy in [proxy.proxy("socks5"), wrong] {
            let error = refused(proxy).await;
            assert_eq!(error.kind(), ErrorKind::ProxyAuthentication, "{error}");
        }
    }
}

/// A proxy that gives idle tunnels up after a second: what it has closed is not used again, also not
/// for a request that must not be sent twice.
#[tokio::test]
async fn f025_a_tunnel_that_the_proxy_has_closed_is_found_before_a_post() {
    let (Some(server), Some(proxy)) = (node().await, Peer::tinyproxy(1).await) else { return };
    let tunnels = through(proxy.proxy_for_user("http").tunnel_http(true));
    let agent =
        Agent::builder().proxy(tunnels).idle_timeout(Duration::from_secs(30)).build().unwrap();
    for round in 1..=2 {
        let response = agent.post(server.url("/post")).body("once").send().await.unwrap();
        assert!(!response.connection().reused());
        assert_eq!(response.text().await.unwrap(), "once");
        while agent.stats().total.open > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(agent.stats().total.closed.get(CloseReason::ClosedByPeer), round);
    }
    assert_eq!((agent.stats().total.retries, proxy.logged("CONNECT", &server)), (0, 2));
}

/// The server behind the tunnel is not there.
#[tokio::test]
async fn f102_a_server_that_is_not_there_is_told_by_each_proxy() {
    let port = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/");
    if let Some(proxy) = Peer::tinyproxy(60).await {
        let tunnels = through(proxy.proxy_for_user("http").tunnel_http(true));
        let agent = Agent::builder().proxy(tunnels).build().unwrap();
        let error = agent.get(&url).send().await.unwrap_err();
        assert!(error.proxy_response().is_some_and(|answer| answer.status() == 500), "{error:?}");
    }
    if let Some(proxy) = Peer::microsocks().await {
        let agent =
            Agent::builder().proxy(through(proxy.proxy_for_user("socks5"))).build().unwrap();
        let error = agent.get(&url).send().await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
    }
}
