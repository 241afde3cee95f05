//! What is kept, for whom, and what makes it go.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt;
use tower::ServiceExt;
use warmwire_http::{Agent, Body};
use warmwire_plugs::cache::CacheStatus::{Bypass, Hit, Miss, Revalidated};
use warmwire_plugs::cache::{Cache, CacheStatus, MemoryStore, Store};
use warmwire_plugs::mock::{Mock, Reply};

const URL: &str = "http://api.test/a";

struct Caller {
    mock: Mock,
    agent: Cache<Agent>,
    store: MemoryStore,
}

impl Caller {
    fn of(mock: Mock) -> Caller {
        let store = MemoryStore::new(1024 * 1024);
        let agent = mock.install(Agent::builder()).build().unwrap();
        Caller { agent: Cache::new(agent, store.clone()).max_body(1000), mock, store }
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
    ) -> (CacheStatus, u16, Bytes) {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.agent.clone().oneshot(request).await.unwrap();
        let status = *response.extensions().get::<CacheStatus>().unwrap();
        let code = response.status().as_u16();
        (status, code, response.into_body().collect().await.unwrap().to_bytes())
    }

    async fn get(&self, headers: &[(&str, &str)]) -> (CacheStatus, Bytes) {
        let (status, _, body) = self.send(Method::GET, URL, headers).await;
        (status, body)
    }
}

fn fresh(body: impl Into<Bytes>) -> Reply {
    Reply::from(body.into()).header("cache-control", "max-age=3600")
}

fn stale(body: &'static str) -> Reply {
    Reply::from(body).header("cache-control", "max-age=0").header("etag", "\"1\"")
}

#[tokio::test]
async fn what_is_fresh_needs_no_server() {
    for reply in [fresh("x"), fresh("x").chunked()] {
        let caller = Caller::of(Mock::new().reply(reply.header("x-more", "1")));
        assert_eq!(caller.get(&[]).await, (Miss, "x".into()));
        assert_eq!(caller.get(&[]).await, (Hit, "x".into()));
        caller.mock.assert_all_used();
    }
}

#[tokio::test]
async fn what_is_stale_is_asked_about_and_lives_on() {
    let unchanged =
        Reply::status(304).header("etag", "\"1\"").header("cache-control", "max-age=60");
    let caller = Caller::of(Mock::new().reply(stale("x")).reply(unchanged));
    assert_eq!(caller.get(&[]).await, (Miss, "x".into()));
    assert_eq!(caller.get(&[]).await, (Revalidated, "x".into()));
    assert_eq!(caller.get(&[]).await, (Hit, "x".into()));
    assert_eq!(caller.mock.requests()[1].header("if-none-match"), Some("\"1\""));
    caller.mock.assert_all_used();
}

#[tokio::test]
async fn what_has_changed_takes_the_place_of_what_was() {
    let caller = Caller::of(Mock::new().reply(stale("old")).reply(fresh("new")));
    assert_eq!(caller.get(&[]).await, (Miss, "old".into()));
    assert_eq!(caller.get(&[]).await, (Miss, "new".into()));
    assert_eq!(caller.get(&[]).await, (Hit, "new".into()));
}

#[tokio::test]
async fn each_combination_of_the_varying_headers_is_kept_for_itself() {
    let reply = |body: &'static str| fresh(body).header("vary", "accept-language");
    let caller = Caller::of(Mock::new().reply(reply("hallo")).reply(reply("hello")));
    let (de, en) = ([("accept-language", "de")], [("accept-language", "en")]);
    assert_eq!(caller.get(&de).await, (Miss, "hallo".into()));
    assert_eq!(caller.get(&en).await, (Miss, "hello".into()));
    assert_eq!(caller.get(&de).await, (Hit, "hallo".into()));
    assert_eq!(caller.get(&en).await, (Hit, "hello".into()));
}

#[tokio::test]
async fn nobody_gets_what_another_was_authorized_for() {
    let private =
        |body: &'static str| Reply::from(body).header("cache-control", "private, max-age=60");
    let caller = Caller::of(Mock::new().reply(private("anna's")).reply(private("bert's")));
    let (anna, bert) = ([("authorization", "Bearer a")], [("authorization", "Bearer b")]);
    assert_eq!(caller.get(&anna).await, (Miss, "anna's".into()));
    assert_eq!(caller.get(&bert).await, (Miss, "bert's".into()));
    assert_eq!(caller.get(&anna).await, (Hit, "anna's".into()));
}

