//! Every call ends, whatever happens to its connection.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use warmwire_rpc::{Client, ErrorKind, QueuePolicy, Sent, Server};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen, nobody};

#[tokio::test]
async fn f015_a_call_ends_at_once_when_its_peer_dies() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let call = tokio::spawn(client.call::<i64>("work", ()).timeout(None));
    peer.call().await;
    drop(peer);
    let error = guarded("the call's end", call).await.expect("no panic").expect_err("died");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Disconnected, Sent::Maybe));
    assert!(error.to_string().ends_with("(sent: maybe)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn f015_a_call_to_a_silent_peer_ends_with_its_time() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .timeout(Duration::from_secs(7))
        .connect(&endpoint)
        .await
        .expect("connects");
    let _peer = Script::accept(&listener).await;
    let start = Instant::now();
    let error = client.call::<i64>("work", ()).await.expect_err("nobody answers");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Timeout, Sent::Maybe));
    assert!(error.to_string().contains("no reply came within 7s"), "{error}");
    let error =
        client.call::<i64>("work", ()).timeout(Duration::from_secs(2)).await.expect_err("again");
    assert!(error.to_string().contains("within 2s"), "{error}");
    let took = start.elapsed();
    assert!((9.0..9.1).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(client.status().in_flight, 0);
}

