//! What a configuration says of TLS, proxies and redirects: parts of options that hold more than data.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use warmwire_http::{Agent, AgentConfig, ErrorKind};
use warmwire_testkit::{Certificates, Peer, Reply, Server, ServerTls, ok};

use crate::support::{get, loopback};

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("warmwire-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn config(settings: &serde_json::Value) -> AgentConfig {
    AgentConfig::from_json(&settings.to_string()).unwrap()
}

fn agent(settings: &serde_json::Value) -> Result<Agent, warmwire_http::Error> {
    Agent::builder().config(config(settings)).resolver(loopback()).build()
}

async fn https(tls: ServerTls) -> (Server, String) {
    let server = Server::tls(tls, Peer::echo_targets).await;
    let url = format!("https://localhost:{}/", server.address().port());
    (server, url)
}

#[tokio::test]
async fn roots_and_a_client_certificate_come_from_files() {
    let folder = Folder::new("config-tls");
    let certificates = Certificates::new();
    let (_open, open) = https(certificates.server()).await;
    let (_closed, closed) = https(certificates.server_for_known_clients()).await;
    let client = certificates.identity(&["client.example"]);
    let roots = folder.file("roots.pem", certificates.root_pem());
    let shown = folder.file("client.pem", client.certificate_pem());
    let key = folder.file("client.key", &client.key_pem());

    for name in ["tls_roots", "tls_extra_roots"] {
        let trusting = agent(&json!({ name: roots })).unwrap();
        assert_eq!(get(&trusting, &open).await.unwrap(), "/");
        get(&trusting, &closed).await.unwrap_err();
    }
    let known = json!({ "tls_roots": roots, "tls_client_certificate": [shown, key] });
    assert_eq!(get(&agent(&known).unwrap(), &closed).await.unwrap(), "/");

    // What one origin sets is added to what holds for all of them.
    let one = json!({
        "tls_roots": roots,
        "origin": { &closed: { "tls_client_certificate": [shown, key] } }
    });
    assert_eq!(get(&agent(&one).unwrap(), &closed).await.unwrap(), "/");

    let vars = [
        ("WARMWIRE_TLS_ROOTS", roots.display().to_string()),
        ("WARMWIRE_TLS_CLIENT_CERTIFICATE", format!("{},{}", shown.display(), key.display())),
    ];
    let config = AgentConfig::from_vars(vars).unwrap();
    let agent = Agent::builder().config(config).resolver(loopback()).build().unwrap();
    assert_eq!(get(&agent, &closed).await.unwrap(), "/");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("config-files");
    let certificates = Certificates::new();
    let empty = folder.file("empty.pem", b"nothing");
    let client = folder.file("c.pem", certificates.identity(&["a"]).certificate_pem());
    let other = folder.file("other.key", &certificates.identity(&["b"]).key_pem());
    let missing = Path::new("missing.pem");
    for (settings, texts) in [
        (json!({ "tls_roots": missing }), ["tls_roots", "missing.pem", "No such file"]),
        (json!({ "tls_extra_roots": empty }), ["tls_extra_roots", "empty.pem", "no certificate"]),
        (
            json!({ "tls_client_certificate": [client, other] }),
            ["tls_client_certificate", "c.pem", "KeyMismatch"],
        ),
        (
            json!({ "origin": { "https://a.example": { "tls_roots": missing } } }),
            ["https://a.example", "missing.pem", "No such file"],
        ),
    ] {
        let error = agent(&settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let text = error.to_string();
        assert!(texts.iter().all(|wanted| text.contains(wanted)), "{text}");
    }
}

#[tokio::test]
async fn hosts_that_are_reached_without_the_proxy() {
    let server = Server::tcp(Peer::echo_targets).await;
    let proxy = Server::tcp(|peer| peer.serve(|_| ok("proxy"))).await;
    let port = server.address().port();
    let url = |host: &str| format!("http://{host}:{port}/");
    let proxy = format!("http://{}", proxy.address());
    for list in [json!("a.example, .b.example"), json!(["a.example", ".b.example"])] {
        let agent = agent(&json!({ "no_proxy": list, "proxy": proxy })).unwrap();
        for (host, answer) in
            [("a.example", "/"), ("x.b.example", "/"), ("localhost", "/"), ("c.example", "proxy")]
        {
            assert_eq!(get(&agent, url(host)).await.unwrap(), answer, "{host}");
        }
    }
    let all = agent(&json!({ "proxy": proxy, "proxy_loopback": true })).unwrap();
    assert_eq!(get(&all, url("localhost")).await.unwrap(), "proxy");

    let mut file = config(&json!({ "proxy": proxy, "no_proxy": "a.example" }));
    file.merge(AgentConfig::from_vars([("WARMWIRE_NO_PROXY", "c.example")]).unwrap());
    let merged = Agent::builder().config(file).resolver(loopback()).build().unwrap();
    assert_eq!(get(&merged, url("c.example")).await.unwrap(), "/");
    assert_eq!(get(&merged, url("a.example")).await.unwrap(), "proxy");
}

#[tokio::test]
async fn redirects_that_are_allowed_by_name() {
    let plain = Server::tcp(|peer| peer.serve(|_| ok("plain"))).await;
    let certificates = Certificates::new();
    let folder = Folder::new("config-redirects");
    let roots = folder.file("roots.pem", certificates.root_pem());
    let target = plain.url("/");
    let secure = Server::tls(certificates.server(), move |peer| {
        let target = target.clone();
        peer.serve(move |_| Reply::new(302).header("Location", &target).bytes())
    })
    .await;
    let url = format!("https://localhost:{}/", secure.address().port());
    let settings = |allow: bool| {
        json!({
            "tls_roots": roots, "redirects": 5, "redirects_allow_https_to_http": allow,
        })
    };
    let error = get(&agent(&settings(false)).unwrap(), &url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Redirect);
    assert_eq!(get(&agent(&settings(true)).unwrap(), &url).await.unwrap(), "plain");
    let one = json!({
        "tls_roots": roots, "redirects": 5,
        "origin": { &url: { "redirects_allow_https_to_http": true } }
    });
    assert_eq!(get(&agent(&one).unwrap(), &url).await.unwrap(), "plain");

    let path = format!("@warmwire-config-redirect-{}", std::process::id());
    let target = plain.url("/");
    let _inside = Server::unix(Path::new(&path), move |peer| {
        let target = target.clone();
        peer.serve(move |_| Reply::new(302).header("Location", &target).bytes())
    });
    for allow in [false, true] {
        let agent = agent(&json!({
            "redirects": 5, "redirects_allow_leaving_unix_socket": allow,
        }));
        let end = agent.unwrap().get("http://docker/").unix_socket(&path).send().await;
        match allow {
            true => assert_eq!(end.unwrap().text().await.unwrap(), "plain"),
            false => assert_eq!(end.unwrap_err().kind(), ErrorKind::Redirect),
        }
    }
}
