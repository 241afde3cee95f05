//! One connection for many requests, how many, and what a request that is dropped does to it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use http::{Response, StatusCode, Version};
use warmwire_http::{Agent, AgentBuilder, CloseReason, Tls};
use warmwire_testkit::{Certificates, Gate, Peer, Server, ServerTls, ok};

use super::{arrived, begin, builder, burst, guard, open_gate, serving};
use crate::support::{check, get, loopback, spawn_get, until};

#[tokio::test]
async fn f119_a_cold_burst_opens_one_connection() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(250, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    assert_eq!(guard(burst(&agent, &server.url(""), 100).join_all()).await.len(), 100);
    let stats = agent.stats();
    check(&stats);
    assert_eq!((stats.total.opened, stats.total.requests, stats.total.idle), (1, 100, 1));
    let response = agent.get(server.url("/x")).send().await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert!(response.connection().reused());
    assert_eq!(server.counts().accepted, 1);
}

fn trusting(certificates: &Certificates) -> AgentBuilder {
    Agent::builder().tls(Tls::new().roots_pem(certificates.root_pem())).resolver(loopback())
}

async fn tls(server: ServerTls, gate: &Gate, begun: &Arc<AtomicUsize>) -> (Server, String) {
    let server = Server::tls(server, serving(250, gate, begun)).await;
    let url = format!("https://localhost:{}", server.address().port());
    (server, url)
}

#[tokio::test]
async fn f119_with_tls_the_server_chooses_and_a_cold_burst_opens_one_connection() {
    let certificates = Certificates::new();
    let (gate, begun) = (open_gate(), Arc::default());
    let (server, url) = tls(certificates.server().alpn(&["h2", "http/1.1"]), &gate, &begun).await;
    let agent = trusting(&certificates).build().unwrap();
    guard(burst(&agent, &url, 100).join_all()).await;
    assert_eq!(server.counts().accepted, 1);
    let response = agent.get(&url).send().await.unwrap();
    assert_eq!((response.version(), response.connection().alpn()), (Version::HTTP_2, Some("h2")));
}

#[tokio::test]
async fn f119_a_server_of_http_1_1_alone_gets_as_many_connections_as_it_needs() {
    let certificates = Certificates::new();
    let gate = Gate::shut();
    let held = gate.clone();
    let server = Server::tls(certificates.server(), move |mut peer: Peer| {
        let held = held.clone();
        async move {
            while peer.request().await.is_some() {
                held.pass().await;
                peer.send(ok("here")).await;
            }
        }
    })
    .await;
    let agent = trusting(&certificates).build().unwrap();
    let all = burst(&agent, &format!("https://localhost:{}", server.address().port()), 10);
    server.until(|counts| counts.requests.len() == 10).await;
    gate.open();
    assert_eq!(guard(all.join_all()).await, ["here"; 10]);
}

#[tokio::test]
async fn f032_full_connections_are_joined_by_as_many_as_the_limit_allows() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(2, &gate, &begun)).await;
    let agent = builder().max_connections(3).build().unwrap();
    let all = burst(&agent, &server.url(""), 10);
    let stats = until(&agent, |of| of.active == 3 && of.waiting == 4).await;
    assert_eq!((stats.total.opened, stats.total.open), (3, 3));
    arrived(&begun, 6).await;
    gate.open();
    assert_eq!(guard(all.join_all()).await.len(), 10);
    assert_eq!(server.counts().accepted, 3);
    assert_eq!(agent.stats().total.retries, 0, "no stream was refused");
}

#[tokio::test]
async fn f059_waiters_for_streams_are_served_though_others_are_dropped() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(2, &gate, &begun)).await;
    let agent = builder().max_connections(2).build().unwrap();
    let mut all = Vec::new();
    for n in 0..400 {
        let task = spawn_get(&agent, server.url("/x"));
        if n % 3 == 0 {
            task.abort();
        } else {
            all.push(task);
        }
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for task in all {
        assert_eq!(guard(task).await.unwrap().unwrap(), "/x");
    }
    let stats = until(&agent, |of| of.active == 0 && of.waiting == 0).await;
    assert!(stats.total.max_open <= 2);
    assert_eq!(get(&agent, server.url("/after")).await.unwrap(), "/after");
}

#[tokio::test]
async fn f078_a_dropped_request_resets_its_stream_and_nothing_else() {
    let (gate, begun) = (Gate::shut(), Arc::<AtomicUsize>::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().build().unwrap();
    let dropped = spawn_get(&agent, server.url("/dropped"));
    let kept = spawn_get(&agent, server.url("/kept"));
    arrived(&begun, 2).await;
    dropped.abort();
    let _ = dropped.await;
    gate.open();
    assert_eq!(guard(kept).await.unwrap().unwrap(), "/kept");
    let stats = until(&agent, |of| of.idle == 1).await;
    assert_eq!((stats.total.opened, stats.total.closed.total()), (1, 0));
    let response = agent.get(server.url("/body")).send().await.unwrap();
    drop(response);
    assert_eq!(get(&agent, server.url("/after")).await.unwrap(), "/after");
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn f114_idle_connections_close_when_their_time_is_over() {
    let (gate, begun) = (open_gate(), Arc::default());
    let server = Server::tcp(serving(100, &gate, &begun)).await;
    let agent = builder().idle_timeout(Duration::from_millis(50)).build().unwrap();
    assert_eq!(agent.warm(server.url("/"), 20).await.unwrap(), 20);
    server.until(|counts| counts.accepted == 20 && counts.open == 0).await;
    let stats = until(&agent, |of| of.open == 0).await;
    assert_eq!(stats.total.closed.get(CloseReason::IdleTimeout), 20);
}

#[tokio::test]
async fn bodies_trailers_and_heads_come_through_both_ways() {
    let server = Server::tcp(|peer: Peer| async move {
        let mut connection = begin(peer, 100).await;
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            tokio::spawn(async move {
                let host = request.uri().authority().unwrap().to_string();
                let has_host = request.headers().contains_key("host");
                let mut body = request.into_body();
                let mut length = 0;
                while let Some(Ok(data)) = body.data().await {
                    length += data.len();
                    body.flow_control().release_capacity(data.len()).unwrap();
                }
                let head = Response::builder()
                    .status(StatusCode::CREATED)
                    .header("x-host", host)
                    .header("x-has-host", has_host.to_string())
                    .body(());
                let mut send = respond.send_response(head.unwrap(), false).unwrap();
                send.send_data(length.to_string().into(), false).unwrap();
                let mut trailers = http::HeaderMap::new();
                trailers.insert("x-end", "yes".parse().unwrap());
                send.send_trailers(trailers).unwrap();
            });
        }
    })
    .await;
    let agent = builder().build().unwrap();
    let body = vec![7; 3_000_000];
    let response =
        agent.post(server.url("/")).header("host", "other.example").body(body).send().await;
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["x-host"], "other.example");
    assert_eq!(response.headers()["x-has-host"], "false");
    assert_eq!(response.text().await.unwrap(), "3000000");
    assert_eq!(agent.stats().total.idle, 1);
}

#[tokio::test]
async fn a_peer_that_does_not_speak_http_2_is_told_in_the_error() {
    let server = Server::tcp(|mut peer: Peer| async move {
        let _ = peer.head().await;
        peer.send(ok("HTTP/1.1 only")).await;
    })
    .await;
    let agent = builder().build().unwrap();
    let error = guard(agent.get(server.url("/")).send()).await.unwrap_err();
    assert!(error.to_string().contains("HTTP/2"), "{error}");
}
