//! What goes wrong at a proxy is told apart from what goes wrong at the server.

use std::time::Duration;

use warmwire_http::{Agent, AgentBuilder, Error, ErrorKind, Phase, Proxy, ProxyRules, Sent, Tls};
use warmwire_testkit::{BlackHole, Certificates, Peer, ProxyScript, Server};

use crate::support::{get, loopback};

#[track_caller]
fn assert_is(error: &Error, kind: ErrorKind, phase: Phase, texts: &[&str]) {
    assert_eq!((error.kind(), error.phase()), (kind, phase), "{error}");
    for text in texts {
        assert!(error.to_string().contains(text), "{text:?} is not in: {error}");
    }
}

fn proxy(url: impl std::fmt::Display) -> Proxy {
    Proxy::parse(url.to_string()).unwrap()
}

fn agent(through: Proxy) -> Agent {
    builder(through).build().unwrap()
}

fn builder(through: Proxy) -> AgentBuilder {
    Agent::builder().proxy(through).resolver(loopback())
}

async fn http_proxy(script: ProxyScript) -> Server {
    Server::tcp(move |peer| script.clone().http(peer)).await
}

#[tokio::test]
async fn f102_407_is_an_error_with_the_proxys_answer() {
    let through = http_proxy(ProxyScript::new().only_for("user", "dXNlcjpzZWNyZXQ=")).await;
    let url = through.url("");
    let guesses = [proxy(&url), proxy(&url).credentials("me", "guess").unwrap()];
    for guess in guesses {
        let agent = agent(guess);
        for (target, phase) in
            [("https://a.example", Phase::Proxy), ("http://a.example", Phase::Head)]
        {
            let error = get(&agent, target).await.unwrap_err();
            let texts = [target, &url, "407"];
            assert_is(&error, ErrorKind::ProxyAuthentication, phase, &texts);
            let answer = error.proxy_response().unwrap();
            assert_eq!(answer.status(), 407);
            assert_eq!(answer.headers()["proxy-authenticate"], "Basic realm=\"test\"");
            assert_eq!(answer.body(), "who are you?");
            let shown = format!("{error} {error:?} {answer:?} {agent:?}");
            assert!(!shown.contains("guess") && !shown.contains("who are"), "{shown}");
        }
        assert_eq!(agent.stats().origin("https://a.example").unwrap().open_errors, 1);
    }
}

#[tokio::test]
async fn a_407_of_a_server_is_a_response() {
    let server =
        Server::tcp(|peer: Peer| peer.serve(|_| warmwire_testkit::Reply::new(407).bytes())).await;
    let response = Agent::new().get(server.url("/")).send().await.unwrap();
    assert_eq!(response.status(), 407);
    let through = http_proxy(ProxyScript::new().leading("a.example:80", &server)).await;
    let tunnel = agent(proxy(through.url("")).tunnel_http(true));
    assert_eq!(tunnel.get("http://a.example").send().await.unwrap().status(), 407);
}

#[tokio::test]
async fn f102_a_refused_tunnel_is_an_error_with_the_proxys_answer() {
    let through = http_proxy(ProxyScript::new()).await;
    let agent = agent(proxy(through.url("")));
    let error = get(&agent, "https://nowhere.example:8443").await.unwrap_err();
    let texts = ["https://nowhere.example:8443", "502", &through.address().to_string()];
    assert_is(&error, ErrorKind::ProxyRefused, Phase::Proxy, &texts);
    assert_eq!(error.sent(), Sent::No);
    let answer = error.proxy_response().unwrap();
    assert_eq!((answer.status().as_u16(), &answer.body()[..]), (502, &b"no such server"[..]));
    // A forwarded request's 502 may be the server's own: nobody can tell.
    let response = agent.get("http://nowhere.example").send().await.unwrap();
    assert_eq!(response.status(), 502);
}

