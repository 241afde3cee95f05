//! The RPC with peers of axon and pm2-axon: each of ours with each of theirs, both ways, over TCP and
//! Unix sockets.

use bytes::Bytes;
use futures_util::future::try_join_all;
use serde_json::{Value as Json, json};
use warmwire::rpc::{Client, Endpoint, ErrorKind, Fault, Object, Server, Value};
use warmwire_interop::axon::{AxonPeer, PACKAGES};

/// Values with what Node makes of them: the kind that it sees, and what comes back.
fn values() -> Vec<(Value, &'static str, Value)> {
    let same = |value: Value, kind| (value.clone(), kind, value);
    let bytes = |bytes: &'static [u8]| Value::from(Bytes::from_static(bytes));
    let nested = Object::from_iter([
        ("a", Value::from(vec![bytes(b"\0\xff"), Object::from_iter([("b", bytes(b""))]).into()])),
        ("c", Value::from(1)),
    ]);
    // JSON has no buffers of its own, so a Node peer sees the form that its own buffers have there.
    vec![
        same(Value::Null, "object"),
        same(true.into(), "boolean"),
        same(42.into(), "number"),
        same((-0.5).into(), "number"),
        same(1e21.into(), "number"),
        same("".into(), "string"),
        same("é 😀 \u{2028} s:x".into(), "string"),
        same(Value::from(vec![1.into(), "x".into(), Value::Null]), "array"),
        same(bytes(b"\x01\x02"), "object"),
        same(bytes(b"s:text"), "object"),
        same(nested.into(), "object"),
        (Value::Undefined, "object", Value::Null),
        (f64::NAN.into(), "object", Value::Null),
        (((1_i64 << 53) + 1).into(), "number", (1_i64 << 53).into()),
    ]
}

#[tokio::test]
async fn f055_our_client_calls_servers_of_axon() {
    for package in PACKAGES {
        for unix in [false, true] {
            let peer = AxonPeer::listening("rpc-server", package, unix).await;
            let Some(peer) = peer else { return };
            let client = Client::connect(&peer.endpoint).await.expect("connects");
            let sum: f64 = client.call("add", (1, 2.5)).await.expect("adds");
            assert_eq!(sum, 3.5);
            for (value, kind, back) in values() {
                let seen: String = client.call("kind", (&value,)).await.expect("answers");
                assert_eq!(seen, kind, "{package}: {value}");
                let echoed: Value = client.call("echo", (&value,)).await.expect("answers");
                assert_eq!(echoed, back, "{package}: {value}");
            }
            let many: (i64, String, Value, Bytes) = client.call("many", ()).await.expect("many");
            assert_eq!((many.0, &*many.1, &many.3[..]), (1, "two", &b"\x04"[..]));
            client.call::<()>("none", ()).await.expect("no result");
            client.ping().await.expect("somebody is there");
            let methods = client.methods().await.expect("a list");
            assert!(methods.contains_key("add") && methods.contains_key("silent"));
            assert_eq!(client.status().warmwire, 0);
        }
    }
}

#[tokio::test]
async fn f066_errors_of_axon_arrive() {
    for package in PACKAGES {
        let Some(peer) = AxonPeer::listening("rpc-server", package, false).await else { return };
        let client = Client::connect(&peer.endpoint).await.expect("connects");
        let error = client.call::<()>("fail", ("no money",)).await.expect_err("fails");
        let fault = error.fault().expect("a fault");
        assert_eq!(fault.message(), "no money");
        assert!(fault.stack().is_some_and(|stack| stack.contains("peer.cjs")));
        let error = client.call::<()>("missing", ()).await.expect_err("is not there");
        assert!(error.to_string().ends_with("method \"missing\" does not exist"), "{error}");
        // An error that is no Error: axon-rpc sends an empty object for it.
        let error = client.call::<()>("fail_plain", ("plain",)).await.expect_err("fails");
        match package {
            "axon" => assert_eq!(error.kind(), ErrorKind::Protocol),
            _ => assert_eq!(error.fault().map(Fault::message), Some("plain")),
        }
        let silent = client.call::<()>("silent", ()).timeout(std::time::Duration::from_millis(50));
        assert_eq!(silent.await.expect_err("no answer").kind(), ErrorKind::Timeout);
        assert_eq!(client.call::<f64>("add", (1, 1)).await.expect("goes on"), 2.0);
        assert_eq!(client.stats().opened, 1);
    }
}

#[tokio::test]
async fn f055_ten_thousand_calls_to_a_server_of_axon() {
    for package in PACKAGES {
        let Some(peer) = AxonPeer::listening("rpc-server", package, false).await else { return };
        let client = Client::builder().pool(3).connect(&peer.endpoint).await.expect("connects");
        let calls = (0..10_000).map(|n| client.call::<i64>("add", (n, 1)));
        let sums = try_join_all(calls).await.expect("all are answered");
        assert!((1..=10_000).eq(sums));
    }
}

