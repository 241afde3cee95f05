//! Values by serde and on the wire.

use bytes::Bytes;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use warmwire_amp::{Argument, FrameReader, FrameWriter, Object, Value, from_value, to_value};

#[derive(Debug, PartialEq, Clone, Serialize, Deserialize)]
struct Image {
    name: String,
    pixels: Bytes,
    layers: Vec<Bytes>,
    scale: Option<f32>,
}

#[derive(Debug, PartialEq, Clone, Serialize, Deserialize)]
enum Shape {
    Dot,
    Circle(f64),
    Line(i64, i64),
    Box { width: u64, tags: Vec<String> },
}

#[test]
fn structs_and_enums_go_there_and_back() {
    let image = Image {
        name: "sky".into(),
        pixels: Bytes::from_static(b"s:\0\xff"),
        layers: vec![Bytes::new(), Bytes::from_static(b"j:x")],
        scale: None,
    };
    let value = to_value(&image).expect("a value");
    assert_eq!(value.get("pixels"), Some(&Value::from(image.pixels.clone())));
    assert_eq!(from_value::<Image>(value).expect("an image"), image);

    let shapes = vec![
        Shape::Dot,
        Shape::Circle(0.5),
        Shape::Line(-1, i64::MAX),
        Shape::Box { width: u64::MAX, tags: vec!["a".into()] },
    ];
    let value = to_value(&shapes).expect("a value");
    assert_eq!(value.to_string(), serde_json::to_string(&shapes).expect("JSON"));
    assert_eq!(from_value::<Vec<Shape>>(value).expect("shapes"), shapes);
}

#[test]
fn the_bytes_of_a_value_are_not_copied_by_serde() {
    let bytes = Bytes::from(vec![1; 100]);
    let value = Value::from(vec![Value::from(bytes.clone())]);
    let there = to_value(&(value,)).expect("a value");
    let back: (Value,) = from_value(there).expect("a tuple");
    let buffer = back.0.as_array().and_then(|array| array[0].as_buffer()).expect("a buffer");
    assert_eq!(buffer.as_ptr(), bytes.as_ptr());
}

