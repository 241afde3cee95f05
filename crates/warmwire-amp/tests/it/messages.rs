//! Requests and replies in both forms.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use warmwire_amp::message::{Call, Dialect, Received, Reply, Request, Unreadable, write_id};
use warmwire_amp::{Fault, Frame, FrameReader, FrameWriter, Object, Value};

use crate::values::any_value;

fn frame(out: &FrameWriter) -> Frame {
    let mut input = BytesMut::from(&out.to_vec()[..]);
    let frame = FrameReader::new(16 << 20).next(&mut input).expect("no fault").expect("whole");
    assert!(input.is_empty(), "exactly one frame");
    frame
}

fn sent(request: &Request, dialect: Dialect) -> Frame {
    let mut out = FrameWriter::default();
    request.write(dialect, &mut out);
    write_id(7, &mut out);
    frame(&out)
}

fn read(arguments: &[&str]) -> Result<Received<Request>, Unreadable> {
    Request::read(arguments.iter().map(|text| Bytes::from((*text).to_owned())).collect())
}

fn call(method: &str, arguments: Vec<Value>) -> Request {
    Request::Call(Call { method: method.into(), arguments, ..Call::default() })
}

#[test]
fn a_call_to_a_peer_of_whom_nothing_is_known_is_that_of_axon_rpc_and_one_key() {
    let frame = sent(&call("add", vec![1.into(), 2.into()]), Dialect::Axon);
    assert_eq!(
        frame.iter().collect::<Vec<_>>(),
        [&br#"j:{"type":"call","method":"add","args":[1,2],"ww":{"v":1}}"#[..], b"s:7"]
    );
}

#[test]
fn the_calls_of_axon_rpc_are_understood() {
    for json in [
        r#"j:{"type":"call","method":"add","args":[1,2]}"#,
        r#"j:{"method":"add","args":[1,2]}"#,
        r#"j:{"type":"anything","args":[1,2],"method":"add","more":{}}"#,
    ] {
        let received = read(&[json, "s:77:0"]).expect("a call");
        assert_eq!(received.message, call("add", vec![1.into(), 2.into()]));
        assert_eq!(received.dialect, Dialect::Axon);
        assert_eq!(received.id, "s:77:0");
    }
    let received = read(&[r#"j:{"type":"methods"}"#, "j:5"]).expect("a request");
    assert_eq!((received.message, &received.id[..]), (Request::Methods, &b"j:5"[..]));
}

#[test]
fn f063_requests_that_end_a_server_of_node_are_answered() {
    for (arguments, says) in [
        (&["j:null", "s:1"][..], "a message is an object, not null"),
        (&["s:1"], "not 0 arguments and an id"),
        (&["j:{}", "j:{}", "s:1"], "not 2 arguments and an id"),
        (&["j:x", "s:1"], "is not JSON"),
        (&["j:", "s:1"], "is not JSON"),
        (&["s:text", "s:1"], "not a string"),
        (&["raw", "s:1"], "not a buffer"),
        (&["j:{}", "s:1"], ".method required"),
        (&[r#"j:{"method":5,"args":[]}"#, "s:1"], ".method must be a string, not a number"),
        (&[r#"j:{"method":"add"}"#, "s:1"], ".args required"),
        (&[r#"j:{"method":"add","args":{}}"#, "s:1"], ".args must be an array, not an object"),
        (&[r#"j:{"method":"add","args":"x"}"#, "s:1"], ".args must be an array, not a string"),
        (&[r#"j:{"method":"a","args":[],"ww":1}"#, "s:1"], ".ww must be an object"),
        (&[r#"j:{"method":"a","args":[],"ww":{"args":"x"}}"#, "s:1"], ".ww.args"),
        (&["ww\u{1}\u{1}", "s:1"], "without deadline"),
        (&["ww\u{1}\u{7f}", "s:1"], "no message is of the kind 0x7f"),
        (&["ww\u{1}", "s:1"], "no message is of the kind"),
        (&["ww\u{1}\u{1}\0\0\0\0m", "j:{}", "s:1"], "a skeleton is an array"),
        (&["ww\u{1}\u{1}\0\0\0\0m", "j:[\"~b0\"]", "s:1"], "refers to no buffer"),
        (&["ww\u{1}\u{1}\0\0\0\0m", "s:[]", "s:1"], "begins with j:"),
    ] {
        let unreadable = read(arguments).expect_err("no request");
        assert!(unreadable.fault.message().contains(says), "{unreadable} for {arguments:?}");
        assert_eq!(unreadable.id.as_deref(), Some(&b"s:1"[..]));
    }
    assert_eq!(read(&[]).expect_err("no request").id, None);
}

#[test]
fn f066_faults_arrive_with_code_and_data_and_never_with_a_stack() {
    let fault = Fault::new("no money").code("declined").data(Object::from_iter([("left", 5)]));
    for dialect in [Dialect::Axon, Dialect::Extended] {
        let mut out = FrameWriter::default();
        Reply::Fault(fault.clone()).write(&Bytes::from_static(b"s:1"), dialect, &mut out);
        let received = Reply::read(frame(&out)).expect("a reply");
        assert_eq!(received.message, Reply::Fault(fault.clone()));
    }
    let mut out = FrameWriter::default();
    Reply::Fault(fault).write(&Bytes::from_static(b"s:1"), Dialect::Axon, &mut out);
    assert_eq!(
        frame(&out).get(0).expect("an argument"),
        &br#"j:{"error":"no money","code":"declined","data":{"left":5}}"#[..]
    );
}

#[test]
fn the_replies_of_axon_rpc_are_understood() {
    let read = |json: &str| {
        let frame = Frame::from_iter([Bytes::from(json.to_owned()), "s:7".into()]);
        Reply::read(frame).map(|received| received.message)
    };
    assert_eq!(read(r#"j:{"args":[]}"#), Ok(Reply::Results(vec![])));
    let several = vec![1.into(), "two".into(), Value::from(Bytes::from_static(b"\x04"))];
    assert_eq!(
        read(r#"j:{"args":[1,"two",{"type":"Buffer","data":[4]}]}"#),
        Ok(Reply::Results(several))
    );
    let Ok(Reply::Fault(fault)) = read(r#"j:{"error":"","stack":"S"}"#) else {
        panic!("an empty message is an error, too");
    };
    assert_eq!((fault.message(), fault.stack()), ("", Some("S")));
    let Ok(Reply::Fault(fault)) = read(r#"j:{"error":{"a":1}}"#) else {
        panic!("any value may stand there");
    };
    assert_eq!(fault.message(), r#"{"a":1}"#);
    assert_eq!(fault.data_value(), &Value::from(Object::from_iter([("a", 1)])));
    for (json, says) in [
        ("j:null", "an object, not null"),
        ("s:x", "not a string"),
        ("j:{}", "has none"),
        (r#"j:{"args":5}"#, "is an array"),
    ] {
        let unreadable = read(json).expect_err("no reply");
        assert!(unreadable.fault.message().contains(says), "{unreadable} for {json}");
    }
}

#[test]
fn a_deadline_below_a_millisecond_is_still_one() {
    for dialect in [Dialect::Axon, Dialect::Extended] {
        let request = Request::Call(Call {
            method: "m".into(),
            deadline: Some(Duration::from_nanos(1)),
            notify: true,
            ..Call::default()
        });
        let Request::Call(call) = Request::read(sent(&request, dialect)).expect("a call").message
        else {
            panic!("a call");
        };
        assert_eq!((call.deadline, call.notify), (Some(Duration::from_millis(1)), true));
    }
}

#[test]
fn pings_methods_and_cancellations_go_in_both_forms() {
    for (request, dialects) in [
        (Request::Ping, &[Dialect::Axon, Dialect::Extended][..]),
        (Request::Methods, &[Dialect::Axon, Dialect::Extended]),
        (Request::Cancel, &[Dialect::Extended]),
    ] {
        for &dialect in dialects {
            let received = Request::read(sent(&request, dialect)).expect("a request");
            assert_eq!((received.message, received.dialect), (request.clone(), Dialect::Extended));
        }
    }
    let methods = Object::from_iter([("add", Object::from_iter([("name", "add")]))]);
    for reply in [Reply::Pong, Reply::Methods(methods)] {
        let mut out = FrameWriter::default();
        reply.write(&Bytes::from_static(b"s:1"), Dialect::Extended, &mut out);
        assert_eq!(Reply::read(frame(&out)).expect("a reply").message, reply);
    }
}

#[test]
fn f082_a_large_double_is_not_read_as_the_integer_that_its_digits_name() {
    // JavaScript writes the fewest digits that tell the doubles apart: 1340885032459289300 for the
    // first one, which is an integer, too, but another number.
    let whole = [1_340_885_032_459_289_344.0, 2f64.powi(53), 2f64.powi(60), 2f64.powi(63), 1e19];
    for number in whole.into_iter().flat_map(|number| [number, -number]) {
        for dialect in [Dialect::Axon, Dialect::Extended] {
            let call = call("a", vec![number.into()]);
            let received = Request::read(sent(&call, dialect)).expect("a call");
            assert_eq!(received.message, call, "{number} by {dialect:?}");
        }
    }
}

proptest! {
    #[test]
    fn f082_nothing_is_lost_between_two_warmwire_ends(
        values in prop::collection::vec(any_value(), 0..20),
        method in "[a-z]{1,9}",
    ) {
        for dialect in [Dialect::Axon, Dialect::Extended] {
            let received = Request::read(sent(&call(&method, values.clone()), dialect));
            let received = received.expect("a call");
            prop_assert_eq!(received.message, call(&method, values.clone()));
            prop_assert_eq!(received.dialect, Dialect::Extended);
        }
        let mut out = FrameWriter::default();
        let reply = Reply::Results(values);
        reply.write(&Bytes::from_static(b"s:1"), Dialect::Extended, &mut out);
        prop_assert_eq!(Reply::read(frame(&out)).expect("a reply").message, reply);
    }

    #[test]
    fn any_frame_is_a_message_or_an_error(
        arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
        kind in any::<u8>(),
    ) {
        let plain: Frame = arguments.iter().cloned().map(Bytes::from).collect();
        let _ = Request::read(plain.clone());
        let _ = Reply::read(plain);
        let head = [b"ww\x01", &[kind][..], b"\0\0\0\0m"].concat();
        let extended: Frame =
            [head].into_iter().chain(arguments).map(Bytes::from).collect();
        let _ = Request::read(extended.clone());
        let _ = Reply::read(extended);
    }
}
