//! Peers that send what they should not.

use warmwire_rpc::{Client, ErrorKind, Server};
use warmwire_testkit::guarded;

use crate::scripted::{Script, frame, listen};

async fn server() -> Server {
    Server::builder()
        .expose("count", |n: i64| async move { Ok(n + 1) })
        .max_message(10_000)
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds")
}

#[tokio::test]
async fn f061_what_is_no_request_is_answered_and_the_connection_goes_on() {
    let server = server().await;
    let mut peer = Script::connect(server.local_address()).await;
    for arguments in [
        &[&b"j:undefined"[..], b"s:1"][..],
        &[b"j:{bad", b"s:1"],
        &[b"x:", b"s:1"],
        &[b"x", b"s:1"],
        &[b"", b"s:1"],
        &[b"j:null", b"s:1"],
        &[b"s:1"],
        &[b"j:{}", b"j:{}", b"j:{}", b"s:1"],
        &[br#"j:{"method":"count","args":5}"#, b"s:1"],
        &[br#"j:{"type":"methods","ww":[]}"#, b"s:1"],
        &[b"ww\x01\x81", b"j:[]", b"s:1"],
        &[b"ww\x01\xff", b"s:1"],
    ] {
        peer.send(arguments).await;
        let reply = peer.frame().await.expect("an answer");
        let text = String::from_utf8_lossy(reply.get(0).expect("an argument")).into_owned();
        assert!(text.contains("error") || text.starts_with("ww\u{1}"), "{text}");
        assert_eq!(reply.iter().last(), Some(&b"s:1"[..]));
    }
    // An id is anybody's bytes, and comes back as it was.
    for id in [&b"j:5"[..], b"\xde\xad", b"", b"s:__proto__"] {
        peer.send(&[br#"j:{"method":"count","args":[1]}"#, id]).await;
        let reply = peer.frame().await.expect("an answer");
        assert_eq!(reply.iter().collect::<Vec<_>>(), [&br#"j:{"args":[2]}"#[..], id]);
    }
    assert_eq!(server.stats().connections, 1);
}

#[tokio::test]
async fn f058_a_peer_that_has_lost_step_is_dropped_and_the_others_are_served() {
    let server = server().await;
    let client = Client::connect(server.local_address()).await.expect("connects");
    let first = frame(&[br#"j:{"method":"count","args":[1]}"#, b"s:1"]);
    for garbage in [
        &b"\x11\xff\xff\xff\xff"[..],
        b"\x1f\0\0\x27\x11",
        b"\x10",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let mut peer = Script::connect(server.local_address()).await;
        peer.write(&[&first[..], garbage].concat()).await;
        let reply = peer.frame().await.expect("the answer to what came before");
        assert_eq!(reply.get(0).expect("an argument"), &br#"j:{"args":[2]}"#[..]);
        peer.ended().await;
        assert_eq!(client.call::<i64>("count", (1,)).await.expect("served"), 2);
    }
}

#[tokio::test]
async fn a_request_that_comes_byte_by_byte_is_a_request() {
    let server = server().await;
    let mut peer = Script::connect(server.local_address()).await;
    peer.stream.set_nodelay(true).expect("a socket");
    for byte in frame(&[br#"j:{"method":"count","args":[1]}"#, b"s:1"]) {
        peer.write(&[byte]).await;
    }
    let reply = peer.frame().await.expect("an answer");
    assert_eq!(reply.get(0).expect("an argument"), &br#"j:{"args":[2]}"#[..]);
}

#[tokio::test]
async fn a_peer_that_takes_no_replies_costs_a_bounded_amount() {
    let server = Server::builder()
        .expose("big", || async { Ok("x".repeat(1 << 20)) })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let mut peer = Script::connect(server.local_address()).await;
    let call = frame(&[br#"j:{"method":"big","args":[]}"#, b"s:1"]);
    // Far more than the sockets between them hold, asked for and not read.
    peer.write(&call.repeat(1000)).await;
    let client = Client::connect(server.local_address()).await.expect("connects");
    for _ in 0..20 {
        client.call::<String>("big", ()).await.expect("others are served");
    }
    let served = server.stats().calls - 20;
    assert!(served < 40, "{served} calls of a peer that does not read");
    for _ in 0..1000 {
        let reply = peer.frame().await.expect("a reply");
        assert_eq!(reply.get(0).map(<[u8]>::len), Some((1 << 20) + 15));
    }
}

#[tokio::test]
async fn f061_replies_that_are_none_end_their_calls_alone() {
    let (listener, endpoint) = listen().await;
    let client = Client::connect(&endpoint).await.expect("connects");
    let mut peer = Script::accept(&listener).await;
    for arguments in [&b"j:null"[..], b"s:x", b"j:{}", b"j:{bad", b"ww\x01\x01\0\0\0\0x"] {
        let call = tokio::spawn(client.call::<i64>("work", ()));
        let (id, _) = peer.call().await;
        peer.send(&[arguments, &id]).await;
        let error = guarded("its end", call).await.expect("no panic").expect_err("no reply");
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    }
    // Ids that belong to no call, of which some end a client of Node.
    for id in [&b"s:__proto__"[..], b"s:__defineGetter__", b"s:999", b"", b"j:1"] {
        peer.send(&[br#"j:{"args":[1]}"#, id]).await;
    }
    let call = tokio::spawn(client.call::<i64>("work", ()));
    let (id, _) = peer.call().await;
    peer.send(&[br#"j:{"args":[3]}"#, &id]).await;
    assert_eq!(guarded("its end", call).await.expect("no panic").expect("answered"), 3);
    assert_eq!(client.stats().opened, 1);
}

#[tokio::test]
async fn f058_a_client_leaves_a_peer_that_has_lost_step() {
    for garbage in [&b"\x11\xff\xff\xff\xff"[..], b"\x10", b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let (listener, endpoint) = listen().await;
        let client = Client::builder().reconnect(false).connect(&endpoint).await.expect("up");
        let mut peer = Script::accept(&listener).await;
        let call = tokio::spawn(client.call::<i64>("work", ()));
        peer.call().await;
        peer.write(garbage).await;
        let error = guarded("its end", call).await.expect("no panic").expect_err("garbage");
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
        peer.ended().await;
    }
}