#[test]
fn a_value_in_another_format_is_what_it_says() {
    let value: Value = serde_json::from_str(
        r#"{"a":[1,-2,0.5,null,true,"x"],"b":{"type":"Buffer","data":[0,255]}}"#,
    )
    .expect("a value");
    assert_eq!(value.get("b"), Some(&Value::from(Bytes::from_static(b"\0\xff"))));
    let array = value.get("a").cloned().expect("an array");
    assert_eq!(serde_json::to_string(&array).expect("JSON"), r#"[1,-2,0.5,null,true,"x"]"#);
}

#[test]
fn what_does_not_fit_says_so() {
    for (error, says) in [
        (from_value::<i64>(Value::from(0.5)).expect_err("no integer"), "floating point `0.5`"),
        (from_value::<i64>(Value::from("5")).expect_err("text"), "string \"5\", expected i64"),
        (from_value::<u8>(Value::from(256)).expect_err("too large"), "`256`, expected u8"),
        (from_value::<String>(Value::Undefined).expect_err("nothing"), "expected a string"),
        (from_value::<(i64,)>(Value::from(vec![])).expect_err("too short"), "length 0"),
        (to_value(&u128::MAX).expect_err("too large"), "does not fit into 64 bits"),
    ] {
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn whole_floats_are_integers_and_nothing_is_none() {
    assert_eq!(from_value::<i64>(Value::from(3.0)).expect("whole"), 3);
    assert_eq!(from_value::<f64>(Value::from(3)).expect("a float"), 3.0);
    for nothing in [Value::Undefined, Value::Null] {
        assert_eq!(from_value::<Option<i64>>(nothing.clone()).expect("none"), None);
        from_value::<()>(nothing).expect("unit");
    }
    assert_eq!(
        from_value::<Vec<u8>>(Value::from(Bytes::from_static(b"ab"))).expect("bytes"),
        b"ab"
    );
    assert_eq!(from_value::<String>(Value::from(Bytes::from_static(b"ab"))).expect("text"), "ab");
}

fn through_json(value: &Value) -> Value {
    let mut out = FrameWriter::default();
    out.frame(&[Argument::Json(value.clone())]).expect("one argument");
    let frame = FrameReader::new(1 << 20).next(&mut out.to_vec()[..].into()).expect("no fault");
    let argument = frame.expect("whole").pop().expect("one argument");
    Argument::read(argument).expect("JSON").into_value()
}

#[test]
fn f061_what_node_cannot_say_becomes_what_node_would_make_of_it() {
    let object = Object::from_iter([("a", Value::from(1)), ("b", Value::Undefined)]);
    for (value, expected) in [
        (Value::Undefined, Value::Null),
        (Value::from(vec![Value::Undefined]), Value::from(vec![Value::Null])),
        (object.into(), Object::from_iter([("a", 1)]).into()),
        (Value::from(f64::NAN), Value::Null),
        (Value::from(f64::INFINITY), Value::Null),
    ] {
        assert_eq!(through_json(&value), expected);
    }
}

#[test]
fn f082_buffers_inside_travel_in_the_form_of_node() {
    let value = Value::from(vec![Value::from(Bytes::from_static(b"\0\xff"))]);
    assert_eq!(value.to_string(), r#"[{"type":"Buffer","data":[0,255]}]"#);
    assert_eq!(through_json(&value), value);
}

#[test]
fn what_only_looks_like_a_buffer_is_none() {
    for json in [
        r#"{"type":"Buffer","data":[256]}"#,
        r#"{"type":"Buffer","data":[1,"x",{"type":"Buffer","data":"y"}]}"#,
        r#"{"type":"Buffer","data":{"a":1}}"#,
        r#"{"type":"Buffer","data":null}"#,
        r#"{"type":"Buffer","data":[1],"more":true}"#,
        r#"{"type":"Buffers","data":[1]}"#,
        r#"{"type":"Buffer"}"#,
    ] {
        let value = Argument::read(Bytes::from(format!("j:{json}"))).expect("JSON").into_value();
        assert_eq!(value.kind(), "an object", "{json}");
    }
}

#[test]
fn lone_surrogates_become_what_node_makes_of_them_in_utf8() {
    let value = Argument::read(Bytes::from_static(br#"j:["\ud800","\ud83d\ude00"]"#));
    let expected = Value::from(vec!["\u{fffd}".into(), "\u{1f600}".into()]);
    assert_eq!(value.expect("JSON").into_value(), expected);
}

#[test]
fn json_that_is_nested_too_deeply_is_an_error_and_no_overflow() {
    let json = format!("j:{}", "[".repeat(1 << 20));
    assert!(Argument::read(Bytes::from(json)).is_err());
}

/// Any value whatever.
pub(super) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("a NaN equals nothing", |f| !f.is_nan()).prop_map(Value::from),
        "~?(b[0-9]|[a-z~:]{0,3}|\\PC{0,8})".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|b| Value::from(Bytes::from(b))),
        Just(Value::from(Bytes::from(vec![9; 5000]))),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof!["[a-c]{0,2}", Just("type".to_owned()), Just("data".to_owned())];
        let value = prop_oneof![4 => inner.clone(), 1 => Just(Value::from("Buffer"))];
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            prop::collection::vec((key, value), 0..6)
                .prop_map(|entries| Object::from_iter(entries).into()),
        ]
    })
}

proptest! {
    #[test]
    fn serde_loses_nothing(value in any_value()) {
        let there = to_value(std::slice::from_ref(&value)).expect("a value");
        let back: (Value,) = from_value(there).expect("a value");
        prop_assert_eq!(back.0, value);
    }

    #[test]
    fn any_bytes_are_an_argument_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Argument::read(Bytes::from(bytes.clone()));
        let _ = Argument::read(Bytes::from([b"j:", &bytes[..]].concat()));
    }
}
