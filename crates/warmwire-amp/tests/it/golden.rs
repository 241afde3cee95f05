//! Against what npm's amp 0.3.1 and amp-message 0.1.2 write and read, and what axon 2.0.3, axon-rpc
//! 0.0.3 and pm2's forks of them say to each other (`vectors.cjs` has them say it).

use bytes::{Bytes, BytesMut};
use warmwire_amp::message::{Call, Dialect, Received, Reply, Request, plain};
use warmwire_amp::{Argument, Frame, FrameReader, FrameWriter, Object, Value};

const VECTORS: &str = include_str!("../../../../tests/interop/node/vectors.json");

fn vectors(kind: &str) -> Vec<Value> {
    let file = Bytes::from(format!("j:{VECTORS}"));
    let file = Argument::read(file).expect("JSON").into_value();
    file.get(kind).and_then(Value::as_array).expect("an array").to_vec()
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector.get(key).and_then(Value::as_str).expect("text")
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn array<'a>(vector: &'a Value, key: &str) -> &'a [Value] {
    vector.get(key).and_then(Value::as_array).expect("an array")
}

fn frame(vector: &Value, key: &str) -> Frame {
    let mut input = BytesMut::from(&bytes(text(vector, key))[..]);
    FrameReader::new(1 << 20).next(&mut input).expect("a frame").expect("whole")
}

fn hex(out: &FrameWriter) -> String {
    out.to_vec().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The JSON in a frame, as it came.
fn json(vector: &Value, key: &str) -> Object {
    let argument = frame(vector, key).bytes(0).expect("an argument");
    match Argument::read(argument).expect("JSON").into_value() {
        Value::Object(message) => message,
        other => panic!("an object and not {other}"),
    }
}

/// A value as the file has it, and as it is after Node's JSON.
fn typed(value: &Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.iter().map(typed).collect()),
        Value::Object(object) => {
            if let Some(hex) = object.get("$buffer").and_then(Value::as_str) {
                return Bytes::from(bytes(hex)).into();
            }
            if object.contains_key("$undefined") {
                return Value::Null;
            }
            Object::from_iter(object.iter().map(|(key, value)| (key, typed(value)))).into()
        }
        other => other.clone(),
    }
}

#[test]
fn f055_what_node_writes_is_read_and_written_again_byte_for_byte() {
    let written = [vectors("written"), vectors("sockets")].concat();
    assert!(written.len() > 40);
    for vector in written {
        let name = text(&vector, "name");
        let read = plain::read(frame(&vector, "frame")).expect("arguments");
        let expected = array(&vector, "values");
        assert_eq!(read, expected.iter().map(typed).collect::<Vec<_>>(), "{name}");
        let mut out = FrameWriter::default();
        let arguments = read.into_iter().map(|value| Argument::of(value).expect("unambiguous"));
        out.frame(&arguments.collect::<Vec<_>>()).expect("at most fifteen");
        assert_eq!(hex(&out), text(&vector, "frame"), "{name}");
    }
}

#[test]
fn f055_frames_are_read_as_node_reads_them_and_are_errors_where_it_throws() {
    for vector in vectors("read") {
        let name = text(&vector, "name");
        let read = plain::read(frame(&vector, "frame"));
        match (read, vector.get("values").and_then(Value::as_array)) {
            (Ok(read), Some(values)) => {
                assert_eq!(read, values.iter().map(typed).collect::<Vec<_>>(), "{name}");
            }
            (Err(_), None) => {}
            (read, values) => panic!("{name}: {read:?} where Node has {values:?}"),
        }
    }
}

#[test]
fn f055_streams_are_cut_as_node_cuts_them() {
    for vector in vectors("stream") {
        let name = text(&vector, "name");
        let mut reader = FrameReader::new(1 << 20);
        let mut input = BytesMut::new();
        let mut messages = Vec::new();
        for chunk in array(&vector, "chunks") {
            input.extend_from_slice(&bytes(chunk.as_str().expect("text")));
            while let Some(frame) = reader.next(&mut input).expect("no fault") {
                messages.push(Value::from(plain::read(frame).expect("arguments")));
            }
        }
        let theirs: Vec<_> = array(&vector, "messages").iter().map(typed).collect();
        match name {
            // Node keeps it until another byte comes; here it is whole with its own last one.
            "an empty argument last" => {
                assert!(theirs.is_empty());
                assert_eq!(messages, [Value::from(vec![Value::from(Bytes::new())])]);
            }
            _ => assert_eq!(messages, theirs, "{name}"),
        }
    }
}