#[tokio::test]
async fn a_reply_after_its_time_harms_nobody() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let late = tokio::spawn(client.call::<i64>("late", ()).timeout(Duration::from_millis(1)));
    let (late_id, _) = peer.call().await;
    let error = late.await.expect("no panic").expect_err("too late");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let next = tokio::spawn(client.call::<i64>("next", ()));
    let (next_id, _) = peer.call().await;
    peer.send(&[br#"j:{"args":[1]}"#, &late_id]).await;
    peer.send(&[br#"j:{"args":[2]}"#, &next_id]).await;
    peer.send(&[br#"j:{"args":[3]}"#, &next_id]).await;
    assert_eq!(next.await.expect("no panic").expect("answered"), 2);
    let last = tokio::spawn(client.call::<i64>("last", ()));
    let (last_id, _) = peer.call().await;
    peer.send(&[br#"j:{"args":[4]}"#, &last_id]).await;
    assert_eq!(last.await.expect("no panic").expect("answered"), 4);
    assert_eq!(client.stats().late_replies, 2);
}

#[tokio::test]
async fn f016_calls_end_in_whatever_state_their_connection_dies() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .max_in_flight(50)
        .reconnect(false)
        .timeout(None)
        .connect(&endpoint)
        .await
        .expect("connects");
    let mut peer = Script::accept(&listener).await;
    // The first is answered in part. The peer reads nothing more, so the next ones fill the
    // socket's buffers and then the client's, and the last ones find no room.
    let half = tokio::spawn(client.call::<i64>("half", ()));
    let (id, _) = peer.call().await;
    let reply = crate::scripted::frame(&[br#"j:{"args":[1]}"#, &id]);
    peer.write(&reply[..reply.len() - 2]).await;
    let text = "x".repeat(1 << 20);
    let calls: Vec<_> =
        (0..80).map(|_| tokio::spawn(client.call::<i64>("big", (text.as_str(),)))).collect();
    guarded("calls that wait", async {
        while client.status().waiting == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(peer);
    let error = guarded("its end", half).await.expect("no panic").expect_err("cut");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Disconnected, Sent::Maybe));
    let mut sent = [0, 0];
    for call in guarded("all ends", join_all(calls)).await {
        let error = call.expect("no panic").expect_err("the peer died");
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
        sent[usize::from(error.was_sent() == Sent::Maybe)] += 1;
    }
    assert!(sent[0] > 0 && sent[1] > 0, "unsent and perhaps sent: {sent:?}");
    let stats = client.stats();
    assert_eq!((stats.calls, stats.disconnected, stats.in_flight), (81, 81, 0));
}

#[tokio::test(start_paused = true)]
async fn f039_a_call_whose_time_was_over_is_never_sent_later() {
    let (listener, endpoint) = listen().await;
    drop(listener);
    let client = Client::builder().connect_lazily(&endpoint).expect("an endpoint");
    let call = client.call::<i64>("never", ()).timeout(Duration::from_millis(100));
    let error = call.await.expect_err("nobody is there");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Timeout, Sent::No));
    let warmwire_rpc::Endpoint::Tcp { port, .. } = endpoint else { panic!("TCP") };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("again");
    let call = tokio::spawn(client.call::<i64>("now", ()));
    let mut peer = Script::accept(&listener).await;
    assert_eq!(peer.call().await.1, "now");
    drop((call, client));
}

#[tokio::test]
async fn f046_calls_made_while_a_peer_dies_all_end_and_the_counts_match() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    let first: Vec<_> = (0..500).map(|n| tokio::spawn(client.call::<i64>("work", (n,)))).collect();
    let mut answered = 0;
    for _ in 0..100 {
        let (id, _) = peer.call().await;
        peer.send(&[br#"j:{"args":[1]}"#, &id]).await;
        answered += 1;
    }
    drop(peer);
    let second: Vec<_> = (0..500).map(|n| tokio::spawn(client.call::<i64>("work", (n,)))).collect();
    let mut peer = Script::accept(&listener).await;
    let serve = tokio::spawn(async move {
        let mut answered = 0;
        while let Some(frame) = peer.frame().await {
            let id = frame.get(1).expect("an argument").to_vec();
            peer.send(&[br#"j:{"args":[1]}"#, &id]).await;
            answered += 1;
        }
        answered
    });
    let (mut good, mut lost) = (0, 0);
    for call in guarded("all ends", join_all(first.into_iter().chain(second))).await {
        match call.expect("no panic") {
            Ok(_) => good += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
                lost += 1;
            }
        }
    }
    assert_eq!(good + lost, 1000);
    client.close().await;
    answered += serve.await.expect("no panic");
    let stats = client.stats();
    assert!(answered >= good, "{answered} were answered and {good} got an answer");
    assert_eq!((stats.answered, stats.disconnected), (good as u64, lost as u64));
}

#[tokio::test]
async fn f083_what_was_not_sent_can_be_sent_again_by_itself() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .resend_unsent(true)
        .timeout(None)
        .connect(&endpoint)
        .await
        .expect("connects");
    let peer = Script::accept(&listener).await;
    let text = "x".repeat(1 << 20);
    let calls: Vec<_> =
        (0..40).map(|_| tokio::spawn(client.call::<i64>("big", (text.as_str(),)))).collect();
    guarded("calls that wait", async {
        while client.status().waiting == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(peer);
    let mut peer = Script::accept(&listener).await;
    tokio::spawn(async move {
        loop {
            let (id, _) = peer.call().await;
            peer.send(&[br#"j:{"args":[1]}"#, &id]).await;
        }
    });
    for call in guarded("all ends", join_all(calls)).await {
        if let Err(error) = call.expect("no panic") {
            assert_eq!(error.was_sent(), Sent::Maybe, "{error}");
        }
    }
    assert!(client.stats().answered > 0);
}

#[tokio::test]
async fn calls_fail_at_once_where_there_is_nobody_and_no_queue() {
    let client = Client::builder()
        .queue(QueuePolicy::Off)
        .connect_lazily(&nobody().await)
        .expect("an endpoint");
    let error = client.call::<i64>("work", ()).await.expect_err("nobody");
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Disconnected, Sent::No));
}

#[tokio::test]
async fn the_last_handle_closes_the_connections() {
    let server = Server::builder()
        .expose("hang", || async {
            std::future::pending::<()>().await;
            Ok(())
        })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::builder().pool(3).connect(server.local_address()).await.expect("up");
    let clone = client.clone();
    let call = tokio::spawn(client.call::<()>("hang", ()));
    guarded("three connections", async {
        while server.stats().connections < 3 || server.stats().calls < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(client);
    clone.ping().await.expect("another handle is there");
    drop(clone);
    assert_eq!(server.stats().connections, 3, "a call is under way");
    call.abort();
    guarded("the end", async {
        while server.stats().connections > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[test]
fn calls_end_with_the_runtime_of_their_client() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (theirs, ours) = (runtime(), runtime());
    let (client, peer) = theirs.block_on(async {
        let (listener, endpoint) = listen().await;
        let client = Client::connect(&endpoint).await.expect("connects");
        (client, Script::accept(&listener).await)
    });
    let call = ours.spawn(client.call::<i64>("work", ()).timeout(None));
    ours.block_on(async {
        while client.status().in_flight == 0 {
            tokio::task::yield_now().await;
        }
    });
    drop(theirs);
    let error = ours.block_on(guarded("its end", call)).expect("no panic").expect_err("ended");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    drop(peer);
}

#[tokio::test]
async fn a_listener_that_panics_hangs_no_call() {
    let (listener, endpoint) = listen().await;
    let client = Client::builder()
        .on_event(|event| {
            if let warmwire_rpc::Event::Connected { connection: 1 } = event {
                panic!("on purpose");
            }
        })
        .reconnect(true)
        .connect(&endpoint)
        .await
        .expect("connects");
    drop(Script::accept(&listener).await);
    let call = client.call::<i64>("work", ()).timeout(None);
    let error = guarded("its end", call).await.expect_err("there is no connection any more");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
}
