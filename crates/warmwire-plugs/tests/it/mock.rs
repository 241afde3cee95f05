//! The mock does what its script says, and the agent above it is the real one.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use warmwire_http::{Agent, Body, CloseReason, Error, ErrorKind};
use warmwire_plugs::mock::{Mock, Reply};

const URL: &str = "http://api.test/v1/things?limit=3";

fn agent(mock: &Mock) -> Agent {
    mock.install(Agent::builder()).build().unwrap()
}

async fn text(agent: &Agent) -> Result<String, Error> {
    agent.get(URL).send().await?.text().await
}

#[tokio::test]
async fn replies_come_in_order_and_requests_are_recorded() {
    let created = http::Response::builder().status(201).header("x-id", "7").body("made").unwrap();
    let mock = Mock::new().reply("one").reply(created).reply(Reply::from("three").chunked());
    let agent = agent(&mock);

    assert_eq!(text(&agent).await.unwrap(), "one");
    let response = agent.post(URL).header("x-from", "test").body("ping").send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-id"]),
        (201, &"7".parse().unwrap())
    );
    assert_eq!(response.text().await.unwrap(), "made");
    assert_eq!(text(&agent).await.unwrap(), "three");

    let requests = mock.requests();
    assert_eq!(requests[0].to_string(), "GET /v1/things?limit=3");
    assert_eq!(requests[0].header("host"), Some("api.test"));
    assert_eq!(requests[1].method(), "POST");
    assert_eq!((requests[1].header("x-from"), requests[1].text().as_str()), (Some("test"), "ping"));
    assert!(requests.iter().all(|request| request.connection() == 1));
    assert_eq!(mock.connections(), 1);
    mock.assert_all_used();
}

#[tokio::test]
async fn a_streamed_body_is_recorded_without_its_chunks() {
    let mock = Mock::new().reply(Reply::status(204));
    let pieces = ["two ", "pieces"].map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    agent(&mock).put(URL).body(body).send().await.unwrap();
    assert_eq!(mock.requests()[0].text(), "two pieces");
}

#[tokio::test]
async fn a_head_has_a_length_and_no_body() {
    let mock = Mock::new().reply("seven b").reply("next");
    let agent = agent(&mock);
    let response = agent.head(URL).send().await.unwrap();
    assert_eq!(response.headers()["content-length"], "7");
    assert_eq!(response.text().await.unwrap(), "");
    assert_eq!(text(&agent).await.unwrap(), "next");
    assert_eq!(mock.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stall_ends_with_the_agents_timer_on_the_virtual_clock() {
    let mock = Mock::new().stall().reply("after");
    let agent = agent(&mock);
    let began = Instant::now();
    let request = agent.get(URL).response_timeout(Duration::from_secs(3600));
    assert_eq!(request.send().await.unwrap_err().kind(), ErrorKind::ResponseTimeout);
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(3600) && waited < Duration::from_secs(3601),
        "{waited:?}"
    );
    assert_eq!(text(&agent).await.unwrap(), "after");
    assert_eq!(mock.connections(), 2);
    mock.assert_all_used();
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_a_delay_on_the_virtual_clock() {
    let mock = Mock::new().reply(Reply::from("late").delay(Duration::from_secs(60)));
    let began = Instant::now();
    assert_eq!(text(&agent(&mock)).await.unwrap(), "late");
    assert!(began.elapsed() >= Duration::from_secs(60));
}

#[tokio::test]
async fn a_reset_is_told_from_a_close() {
    for (mock, reason) in [
        (Mock::new().reset(), CloseReason::Reset),
        (Mock::new().close(), CloseReason::ClosedByPeer),
    ] {
        let agent = agent(&mock);
        assert_eq!(text(&agent).await.unwrap_err().kind(), ErrorKind::ConnectionClosed);
        assert_eq!(agent.stats().total.closed.get(reason), 1, "{reason}");
        mock.assert_all_used();
    }
}

#[tokio::test]
async fn a_refusal_hits_the_connect_and_not_the_script() {
    let mock = Mock::new().refuse().reply("up again");
    let agent = agent(&mock);
    assert_eq!(text(&agent).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(mock.connections(), 0);
}

#[tokio::test]
async fn a_cut_is_within_the_body() {
    let mock = Mock::new()
        .reply(Reply::from("0123456789").cut_after(4))
        .reply(Reply::from("0123456789").chunked().cut_after(4))
        .reply(Reply::raw("HTTP/1.1 200 OK\r\nconte"));
    let agent = agent(&mock);
    for _ in 0..3 {
        assert_eq!(text(&agent).await.unwrap_err().kind(), ErrorKind::ResponseCut);
    }
    assert_eq!(mock.connections(), 3);
    mock.assert_all_used();
}

#[tokio::test(start_paused = true)]
async fn an_idle_time_of_the_server_closes_the_connection_unseen_by_the_caller() {
    let mock = Mock::new().close_after(Duration::from_secs(2)).reply("a").reply("b").reply("c");
    let agent = agent(&mock);
    assert_eq!(text(&agent).await.unwrap(), "a");
    assert_eq!(text(&agent).await.unwrap(), "b");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(text(&agent).await.unwrap(), "c");
    assert_eq!(mock.connections(), 2);
    mock.assert_all_used();
}

#[tokio::test]
async fn a_request_without_a_step_is_a_fault_that_names_it() {
    let mock = Mock::new();
    let agent = agent(&mock);
    let response = agent.get(URL).send().await.unwrap();
    assert_eq!(response.status(), 501);
    assert!(response.text().await.unwrap().contains("no step left for GET /v1/things?limit=3"));
    let mock = mock.stall();
    let fault = std::panic::catch_unwind(|| mock.assert_all_used()).unwrap_err();
    let fault = fault.downcast_ref::<String>().unwrap();
    assert!(fault.contains("steps left: [stall]"), "{fault}");
    assert!(fault.contains("requests without a step: [GET /v1/things?limit=3]"), "{fault}");
}

#[tokio::test]
async fn otherwise_answers_by_what_was_asked() {
    let mock = Mock::new()
        .reply("scripted")
        .otherwise(|request| Reply::from(format!("echo {}", request.text())));
    let agent = agent(&mock);
    assert_eq!(text(&agent).await.unwrap(), "scripted");
    let response = agent.post(URL).body("hi").send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "echo hi");
    mock.assert_all_used();
}