#[test]
fn f055_bare_replies_are_read_as_node_reads_them_and_written_as_it_writes_them() {
    for vector in vectors("replies") {
        let name = text(&vector, "name");
        let mut reply = frame(&vector, "reply");
        let id = reply.pop().expect("an id");
        assert_eq!(frame(&vector, "request").pop().as_ref(), Some(&id), "{name}");
        let read = plain::read(reply).expect("arguments");
        assert_eq!(read, array(&vector, "outcome").iter().map(typed).collect::<Vec<_>>(), "{name}");
        let again = match read.split_first().expect("the error, or null") {
            (Value::Null, results) => {
                Ok(results.iter().map(|value| Argument::of(value.clone()).expect("unambiguous")))
            }
            (Value::String(error), _) => Err(error.clone()),
            // What is left of an Error has no text that could be written.
            _ => continue,
        };
        let mut out = FrameWriter::default();
        plain::write_reply(&again.map(Iterator::collect), &id, &mut out);
        assert_eq!(hex(&out), text(&vector, "reply"), "{name}");
    }
}

#[test]
fn f055_requests_of_axon_rpc_are_understood_and_refused_as_its_servers_do() {
    for vector in vectors("rpc") {
        let name = text(&vector, "name");
        let message = json(&vector, "request");
        match Request::read(frame(&vector, "request")) {
            Ok(Received { id, message: request, dialect }) => {
                assert_eq!((&id[..], dialect), (&b"s:77:0"[..], Dialect::Axon), "{name}");
                let expected = match message.get("method").and_then(Value::as_str) {
                    None => Request::Methods,
                    Some(method) => Request::Call(Call {
                        method: method.to_owned(),
                        arguments: array(&message.into(), "args").to_vec(),
                        ..Call::default()
                    }),
                };
                assert_eq!(request, expected, "{name}");
            }
            Err(unreadable) => {
                let theirs = json(&vector, "reply");
                let theirs = theirs.get("error").and_then(Value::as_str);
                assert_eq!(theirs, Some(unreadable.fault.message()), "{name}");
            }
        }
    }
}

#[test]
fn f055_replies_of_axon_rpc_are_understood_and_written_as_its_servers_write_them() {
    let mut written = 0;
    for vector in vectors("rpc") {
        let name = text(&vector, "name");
        let theirs = json(&vector, "reply");
        let reply = match Reply::read(frame(&vector, "reply")) {
            Ok(received) => received.message,
            // An error that axon-rpc loses: its own client dies of it.
            Err(_) => {
                assert!(theirs.is_empty() && name.ends_with("as error (axon)"), "{name}");
                continue;
            }
        };
        match &reply {
            Reply::Results(results) => {
                assert_eq!(Some(&Value::from(results.clone())), theirs.get("args"), "{name}");
            }
            Reply::Methods(methods) => {
                assert_eq!(Some(&Value::from(methods.clone())), theirs.get("methods"), "{name}");
            }
            Reply::Fault(fault) => {
                let error = theirs.get("error").expect("an error");
                let said = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
                assert_eq!(fault.message(), said, "{name}");
                assert_eq!(fault.stack(), theirs.get("stack").and_then(Value::as_str), "{name}");
                if fault.stack().is_some() || !matches!(error, Value::String(_)) {
                    // Where its methods are in the file system is nobody's business, and an error
                    // of ours is always a text.
                    continue;
                }
            }
            Reply::Pong => panic!("{name}: a pong"),
        }
        let mut out = FrameWriter::default();
        reply.write(&Bytes::from_static(b"s:77:0"), Dialect::Axon, &mut out);
        assert_eq!(hex(&out), text(&vector, "reply"), "{name}");
        written += 1;
    }
    assert!(written > 10);
}
