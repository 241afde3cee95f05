//! Whichever side listens, and many peers of axon at once.

use bytes::Bytes;
use futures_util::future::try_join_all;
use serde_json::json;
use warmwire::rpc::sockets::{FullPolicy, Pub, Pull, Push, Sub};
use warmwire::rpc::{Client, Object, Req, Server, Value};
use warmwire_interop::axon::{AxonPeer, PACKAGES};

/// A Unix socket in a folder that goes with the test's process.
fn socket(name: &str) -> String {
    let name = format!("ww-sides-{name}-{}.sock", std::process::id());
    format!("unix://{}", std::env::temp_dir().join(name).display())
}

fn counting() -> warmwire::rpc::ServerBuilder {
    Server::builder().expose("count", |n: i64| async move { Ok(n + 1) })
}

#[tokio::test]
async fn peers_of_axon_talk_to_each_other_through_these_tests() {
    for server in PACKAGES {
        for client in PACKAGES {
            for unix in [false, true] {
                let peer = AxonPeer::listening("rpc-server", server, unix).await;
                let Some(peer) = peer else { return };
                let other = AxonPeer::connected("rpc-client", client, &peer.endpoint).await;
                let mut other = other.expect("there is Node");
                let answer = other.ask(&json!({"call": "slow", "args": [1]})).await;
                assert_eq!(answer, json!({"results": [1]}));
                let answer = other.ask(&json!({"call": "nested", "args": []})).await;
                let buffer = |data: &[u8]| json!({"type": "Buffer", "data": data});
                let nested = json!({"a": [buffer(&[0, 255]), {"b": buffer(&[])}]});
                assert_eq!(answer, json!({"results": [nested]}));
                let burst = other.ask(&json!({"burst": 10_000})).await;
                assert_eq!(burst, json!({"results": [10_000]}));
            }
        }
    }
}

#[tokio::test]
async fn f055_our_listening_client_calls_servers_of_axon_that_connect() {
    for package in PACKAGES {
        for endpoint in ["tcp://127.0.0.1:0", &socket(&format!("client-{package}"))] {
            let client = Client::builder().bind(endpoint).await.expect("binds");
            let endpoint = client.endpoint().to_string();
            let waits = tokio::spawn(client.call::<i64>("count", (1,)));
            let peer = AxonPeer::connected("rpc-server", package, &endpoint).await;
            let Some(peer) = peer else { return };
            assert_eq!(waits.await.expect("no panic").expect("answers"), 2);
            let second = AxonPeer::connected("rpc-server", package, &endpoint).await;
            while client.status().connections < 2 {
                tokio::task::yield_now().await;
            }
            let calls = (0..10_000).map(|n| client.call::<i64>("count", (n,)));
            assert!((1..=10_000).eq(try_join_all(calls).await.expect("all are answered")));
            let nested: Value = client.call("nested", ()).await.expect("answers");
            let bytes = |bytes: &'static [u8]| Value::from(Bytes::from_static(bytes));
            let b = Object::from_iter([("b", bytes(b""))]);
            let expected = Object::from_iter([("a", vec![bytes(b"\0\xff"), b.into()])]);
            assert_eq!(nested, expected.into(), "{package}");
            drop(peer);
            while client.status().connections > 1 {
                tokio::task::yield_now().await;
            }
            assert_eq!(client.call::<i64>("count", (2,)).await.expect("the other is there"), 3);
            drop(second);
        }
    }
}

#[tokio::test]
async fn f055_our_server_connects_to_clients_of_axon_that_listen() {
    for package in PACKAGES {
        for unix in [false, true] {
            let peer = AxonPeer::listening("rpc-client", package, unix).await;
            let Some(mut peer) = peer else { return };
            let server = counting().start();
            server.connect(&*peer.endpoint).expect("an endpoint");
            // What is asked before there is a connection waits at axon's side.
            let answer = peer.ask(&json!({"call": "count", "args": [1]})).await;
            assert_eq!(answer, json!({"results": [2]}), "{package}");
            let burst = peer.ask(&json!({"burst": 10_000})).await;
            assert_eq!(burst, json!({"results": [10_000]}), "{package}");
            assert_eq!(peer.ask(&json!({"drop": true})).await, json!({"peers": 1}));
            let answer = peer.ask(&json!({"call": "count", "args": [2]})).await;
            assert_eq!(answer, json!({"results": [3]}), "{package}: after it was dropped");
        }
    }
}

