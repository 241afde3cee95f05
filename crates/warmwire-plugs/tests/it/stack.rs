//! The layers on top of one another, with layers of others between them.

use std::time::Duration;

use async_compression::tokio::bufread::GzipEncoder;
use http_body_util::BodyExt;
use tokio::io::AsyncReadExt;
use tower::{ServiceBuilder, ServiceExt};
use warmwire_http::{Agent, Body, Error, ErrorKind};
use warmwire_plugs::cache::{CacheLayer, CacheStatus, MemoryStore};
use warmwire_plugs::compression::DecompressLayer;
use warmwire_plugs::cookies::{CookieJar, CookiesLayer};
use warmwire_plugs::mock::{Mock, Reply};

#[tokio::test(start_paused = true)]
async fn f004_layers_stack_on_the_agent_and_its_errors_pass_through_them() {
    let mut packed = Vec::new();
    GzipEncoder::new(&b"hello"[..]).read_to_end(&mut packed).await.unwrap();
    let reply = Reply::from(packed)
        .header("content-encoding", "gzip")
        .header("cache-control", "max-age=60")
        .header("set-cookie", "id=7");
    let mock = Mock::new().reply(reply).stall().reply(Reply::status(204));
    let agent = mock.install(Agent::builder()).build().unwrap();
    let service = ServiceBuilder::new()
        .concurrency_limit(8)
        .timeout(Duration::from_secs(3600))
        .layer(CookiesLayer::new(CookieJar::new()))
        .layer(CacheLayer::new(MemoryStore::new(1 << 20)))
        .layer(DecompressLayer)
        .service(agent.clone());

    for status in [CacheStatus::Miss, CacheStatus::Hit] {
        let request = agent.get("http://api.test/a").into_request().unwrap();
        let response = service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.extensions().get(), Some(&status));
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    }

    let late = agent.post("http://api.test/a").response_timeout(Duration::from_secs(9));
    let late = service.clone().oneshot(late.into_request().unwrap()).await.unwrap_err();
    assert_eq!(late.downcast_ref::<Error>().unwrap().kind(), ErrorKind::ResponseTimeout);

    let request = http::Request::delete("http://api.test/a").body(Body::empty()).unwrap();
    assert_eq!(service.clone().oneshot(request).await.unwrap().status(), 204);
    assert!(mock.requests()[1..].iter().all(|request| request.header("cookie") == Some("id=7")));
    mock.assert_all_used();
}
