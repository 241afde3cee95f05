//! Connections on which the server switches to another protocol (101).

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use warmwire_http::{
    Agent, Body, CloseReason, ErrorKind, HttpVersion, RequestBuilder, Response, Sent, Tls, Upgraded,
};
use warmwire_testkit::{Certificates, Gate, Peer, Server, guarded};

use crate::support::{get, loopback, until};

const SWITCH: &str =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n";

/// Switches for `/upgrade`, with a first word right behind the head, and echoes from then on; any
/// other request is answered by its target.
async fn echoing(mut peer: Peer) {
    while let Some(request) = peer.request().await {
        if request.target != "/upgrade" {
            peer.send(warmwire_testkit::ok(&request.target)).await;
            continue;
        }
        peer.send(format!("{SWITCH}hello ")).await;
        let (mut read, mut write) = tokio::io::split(peer.into_stream());
        // The client may go when it likes.
        let _ = tokio::io::copy(&mut read, &mut write).await;
        let _ = write.shutdown().await;
        return;
    }
}

fn asking(request: RequestBuilder) -> RequestBuilder {
    request.header("upgrade", "echo").header("connection", "upgrade")
}

async fn switch(agent: &Agent, url: &str) -> Response {
    let response = asking(agent.get(url)).send().await.unwrap();
    assert_eq!(response.status(), 101);
    assert_eq!(response.headers()["upgrade"], "echo");
    response
}

async fn converse(mut upgraded: Upgraded) {
    let mut heard = vec![0; 12];
    upgraded.write_all(b"world!").await.unwrap();
    upgraded.flush().await.unwrap();
    guarded("the echo", upgraded.read_exact(&mut heard)).await.unwrap();
    assert_eq!(heard, b"hello world!", "what came behind the head is first");
    upgraded.shutdown().await.unwrap();
    let mut rest = Vec::new();
    guarded("the end", upgraded.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn f103_an_upgraded_connection_takes_up_no_place_and_never_comes_back() {
    let server = Server::tcp(echoing).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let upgraded = switch(&agent, &server.url("/upgrade")).await.upgrade().unwrap();
    let total = agent.stats().total;
    assert_eq!((total.open, total.active, total.idle), (0, 0, 0));
    assert_eq!(total.closed.get(CloseReason::Upgraded), 1);
    for n in 0..3 {
        let target = format!("/{n}");
        let answer = guarded("a request beside it", get(&agent, server.url(&target))).await;
        assert_eq!(answer.unwrap(), target);
    }
    assert_eq!(server.counts().open, 2);
    converse(upgraded).await;
    server.until(|counts| counts.open == 1).await;
    let total = agent.stats().total;
    assert_eq!((total.opened, total.open, total.closed.total()), (2, 1, 1));
}

#[tokio::test]
async fn f103_the_agent_may_go_before_what_was_upgraded() {
    let server = Server::tcp(echoing).await;
    let agent = Agent::new();
    let upgraded = switch(&agent, &server.url("/upgrade")).await.upgrade().unwrap();
    guarded("the close, which waits for nothing", agent.close()).await;
    drop(agent);
    converse(upgraded).await;
}

#[tokio::test]
async fn f103_upgrades_over_tls() {
    let certificates = Certificates::new();
    let server = Server::tls(certificates.server(), echoing).await;
    let tls = Tls::new().roots_pem(certificates.root_pem());
    let builder = Agent::builder().max_connections(1).tls(tls).resolver(loopback());
    let agent = builder.http_version(HttpVersion::Http1).build().unwrap();
    let url = |path: &str| format!("https://localhost:{}{path}", server.address().port());
    let upgraded = switch(&agent, &url("/upgrade")).await.upgrade().unwrap();
    assert_eq!(get(&agent, url("/x")).await.unwrap(), "/x");
    converse(upgraded).await;
}

#[tokio::test]
async fn f103_many_bytes_behind_the_head_come_in_order() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.request().await;
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        peer.send([SWITCH.as_bytes(), &bytes].concat()).await;
    })
    .await;
    let mut upgraded = switch(&Agent::new(), &server.url("/")).await.upgrade().unwrap();
    let mut all = Vec::new();
    guarded("the bytes", upgraded.read_to_end(&mut all)).await.unwrap();
    assert_eq!(all.len(), 100_000);
    assert!(all.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251));
}

#[tokio::test]
async fn f103_a_dropped_upgrade_is_closed() {
    let server = Server::tcp(echoing).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    drop(switch(&agent, &server.url("/upgrade")).await);
    server.until(|counts| counts.open == 0).await;
    // As text it is empty, and the connection goes too.
    assert_eq!(switch(&agent, &server.url("/upgrade")).await.text().await.unwrap(), "");
    server.until(|counts| counts.open == 0).await;
    assert_eq!(agent.stats().total.closed.get(CloseReason::Upgraded), 2);
}

#[tokio::test]
async fn f103_a_response_of_the_crate_http_has_the_connection_too() {
    let server = Server::tcp(echoing).await;
    let agent = Agent::new();
    let response = switch(&agent, &server.url("/upgrade")).await;
    let response = http::Response::<Body>::from(response);
    converse(response.into_body().upgrade().unwrap()).await;
    let plain = http::Response::from(agent.get(server.url("/plain")).send().await.unwrap());
    assert!(plain.into_body().upgrade().is_none());
}

#[tokio::test]
async fn f103_a_refused_upgrade_is_a_response_like_any_other() {
    let server = Server::tcp(echoing).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let response = asking(agent.get(server.url("/no"))).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let error = response.upgrade().unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::InvalidResponse, Sent::Yes));
    assert!(error.to_string().contains("200"), "{error}");
    let again = asking(agent.get(server.url("/no"))).send().await.unwrap();
    assert!(again.connection().reused());
    assert_eq!(again.text().await.unwrap(), "/no");
}

#[tokio::test]
async fn f103_a_switch_that_nobody_asked_for_is_an_error() {
    let server = Server::tcp(|peer: Peer| peer.serve(|_| SWITCH.into())).await;
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let error = agent.get(server.url("/")).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("101"), "{error}");
    server.until(|counts| counts.open == 0).await;
    let total = until(&agent, |total| total.open == 0).await.total;
    assert_eq!(total.closed.get(CloseReason::Upgraded), 0);
}

#[tokio::test]
async fn f103_a_switch_before_the_request_is_whole_is_an_error() {
    let server = Server::tcp(|mut peer: Peer| async move {
        peer.head().await;
        peer.send(SWITCH).await;
        peer.until_closed().await;
    })
    .await;
    let gate = Gate::shut();
    let at = gate.clone();
    let pieces = futures_util::stream::once(async move {
        at.pass().await;
        Ok::<_, std::io::Error>("late")
    });
    let agent = Agent::new();
    let request = asking(agent.post(server.url("/"))).body(Body::from_stream(pieces));
    let error = guarded("the request", request.send()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.to_string().contains("before the request was sent"), "{error}");
    let total = until(&agent, |total| total.open == 0).await.total;
    assert_eq!(total.closed.get(CloseReason::RequestUnfinished), 1);
}