#[tokio::test]
async fn socks_replies_are_named() {
    let script = ProxyScript::new().only_for("user", "secret");
    let own = script.clone();
    let five = Server::tcp(move |peer| own.clone().socks5(peer)).await;
    let at = |user: &str, kind: &str| format!("{kind}://{user}{}", five.address());
    let refused = agent(proxy(at("user:secret@", "socks5h")));
    let error = get(&refused, "http://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ProxyRefused, Phase::Proxy, &["connection refused", "5"]);
    for (user, why) in [("", "wants a user"), ("user:guess@", "does not accept")] {
        let error = get(&agent(proxy(at(user, "socks5h"))), "http://a.example").await.unwrap_err();
        assert_is(&error, ErrorKind::ProxyAuthentication, Phase::Proxy, &[why]);
        assert!(!format!("{error:?}").contains("guess"), "{error:?}");
    }
    let four = Server::tcp(move |peer| script.clone().socks4(peer)).await;
    let wrong = agent(proxy(format!("socks4a://me@{}", four.address())));
    let error = get(&wrong, "http://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ProxyAuthentication, Phase::Proxy, &["the user"]);
}

#[tokio::test]
async fn f095_a_proxy_that_is_not_there_is_told_from_a_server_that_is_not_there() {
    let gone = Server::tcp(Peer::echo_targets).await;
    let address = gone.address().to_string();
    drop(gone);
    tokio::task::yield_now().await;
    let error = get(&agent(proxy(format!("http://{address}"))), "http://a.example").await;
    let error = error.unwrap_err();
    let texts = ["http://a.example", "the proxy", &address, "refused"];
    assert_is(&error, ErrorKind::ProxyUnreachable, Phase::Proxy, &texts);

    let unknown = crate::support::ResolveWith(|_| async {
        Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such name"))
    });
    let agent = Agent::builder().proxy(proxy("http://nowhere.example")).resolver(unknown);
    let error = get(&agent.build().unwrap(), "https://a.example").await.unwrap_err();
    let texts = ["nowhere.example", "no such name"];
    assert_is(&error, ErrorKind::ProxyUnreachable, Phase::Proxy, &texts);
}

#[tokio::test]
async fn f095_time_outs_say_whether_the_proxy_or_the_server_was_slow() {
    let hole = BlackHole::new();
    let limit = Duration::from_millis(50);
    let quick = |through: Proxy| builder(through).connect_timeout(limit).build().unwrap();
    let lost = quick(proxy(format!("http://{}", hole.address())));
    let error = get(&lost, "https://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Proxy, &["50ms", "during proxy"]);

    let silent = Server::tcp(|mut peer: Peer| async move {
        peer.until_closed().await;
    })
    .await;
    for kind in ["http", "socks5h", "socks4a"] {
        let mute = quick(proxy(format!("{kind}://{}", silent.address())));
        let error = get(&mute, "https://a.example").await.unwrap_err();
        assert_is(&error, ErrorKind::ConnectTimeout, Phase::Proxy, &["50ms"]);
        assert!(error.timings().proxy >= Duration::from_millis(10), "{error:?}");
    }

    let through = http_proxy(ProxyScript::new().leading("a.example:443", &silent)).await;
    let error = get(&quick(proxy(through.url(""))), "https://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ConnectTimeout, Phase::Tls, &["50ms", "during tls"]);
}

#[tokio::test]
async fn f095_what_speaks_no_proxys_protocol_is_named() {
    let closing = Server::tcp(|peer: Peer| async move { drop(peer) }).await;
    let error = get(&agent(proxy(closing.url(""))), "https://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ProxyUnreachable, Phase::Proxy, &[]);
    let other = Server::tcp(|mut peer: Peer| async move {
        peer.send("220 mail.example ESMTP\r\n\r\n").await;
        peer.until_closed().await;
    })
    .await;
    for kind in ["http", "socks5h"] {
        let wrong = agent(proxy(format!("{kind}://{}", other.address())));
        let error = get(&wrong, "https://a.example").await.unwrap_err();
        assert_is(&error, ErrorKind::ProxyUnreachable, Phase::Proxy, &["could not be reached"]);
    }
}

#[tokio::test]
async fn certificates_of_proxy_and_server_are_checked_each() {
    let (good, bad) = (Certificates::new(), Certificates::new());
    let server =
        Server::tls(bad.server_as(&bad.identity(&["a.example"])), Peer::echo_targets).await;
    let script = ProxyScript::new().leading("a.example:443", &server);
    let through = Server::tls(good.server(), move |peer| script.clone().http(peer)).await;
    let secure = |trust: &Certificates| {
        let url = format!("https://localhost:{}", through.address().port());
        proxy(url).tls(Tls::new().roots_pem(trust.root_pem()))
    };
    let agent = |trust: &Certificates| {
        let tls = Tls::new().roots_pem(good.root_pem());
        builder(secure(trust)).tls(tls).build().unwrap()
    };
    let error = get(&agent(&bad), "https://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::ProxyUnreachable, Phase::Proxy, &["UnknownIssuer"]);
    let error = get(&agent(&good), "https://a.example").await.unwrap_err();
    assert_is(&error, ErrorKind::CertificateUnknownIssuer, Phase::Tls, &[]);
}

#[tokio::test]
async fn settings_that_name_no_proxy_are_told_when_the_agent_is_built() {
    let broken = ProxyRules::from_lookup(|name| (name == "HTTPS_PROXY").then(|| "ftp://a".into()));
    let error = Agent::builder().proxy(broken).build().unwrap_err();
    assert_is(&error, ErrorKind::InvalidConfig, Phase::Prepare, &["HTTPS_PROXY", "ftp"]);
}
