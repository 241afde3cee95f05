//! Section 3, and section 6 for requests: what a head looks like on the wire.

use http::{Method, Uri};
use warmwire_h1::{BodyLength, Exchange, Limits, RequestErrorKind, Target};

use crate::support::{Request, headers};

#[test]
fn a_plain_get() {
    let request = Request::get().with(&[("accept", "*/*"), ("X-One", "1"), ("x-one", "2")]);
    let expected = "GET /path?query HTTP/1.1\r\nhost: example.test\r\n\
                    accept: */*\r\nx-one: 1\r\nx-one: 2\r\n\r\n";
    assert_eq!(request.text(), expected);
}

#[test]
fn the_callers_host_comes_first_and_once() {
    let request = Request::get().with(&[("accept", "*/*"), ("host", "other.test:81")]);
    let expected = "GET /path?query HTTP/1.1\r\nhost: other.test:81\r\naccept: */*\r\n\r\n";
    assert_eq!(request.text(), expected);

    let twice = Request::get().with(&[("host", "a"), ("host", "a")]);
    assert_eq!(twice.refused(), RequestErrorKind::DuplicateHost);
}

#[test]
fn defaults_give_way_to_headers_of_the_same_name() {
    let mut request = Request::get().with(&[("user-agent", "mine")]);
    request.defaults = headers(&[("user-agent", "theirs"), ("accept", "a"), ("accept", "b")]);
    let text = request.text();
    assert!(text.ends_with("user-agent: mine\r\naccept: a\r\naccept: b\r\n\r\n"), "{text}");
}

#[test]
fn the_four_forms_of_a_target() {
    let line = |method: Method, target: Target<'_>| {
        let mut request = Request::new(method);
        request.length = BodyLength::None;
        let head = request.start_with(&mut Exchange::new(Limits::default()), target);
        head.map(|head| String::from_utf8(head).unwrap().lines().next().unwrap().to_owned())
            .map_err(|error| error.kind())
    };
    let uri: Uri = "http://user:secret@example.test:8080/a?b=c".parse().unwrap();
    let bare = Uri::from_static("http://example.test");
    let query = Uri::from_static("http://example.test?q");
    let form = Err(RequestErrorKind::TargetForm);

    assert_eq!(line(Method::GET, Target::Origin(&uri)).unwrap(), "GET /a?b=c HTTP/1.1");
    assert_eq!(line(Method::GET, Target::Origin(&bare)).unwrap(), "GET / HTTP/1.1");
    assert_eq!(line(Method::GET, Target::Origin(&query)).unwrap(), "GET /?q HTTP/1.1");
    assert_eq!(
        line(Method::GET, Target::Absolute(&uri)).unwrap(),
        "GET http://example.test:8080/a?b=c HTTP/1.1"
    );
    assert_eq!(line(Method::OPTIONS, Target::Asterisk).unwrap(), "OPTIONS * HTTP/1.1");
    assert_eq!(line(Method::GET, Target::Asterisk), form);
    let asterisk = Uri::from_static("*");
    assert_eq!(line(Method::OPTIONS, Target::Origin(&asterisk)).unwrap(), "OPTIONS * HTTP/1.1");
    assert_eq!(line(Method::GET, Target::Origin(&asterisk)), form);
    assert_eq!(line(Method::CONNECT, Target::Authority("h:1")).unwrap(), "CONNECT h:1 HTTP/1.1");
    assert_eq!(line(Method::GET, Target::Authority("h:1")), form);
    assert_eq!(line(Method::CONNECT, Target::Origin(&uri)), form);
    assert_eq!(line(Method::GET, Target::Absolute(&Uri::from_static("/a"))), form);

    for bad in ["", "h:1 HTTP/1.1\r\nx: y", "h\u{7f}:1"] {
        let refused = line(Method::CONNECT, Target::Authority(bad));
        assert_eq!(refused, Err(RequestErrorKind::InvalidTarget), "{bad:?}");
    }
}

#[test]
fn a_host_cannot_carry_a_second_line() {
    let mut request = Request::get();
    request.host = "a\r\nx: y";
    assert_eq!(request.refused(), RequestErrorKind::InvalidHost);
}
