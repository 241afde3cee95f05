//! Calls that go well.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use tokio::sync::mpsc;
use warmwire_rpc::{Client, Context, ErrorKind, Sent, Server, Value};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen};

#[tokio::test]
async fn ten_thousand_calls_at_once_get_each_its_own_answer() {
    let server = Server::builder()
        .expose("count", |n: i64| async move { Ok(n + 1) })
        .expose("late", |n: i64| async move {
            tokio::task::yield_now().await;
            Ok(-n)
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    let calls = (0..10_000).map(|n| client.call::<i64>(["count", "late"][n % 2], (n,)));
    let answers = guarded("all answers", try_join_all(calls)).await.expect("all answered");
    for (n, answer) in (0..).zip(answers) {
        assert_eq!(answer, if n % 2 == 0 { n + 1 } else { -n });
    }
    let stats = client.stats();
    assert_eq!((stats.calls, stats.answered, stats.opened), (10_000, 10_000, 1));
    assert_eq!((stats.in_flight, stats.waiting, stats.late_replies), (0, 0, 0));
}

#[tokio::test]
async fn calls_go_to_the_connection_with_the_fewest_in_flight() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder().pool(3).connect(&endpoint).await.expect("connects");
    let mut peers = Vec::new();
    for _ in 0..3 {
        peers.push(Script::accept(&listener).await);
    }
    guarded("three connections", async {
        while client.status().connections < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let calls: Vec<_> = (0..9).map(|n| tokio::spawn(client.call::<i64>("wait", (n,)))).collect();
    for peer in &mut peers {
        for _ in 0..3 {
            let (id, _) = peer.call().await;
            peer.send(&[br#"j:{"args":[7]}"#, &id]).await;
        }
    }
    for call in join_all(calls).await {
        assert_eq!(call.expect("no panic").expect("answered"), 7);
    }
}

#[tokio::test]
async fn a_handler_knows_who_calls_and_until_when() {
    let server = Server::builder()
        .expose("who", |context: Context, extra: i64| async move {
            let peer = context.peer();
            let deadline = context.deadline().map(|at| at > Instant::now());
            Ok((peer.address.is_some(), peer.credentials.is_some(), deadline, extra))
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    let who: (bool, bool, Option<bool>, i64) = client.call("who", (1,)).await.expect("answers");
    assert_eq!(who, (true, false, Some(true), 1));
    let call = client.call::<(bool, bool, Option<bool>, i64)>("who", (2,)).timeout(None);
    assert_eq!(call.await.expect("answers"), (true, false, None, 2));
}

/// Says when it is dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_handler() {
    let (said, mut heard) = mpsc::unbounded_channel();
    let server = Server::builder()
        .expose("hello", || async { Ok(()) })
        .expose("hang", move |context: Context| {
            let said = said.clone();
            async move {
                let _dropped = Dropped(said.clone());
                let watched = context.clone();
                tokio::spawn(async move {
                    watched.cancelled().await;
                    let _ = said.send("cancelled");
                });
                std::future::pending::<()>().await;
                Ok(())
            }
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    // With its answer the client knows that the server understands cancellation.
    client.call::<()>("hello", ()).await.expect("answers");
    let call = tokio::spawn(client.call::<()>("hang", ()));
    guarded("the handler", async {
        while server.stats().calls < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    call.abort();
    let mut ends = [guarded("an end", heard.recv()).await, guarded("an end", heard.recv()).await];
    ends.sort_unstable();
    assert_eq!(ends, [Some("cancelled"), Some("dropped")]);
    assert_eq!(client.stats().cancelled, 1);
}

#[tokio::test]
async fn a_client_that_goes_ends_its_handlers_but_not_its_notifications() {
    let (said, mut heard) = mpsc::unbounded_channel();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let noted = said.clone();
    let opened = Arc::clone(&gate);
    let server = Server::builder()
        .expose("hang", move || {
            let dropped = Dropped(said.clone());
            async move {
                std::future::pending::<()>().await;
                drop(dropped);
                Ok(())
            }
        })
        .expose("note", move || {
            let (noted, gate) = (noted.clone(), Arc::clone(&opened));
            async move {
                let _permit = gate.acquire().await?;
                let _ = noted.send("noted");
                Ok(())
            }
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    client.notify("note", ()).await.expect("sent");
    let call = tokio::spawn(client.call::<()>("hang", ()));
    guarded("both handlers", async {
        while server.stats().calls < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    call.abort();
    drop(client);
    assert_eq!(guarded("the handler's end", heard.recv()).await, Some("dropped"));
    gate.add_permits(1);
    assert_eq!(guarded("the note", heard.recv()).await, Some("noted"));
    guarded("the server's end", server.close()).await;
}

#[tokio::test]
async fn a_ping_is_answered_by_both_kinds_of_peer() {
    let server = Server::builder().bind("tcp://127.0.0.1:0").await.expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    client.ping().await.expect("somebody is there");
    assert_eq!(client.status().warmwire, 1);
    client.ping().await.expect("somebody is there");

    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let ping = tokio::spawn(async move { client.ping().await });
    let mut peer = Script::accept(&listener).await;
    let request = peer.frame().await.expect("a request");
    let id = request.get(1).expect("an argument").to_vec();
    assert!(
        request.get(0).expect("an argument").starts_with(br#"j:{"type":"call","method":"ww:ping""#)
    );
    peer.send(&[br#"j:{"error":"method \"ww:ping\" does not exist"}"#, &id]).await;
    ping.await.expect("no panic").expect("an axon server answers, too");
}

#[tokio::test]
async fn several_results_are_a_tuple_and_none_is_unit() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let several = tokio::spawn(client.call::<(i64, String)>("many", ()));
    let (id, _) = peer.call().await;
    peer.send(&[br#"j:{"args":[1,"two"]}"#, &id]).await;
    assert_eq!(several.await.expect("no panic").expect("answered"), (1, "two".to_owned()));
    let none = tokio::spawn(client.call::<()>("none", ()));
    let (id, _) = peer.call().await;
    peer.send(&[br#"j:{"args":[]}"#, &id]).await;
    none.await.expect("no panic").expect("answered");
}

#[tokio::test]
async fn f057_sixteen_arguments_travel_in_one() {
    let server = Server::builder()
        .expose_values("all", |_, all| async move { Ok(all.into()) })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    let many: Vec<Value> = (0..40).map(|n| Bytes::from(vec![n; 3]).into()).collect();
    for _ in 0..2 {
        let all: Value = client.call("all", many.clone()).await.expect("answers");
        assert_eq!(all, many.clone().into());
    }
}

#[tokio::test]
async fn messages_beyond_the_limit_fail_alone() {
    let server = Server::builder()
        .expose("grow", |size: usize| async move { Ok(Bytes::from(vec![1; size])) })
        .expose("length", |bytes: Bytes| async move { Ok(bytes.len()) })
        .max_message(100_000)
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client =
        Client::builder().max_message(100_000).connect(server.local_address()).await.expect("up");
    client.ping().await.expect("the ends know each other");
    let error = client.call::<Bytes>("grow", (100_000,)).await.expect_err("too large");
    assert!(error.to_string().contains("a message may have 100000"), "{error}");
    let bytes = Bytes::from(vec![1; 100_000]);
    let error = client.call::<usize>("length", (bytes,)).await.expect_err("too large");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::TooLarge, Sent::No));
    let bytes = Bytes::from(vec![1; 99_000]);
    assert_eq!(client.call::<usize>("length", (bytes,)).await.expect("fits"), 99_000);
    assert_eq!(client.stats().opened, 1);
}

#[tokio::test]
async fn a_server_listens_in_many_places_at_once() {
    let path = std::env::temp_dir().join(format!("ww-many-{}.sock", std::process::id()));
    let mut server = Server::builder()
        .expose("one", || async { Ok(1) })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    server.bind(format!("unix://{}", path.display())).await.expect("binds");
    server.bind("tcp://[::1]:0").await.expect("binds");
    for endpoint in server.local_addresses() {
        let client = Client::connect(endpoint).await.expect("connects");
        assert_eq!(client.call::<i64>("one", ()).await.expect("answers"), 1);
    }
    assert_eq!(server.local_addresses().len(), 3);
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_the_server_allows_and_none_is_lost() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let server = Server::builder()
        .expose("work", move || {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, SeqCst);
                Ok(())
            }
        })
        .max_in_flight(4)
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    let calls = (0..500).map(|_| client.call::<()>("work", ()));
    guarded("all answers", try_join_all(calls)).await.expect("all answered");
    assert!((1..=4).contains(&seen.load(SeqCst)), "{seen:?}");
}

#[tokio::test]
async fn peers_beyond_the_limit_are_sent_away() {
    let server =
        Server::builder().max_connections(2).bind("tcp://127.0.0.1:0").await.expect("binds");
    let first = Client::connect(server.local_address()).await.expect("connects");
    let second = Client::connect(server.local_address()).await.expect("connects");
    first.ping().await.expect("served");
    second.ping().await.expect("served");
    let third = Client::builder()
        .reconnect(false)
        .timeout(Duration::from_secs(30))
        .connect(server.local_address())
        .await
        .expect("connects");
    let error = third.ping().await.expect_err("is sent away");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    assert_eq!(server.stats().refused, 1);
    first.ping().await.expect("still served");
}

#[tokio::test]
async fn a_handler_ends_when_its_callers_time_is_over_though_nobody_cancels_it() {
    let (said, mut heard) = mpsc::unbounded_channel();
    let server = Server::builder()
        .expose("hang", move || {
            let dropped = Dropped(said.clone());
            async move {
                std::future::pending::<()>().await;
                drop(dropped);
                Ok(())
            }
        })
        .expose("next", || async { Ok(1) })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let mut peer = Script::connect(server.local_address()).await;
    // In both forms, with 20 ms to go.
    peer.send(&[br#"j:{"method":"hang","args":[],"ww":{"v":1,"deadline":20}}"#, b"s:1"]).await;
    peer.send(&[b"ww\x01\x01\0\0\0\x14hang", b"j:[]", b"s:2"]).await;
    for _ in 0..2 {
        assert_eq!(guarded("the handler's end", heard.recv()).await, Some("dropped"));
    }
    // Its caller has given up by itself, so the next thing it hears is the next answer.
    peer.send(&[br#"j:{"method":"next","args":[]}"#, b"s:3"]).await;
    let reply = peer.frame().await.expect("an answer");
    assert_eq!(reply.iter().last(), Some(&b"s:3"[..]));
}
