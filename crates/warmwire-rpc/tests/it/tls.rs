//! `tls://` endpoints.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use warmwire_rpc::{Client, Context, Endpoint, ErrorKind, Server, ServerTls, Tls};
use warmwire_testkit::Certificates;

fn server() -> warmwire_rpc::ServerBuilder {
    Server::builder()
        .expose("shown", |context: Context| async move { Ok(context.peer().certificates.len()) })
}

fn trusting(certificates: &Certificates) -> Tls {
    Tls::new().roots_pem(certificates.root_pem())
}

#[tokio::test]
async fn f080_a_server_with_a_trusted_certificate_is_talked_to_and_no_other() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let tls = ServerTls::new(identity.certificate_pem(), &identity.key_pem());
    let server = server().tls(tls).bind("tls://localhost:0").await.expect("binds");
    let client = Client::builder().tls(trusting(&certificates));
    let client = client.connect(server.local_address()).await.expect("connects");
    assert_eq!(client.call::<usize>("shown", ()).await.expect("answers"), 0);

    let other = Client::builder().tls(trusting(&Certificates::new()));
    let error = other.connect(server.local_address()).await.expect_err("not trusted");
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn f079_a_peer_without_a_certificate_reaches_no_method() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let tls = ServerTls::with_client_roots(
        identity.certificate_pem(),
        &identity.key_pem(),
        certificates.root_pem(),
    );
    let server = server().tls(tls).bind("tls://localhost:0").await.expect("binds");
    let known = certificates.identity(&["client"]);
    let with = trusting(&certificates).identity_pem(known.certificate_pem(), &known.key_pem());
    let client = Client::builder().tls(with).connect(server.local_address()).await.expect("up");
    assert_eq!(client.call::<usize>("shown", ()).await.expect("answers"), 1);

    let stranger = Certificates::new().identity(&["client"]);
    let wrong =
        trusting(&certificates).identity_pem(stranger.certificate_pem(), &stranger.key_pem());
    for tls in [trusting(&certificates), wrong] {
        let client = Client::builder().tls(tls).reconnect(false).connect(server.local_address());
        // With TLS 1.3 the client may have finished before the server refuses it.
        if let Ok(client) = client.await {
            let error = client.call::<usize>("shown", ()).await.expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Disconnected);
        }
    }
    assert_eq!(server.stats().calls, 1);
}

#[tokio::test]
async fn peers_that_do_not_finish_their_handshake_hold_nobody_up() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let tls = ServerTls::new(identity.certificate_pem(), &identity.key_pem());
    let server = server().tls(tls).bind("tls://localhost:0").await.expect("binds");
    let Endpoint::Tls { host, port } = server.local_address() else { panic!("TLS") };
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect((host.as_str(), *port)).await.expect("connects");
        stream.write_all(b"\x16\x03").await.expect("writes");
        slow.push(stream);
    }
    let client = Client::builder().tls(trusting(&certificates));
    let client = client.connect(server.local_address()).await.expect("connects");
    assert_eq!(client.call::<usize>("shown", ()).await.expect("answers"), 0);
    server.close().await;
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_told_at_the_bind() {
    let certificates = Certificates::new();
    let identity = certificates.identity(&["localhost"]);
    let other = certificates.identity(&["localhost"]);
    let key = identity.key_pem();
    for (tls, says) in [
        (None, "a certificate is missing"),
        (Some(ServerTls::new(b"", &key)), "no certificate in the PEM"),
        (Some(ServerTls::new(identity.certificate_pem(), b"")), "the key"),
        (Some(ServerTls::new(identity.certificate_pem(), &other.key_pem())), "certificate and key"),
    ] {
        let builder = match tls {
            Some(tls) => server().tls(tls),
            None => server(),
        };
        let error = builder.bind("tls://localhost:0").await.expect_err("cannot be used");
        assert!(error.to_string().contains(says), "{error}");
    }
}
