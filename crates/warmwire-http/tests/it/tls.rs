//! TLS: whom to trust, who we are, which name and version, and sessions that are resumed.

use warmwire_http::{Agent, AgentBuilder, ErrorKind, Phase, Tls, TlsVersion};
use warmwire_testkit::{Certificates, Peer, Server, ServerTls, ok};

use crate::support::{get, loopback};

/// Answers with what the handshake told the server.
async fn describing(tls: ServerTls) -> Server {
    Server::tls(tls, |mut peer: Peer| async move {
        while peer.request().await.is_some() {
            let name = peer.server_name().unwrap_or("no name").to_owned();
            let known = if peer.has_client_certificate() { "known" } else { "unknown" };
            peer.send(ok(format!("{name}, {known}"))).await;
        }
    })
    .await
}

fn trusting(certificates: &Certificates) -> Tls {
    Tls::new().roots_pem(certificates.root_pem())
}

fn agent(tls: Tls) -> Agent {
    builder(tls).build().unwrap()
}

fn builder(tls: Tls) -> AgentBuilder {
    Agent::builder().tls(tls).resolver(loopback())
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/", server.address().port())
}

#[tokio::test]
async fn a_response_says_what_the_handshake_agreed_on() {
    let certificates = Certificates::new();
    let server = describing(certificates.server()).await;
    let agent = agent(trusting(&certificates));
    for n in 0..5 {
        let response = agent.get(url(&server)).send().await.unwrap();
        let connection = response.connection();
        assert_eq!(connection.tls_version(), Some(TlsVersion::Tls13));
        assert_eq!(connection.alpn(), Some("http/1.1"));
        assert!(!connection.resumed());
        assert_eq!(connection.reused(), n > 0, "session tickets are no reason to close");
        assert_eq!(response.timings().tls.is_zero(), n > 0);
        assert_eq!(response.text().await.unwrap(), "localhost, unknown");
    }
    assert_eq!(server.counts().handshakes, 1);
}

#[tokio::test]
async fn versions_are_bounded_on_both_sides() {
    let certificates = Certificates::new();
    let old = describing(certificates.server_tls12()).await;
    let response = agent(trusting(&certificates)).get(url(&old)).send().await.unwrap();
    assert_eq!(response.connection().tls_version(), Some(TlsVersion::Tls12));

    let modern = trusting(&certificates).versions(TlsVersion::Tls13, TlsVersion::Tls13);
    let error = get(&agent(modern), url(&old)).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Tls, Phase::Tls), "{error}");

    let new = describing(certificates.server()).await;
    let old_client = trusting(&certificates).versions(TlsVersion::Tls12, TlsVersion::Tls12);
    let response = agent(old_client).get(url(&new)).send().await.unwrap();
    assert_eq!(response.connection().tls_version(), Some(TlsVersion::Tls12));

    let none = trusting(&certificates).versions(TlsVersion::Tls13, TlsVersion::Tls12);
    let error = builder(none).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_who_asks() {
    let certificates = Certificates::new();
    let server = describing(certificates.server_for_known_clients()).await;
    let client = certificates.identity(&["client.example"]);
    let known = trusting(&certificates).identity_pem(client.certificate_pem(), &client.key_pem());
    assert_eq!(get(&agent(known), url(&server)).await.unwrap(), "localhost, known");

    let error = get(&agent(trusting(&certificates)), url(&server)).await.unwrap_err();
    // TLS 1.3 tells the client only after its handshake is done.
    assert!(error.to_string().contains("CertificateRequired"), "{error}");

    let stranger = Certificates::new().identity(&["client.example"]);
    let unknown =
        trusting(&certificates).identity_pem(stranger.certificate_pem(), &stranger.key_pem());
    get(&agent(unknown), url(&server)).await.unwrap_err();

    let broken = trusting(&certificates).identity_pem(client.certificate_pem(), b"no key");
    let error = builder(broken).build().unwrap_err();
    assert!(error.to_string().contains("client key"), "{error}");
}

