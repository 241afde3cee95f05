//! Requests within the TLS handshake: on demand, and only those that may be done twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warmwire_http::{Agent, ErrorKind, Response, Tls};
use warmwire_testkit::{Certificates, Peer, Reply, Server, ServerTls, ok};

use crate::support::loopback;

/// Answers with how many bytes came within the handshake, and closes after each answer.
async fn counting(tls: ServerTls) -> Server {
    Server::tls(tls, |mut peer: Peer| async move {
        if peer.request().await.is_some() {
            let early = peer.early_data();
            peer.send(
                Reply::new(200).header("Connection", "close").body(early.to_string()).bytes(),
            )
            .await;
        }
    })
    .await
}

fn eager(certificates: &Certificates) -> Tls {
    Tls::new().roots_pem(certificates.root_pem()).early_data(true)
}

fn agent(tls: Tls) -> Agent {
    Agent::builder().tls(tls).resolver(loopback()).build().unwrap()
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/", server.address().port())
}

/// How many bytes the server got early, and what the connection says of it.
async fn end(response: Response) -> (usize, bool) {
    let connection = response.connection().clone();
    (response.text().await.unwrap().parse().unwrap(), connection.early_data())
}

#[tokio::test]
async fn a_get_travels_within_a_resumed_handshake() {
    let certificates = Certificates::new();
    let server = counting(certificates.server_with_early_data(4096)).await;
    let agent = agent(eager(&certificates));
    let first = agent.get(url(&server)).send().await.unwrap();
    assert!(!first.connection().resumed());
    assert_eq!(end(first).await, (0, false), "there is no session yet");
    for _ in 0..3 {
        let response = agent.get(url(&server)).send().await.unwrap();
        let connection = response.connection().clone();
        assert!(connection.resumed() && connection.tls_version().is_some());
        let (bytes, noted) = end(response).await;
        assert!(bytes > 50 && noted, "{bytes} bytes were early");
        assert!(connection.early_data() && connection.alpn() == Some("http/1.1"));
    }
    assert_eq!(server.counts().requests.len(), 4);
}

#[tokio::test]
async fn only_safe_requests_without_a_body_are_early_unless_they_say_otherwise() {
    let certificates = Certificates::new();
    let server = counting(certificates.server_with_early_data(4096)).await;
    let agent = agent(eager(&certificates));
    let url = url(&server);
    end(agent.get(&url).send().await.unwrap()).await;
    for (what, request, early) in [
        ("post", agent.post(&url), false),
        ("post that wants to", agent.post(&url).early_data(true), false),
        ("idempotent post that wants to", agent.post(&url).idempotent(true).early_data(true), true),
        ("put", agent.put(&url), false),
        ("put that wants to", agent.put(&url).early_data(true), true),
        ("body", agent.put(&url).early_data(true).body("x"), false),
        ("get that does not want to", agent.get(&url).early_data(false), false),
        ("get", agent.get(&url), true),
    ] {
        let response = request.send().await.unwrap();
        assert!(response.connection().resumed(), "{what}");
        let (bytes, noted) = end(response).await;
        assert_eq!((bytes > 0, noted), (early, early), "{what}: {bytes} bytes were early");
    }
}

#[tokio::test]
async fn without_being_asked_for_nothing_is_early() {
    let certificates = Certificates::new();
    let server = counting(certificates.server_with_early_data(4096)).await;
    let agent = agent(eager(&certificates).early_data(false));
    for _ in 0..3 {
        let request = agent.get(url(&server)).early_data(true);
        assert_eq!(end(request.send().await.unwrap()).await, (0, false));
    }
    assert_eq!(server.counts().resumed, 2);
}

#[tokio::test]
async fn early_data_that_is_not_taken_is_sent_after_the_handshake() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let first = counting(certificates.server_with_early_data(4096)).await;
    let address = first.address().to_string();
    let agent = agent(eager(&certificates));
    end(agent.get(url(&first)).send().await.unwrap()).await;
    let same_url = url(&first);
    drop(first);
    // Another server at the same address: it knows no session.
    while tokio::net::TcpListener::bind(&address).await.is_err() {
        tokio::task::yield_now().await;
    }
    let again = Server::on(
        &address,
        Some(certificates.server_as(&identity)),
        |mut peer: Peer| async move {
            while peer.request().await.is_some() {
                peer.send(ok(peer.early_data().to_string())).await;
            }
        },
    )
    .await;
    let response = agent.get(&same_url).send().await.unwrap();
    assert!(!response.connection().resumed());
    assert_eq!(end(response).await, (0, false));
    assert_eq!(again.counts().requests.len(), 1, "it came once");
}

#[tokio::test]
async fn a_certificate_that_is_refused_within_the_first_exchange_is_named() {
    let (good, bad) = (Certificates::new(), Certificates::new());
    let first = counting(good.server_with_early_data(4096)).await;
    let address = first.address().to_string();
    let agent = agent(eager(&good));
    end(agent.get(url(&first)).send().await.unwrap()).await;
    let same_url = url(&first);
    drop(first);
    while tokio::net::TcpListener::bind(&address).await.is_err() {
        tokio::task::yield_now().await;
    }
    let imposter = Server::on(&address, Some(bad.server()), Peer::echo_targets).await;
    let error = agent.get(&same_url).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CertificateUnknownIssuer, "{error}");
    assert_eq!(imposter.counts().requests.len(), 0);
}

#[tokio::test]
async fn a_425_is_answered_by_the_same_request_after_the_handshake() {
    let certificates = Certificates::new();
    let refused = Arc::new(AtomicUsize::new(0));
    let count = refused.clone();
    let server = Server::tls(certificates.server_with_early_data(4096), move |mut peer: Peer| {
        let count = count.clone();
        async move {
            while peer.request().await.is_some() {
                let reply = if peer.early_data() > 0 {
                    count.fetch_add(1, Ordering::SeqCst);
                    Reply::new(425)
                } else {
                    Reply::new(200).body("0")
                };
                peer.send(reply.header("Connection", "close").bytes()).await;
            }
        }
    })
    .await;
    let agent = agent(eager(&certificates));
    for early in [0, 1, 2] {
        let response = agent.get(url(&server)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(end(response).await, (0, false));
        assert_eq!(refused.load(Ordering::SeqCst), early);
    }
    assert_eq!(agent.stats().total.retries, 2);
}
