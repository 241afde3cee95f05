//! Peers that go without a word, and peers that are only slow.
//!
//! What the kernel does with packets that get no answer takes real time, so these tests have short
//! timeouts on the real clock, and assert nothing about how long anything takes.

use std::time::Duration;

use warmwire_http::{Agent, AgentBuilder, CloseReason, ErrorKind, Sent};
use warmwire_testkit::{Gate, Peer, Server, guarded};

use crate::support::{get, until};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(300);

fn agent(change: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Agent {
    change(Agent::builder().idle_timeout(LONG)).build().unwrap()
}

#[tokio::test]
async fn f089_a_slow_server_costs_no_other_connection() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |peer| peer.echo_targets_at(at.clone())).await;
    let agent = agent(|builder| builder.response_timeout(SHORT));
    agent.warm(server.url("/"), 3).await.unwrap();
    let error = get(&agent, server.url("/slow")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResponseTimeout);
    let total = agent.stats().total;
    // Its kernel has acknowledged the request.
    assert_eq!((total.idle, total.closed.get(CloseReason::PeerDead)), (2, 0));
    gate.open();
    let response = agent.get(server.url("/x")).send().await.unwrap();
    assert!(response.connection().reused());
}

#[tokio::test]
async fn f089_what_was_used_since_is_kept() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::tcp(move |mut peer: Peer| {
        let at = at.clone();
        async move {
            while let Some(request) = peer.head().await {
                match request.target.as_str() {
                    // Reads nothing of the body, so that it is not acknowledged to its end.
                    "/stuck" => at.pass().await,
                    target => peer.send(warmwire_testkit::ok(target)).await,
                }
            }
        }
    })
    .await;
    let agent = agent(|builder| builder.response_timeout(SHORT));
    agent.warm(server.url("/"), 2).await.unwrap();
    let stuck = agent.post(server.url("/stuck")).body(vec![0; 32 << 20]).send();
    let stuck = tokio::spawn(stuck);
    server.until(|counts| counts.requests.len() == 1).await;
    // Answered until the other one has timed out, so that some answer is later than the last
    // byte that it could send.
    while !stuck.is_finished() {
        guarded("a request beside it", get(&agent, server.url("/x"))).await.unwrap();
    }
    assert_eq!(stuck.await.unwrap().unwrap_err().kind(), ErrorKind::ResponseTimeout);
    let total = agent.stats().total;
    assert_eq!((total.idle, total.closed.get(CloseReason::PeerDead)), (1, 0), "{total:#?}");
    gate.open();
}

#[cfg(target_os = "linux")]
mod without_a_link {
    use warmwire_testkit::Netns;

    use super::*;

    #[tokio::test]
    async fn f089_a_request_without_an_answer_retires_the_others_to_its_address() {
        let Some(netns) = Netns::new() else { return };
        let server = Server::at(netns.listen(), Peer::echo_targets);
        let elsewhere = Server::tcp(Peer::echo_targets).await;
        let agent = agent(|builder| builder.response_timeout(SHORT));
        agent.warm(server.url("/"), 3).await.unwrap();
        agent.warm(elsewhere.url("/"), 1).await.unwrap();
        netns.link(false);
        let error = guarded("the request", get(&agent, server.url("/1"))).await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ErrorKind::ResponseTimeout, Sent::Maybe));
        assert!(error.connection().unwrap().reused());
        let total = agent.stats().total;
        let closed = |reason| total.closed.get(reason);
        assert_eq!((closed(CloseReason::TimedOut), closed(CloseReason::PeerDead)), (1, 2));
        assert_eq!(total.idle, 1, "the connection to another address has nothing to do with it");
        netns.link(true);
        let response = guarded("the next request", agent.get(server.url("/2")).send()).await;
        let response = response.unwrap();
        assert!(!response.connection().reused());
        assert_eq!(response.text().await.unwrap(), "/2");
    }

    #[tokio::test]
    async fn f089_the_user_timeout_ends_a_request_that_is_not_acknowledged() {
        let Some(netns) = Netns::new() else { return };
        let server = Server::at(netns.listen(), Peer::echo_targets);
        let agent = agent(|builder| builder.tcp_user_timeout(SHORT));
        agent.warm(server.url("/"), 3).await.unwrap();
        netns.link(false);
        let post = agent.post(server.url("/1")).body("once").send();
        let error = guarded("the request", post).await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ErrorKind::ConnectionClosed, Sent::Maybe));
        let total = until(&agent, |total| total.open == 0).await.total;
        assert_eq!(total.closed.get(CloseReason::PeerDead), 3, "{total:#?}");
        netns.link(true);
        assert_eq!(guarded("the next", get(&agent, server.url("/2"))).await.unwrap(), "/2");
    }
}