#[tokio::test]
async fn the_servers_name_is_the_urls_or_the_settings() {
    let certificates = Certificates::new();
    let other = certificates.server_as(&certificates.identity(&["other.example"]));
    let server = describing(other).await;
    let named = trusting(&certificates).server_name("other.example");
    assert_eq!(get(&agent(named), url(&server)).await.unwrap(), "other.example, unknown");

    let server = describing(certificates.server()).await;
    let quiet = trusting(&certificates).sni(false);
    assert_eq!(get(&agent(quiet), url(&server)).await.unwrap(), "no name, unknown");
    let by_address = get(&agent(trusting(&certificates)), server.url("/")).await.unwrap();
    assert_eq!(by_address, "no name, unknown", "an address is no server name");
}

#[tokio::test]
async fn any_certificate_may_be_accepted_where_asked_for() {
    let server = describing(Certificates::new().server()).await;
    let careless = agent(Tls::new().danger_accept_any_certificate());
    get(&careless, url(&server)).await.unwrap();
}

#[tokio::test]
async fn f100_connections_of_a_pool_resume_one_session() {
    let certificates = Certificates::new();
    for tls in [certificates.server(), certificates.server_tls12()] {
        let server = describing(tls).await;
        let agent = builder(trusting(&certificates)).keep_alive(false).build().unwrap();
        let mut resumed = 0;
        for _ in 0..10 {
            let response = agent.get(url(&server)).send().await.unwrap();
            resumed += usize::from(response.connection().resumed());
            response.text().await.unwrap();
        }
        let counts = server.counts();
        assert_eq!((counts.handshakes, counts.resumed, resumed), (10, 9, 9));
    }
}

/// Room for one server: what comes after it takes its place.
#[tokio::test]
async fn f100_the_sessions_that_are_kept_are_bounded() {
    let certificates = Certificates::new();
    let names = ["a.example", "b.example"];
    let server = describing(certificates.server_as(&certificates.identity(&names))).await;
    let agent = builder(trusting(&certificates).resumption(1)).keep_alive(false).build().unwrap();
    let mut resumed = Vec::new();
    for name in ["a", "a", "b", "a", "a"] {
        let url = format!("https://{name}.example:{}/", server.address().port());
        let response = agent.get(url).send().await.unwrap();
        resumed.push(response.connection().resumed());
        response.text().await.unwrap();
    }
    assert_eq!(resumed, [false, true, false, false, true]);
}

#[tokio::test]
async fn f098_settings_made_apart_never_share_a_session() {
    let certificates = Certificates::new();
    let server = describing(certificates.server()).await;
    let first = trusting(&certificates);
    let resumed = async |tls: &Tls| {
        let response = agent(tls.clone()).get(url(&server)).send().await.unwrap();
        let resumed = response.connection().resumed();
        response.text().await.unwrap();
        resumed
    };
    assert!(!resumed(&first).await);
    assert!(resumed(&first).await, "clones are one trust domain");
    assert!(!resumed(&trusting(&certificates)).await);
    assert!(!resumed(&first.clone().danger_accept_any_certificate()).await);
    assert!(!resumed(&first.clone().resumption(0)).await);
}

#[tokio::test]
async fn a_body_until_the_close_must_be_closed_by_tls_too() {
    let certificates = Certificates::new();
    let until_close = |says_so: bool| {
        Server::tls(certificates.server(), move |mut peer: Peer| async move {
            peer.request().await;
            peer.send("HTTP/1.1 200 OK\r\n\r\nall of it").await;
            if says_so {
                peer.finish().await;
                peer.until_closed().await;
            }
        })
    };
    let agent = agent(trusting(&certificates));
    let honest = until_close(true).await;
    assert_eq!(get(&agent, url(&honest)).await.unwrap(), "all of it");
    let cut = until_close(false).await;
    let error = get(&agent, url(&cut)).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ResponseCut, Phase::Body), "{error}");
}

