//! Redirects: which are followed, with what, and what stays behind.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;
use warmwire_http::{
    Agent, AgentBuilder, Body, Error, ErrorKind, Event, RedirectAction, RedirectPolicy, Redirected,
    Response, Sent, Tls,
};
use warmwire_testkit::{Certificates, Reply, Request, Server, ok};

use crate::support::{ConnectWith, get, loopback, memory};

/// Answers with a redirect of this status.
fn to(status: u16, location: &str) -> Vec<u8> {
    Reply::new(status).header("Location", location).body("moved").bytes()
}

/// One server in memory for all hosts, which `answer` tells apart by the `Host` field.
fn serve(answer: fn(&str, &Request) -> Vec<u8>) -> Server {
    Server::memory(move |peer| {
        peer.serve(move |request| answer(request.header("host").unwrap_or_default(), request))
    })
}

fn builder(server: &Server) -> AgentBuilder {
    Agent::builder().resolver(loopback()).connector(memory(server))
}

fn following(server: &Server) -> Agent {
    builder(server).redirects(RedirectPolicy::limited(5)).build().unwrap()
}

/// Method, host and target of every request that the server got.
fn seen(server: &Server) -> Vec<String> {
    let requests = server.counts().requests.into_iter();
    requests
        .map(|request| {
            let host = request.header("host").unwrap_or_default();
            format!("{} {host}{} {}", request.method, request.target, request.text())
        })
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn refused(end: Result<Response, Error>) -> String {
    let error = end.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::Redirect, Sent::Yes), "{error}");
    error.to_string()
}

#[tokio::test]
async fn none_is_followed_unless_asked_for() {
    let server = serve(|_, _| to(302, "/elsewhere"));
    let response = builder(&server).build().unwrap().get("http://a.example/").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(response.headers()["location"], "/elsewhere");
    assert!(response.url().is_none() && response.redirects().is_empty());
    assert_eq!(server.counts().requests.len(), 1);
}

#[tokio::test]
async fn method_and_body_follow_rfc_9110() {
    let server = serve(|_, request| match request.target.strip_prefix("/from/") {
        Some(status) => to(status.parse().unwrap(), "/there"),
        None => ok(request.header("content-type").unwrap_or("none")),
    });
    let agent = following(&server);
    for (method, status, wanted) in [
        (Method::POST, 301, "GET a.example/there"),
        (Method::POST, 302, "GET a.example/there"),
        (Method::POST, 303, "GET a.example/there"),
        (Method::POST, 307, "POST a.example/there data"),
        (Method::POST, 308, "POST a.example/there data"),
        (Method::PUT, 301, "PUT a.example/there data"),
        (Method::PUT, 303, "GET a.example/there"),
        (Method::DELETE, 302, "DELETE a.example/there data"),
    ] {
        let request = agent.request(method.clone(), format!("http://a.example/from/{status}"));
        let request = request.header("content-type", "text/x").body("data");
        let response = request.send().await.unwrap();
        assert_eq!(seen(&server).last().unwrap(), wanted, "{method} {status}");
        let kept = if wanted.ends_with("data") { "text/x" } else { "none" };
        assert_eq!(response.text().await.unwrap(), kept, "{method} {status}");
    }
    assert_eq!(server.counts().accepted, 1, "what a redirect says is read, the connection kept");
    let head = agent.head("http://a.example/from/303").send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(seen(&server).last().unwrap(), "HEAD a.example/there");
}

#[tokio::test]
async fn a_streamed_body_is_not_sent_again() {
    let server = serve(|_, request| match request.target.as_str() {
        "/307" => to(307, "/there"),
        "/303" => to(303, "/there"),
        _ => ok("arrived"),
    });
    let agent = following(&server);
    let stream =
        || Body::from_stream(futures_util::stream::iter([Ok::<_, io::Error>("piece by piece")]));
    let request = agent.post("http://a.example/307").body(stream());
    let error = refused(request.send().await);
    assert!(error.contains("stream") && error.contains("http://a.example/307 (307)"), "{error}");
    let response = agent.post("http://a.example/303").body(stream()).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "arrived");
}