#[tokio::test]
async fn f072_a_slow_worker_of_axon_does_not_hold_up_the_jobs_of_the_others() {
    for package in PACKAGES {
        let mut workers = Vec::new();
        for _ in 0..3 {
            let worker = AxonPeer::listening("rpc-server", package, false).await;
            let Some(worker) = worker else { return };
            workers.push(worker);
        }
        let client = Client::builder().max_in_flight(4).connect(&workers[0].endpoint).await;
        let client = client.expect("connects");
        // These four fill the first worker: nobody else is there yet.
        let slow: Vec<_> =
            (0..4).map(|_| tokio::spawn(client.call::<()>("silent", ()).timeout(None))).collect();
        while client.status().in_flight < 4 {
            tokio::task::yield_now().await;
        }
        for worker in &workers[1..] {
            client.add(&*worker.endpoint).expect("an endpoint");
        }
        let jobs = (0..300).map(|n| client.call::<i64>("count", (n,)));
        assert!((1..=300).eq(try_join_all(jobs).await.expect("the others do them")), "{package}");
        assert_eq!(client.status().in_flight, 4);
        slow.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test]
async fn f014_a_subscriber_of_axon_that_stops_reading_costs_a_bounded_amount() {
    for package in PACKAGES {
        let publisher =
            Pub::builder().when_full(FullPolicy::DropNew).queue_limits(100, 1 << 20).publish();
        let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds").to_string();
        let stuck = AxonPeer::connected("sub", package, &endpoint).await;
        let Some(mut stuck) = stuck else { return };
        let mut reads = Sub::builder().subscribe();
        reads.connect(&*endpoint).expect("an endpoint");
        while publisher.stats().peers < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(stuck.ask(&json!({"pause": true})).await, json!({"peers": 1}));
        let text = "x".repeat(8 << 10);
        let mut sent = 0;
        while publisher.stats().dropped < 1_000 {
            publisher.publish("user:log", (sent, text.as_str())).expect("sent");
            assert_eq!(reads.recv().await.arguments[0], Value::from(sent), "{package}");
            assert!(publisher.stats().waiting <= 100, "{package}: {:?}", publisher.stats());
            sent += 1;
        }
        // What it was sent before comes whole and in order once it reads again.
        assert_eq!(stuck.ask(&json!({"resume": true})).await, json!({"peers": 1}));
        for n in 0..100 {
            let message = stuck.heard().await;
            assert_eq!(message, json!({"message": ["user:log", n, text]}), "{package}");
        }
    }
}

#[tokio::test]
async fn f055_bare_pub_and_sub() {
    for package in PACKAGES {
        let publisher = Pub::builder().publish();
        let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds").to_string();
        let peer = AxonPeer::connected("sub", package, &endpoint).await;
        let Some(mut peer) = peer else { return };
        while publisher.stats().peers == 0 {
            tokio::task::yield_now().await;
        }
        publisher.publish("other", (1,)).expect("sent");
        publisher.publish("user:login", (7, Value::Undefined)).expect("sent");
        assert_eq!(peer.heard().await, json!({"message": ["user:login", 7, null]}), "{package}");

        let mut peer = AxonPeer::listening("pub", package, true).await.expect("there is Node");
        let mut sub = Sub::builder().subscribe();
        sub.subscribe("user:*");
        sub.connect(&*peer.endpoint).expect("an endpoint");
        while peer.ask(&json!({"peers": true})).await == json!({"peers": 0}) {}
        peer.ask(&json!({"send": ["other", 1]})).await;
        peer.ask(&json!({"send": ["user:a:b", {"$buffer": "733a"}, {"id": 7}]})).await;
        let message = sub.recv().await;
        assert_eq!((&*message.topic, &*message.captures), ("user:a:b", &["a:b".to_owned()][..]));
        // A buffer that begins like a text is a text to every reader.
        let id = Object::from_iter([("id", 7)]).into();
        assert_eq!(message.arguments, [Value::from(""), id], "{package}");
    }
}

#[tokio::test]
async fn f055_push_reaches_every_pull_of_axon_in_turn_and_none_twice() {
    for package in PACKAGES {
        let push = Push::builder().push();
        let endpoint = push.bind("tcp://127.0.0.1:0").await.expect("binds").to_string();
        let first = AxonPeer::connected("pull", package, &endpoint).await;
        let Some(first) = first else { return };
        let second = AxonPeer::connected("pull", package, &endpoint).await.expect("there is Node");
        while push.stats().peers < 2 {
            tokio::task::yield_now().await;
        }
        for n in 0..1_000 {
            push.send((n,)).await.expect("sent");
        }
        let mut seen = Vec::new();
        for mut peer in [first, second] {
            for _ in 0..500 {
                seen.push(peer.heard().await["message"][0].as_i64().expect("a number"));
            }
        }
        seen.sort_unstable();
        assert!((0..1_000).eq(seen), "{package}");
    }
}

#[tokio::test]
async fn f055_a_pull_of_ours_hears_many_pushes_of_axon() {
    for package in PACKAGES {
        let mut pull = Pull::builder().pull();
        let endpoint = pull.bind(&*socket(&format!("pull-{package}"))).await.expect("binds");
        let mut peers = Vec::new();
        for _ in 0..3 {
            let peer = AxonPeer::connected("push", package, &endpoint.to_string()).await;
            let Some(peer) = peer else { return };
            peers.push(peer);
        }
        for n in 0..50 {
            for (who, peer) in peers.iter_mut().enumerate() {
                peer.ask(&json!({"send": [who, n]})).await;
            }
        }
        // Those of one peer come in their order.
        let mut next = [0; 3];
        for _ in 0..150 {
            let message = pull.recv().await;
            let who = message[0].as_u64().expect("a number") as usize;
            assert_eq!(message[1], Value::from(next[who]), "{package}");
            next[who] += 1;
        }
    }
}

#[tokio::test]
async fn f054_any_bytes_come_back_from_axon_as_bytes_or_are_not_sent() {
    for package in PACKAGES {
        let Some(peer) = AxonPeer::listening("rep", package, false).await else { return };
        let req = Req::connect(Client::builder(), &peer.endpoint).await.expect("connects");
        for first in 0..=255 {
            for second in *b"\0:s{\xff" {
                let bytes = Bytes::from(vec![first, second, b'{']);
                let ambiguous = second == b':' && (first == b's' || first == b'j');
                match req.send((bytes.clone(),)).await {
                    Ok(reply) => assert_eq!(reply, [Value::Null, bytes.into()], "{package}"),
                    Err(error) => assert!(ambiguous, "{package}: {bytes:?}: {error}"),
                }
            }
        }
        for few in [&b""[..], b"s", b"j", b":"] {
            let bytes = Value::from(Bytes::from_static(few));
            let reply = req.send((bytes.clone(),)).await.expect("a reply");
            assert_eq!(reply, [Value::Null, bytes], "{package}");
        }
    }
}

#[tokio::test]
async fn f055_doubles_come_back_from_axon_as_they_were() {
    let Some(peer) = AxonPeer::listening("rpc-server", "axon", false).await else { return };
    let client = Client::connect(&peer.endpoint).await.expect("connects");
    // Every exponent, with significands that a multiplication by an odd number scatters.
    let doubles: Vec<_> = (0..2047_u64)
        .flat_map(|exponent| (0..10_u64).map(move |n| (exponent << 52, exponent * 10 + n)))
        .map(|(exponent, n)| (exponent, n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12))
        .map(|(exponent, significand)| f64::from_bits(exponent | significand))
        .flat_map(|double| [double, -double, double.trunc()])
        .collect();
    let back: Vec<f64> = client.call("echo", (&doubles,)).await.expect("answers");
    assert_eq!(back, doubles);
}
