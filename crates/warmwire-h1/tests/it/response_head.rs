//! Sections 2, 4 and 5: status line and header lines of a response.

use bytes::BytesMut;
use http::{StatusCode, Version, header};
use warmwire_h1::{Cut, Exchange, Limits, Received, ResponseErrorKind, Sent};

use crate::support::{Request, cut, get, receive};

fn kind(response: &[u8]) -> Option<ResponseErrorKind> {
    get(response).error_kind()
}

#[test]
fn section_4_status_lines() {
    use ResponseErrorKind::{InvalidStatusLine, NotHttp};
    for (line, expected) in [
        ("HTTP/1.1 200 OK", None),
        ("HTTP/1.0 200 OK", None),
        ("HTTP/1.1 200 ", None),
        ("HTTP/1.1 200", None),
        ("HTTP/1.1 299 Odd \t reason", None),
        ("HTTP/1.1 999 x", None),
        ("HTTP/2.0 200 OK", Some(NotHttp)),
        ("HTTP/1.2 200 OK", Some(NotHttp)),
        ("http/1.1 200 OK", Some(NotHttp)),
        ("ICY 200 OK", Some(NotHttp)),
        ("<html>hello", Some(NotHttp)),
        ("\r\nHTTP/1.1 200 OK", Some(NotHttp)),
        (" HTTP/1.1 200 OK", Some(NotHttp)),
        ("HTTP/1.1\t200 OK", Some(NotHttp)),
        ("HTTP/1.1  200 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 20 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 2000 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 2x0 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 099 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 -20 OK", Some(InvalidStatusLine)),
        ("HTTP/1.1 200 O\0K", Some(InvalidStatusLine)),
        ("HTTP/1.1 200 O\rK", Some(InvalidStatusLine)),
        ("HTTP/1.1 ", Some(InvalidStatusLine)),
    ] {
        let response = format!("{line}\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(kind(response.as_bytes()), expected, "{line:?}");
    }
}

#[test]
fn another_protocol_is_noticed_before_its_line_ends() {
    let mut exchange = Request::get().sent();
    let error = exchange.decode(&mut BytesMut::from("SSH-2.0-Op")).unwrap_err();
    assert_eq!(error.kind(), ResponseErrorKind::NotHttp);
    assert!(error.to_string().contains("SSH-2.0-Op"), "{error}");
}

#[test]
fn section_5_header_lines() {
    let invalid = Some(ResponseErrorKind::InvalidHeader);
    for (line, expected) in [
        ("a: b", None),
        ("a:b", None),
        ("a:\t b \t", None),
        ("a:", None),
        ("a: \u{e9}", None),
        ("a : b", invalid),
        (": b", invalid),
        ("a", invalid),
        ("a b: c", invalid),
        ("a\0: b", invalid),
        ("a: b\0c", invalid),
        ("a: b\rc", invalid),
        ("a: b\u{7f}", invalid),
        (" a: b", invalid),
    ] {
        let response = format!("HTTP/1.1 204 No Content\r\n{line}\r\nx: y\r\n\r\n");
        assert_eq!(kind(response.as_bytes()), expected, "{line:?}");
    }
}

#[test]
fn a_bad_line_is_quoted_with_its_place() {
    let outcome = get(b"HTTP/1.1 200 OK\r\nfine: 1\r\nnot a name: \x01\r\n\r\n");
    let error = outcome.error.unwrap();
    assert_eq!(error.offset(), Some(26));
    assert_eq!(error.to_string(), r"malformed header line, at byte 26: `not a name: \x01`");
}

#[test]
fn section_2_2_lines_may_end_in_a_bare_line_feed() {
    let outcome = get(b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok");
    assert_eq!((outcome.error, &outcome.body[..]), (None, &b"ok"[..]));
}

#[test]
fn section_5_2_a_folded_line_counts_as_a_space() {
    let outcome = get(b"HTTP/1.1 204 No Content\r\na: one \r\n \t two\r\n\tthree\r\nb: c\r\n\r\n");
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.headers["a"], "one two three");
    assert_eq!(outcome.headers["b"], "c");
}

#[test]
fn headers_keep_order_case_and_repetition_as_a_header_map_does() {
    let response =
        b"HTTP/1.0 418 Short and stout\r\nSet-Cookie: a\r\nX-B: 1\r\nset-cookie: b\r\n\r\n";
    let mut exchange = Request::get().sent();
    let mut input = BytesMut::from(&response[..]);
    let Some(Received::Head(head)) = exchange.decode(&mut input).unwrap() else { panic!() };
    assert_eq!((head.status, head.version), (StatusCode::IM_A_TEAPOT, Version::HTTP_10));
    assert_eq!(head.reason.as_deref(), Some(&b"Short and stout"[..]));
    let cookies: Vec<_> = head.headers.get_all(header::SET_COOKIE).iter().collect();
    assert_eq!(cookies, ["a", "b"]);
    assert_eq!(head.headers["x-b"], "1");
    assert!(input.is_empty());
}

#[test]
fn the_usual_reason_is_left_out() {
    assert_eq!(get(b"HTTP/1.1 204 No Content\r\n\r\n").reason, None);
    assert_eq!(get(b"HTTP/1.1 204\r\n\r\n").reason, None);
}

#[test]
fn a_head_is_bounded_in_bytes_and_in_lines() {
    let response = b"HTTP/1.1 204 No Content\r\na: b\r\nc: d\r\n\r\n";
    let with = |limits| receive(&mut Request::get().sent_within(limits), [&response[..]]);
    let default = Limits::default();

    let exact = Limits { max_head_bytes: response.len(), max_headers: 2, ..default };
    assert_eq!(with(exact).error, None);
    let outcome = with(Limits { max_head_bytes: response.len() - 1, ..default });
    assert_eq!(outcome.error_kind(), Some(ResponseErrorKind::HeadTooLarge));
    let outcome = with(Limits { max_headers: 1, ..default });
    assert_eq!(outcome.error_kind(), Some(ResponseErrorKind::TooManyHeaders));
}

#[test]
fn an_endless_status_line_is_bounded() {
    let response = [&b"HTTP/1.1 200 "[..], &[b'x'; 70_000]].concat();
    assert_eq!(kind(&response), Some(ResponseErrorKind::HeadTooLarge));
}

#[test]
fn more_headers_than_the_default_fit_when_the_limit_says_so() {
    let lines: String = (0..5000).map(|i| format!("x-{i}: {i}\r\n")).collect();
    let response = format!("HTTP/1.1 204 No Content\r\n{lines}\r\n");
    let limits = Limits { max_headers: 5000, max_head_bytes: 1 << 20, ..Limits::default() };
    let outcome = receive(&mut Request::get().sent_within(limits), [response.as_bytes()]);
    assert_eq!((outcome.error, outcome.headers.len()), (None, 5000));
    let limits = Limits { max_headers: usize::MAX, ..limits };
    let outcome = receive(&mut Request::get().sent_within(limits), [response.as_bytes()]);
    assert_eq!((outcome.error, outcome.headers.len()), (None, 5000));
}

#[test]
fn interim_responses_come_before_the_final_one_and_are_bounded() {
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let outcome = get(format!("{}{last}", interim.repeat(16)).as_bytes());
    assert_eq!((outcome.error, outcome.informational.len()), (None, 16));
    assert_eq!((outcome.status, &outcome.body[..]), (Some(StatusCode::OK), &b"ok"[..]));

    let outcome = get(format!("{}{last}", interim.repeat(17)).as_bytes());
    assert_eq!(outcome.error_kind(), Some(ResponseErrorKind::TooManyInformational));
}

#[test]
fn an_interim_response_has_no_body_whatever_it_says() {
    let outcome = get(b"HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n\
                        HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!((outcome.error, outcome.status), (None, Some(StatusCode::NO_CONTENT)));
}

#[test]
fn rfc9110_7_8_a_switch_that_was_not_asked_for_is_refused() {
    let response = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";
    assert_eq!(kind(response), Some(ResponseErrorKind::UnaskedUpgrade));
}

#[test]
fn bytes_before_the_request_are_unsolicited() {
    let mut exchange = Exchange::new(Limits::default());
    Request::get().start(&mut exchange).unwrap();
    assert!(exchange.decode(&mut BytesMut::new()).unwrap().is_none());
    let response = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n";
    let outcome = receive(&mut exchange, [&response[..]]);
    assert_eq!(outcome.error_kind(), Some(ResponseErrorKind::Unsolicited));
    assert_eq!(exchange.sent(), Sent::No);
    assert!(exchange.received_any());
}

#[test]
fn a_close_before_and_in_the_head_are_told_apart() {
    assert_eq!(cut(&get(b"")), Some(Cut::BeforeResponse));
    assert_eq!(cut(&get(b"H")), Some(Cut::Head));
    assert_eq!(cut(&get(b"HTTP/1.1 200 OK\r\na: b\r\n")), Some(Cut::Head));
    assert_eq!(cut(&get(b"HTTP/1.1 100 Continue\r\n\r\n")), Some(Cut::Head));
}