#[tokio::test]
async fn a_circle_ends_with_an_error_that_lists_it() {
    let server = serve(|_, request| match request.target.as_str() {
        "/one?token=secret" => to(302, "/two"),
        _ => to(307, "/one?token=secret"),
    });
    let agent = builder(&server).redirects(RedirectPolicy::limited(3)).build().unwrap();
    let error = refused(agent.get("http://a.example/two").send().await);
    assert_eq!(
        error.split(" [").next().unwrap(),
        "http://a.example: a redirect was not followed: there are too many of them (the limit is 3); \
         redirects: http://a.example/two (307), http://a.example/one?… (302), \
         http://a.example/two (307), http://a.example/one?… (302)"
    );
    assert_eq!(server.counts().requests.len(), 4);
    let none = agent.get("http://a.example/two").redirects(RedirectPolicy::limited(0));
    assert!(refused(none.send().await).contains("the limit is 0"));
    let stop = agent.get("http://a.example/two").redirects(RedirectPolicy::none());
    assert_eq!(stop.send().await.unwrap().status(), 307);
}

#[tokio::test]
async fn responses_that_lead_nowhere_are_the_callers() {
    let server = serve(|_, request| match request.target.as_str() {
        "/no-location" => Reply::new(302).bytes(),
        target => to(target[1..].parse().unwrap(), "/there"),
    });
    let agent = following(&server);
    for (path, status) in [("/no-location", 302), ("/300", 300), ("/305", 305), ("/201", 201)] {
        let response = agent.get(format!("http://a.example{path}")).send().await.unwrap();
        assert_eq!(response.status(), status);
        assert!(response.redirects().is_empty());
    }
}

#[tokio::test]
async fn credentials_stay_with_their_origin_and_do_not_come_back() {
    let server = serve(|host, request| match (host, request.target.as_str()) {
        ("a.example", "/same") => to(302, "/start"),
        ("a.example", "/start") => to(302, "http://b.example/"),
        ("b.example", _) => to(302, "http://a.example/end"),
        _ => ok("end"),
    });
    let mut secret = HeaderValue::from_static("key");
    secret.set_sensitive(true);
    let agent = builder(&server)
        .default_header("x-agent-key", secret.clone())
        .default_header("cookie", "agent=1")
        .default_header("x-plain", "kept")
        .redirects(RedirectPolicy::limited(5))
        .build()
        .unwrap();
    let request = agent.get("http://a.example/same").bearer_auth("token").header("x-key", secret);
    let request = request.header("host", "a.example").header("accept", "text/x");
    let response = request.header("proxy-authorization", "Basic x").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "end");
    let counts = server.counts();
    let names = ["authorization", "cookie", "proxy-authorization", "x-key", "x-agent-key"];
    for (n, request) in counts.requests.iter().enumerate() {
        let found = names.iter().filter(|name| request.header(name).is_some()).count();
        assert_eq!(found, if n < 2 { names.len() } else { 0 }, "request {n}: {request:?}");
        assert_eq!(request.header("accept"), Some("text/x"));
        assert_eq!(request.header("x-plain"), Some("kept"));
        assert!(request.header("user-agent").is_some());
    }
    let hosts: Vec<_> =
        counts.requests.iter().filter_map(|request| request.header("host")).collect();
    assert_eq!(hosts, ["a.example", "a.example", "b.example", "a.example"]);

    let again = agent.get("http://a.example/end").send().await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(server.counts().requests.last().unwrap().header("cookie"), Some("agent=1"));
}

#[tokio::test]
async fn places_that_are_none_are_refused() {
    let server = serve(|_, request| to(302, request.header("x-to").unwrap()));
    let agent = following(&server);
    for (location, why) in [
        ("unix:/run/docker.sock", "scheme \"unix\""),
        ("file:///etc/passwd", "scheme \"file\""),
        ("http://user:secret@b.example/", "credentials"),
        ("http://[::1", "not a URL"),
    ] {
        let request = agent.get("http://a.example/").header("x-to", location);
        let error = refused(request.send().await);
        assert!(error.contains(why) && !error.contains("secret"), "{location}: {error}");
    }
    assert_eq!(server.counts().requests.len(), 4);
}

