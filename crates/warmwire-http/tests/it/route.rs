//! What a request says of its route tells connections apart: TLS settings and local address.

use std::net::IpAddr;

use warmwire_http::{Agent, ErrorKind, RequestBuilder, Tls, TlsVersion};
use warmwire_testkit::{Certificates, Peer, Server};

use crate::support::{get, loopback, memory};

fn trusting(certificates: &Certificates) -> Tls {
    Tls::new().roots_pem(certificates.root_pem())
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/", server.address().port())
}

/// Sends it, and tells whether a connection was reused and whether a session was resumed.
async fn send(request: RequestBuilder) -> (bool, bool) {
    let response = request.send().await.unwrap();
    let connection = response.connection().clone();
    response.text().await.unwrap();
    (connection.reused(), connection.resumed())
}

fn of_rustls(certificates: &Certificates) -> rustls::ClientConfig {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    let root = rustls::pki_types::CertificateDer::from_pem_slice(certificates.root_pem());
    roots.add(root.unwrap()).unwrap();
    rustls::ClientConfig::builder_with_provider(
        rustls::crypto::aws_lc_rs::default_provider().into(),
    )
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth()
}

const SHARED: (bool, bool) = (true, false);
const APART: (bool, bool) = (false, false);

#[tokio::test]
async fn f098_each_setting_of_tls_makes_another_trust_domain() {
    let certificates = Certificates::new();
    let names = ["localhost", "other.example"];
    let server =
        Server::tls(certificates.server_as(&certificates.identity(&names)), Peer::echo_targets);
    let server = server.await;
    let plain = trusting(&certificates);
    let client = certificates.identity(&["client.example"]);
    let variants = [
        ("a like one made apart", trusting(&certificates)),
        ("roots", plain.clone().add_roots_pem(Certificates::new().root_pem())),
        (
            "client certificate",
            plain.clone().identity_pem(client.certificate_pem(), &client.key_pem()),
        ),
        ("any certificate", plain.clone().danger_accept_any_certificate()),
        ("server name", plain.clone().server_name("other.example")),
        ("no server name", plain.clone().sni(false)),
        ("least version", plain.clone().versions(TlsVersion::Tls13, TlsVersion::Tls13)),
        ("pins", plain.clone().pin(|_| Ok(()))),
        ("early data", plain.clone().early_data(true)),
        ("key log", plain.clone().key_log(true)),
        ("own crypto provider and verifier", Tls::from_rustls(of_rustls(&certificates))),
        ("no sessions", plain.clone().resumption(0)),
    ];
    let agent = Agent::builder().tls(plain.clone()).resolver(loopback()).build().unwrap();
    assert_eq!(send(agent.get(url(&server))).await, APART);
    for (what, tls) in &variants {
        let with = |tls: &Tls| agent.get(url(&server)).tls(tls.clone());
        assert_eq!(send(with(tls)).await, APART, "{what}: a connection or a session was shared");
        assert_eq!(send(with(tls)).await, SHARED, "{what}: clones are one");
        assert_eq!(send(with(&plain)).await, SHARED, "{what}: the agent's own is the agent's");
        assert_eq!(send(agent.get(url(&server))).await, SHARED, "{what}");
    }
    assert_eq!(server.counts().handshakes, 1 + variants.len());
    let stats = agent.stats();
    assert_eq!(stats.origins.len(), 1 + variants.len(), "each has a name of its own: {stats}");
    assert!(stats.origins.keys().any(|name| name.contains(" (tls ")), "{stats}");
    assert_eq!(stats.origin(url(&server)).unwrap().opened, 1);
}

#[tokio::test]
async fn f098_a_request_with_a_laxer_check_opens_no_way_for_others() {
    let server = Server::tls(Certificates::new().server(), Peer::echo_targets).await;
    let strict = Agent::builder().tls(trusting(&Certificates::new())).resolver(loopback());
    let agent = strict.build().unwrap();
    let lax = Tls::new().danger_accept_any_certificate();
    send(agent.get(url(&server)).tls(lax)).await;
    let error = get(&agent, url(&server)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CertificateUnknownIssuer, "{error}");
}

#[tokio::test]
async fn f098_an_origin_may_have_its_own_tls() {
    let certificates = Certificates::new();
    let server = Server::tls(certificates.server(), Peer::echo_targets).await;
    let own = trusting(&certificates);
    let agent = Agent::builder()
        .tls(trusting(&Certificates::new()))
        .for_origin(url(&server), |origin| origin.tls(own))
        .resolver(loopback())
        .build()
        .unwrap();
    get(&agent, url(&server)).await.unwrap();

    let broken = Agent::builder()
        .for_origin("https://a.example", |origin| origin.tls(Tls::new().roots_pem(b"none")));
    let error = broken.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.to_string().contains("https://a.example"), "{error}");
}

#[tokio::test]
async fn tls_that_cannot_be_used_is_told_before_anything_is_opened() {
    let agent = Agent::new();
    let broken = Tls::new().roots_pem(b"none");
    let error = agent.get("https://a.example").tls(broken).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
}

/// Keys are compared in full: the first two hosts have the same CRC-32.
#[tokio::test(start_paused = true)]
async fn f099_hosts_that_only_look_alike_share_nothing() {
    let server = Server::memory(Peer::echo_targets);
    let agent = Agent::builder().connector(memory(&server)).resolver(loopback()).build().unwrap();
    let urls = [
        "http://plumless.example/",
        "http://buckeroo.example/",
        "http://plumless.example:81/",
        "http://plumless.example.org/",
        "http://127.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
    ];
    for reused in [false, true] {
        for url in urls {
            let response = agent.get(url).send().await.unwrap();
            assert_eq!(response.connection().reused(), reused, "{url}");
            response.text().await.unwrap();
        }
    }
    let same = agent.get("HTTP://Plumless.EXAMPLE:80/").send().await.unwrap();
    assert!(same.connection().reused(), "that is the first one, written otherwise");
    assert_eq!(server.counts().accepted, urls.len());
}

#[tokio::test]
async fn f099_requests_from_other_local_addresses_share_nothing() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::new();
    let from = async |text: &str| {
        let address: IpAddr = text.parse().unwrap();
        let response = agent.get(server.url("/")).local_address(address).send().await.unwrap();
        let connection = response.connection().clone();
        response.text().await.unwrap();
        assert_eq!(connection.local_address().unwrap().ip(), address);
        connection.reused()
    };
    get(&agent, server.url("/")).await.unwrap();
    assert!(!from("127.0.0.2").await);
    assert!(!from("127.0.0.3").await);
    assert!(from("127.0.0.2").await);
    assert!(from("127.0.0.3").await);
    let response = agent.get(server.url("/")).local_address(None).send().await.unwrap();
    assert!(response.connection().reused(), "the agent has no address of its own either");
    let name = format!("http://{} from 127.0.0.2", server.address());
    assert_eq!(agent.stats().origin(name).unwrap().requests, 2);
}

#[tokio::test]
async fn f099_a_route_of_ones_own_is_kept_apart_at_a_known_origin_too() {
    let server = Server::tcp(Peer::echo_targets).await;
    let agent = Agent::new();
    let origin = agent.origin(server.url("")).unwrap();
    let address: IpAddr = "127.0.0.2".parse().unwrap();
    for reused in [false, true] {
        let response = origin.get("/").local_address(address).send().await.unwrap();
        assert_eq!(response.connection().reused(), reused);
        response.text().await.unwrap();
        let response = origin.get("/").send().await.unwrap();
        assert_eq!(response.connection().reused(), reused);
        response.text().await.unwrap();
    }
}
