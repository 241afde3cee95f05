//! How clients and servers end.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Handle;
use warmwire_rpc::{Client, ErrorKind, Server};
use warmwire_testkit::{Gate, guarded};

use crate::scripted::{Script, listen, nobody};

async fn gated() -> (Server, Gate) {
    let gate = Gate::shut();
    let passed = gate.clone();
    let server = Server::builder()
        .expose("pass", move |n: i64| {
            let gate = passed.clone();
            async move {
                gate.pass().await;
                Ok(n)
            }
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    (server, gate)
}

#[tokio::test]
async fn a_closed_server_answers_what_it_has_accepted() {
    let (server, gate) = gated().await;
    let client = Client::builder().reconnect(false).connect(server.local_address()).await;
    let client = client.expect("connects");
    let calls: Vec<_> = (0..100).map(|n| tokio::spawn(client.call::<i64>("pass", (n,)))).collect();
    guarded("all handlers", async {
        while server.stats().calls < 100 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let address = server.local_address().clone();
    let closing = tokio::spawn(server.close());
    guarded("the listener's end", async {
        while Client::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    gate.open();
    for (n, call) in (0..).zip(guarded("all answers", join_all(calls)).await) {
        assert_eq!(call.expect("no panic").expect("answered"), n);
    }
    guarded("the server's end", closing).await.expect("no panic");
    let error = client.call::<i64>("pass", (1,)).await.expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
}

#[tokio::test]
async fn a_dropped_server_ends_at_once() {
    let (server, _gate) = gated().await;
    let client = Client::builder().reconnect(false).connect(server.local_address()).await;
    let client = client.expect("connects");
    let call = tokio::spawn(client.call::<i64>("pass", (1,)));
    guarded("the handler", async {
        while server.stats().calls < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(server);
    let error = guarded("its end", call).await.expect("no panic").expect_err("ended");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
}

#[tokio::test]
async fn a_closed_client_waits_for_its_calls_and_takes_no_more() {
    let (server, gate) = gated().await;
    let client = Client::builder().max_in_flight(1).connect(server.local_address()).await;
    let client = client.expect("connects");
    let under_way = tokio::spawn(client.call::<i64>("pass", (1,)));
    guarded("the call", async {
        while server.stats().calls < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let waits = tokio::spawn(client.call::<i64>("pass", (2,)));
    guarded("the other", async {
        while client.status().waiting < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let closer = client.clone();
    let closing = tokio::spawn(async move { closer.close().await });
    let error = guarded("its end", waits).await.expect("no panic").expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(!closing.is_finished());
    gate.open();
    assert_eq!(guarded("its answer", under_way).await.expect("no panic").expect("answered"), 1);
    guarded("the client's end", closing).await.expect("no panic");
    let error = client.call::<i64>("pass", (3,)).await.expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed);
    guarded("the server's end", server.close()).await;
}

#[tokio::test]
async fn f069_nothing_is_left_after_close() {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let server = Server::builder().bind("tcp://127.0.0.1:0").await.expect("binds");
    let connected = Client::builder().pool(3).connect(server.local_address()).await.expect("up");
    let unconnected = Client::builder().connect_lazily(&nobody().await).expect("an endpoint");
    connected.ping().await.expect("somebody is there");
    guarded("both ends", async { tokio::join!(connected.close(), unconnected.close()) }).await;
    guarded("the server's end", server.close()).await;
    guarded("no task", async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_server_has_not_read_does_not_take_the_answers_with_it() {
    let (server, gate) = gated().await;
    let mut peer = Script::connect(server.local_address()).await;
    peer.send(&[br#"j:{"method":"pass","args":[7]}"#, b"s:1"]).await;
    guarded("the handler", async {
        while server.stats().calls < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let closing = tokio::spawn(server.close());
    gate.open();
    let reply = peer.frame().await.expect("an answer");
    assert_eq!(reply.get(0).expect("an argument"), &br#"j:{"args":[7]}"#[..]);
    peer.ended().await;
    drop(peer);
    guarded("the server's end", closing).await.expect("no panic");
}

#[tokio::test]
async fn connecting_to_nobody_says_so() {
    let (listener, endpoint) = listen().await;
    drop(listener);
    let error = Client::connect(&endpoint).await.expect_err("nobody");
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::ConnectionRefused));
    assert!(error.to_string().starts_with(&endpoint.to_string()), "{error}");
    let error = Client::connect("tcp:/nowhere").await.expect_err("no endpoint");
    assert_eq!(error.kind(), ErrorKind::Endpoint);
    let slow = Client::builder().connect_timeout(Duration::from_secs(1));
    assert_eq!(slow.connect("nobody").await.expect_err("wrong").kind(), ErrorKind::Endpoint);
}