#[tokio::test]
async fn from_https_to_http_only_if_allowed() {
    let plain = Server::tcp(|peer| peer.serve(|_| ok("plain"))).await;
    let certificates = Certificates::new();
    let target = plain.url("/");
    let secure = Server::tls(certificates.server(), move |peer| {
        let target = target.clone();
        peer.serve(move |_| to(302, &target))
    });
    let secure = secure.await;
    let tls = Tls::new().add_roots_pem(certificates.root_pem());
    let policy = RedirectPolicy::limited(5);
    let agent = Agent::builder().tls(tls).resolver(loopback()).redirects(policy.clone());
    let agent = agent.build().unwrap();
    let url = format!("https://localhost:{}/", secure.address().port());
    let error = refused(agent.get(&url).send().await);
    assert!(error.contains("from https to http (allow_https_to_http is off)"), "{error}");
    assert_eq!(plain.counts().accepted, 0);
    let allowed = agent.get(&url).redirects(policy.allow_https_to_http(true)).send().await.unwrap();
    assert_eq!(allowed.text().await.unwrap(), "plain");
}

#[tokio::test]
async fn a_certificate_of_the_request_is_not_shown_to_another_origin() {
    let certificates = Certificates::new();
    let strict = certificates.server_for_known_clients();
    let elsewhere = Server::tls(strict.clone(), |peer| peer.serve(|_| ok("seen"))).await;
    let target = format!("https://localhost:{}/", elsewhere.address().port());
    let first = Server::tls(strict, move |peer| {
        let target = target.clone();
        peer.serve(move |request| match request.target.as_str() {
            "/same" => to(302, "/end"),
            "/other" => to(302, &target),
            _ => ok("end"),
        })
    });
    let first = first.await;
    let trusting = Tls::new().add_roots_pem(certificates.root_pem());
    let client = certificates.identity(&["client.example"]);
    let known = trusting.clone().identity_pem(client.certificate_pem(), &client.key_pem());
    let agent = Agent::builder()
        .tls(trusting)
        .resolver(loopback())
        .redirects(RedirectPolicy::limited(5))
        .build()
        .unwrap();
    let url = |path| format!("https://localhost:{}{path}", first.address().port());
    let stays = agent.get(url("/same")).tls(known.clone()).send().await.unwrap();
    assert_eq!(stays.text().await.unwrap(), "end");
    let error = agent.get(url("/other")).tls(known).send().await.unwrap_err();
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    assert_eq!(elsewhere.counts().requests.len(), 0);
}

#[tokio::test]
async fn f026_a_request_over_a_unix_socket_stays_on_it_or_is_refused() {
    let outside = Server::tcp(|peer| peer.serve(|_| ok("outside"))).await;
    let target = outside.url("/");
    let path = format!("@warmwire-redirect-{}", std::process::id());
    let inside = Server::unix(Path::new(&path), move |peer| {
        let target = target.clone();
        peer.serve(move |request| match request.target.as_str() {
            "/stay" => to(302, "/inside"),
            "/absolute" => to(302, "http://docker/inside"),
            "/leave" => to(302, &target),
            _ => ok(format!("inside {}", request.header("host").unwrap_or_default())),
        })
    });
    let policy = RedirectPolicy::limited(5);
    let agent = Agent::builder().redirects(policy.clone()).build().unwrap();
    let send = |path_of: &str| agent.get(format!("http://docker{path_of}")).unix_socket(&path);
    for stays in ["/stay", "/absolute"] {
        let response = send(stays).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), "inside docker");
    }
    let origin = agent.origin(format!("unix:{path}")).unwrap();
    let response = origin.get("/stay").send().await.unwrap();
    assert_eq!(response.url().unwrap(), "http://localhost/inside");
    assert_eq!(response.text().await.unwrap(), "inside localhost");

    let error = refused(send("/leave").send().await);
    assert!(error.contains("allow_leaving_unix_socket is off"), "{error}");
    assert!(refused(origin.get("/leave").send().await).contains("Unix socket"));
    let whole = Agent::builder().redirects(policy.clone()).unix_socket(&path).build().unwrap();
    assert!(refused(whole.get("http://docker/leave").send().await).contains("Unix socket"));
    assert_eq!(outside.counts().accepted, 0);

    let allowed = policy.allow_leaving_unix_socket(true);
    let response = send("/leave").redirects(allowed).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "outside");
    assert_eq!(inside.counts().accepted, 2, "one for each agent");
}

