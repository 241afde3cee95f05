//! The RPC's bare and one-way sockets with those of axon and pm2-axon: each with each, whichever side
//! listens, over TCP and Unix sockets.

use bytes::Bytes;
use serde_json::json;
use warmwire::rpc::sockets::{Pub, Pull, Push, Sub};
use warmwire::rpc::{Client, Req, Server, Value};
use warmwire_interop::axon::{AxonPeer, PACKAGES};

fn blob() -> Value {
    Bytes::from_static(b"\x00\xff").into()
}

fn echo() -> warmwire::rpc::ServerBuilder {
    Server::builder().reply_values(|_, values| async move { Ok(values.into()) })
}

#[tokio::test]
async fn f055_our_req_and_their_rep() {
    for package in PACKAGES {
        for unix in [false, true] {
            let Some(peer) = AxonPeer::listening("rep", package, unix).await else { return };
            let req = Req::connect(Client::builder(), &peer.endpoint).await.expect("connects");
            let reply = req.send(("hi", 1.5, blob(), Value::Null)).await.expect("a reply");
            assert_eq!(reply, [Value::Null, "hi".into(), 1.5.into(), blob(), Value::Null]);
        }
        let req = Req::bind(Client::builder(), "tcp://127.0.0.1:0").await.expect("binds");
        let endpoint = req.client().endpoint().to_string();
        let peer = AxonPeer::connected("rep", package, &endpoint).await.expect("there is Node");
        let sends = (0..1000).map(|n| req.send((n,)));
        let replies = futures_util::future::try_join_all(sends).await.expect("all are answered");
        for (n, reply) in replies.into_iter().enumerate() {
            assert_eq!(reply, [Value::Null, n.into()], "{package}");
        }
        drop(peer);
    }
}

#[tokio::test]
async fn f055_their_req_and_our_rep() {
    for package in PACKAGES {
        let server = echo().bind("tcp://127.0.0.1:0").await.expect("binds");
        let endpoint = server.local_address().to_string();
        let Some(peer) = AxonPeer::connected("req", package, &endpoint).await else { return };
        let bound = AxonPeer::listening("req", package, true).await.expect("there is Node");
        server.connect(&*bound.endpoint).expect("an endpoint");
        for mut peer in [peer, bound] {
            let values = json!(["hi", {"$buffer": "00ff"}, {"a": [1, null]}]);
            let answer = peer.ask(&json!({"send": values})).await;
            assert_eq!(answer, json!({"error": null, "results": values}), "{package}");
        }
    }
}

#[tokio::test]
async fn f055_push_and_pull() {
    for package in PACKAGES {
        for unix in [false, true] {
            let Some(mut peer) = AxonPeer::listening("pull", package, unix).await else { return };
            let push = Push::builder().push();
            push.connect(&*peer.endpoint).expect("an endpoint");
            for n in 0..100 {
                push.send(("job", n, blob())).await.expect("sent");
            }
            for n in 0..100 {
                let message = json!({"message": ["job", n, {"$buffer": "00ff"}]});
                assert_eq!(peer.heard().await, message, "{package}");
            }
        }
        let mut pull = Pull::builder().pull();
        let endpoint = pull.bind("tcp://127.0.0.1:0").await.expect("binds").to_string();
        let peer = AxonPeer::connected("push", package, &endpoint).await;
        let mut peer = peer.expect("there is Node");
        peer.ask(&json!({"send": ["job", {"$buffer": "00ff"}, {"$undefined": true}]})).await;
        assert_eq!(pull.recv().await, ["job".into(), blob(), Value::Null], "{package}");
    }
}

#[tokio::test]
async fn f055_pub_and_sub() {
    for package in PACKAGES {
        let publisher = Pub::builder().publish();
        let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds").to_string();
        let peer = AxonPeer::connected("sub-emitter", package, &endpoint).await;
        let Some(mut peer) = peer else { return };
        while publisher.stats().peers == 0 {
            tokio::task::yield_now().await;
        }
        publisher.publish("other", (1,)).expect("sent");
        publisher.publish("user:login", (7, blob())).expect("sent");
        let message = json!({"message": ["login", 7, {"$buffer": "00ff"}]});
        assert_eq!(peer.heard().await, message, "{package}");

        let peer = AxonPeer::listening("pub-emitter", package, true).await;
        let mut peer = peer.expect("there is Node");
        let mut sub = Sub::builder().subscribe();
        sub.subscribe("user:*");
        sub.connect(&*peer.endpoint).expect("an endpoint");
        // What is published before the subscriber is there, it does not get.
        let first = loop {
            peer.ask(&json!({"send": ["other", 1]})).await;
            peer.ask(&json!({"send": ["user:login", {"id": 7}]})).await;
            tokio::select! {
                biased;
                first = sub.recv() => break first,
                () = tokio::task::yield_now() => {}
            }
        };
        assert_eq!((&*first.topic, &*first.captures), ("user:login", &["login".to_owned()][..]));
        assert_eq!(first.arguments[0].get("id"), Some(&7.into()), "{package}");
    }
}
