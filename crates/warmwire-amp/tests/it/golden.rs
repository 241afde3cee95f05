//! Against what npm's amp 0.3.1 and amp-message 0.1.2 write and read (`vectors.cjs` has them say it).

use bytes::{Bytes, BytesMut};
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

fn frame(vector: &Value) -> Frame {
    let mut input = BytesMut::from(&bytes(text(vector, "frame"))[..]);
    FrameReader::new(1 << 20).next(&mut input).expect("a frame").expect("whole")
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
    let written = vectors("written");
    assert!(written.len() > 20);
    for vector in written {
        let name = text(&vector, "name");
        let read: Vec<Value> = frame(&vector)
            .into_arguments()
            .map(|argument| Argument::read(argument).expect("an argument").into_value())
            .collect();
        let expected = vector.get("values").and_then(Value::as_array).expect("an array");
        assert_eq!(read, expected.iter().map(typed).collect::<Vec<_>>(), "{name}");
        let mut out = FrameWriter::default();
        let arguments = read.into_iter().map(|value| Argument::of(value).expect("unambiguous"));
        out.frame(&arguments.collect::<Vec<_>>()).expect("at most fifteen");
        let written: String = out.to_vec().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, text(&vector, "frame"), "{name}");
    }
}

#[test]
fn f055_frames_are_read_as_node_reads_them_and_are_errors_where_it_throws() {
    for vector in vectors("read") {
        let name = text(&vector, "name");
        let read: Result<Vec<_>, _> = frame(&vector).into_arguments().map(Argument::read).collect();
        match (read, vector.get("values").and_then(Value::as_array)) {
            (Ok(read), Some(values)) => {
                let read: Vec<_> = read.into_iter().map(Argument::into_value).collect();
                assert_eq!(read, values.iter().map(typed).collect::<Vec<_>>(), "{name}");
            }
            (Err(_), None) => {}
            (read, values) => panic!("{name}: {read:?} where Node has {values:?}"),
        }
    }
}
