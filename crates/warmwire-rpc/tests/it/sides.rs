//! Either side listens, and there are many peers.

use std::time::Duration;

use bytes::Bytes;
use warmwire_rpc::{Client, Endpoint, ErrorKind, Fault, Req, Server, Value};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen, nobody};

fn worker(name: &'static str) -> warmwire_rpc::ServerBuilder {
    Server::builder().expose("who", move || async move { Ok(name) })
}

#[tokio::test]
async fn a_client_that_listens_calls_the_servers_that_connect() {
    let client = Client::builder().bind("tcp://127.0.0.1:0").await.expect("binds");
    let call = tokio::spawn(client.call::<String>("who", ()));
    let server = worker("one").start();
    server.connect(client.endpoint()).expect("an endpoint");
    assert_eq!(guarded("its answer", call).await.expect("no panic").expect("answered"), "one");
    drop(server);
    guarded("the loss", async {
        while client.status().connections > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let call = tokio::spawn(client.call::<String>("who", ()));
    let server = worker("two").start();
    server.connect(client.endpoint()).expect("an endpoint");
    assert_eq!(guarded("its answer", call).await.expect("no panic").expect("answered"), "two");
}

#[tokio::test]
async fn f072_jobs_go_to_the_workers_that_are_free_and_none_is_lost_with_one_that_dies() {
    let mut workers = Vec::new();
    for name in ["a", "b"] {
        workers.push(worker(name).bind("tcp://127.0.0.1:0").await.expect("binds"));
    }
    let (listener, slow) = listen().await;
    let client = Client::builder()
        .max_in_flight(10)
        .backoff(Duration::from_millis(1), Duration::from_millis(10))
        .connect(&slow)
        .await
        .expect("connects");
    for worker in &workers {
        client.add(worker.local_address()).expect("an endpoint");
    }
    guarded("three connections", async {
        while client.status().connections < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let jobs: Vec<_> =
        (0..300).map(|_| tokio::spawn(client.call::<String>("who", ()).idempotent(true))).collect();
    // The slow worker takes its share of what is in flight, answers nothing, and dies.
    let mut peer = Script::accept(&listener).await;
    for _ in 0..10 {
        peer.call().await;
    }
    guarded("the jobs of the others", async {
        while client.stats().answered < 290 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop((peer, listener));
    for job in jobs {
        guarded("a job", job).await.expect("no panic").expect("none is lost");
    }
    assert_eq!(client.stats().resent, 10);
}

#[tokio::test]
async fn f069_a_dead_peer_slows_no_other_and_can_be_given_up() {
    let dead = nobody().await;
    let server = worker("alive").bind("tcp://127.0.0.1:0").await.expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    client.add(&dead).expect("an endpoint");
    guarded("failures", async {
        while client.stats().connect_failed < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(client.call::<String>("who", ()).await.expect("answered"), "alive");
    assert!(client.remove(&dead));
    assert!(!client.remove(&dead));
    let failed = client.stats().connect_failed;
    assert!(client.remove(server.local_address()));
    let call = guarded("its end", client.call::<String>("who", ())).await;
    assert_eq!(call.expect_err("nobody is left").kind(), ErrorKind::Disconnected);
    assert!(client.stats().connect_failed <= failed + 1, "no more attempts");
}

#[tokio::test]
async fn a_removed_peer_ends_the_calls_under_way_on_it() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let call = tokio::spawn(client.call::<String>("who", ()));
    peer.call().await;
    assert!(client.remove(&endpoint));
    let error = guarded("its end", call).await.expect("no panic").expect_err("removed");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    peer.ended().await;
}

#[tokio::test]
async fn bare_requests_are_answered_whichever_side_listens() {
    let replies = || {
        Server::builder().reply_values(|_, values| async move {
            match values.first().and_then(Value::as_str) {
                Some("fail") => Err(Fault::new("boom")),
                Some("nothing") => Ok(Value::Undefined),
                _ => Ok(values.into()),
            }
        })
    };
    let bound = replies().bind("tcp://127.0.0.1:0").await.expect("binds");
    let connects = Req::connect(Client::builder(), bound.local_address()).await.expect("up");
    let listens = Req::bind(Client::builder(), "tcp://127.0.0.1:0").await.expect("binds");
    let connected = replies().start();
    connected.connect(listens.client().endpoint()).expect("an endpoint");
    for req in [connects, listens] {
        let blob = Value::from(Bytes::from_static(b"\x01\x02"));
        let reply = req.send(("hi", 1, blob.clone())).await.expect("a reply");
        assert_eq!(reply, [Value::Null, "hi".into(), 1.into(), blob]);
        assert_eq!(req.send(("fail",)).await.expect("a reply"), ["boom".into()]);
        assert_eq!(req.send(("nothing",)).await.expect("a reply"), [Value::Null]);
        let many: Vec<Value> = (0..14).map(Value::from).collect();
        let reply = req.send(many).await.expect("a reply");
        assert!(reply[0].as_str().is_some_and(|error| error.contains("room for 13")), "{reply:?}");
    }
}

#[tokio::test]
async fn f054_f057_what_a_bare_request_cannot_carry_is_refused_before_it_is_sent() {
    let (_listener, endpoint) = listen().await;
    let req = Req::connect(Client::builder(), &endpoint).await.expect("connects");
    for (values, says) in [
        (vec![], "without arguments"),
        (vec![1.into(); 15], "room for 14 arguments and 15 were given"),
        (vec![Bytes::from_static(b"s:x").into()], "begins with s: or j:"),
        (vec![Bytes::from_static(b"j:{}").into()], "begins with s: or j:"),
    ] {
        let error = req.send(values).await.expect_err("cannot be sent");
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn the_bytes_of_a_bare_request_are_those_of_axon() {
    let (listener, endpoint) = listen().await;
    let req = Req::connect(Client::builder(), &endpoint).await.expect("connects");
    let call = tokio::spawn(req.send(("hi", true)));
    let mut peer = Script::accept(&listener).await;
    let frame = peer.frame().await.expect("a request");
    assert_eq!(frame.iter().collect::<Vec<_>>(), [&b"s:hi"[..], b"j:true", b"s:0"]);
    peer.send(&[b"j:null", b"s:ok", b"s:0"]).await;
    assert_eq!(call.await.expect("no panic").expect("a reply"), [Value::Null, "ok".into()]);
}

#[tokio::test]
async fn a_listening_client_tells_where() {
    let client = Client::builder().bind("tcp://127.0.0.1:0").await.expect("binds");
    let Endpoint::Tcp { port, .. } = client.endpoint() else { panic!("TCP") };
    assert_ne!(*port, 0);
    guarded("its end", client.close()).await;
}