#[tokio::test]
async fn an_unsafe_request_forgets_what_it_may_have_changed_if_it_succeeded() {
    let moved = Reply::status(201).header("location", "/b");
    let mock = Mock::new()
        .reply(fresh("a"))
        .reply(fresh("b"))
        .reply(Reply::status(500))
        .reply(moved)
        .reply(fresh("a again"))
        .reply(fresh("b again"));
    let caller = Caller::of(mock);
    let b = "http://api.test/b";
    caller.get(&[]).await;
    caller.send(Method::GET, b, &[]).await;
    assert_eq!(caller.send(Method::POST, URL, &[]).await, (Bypass, 500, "".into()));
    assert_eq!(caller.get(&[]).await, (Hit, "a".into()));
    assert_eq!(caller.send(Method::POST, URL, &[]).await, (Bypass, 201, "".into()));
    assert_eq!(caller.get(&[]).await, (Miss, "a again".into()));
    assert_eq!(caller.send(Method::GET, b, &[]).await, (Miss, 200, "b again".into()));
}

#[tokio::test]
async fn what_must_not_be_kept_is_not() {
    let long = fresh("x".repeat(1001));
    for reply in [
        Reply::from("x").header("cache-control", "no-store"),
        long.clone().chunked(),
        long,
        Reply::from("x").header("cache-control", "max-age=0"),
        fresh("x").header("vary", "*"),
    ] {
        let caller = Caller::of(Mock::new().reply(reply.clone()).reply(reply));
        let first = caller.get(&[]).await;
        assert_eq!(first, caller.get(&[]).await);
        assert_eq!(first.0, Miss);
        assert_eq!(caller.store.bytes(), 0);
    }
}

#[tokio::test]
async fn a_body_that_did_not_come_to_its_end_is_not_kept() {
    let cut = fresh("0123456789").cut_after(5);
    let caller = Caller::of(Mock::new().reply(cut).reply(fresh("whole")));
    let request = Request::get(URL).body(Body::empty()).unwrap();
    let response = caller.agent.clone().oneshot(request).await.unwrap();
    response.into_body().collect().await.unwrap_err();
    assert_eq!(caller.get(&[]).await, (Miss, "whole".into()));
}

#[tokio::test]
async fn conditions_and_ranges_of_the_callers_own_pass() {
    let caller = Caller::of(Mock::new().reply(fresh("x")).reply(Reply::status(304)));
    caller.get(&[]).await;
    let own = [("if-none-match", "\"7\"")];
    assert_eq!(caller.send(Method::GET, URL, &own).await, (Bypass, 304, "".into()));
}

#[tokio::test]
async fn a_request_can_refuse_the_cache_or_the_server() {
    let caller = Caller::of(Mock::new().reply(fresh("x")).reply(fresh("y")));
    let only = [("cache-control", "only-if-cached")];
    assert_eq!(caller.send(Method::GET, URL, &only).await, (Miss, 504, "".into()));
    caller.get(&[]).await;
    assert_eq!(caller.get(&only).await, (Hit, "x".into()));
    assert_eq!(caller.get(&[("cache-control", "no-cache")]).await, (Miss, "y".into()));
}

#[tokio::test]
async fn the_store_holds_what_it_may_and_drops_what_was_not_used_for_longest() {
    let mock = Mock::new().otherwise(|request| fresh(request.path().to_owned()));
    let agent = mock.install(Agent::builder()).build().unwrap();
    let store = MemoryStore::new(9 * 1024);
    let caller = Caller { mock, agent: Cache::new(agent, store.clone()), store };
    let url = |n: u32| format!("http://api.test/{n}");
    for n in [1, 2, 1, 3] {
        caller.send(Method::GET, &url(n), &[]).await;
        assert!(caller.store.bytes() <= 9 * 1024);
    }
    assert_eq!(caller.send(Method::GET, &url(1), &[]).await.0, Hit);
    assert_eq!(caller.send(Method::GET, &url(3), &[]).await.0, Hit);
    assert!(caller.store.get(&url(2)).is_empty());
    caller.store.clear();
    assert_eq!(caller.store.bytes(), 0);
}