#[tokio::test]
async fn a_pin_is_asked_after_the_usual_verification() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let server = describing(certificates.server_as(&identity)).await;
    let own = identity.certificate_der().to_vec();
    let pinned = trusting(&certificates).pin(move |chain| match chain.certificate() == own {
        true => Ok(()),
        false => Err(format!("{} has another certificate", chain.host())),
    });
    let pinned = agent(pinned);
    get(&pinned, url(&server)).await.unwrap();
    let renewed = describing(certificates.server()).await;
    let error = get(&pinned, url(&renewed)).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::CertificatePin, Phase::Tls), "{error}");
    assert!(error.to_string().contains("localhost has another certificate"), "{error}");

    let agreeable = Tls::new().roots_pem(Certificates::new().root_pem()).pin(|_| Ok(()));
    let error = get(&agent(agreeable), url(&server)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CertificateUnknownIssuer, "a pin adds no trust: {error}");
}

#[tokio::test]
async fn public_keys_are_pinned_by_their_digest() {
    let certificates = Certificates::new();
    let server = describing(certificates.server()).await;
    let other = format!("sha256//{}=", "A".repeat(43));
    let wrong = agent(trusting(&certificates).pin_public_keys([other.as_str()]));
    let error = get(&wrong, url(&server)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CertificatePin, "{error}");
    let text = error.to_string();
    let shown = text.split_whitespace().find(|word| word.starts_with("sha256/")).unwrap();
    let right = trusting(&certificates).pin_public_keys([other.as_str(), shown]);
    get(&agent(right), url(&server)).await.unwrap();

    for keys in [&["sha256/short"][..], &["md5/AAAA"], &[]] {
        let error = builder(Tls::new().pin_public_keys(keys.iter().copied())).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.to_string().contains("pinned public key"), "{error}");
    }
}

#[tokio::test]
async fn a_configuration_of_rustls_is_used_as_it_is() {
    let certificates = Certificates::new();
    let server = describing(certificates.server()).await;
    let config = || {
        let mut roots = rustls::RootCertStore::empty();
        use rustls::pki_types::pem::PemObject as _;
        let root = rustls::pki_types::CertificateDer::from_pem_slice(certificates.root_pem());
        roots.add(root.unwrap()).unwrap();
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        rustls::ClientConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth()
    };
    let own = agent(Tls::from_rustls(config()));
    let response = own.get(url(&server)).send().await.unwrap();
    assert_eq!(response.connection().tls_version(), Some(TlsVersion::Tls12));
    assert_eq!(response.connection().alpn(), Some("http/1.1"));

    let both = builder(Tls::from_rustls(config()).roots_pem(certificates.root_pem()));
    let error = both.build().unwrap_err();
    assert!(error.to_string().contains("rustls"), "{error}");
}

/// Runs itself once more, since the variable is the process's.
#[tokio::test]
async fn keys_are_logged_only_where_the_program_and_the_variable_say_so() {
    const CHILD: &str = "WARMWIRE_TEST_KEY_LOG";
    if let Ok(on) = std::env::var(CHILD) {
        let certificates = Certificates::new();
        let server = describing(certificates.server()).await;
        let tls = trusting(&certificates).key_log(on == "on");
        get(&agent(tls), url(&server)).await.unwrap();
        return;
    }
    let file = std::env::temp_dir().join(format!("warmwire-keys-{}", std::process::id()));
    for on in ["off", "on"] {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tls::keys_are_logged_only_where_the_program_and_the_variable_say_so",
            ])
            .env(CHILD, on)
            .env("SSLKEYLOGFILE", &file)
            .output()
            .unwrap();
        assert!(child.status.success(), "{child:?}");
        let keys = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(keys.contains("CLIENT_TRAFFIC_SECRET_0"), on == "on", "{on}: {keys}");
    }
    std::fs::remove_file(&file).unwrap();
}