async fn server(endpoint: &str) -> Server {
    Server::builder()
        .expose("add", |a: f64, b: f64| async move { Ok(a + b) })
        .expose("count", |n: i64| async move { Ok(n + 1) })
        .expose("echo", |value: Value| async move { Ok(value) })
        .expose("kind", |value: Value| async move { Ok(value.kind().to_owned()) })
        .expose("fail", |message: String| async move { Err::<(), _>(Fault::new(message)) })
        .expose("panic", || async { if true { panic!("on purpose") } else { Ok(()) } })
        .expose("none", || async { Ok(()) })
        .bind(endpoint)
        .await
        .expect("binds")
}

fn socket(name: &str) -> String {
    let name = format!("ww-interop-{name}-{}.sock", std::process::id());
    format!("unix://{}", std::env::temp_dir().join(name).display())
}

#[tokio::test]
async fn f055_clients_of_axon_call_our_server() {
    for package in PACKAGES {
        for endpoint in ["tcp://127.0.0.1:0", &socket(package)] {
            let server = server(endpoint).await;
            let endpoint = server.local_address().to_string();
            let peer = AxonPeer::connected("rpc-client", package, &endpoint).await;
            let Some(mut peer) = peer else { return };
            for (method, arguments, expected) in [
                ("add", json!([1, 2.5]), json!([3.5])),
                ("echo", json!([null]), json!([null])),
                ("echo", json!(["é 😀 s:x"]), json!(["é 😀 s:x"])),
                ("echo", json!([[1, "x", {"a": true}]]), json!([[1, "x", {"a": true}]])),
                ("echo", json!([{"$undefined": true}]), json!([null])),
                ("kind", json!([{"$buffer": "00ff"}]), json!(["a buffer"])),
                ("kind", json!([{"a": {"$buffer": "00ff"}}]), json!(["an object"])),
                (
                    "echo",
                    json!([{"$buffer": "00ff"}]),
                    json!([{"type": "Buffer", "data": [0, 255]}]),
                ),
                ("none", json!([]), json!([])),
            ] {
                let answer = peer.ask(&json!({"call": method, "args": arguments})).await;
                assert_eq!(answer, json!({ "results": expected }), "{package}: {method}");
            }
            for (method, arguments, says) in [
                ("fail", json!(["no money"]), "no money"),
                ("panic", json!([]), "the handler panicked"),
                ("missing", json!([]), "method \"missing\" does not exist"),
                ("toString", json!([]), "method \"toString\" does not exist"),
                ("add", json!([1]), "argument 2 is missing: f64"),
            ] {
                let answer = peer.ask(&json!({"call": method, "args": arguments})).await;
                assert_eq!(answer, json!({ "error": says }), "{package}: {method}");
            }
            let list = peer.ask(&json!({"methods": true})).await;
            let add = &list["results"][0]["add"];
            assert_eq!(add, &json!({"name": "add", "params": ["f64", "f64"]}));
            let burst = peer.ask(&json!({"burst": 10_000})).await;
            assert_eq!(burst, json!({"results": [10_000]}));
        }
    }
}

#[tokio::test]
async fn our_client_finds_a_server_of_axon_again_after_it_was_killed() {
    for package in PACKAGES {
        let Some(peer) = AxonPeer::listening("rpc-server", package, false).await else { return };
        let endpoint = peer.endpoint.clone();
        let client = Client::connect(&endpoint).await.expect("connects");
        let silent = tokio::spawn(client.call::<()>("silent", ()).timeout(None));
        client.call::<f64>("add", (1, 1)).await.expect("adds");
        peer.kill().await;
        let error = silent.await.expect("no panic").expect_err("killed");
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{package}");
        let waits = tokio::spawn(client.call::<f64>("add", (1, 2)));
        let again = AxonPeer::listening_again("rpc-server", package, &endpoint).await;
        let sum = waits.await.expect("no panic").expect("adds again");
        assert_eq!(sum, 3.0, "{package}");
        drop(again);
    }
}

#[tokio::test]
async fn clients_of_axon_find_our_server_again_after_a_restart() {
    for package in PACKAGES {
        let first = server("tcp://127.0.0.1:0").await;
        let endpoint = first.local_address().clone();
        let peer = AxonPeer::connected("rpc-client", package, &endpoint.to_string()).await;
        let Some(mut peer) = peer else { return };
        let call: Json = json!({"call": "add", "args": [1, 2]});
        assert_eq!(peer.ask(&call).await, json!({"results": [3]}));
        first.close().await;
        let Endpoint::Tcp { port, .. } = endpoint else { panic!("TCP") };
        let second = server(&format!("tcp://127.0.0.1:{port}")).await;
        // Queued by axon until it has connected again.
        assert_eq!(peer.ask(&call).await, json!({"results": [3]}));
        assert_eq!(second.stats().accepted, 1);
    }
}

#[tokio::test]
async fn f055_the_golden_vectors_are_what_the_packages_write() {
    if let Some(vectors) = warmwire_interop::axon::vectors().await {
        let kept = include_str!("../../node/vectors.json");
        assert!(vectors == kept, "vectors.json is not what vectors.cjs prints");
    }
}
