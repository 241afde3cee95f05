//! A store of the crate `object_store` over the agent.

use std::time::Duration;

use object_store::http::{HttpBuilder, HttpStore};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStoreExt, RetryConfig};
use tokio::time::Instant;
use warmwire_http::Agent;
use warmwire_plugs::mock::{Mock, Reply};
use warmwire_plugs::object_store::AgentConnector;

fn store(mock: &Mock, options: ClientOptions) -> HttpStore {
    let agent = mock.install(Agent::builder()).build().unwrap();
    let retry = RetryConfig { max_retries: 1, ..RetryConfig::default() };
    HttpBuilder::new()
        .with_url("http://store.test/base")
        .with_client_options(options)
        .with_retry(retry)
        .with_http_connector(AgentConnector::new(agent))
        .build()
        .unwrap()
}

fn object(body: &'static str) -> Reply {
    Reply::from(body)
        .header("last-modified", "Tue, 01 Jan 2030 00:00:00 GMT")
        .header("etag", "\"1\"")
}

#[tokio::test]
async fn objects_are_put_and_read_over_one_connection() {
    let mock = Mock::new()
        .reply(Reply::status(201).header("etag", "\"1\""))
        .reply(object("content"))
        .reply(Reply::status(404));
    let options = ClientOptions::new().with_allow_http(true);
    let store = store(&mock, options.with_user_agent("my-store".parse().unwrap()));
    let path = Path::from("a/b.txt");
    store.put(&path, "content".into()).await.unwrap();
    let read = store.get(&path).await.unwrap().bytes().await.unwrap();
    assert_eq!(read, "content");
    let missing = store.get(&path).await.unwrap_err();
    assert!(matches!(missing, object_store::Error::NotFound { .. }), "{missing}");

    let requests = mock.requests();
    assert_eq!(requests[0].to_string(), "PUT /base/a/b.txt");
    assert_eq!(requests[0].text(), "content");
    assert!(requests[0].header("user-agent") == Some("my-store"));
    assert_eq!(requests[1].to_string(), "GET /base/a/b.txt");
    assert_eq!(mock.connections(), 1);
    mock.assert_all_used();
}

#[tokio::test]
async fn the_store_sends_again_what_was_cut_or_refused() {
    let mock = Mock::new().refuse().reply(object("content"));
    let store = store(&mock, ClientOptions::new().with_allow_http(true));
    let read = store.get(&Path::from("x")).await.unwrap().bytes().await.unwrap();
    assert_eq!(read, "content");
    mock.assert_all_used();
}

#[tokio::test(start_paused = true)]
async fn the_stores_time_outs_hold() {
    let mock = Mock::new().stall().reply(object("content"));
    let options = ClientOptions::new().with_allow_http(true).with_timeout(Duration::from_secs(90));
    let began = Instant::now();
    let read = store(&mock, options).get(&Path::from("x")).await.unwrap().bytes().await.unwrap();
    assert_eq!(read, "content");
    assert!((90..95).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_the_options_forbid_is_not_sent() {
    let mock = Mock::new();
    let error = store(&mock, ClientOptions::new()).get(&Path::from("x")).await.unwrap_err();
    assert!(format!("{error:?}").contains("http:// is refused"), "{error:?}");
    assert_eq!(mock.connections(), 0);
}
