//! One-way sockets.

use bytes::Bytes;
use warmwire_rpc::sockets::{FullPolicy, Pub, Pull, Push, SocketStats, Sub};
use warmwire_rpc::{Endpoint, ErrorKind, Value};
use warmwire_testkit::guarded;

use crate::scripted::{Script, listen, nobody};

/// Waits until the numbers are as they should be.
async fn until(what: &str, stats: impl Fn() -> SocketStats, good: impl Fn(&SocketStats) -> bool) {
    guarded(what, async {
        while !good(&stats()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn messages_are_pulled_by_one_peer_each_in_turn() {
    let push = Push::builder().push();
    let endpoint = push.bind("tcp://127.0.0.1:0").await.expect("binds");
    let mut pulls = Vec::new();
    for peers in 1..=2 {
        let pull = Pull::builder().pull();
        pull.connect(&endpoint).expect("an endpoint");
        until("a peer", || push.stats(), |stats| stats.peers == peers).await;
        pulls.push(pull);
    }
    for n in 0..10 {
        push.send(("job", n)).await.expect("sent");
    }
    for (first, pull) in pulls.iter_mut().enumerate() {
        for n in (first..10).step_by(2) {
            let message = guarded("a message", pull.recv()).await;
            assert_eq!(message, [Value::from("job"), n.into()]);
        }
    }
    guarded("its end", push.close()).await;
}

#[tokio::test]
async fn the_bytes_are_those_of_axon_and_either_side_listens() {
    let (listener, endpoint) = listen().await;
    let push = Push::builder().push();
    push.connect(&endpoint).expect("an endpoint");
    push.send(("job", Value::from(Bytes::from_static(b"\xff")))).await.expect("waits");
    let mut peer = Script::accept(&listener).await;
    let frame = peer.frame().await.expect("a message");
    assert_eq!(frame.iter().collect::<Vec<_>>(), [&b"s:job"[..], b"\xff"]);

    let mut pull = Pull::builder().pull();
    let endpoint = pull.bind("tcp://127.0.0.1:0").await.expect("binds");
    let mut peer = Script::connect(&endpoint).await;
    peer.send(&[b"s:a", b"j:{bad"]).await;
    peer.send(&[b"s:b", b"j:[1]"]).await;
    let message = guarded("a message", pull.recv()).await;
    assert_eq!(message, [Value::from("b"), vec![1.into()].into()]);
    assert_eq!((pull.stats().received, pull.stats().unreadable), (1, 1));
    peer.write(b"\x10").await;
    peer.ended().await;
}

#[tokio::test]
async fn f043_messages_for_nobody_wait_within_their_bound() {
    for (policy, expected, dropped) in
        [(FullPolicy::DropNew, [0, 1, 2], 2), (FullPolicy::DropOld, [2, 3, 4], 2)]
    {
        let push = Push::builder().when_full(policy).queue_limits(3, 1000).push();
        let mut refused = 0;
        for n in 0..5 {
            if let Err(error) = push.send((n,)).await {
                assert_eq!(error.kind(), ErrorKind::QueueFull);
                refused += 1;
            }
        }
        assert_eq!(refused, if policy == FullPolicy::DropNew { 2 } else { 0 });
        assert_eq!((push.stats().waiting, push.stats().dropped), (3, dropped));
        let mut pull = Pull::builder().pull();
        push.connect(pull.bind("tcp://127.0.0.1:0").await.expect("binds")).expect("an endpoint");
        for n in expected {
            assert_eq!(guarded("a message", pull.recv()).await, [Value::from(n)]);
        }
    }
    let push = Push::builder().queue_limits(1, 1000).push();
    push.send((1,)).await.expect("waits");
    let mut second = Box::pin(push.send((2,)));
    assert!(futures_util::poll!(&mut second).is_pending(), "it waits for room");
    let mut pull = Pull::builder().pull();
    push.connect(pull.bind("tcp://127.0.0.1:0").await.expect("binds")).expect("an endpoint");
    guarded("room", second).await.expect("sent");
    assert_eq!(guarded("a message", pull.recv()).await, [Value::from(1)]);
    assert_eq!(guarded("a message", pull.recv()).await, [Value::from(2)]);
}

#[tokio::test]
async fn who_does_not_take_messages_is_not_sent_all_of_them() {
    let mut pull = Pull::builder().inbox(2).pull();
    let endpoint = pull.bind("tcp://127.0.0.1:0").await.expect("binds");
    let push = Push::builder().when_full(FullPolicy::DropNew).queue_limits(4, 1 << 20).push();
    push.connect(&endpoint).expect("an endpoint");
    let text = "x".repeat(100_000);
    until("the peer", || push.stats(), |stats| stats.peers == 1).await;
    let mut taken = 0;
    guarded("a full queue", async {
        loop {
            match push.send((text.as_str(), taken)).await {
                Ok(()) => taken += 1,
                Err(error) => return assert_eq!(error.kind(), ErrorKind::QueueFull),
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(taken < 500, "{taken} messages of 100 kB are on their way to who reads none");
    for n in 0..taken {
        let message = guarded("a message", pull.recv()).await;
        assert_eq!(message[1], Value::from(n), "in their order, and none is lost");
    }
}

#[tokio::test]
async fn what_a_lost_peer_did_not_get_goes_to_another() {
    let (listener, endpoint) = listen().await;
    let push = Push::builder().when_full(FullPolicy::DropNew).queue_limits(8, 16 << 20).push();
    push.connect(&endpoint).expect("an endpoint");
    let peer = Script::accept(&listener).await;
    let text = "x".repeat(1 << 20);
    // More than the sockets between them hold, so that some of it is not written.
    for n in 0.. {
        tokio::task::yield_now().await;
        if push.send((n, text.as_str())).await.is_err() {
            break;
        }
    }
    let waiting = push.stats().waiting;
    assert!(waiting >= 8);
    drop((peer, listener));
    let mut pull = Pull::builder().pull();
    push.connect(pull.bind("tcp://127.0.0.1:0").await.expect("binds")).expect("an endpoint");
    let first = guarded("a message", pull.recv()).await;
    let first = first[0].as_i64().expect("a number");
    for n in 1..waiting as i64 {
        let next = guarded("a message", pull.recv()).await;
        assert_eq!(next[0], Value::from(first + n));
    }
}

#[tokio::test]
async fn subscribers_get_what_their_patterns_match() {
    let publisher = Pub::builder().publish();
    let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds");
    let mut all = Sub::builder().subscribe();
    let mut users = Sub::builder().subscribe();
    users.subscribe("user:*");
    users.subscribe("tick");
    for sub in [&all, &users] {
        sub.connect(&endpoint).expect("an endpoint");
    }
    until("two peers", || publisher.stats(), |stats| stats.peers == 2).await;
    assert_eq!(publisher.publish("user:login", (7,)).expect("sent"), 2);
    publisher.publish("other", ()).expect("sent");
    publisher.publish("tick", ()).expect("sent");
    for (topic, arguments) in [("user:login", vec![7.into()]), ("other", vec![]), ("tick", vec![])]
    {
        let message = guarded("a message", all.recv()).await;
        assert_eq!((&*message.topic, message.arguments), (topic, arguments));
        assert!(message.captures.is_empty());
    }
    let message = guarded("a message", users.recv()).await;
    assert_eq!((&*message.topic, &*message.captures), ("user:login", &["login".to_owned()][..]));
    assert_eq!(guarded("a message", users.recv()).await.topic, "tick");
    assert!(users.unsubscribe("tick") && !users.unsubscribe("tick"));
}

#[tokio::test]
async fn f014_a_subscriber_that_stops_reading_costs_a_bounded_amount_and_nobody_else_anything() {
    for policy in [FullPolicy::DropOld, FullPolicy::DropNew, FullPolicy::Disconnect] {
        let publisher = Pub::builder().when_full(policy).queue_limits(100, 1 << 20).publish();
        let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds");
        let stuck = Script::connect(&endpoint).await;
        let mut reads = Sub::builder().subscribe();
        reads.connect(&endpoint).expect("an endpoint");
        until("two peers", || publisher.stats(), |stats| stats.peers == 2).await;
        let text = "x".repeat(8 << 10);
        for n in 0..5_000 {
            publisher.publish("log", (n, text.as_str())).expect("sent");
            let message = guarded("a message", reads.recv()).await;
            assert_eq!(message.arguments[0], Value::from(n), "{policy:?}");
        }
        let stats = publisher.stats();
        assert!(stats.dropped > 0 && stats.waiting <= 100, "{policy:?}: {stats:?}");
        if policy == FullPolicy::Disconnect {
            until("one peer", || publisher.stats(), |stats| stats.peers == 1).await;
        }
        drop(stuck);
    }
}

#[tokio::test]
async fn f017_subscribers_come_and_go_and_the_others_get_every_message_once() {
    let publisher = Pub::builder().publish();
    let endpoint = publisher.bind("tcp://127.0.0.1:0").await.expect("binds");
    let mut stays = Sub::builder().subscribe();
    stays.connect(&endpoint).expect("an endpoint");
    until("a peer", || publisher.stats(), |stats| stats.peers == 1).await;
    let mut guests = Vec::new();
    for n in 0..20_000 {
        publisher.publish("n", (n,)).expect("sent");
        if n % 97 == 0 {
            let guest = Sub::builder().subscribe();
            guest.connect(&endpoint).expect("an endpoint");
            guests.push(guest);
        }
        if n % 101 == 0 && !guests.is_empty() {
            guests.swap_remove(n % guests.len());
        }
        let message = guarded("a message", stays.recv()).await;
        assert_eq!(message.arguments, [Value::from(n)]);
    }
}

#[tokio::test]
async fn f069_a_dead_peer_can_be_given_up_and_nothing_is_left_after_close() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let dead = nobody().await;
    let push = Push::builder().push();
    push.connect(&dead).expect("an endpoint");
    assert!(push.disconnect(&dead) && !push.disconnect(&dead));
    push.connect(nobody().await).expect("an endpoint");
    push.bind("tcp://127.0.0.1:0").await.expect("binds");
    guarded("its end", push.close()).await;
    let sub = Sub::builder().subscribe();
    sub.connect(Endpoint::from(1)).expect("an endpoint");
    drop(sub);
    guarded("no task", async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_closed_socket_has_written_everything() {
    let push = Push::builder().push();
    let mut pull = Pull::builder().pull();
    let endpoint = pull.bind("tcp://127.0.0.1:0").await.expect("binds");
    push.connect(&endpoint).expect("an endpoint");
    for n in 0..1_000 {
        push.send((n,)).await.expect("sent");
    }
    until("a peer", || push.stats(), |stats| stats.peers == 1).await;
    let closed = tokio::spawn(push.close());
    for n in 0..1_000 {
        assert_eq!(guarded("a message", pull.recv()).await, [Value::from(n)]);
    }
    guarded("its end", closed).await.expect("no panic");
}