#[tokio::test]
async fn the_way_is_told_by_the_response_and_by_events() {
    let server = serve(|host, request| match (host, request.target.as_str()) {
        ("a.example", _) => to(301, "http://b.example/next?key=secret#part"),
        ("b.example", "/next?key=secret") => to(307, "last"),
        _ => ok("last"),
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let agent = builder(&server)
        .redirects(RedirectPolicy::limited(2))
        .on_event(move |event| {
            if let Event::Redirected { origin, status, to, .. } = event {
                told.lock().unwrap().push(format!("{origin} {status} {to}"));
            }
        })
        .build()
        .unwrap();
    let response = agent.get("http://a.example/first").send().await.unwrap();
    assert_eq!(response.url().unwrap(), "http://b.example/last");
    assert_eq!(response.connection().origin().as_str(), "http://b.example");
    let hops: Vec<_> =
        response.redirects().iter().map(|hop| (hop.url.to_string(), hop.status)).collect();
    let hop = |url: &str, status| (url.to_owned(), StatusCode::from_u16(status).unwrap());
    assert_eq!(
        hops,
        [hop("http://a.example/first", 301), hop("http://b.example/next?key=secret", 307)]
    );
    assert_eq!(
        *events.lock().unwrap(),
        [
            "http://a.example 301 Moved Permanently http://b.example/next?…",
            "http://b.example 307 Temporary Redirect http://b.example/last",
        ]
    );
    let request = http::Request::get("http://a.example/first").body(Body::empty()).unwrap();
    let response = agent.oneshot(request).await.unwrap();
    let redirected = response.extensions().get::<Redirected>().unwrap();
    assert_eq!(redirected.url(), "http://b.example/last");
    assert_eq!(redirected.hops().len(), 2);
}

#[tokio::test]
async fn a_callers_own_rule_chooses_among_what_is_allowed() {
    let server = serve(|host, request| match (host, request.target.as_str()) {
        ("a.example", "/out") => to(302, "http://169.254.169.254/"),
        ("a.example", "/down") => to(302, "http://down.example/"),
        ("a.example", "/in") => to(302, "http://b.example/"),
        _ => ok("there"),
    });
    let policy = RedirectPolicy::limited(5).choose(|redirect| {
        assert!(!redirect.same_origin && redirect.before.is_empty());
        assert_eq!((redirect.status, redirect.method), (StatusCode::FOUND, &Method::GET));
        match redirect.to.host() {
            Some("b.example") => RedirectAction::Follow,
            Some("down.example") => RedirectAction::Stop,
            _ => RedirectAction::Refuse("not one of our hosts".into()),
        }
    });
    let agent = builder(&server)
        .for_origin("http://a.example", move |origin| origin.redirects(policy.clone()))
        .build()
        .unwrap();
    assert_eq!(get(&agent, "http://a.example/in").await.unwrap(), "there");
    let stopped = agent.get("http://a.example/down").send().await.unwrap();
    assert_eq!(stopped.status(), StatusCode::FOUND);
    assert_eq!(stopped.text().await.unwrap(), "moved");
    let error = refused(agent.get("http://a.example/out").send().await);
    assert!(error.contains("not one of our hosts"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn one_timeout_spans_the_whole_way() {
    let server = Server::memory(|mut peer| async move {
        while let Some(request) = peer.request().await {
            sleep(Duration::from_millis(60)).await;
            peer.send(to(302, &format!("{}x", request.target))).await;
        }
    });
    let agent = builder(&server)
        .redirects(RedirectPolicy::limited(100))
        .for_origin("http://a.example", |origin| origin.timeout(Duration::from_millis(200)))
        .build()
        .unwrap();
    let began = Instant::now();
    let error = agent.get("http://a.example/").send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!((200..205).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let text = error.to_string();
    assert!(
        text.contains("timeout (200ms)") && text.contains("http://a.example/xx (302)"),
        "{text}"
    );
}

#[tokio::test]
async fn what_fails_on_the_way_tells_the_way_and_that_something_was_sent() {
    let server = serve(|_, _| to(303, "http://10.9.9.9/receipt"));
    let dialer = server.dialer();
    let agent = Agent::builder()
        .resolver(loopback())
        .redirects(RedirectPolicy::limited(5))
        .connector(ConnectWith(move |target: warmwire_http::ConnectTarget| {
            let stream = (target.host() == "a.example").then(|| dialer.dial());
            let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
            async move { stream.map(|stream| Box::new(stream) as _).ok_or(refused) }
        }))
        .build()
        .unwrap();
    let error = agent.post("http://a.example/pay").body("once").send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(error.sent(), Sent::Yes, "the payment was made");
    assert!(error.to_string().contains("redirects: http://a.example/pay (303)"), "{error}");
}
