//! What callers get whose call the server cannot serve, and that nobody else notices.

use futures_util::future::join_all;
use warmwire_rpc::{Client, ErrorKind, Fault, Object, Server, Value};

async fn server() -> (Server, Client) {
    let server = Server::builder()
        .id("till")
        .expose("add", |a: f64, b: f64| async move { Ok(a + b) })
        .expose("greet", |name: String, title: Option<String>| async move {
            Ok(format!("{}{name}", title.unwrap_or_default()))
        })
        .expose("panic", || async { if true { panic!("on purpose") } else { Ok(()) } })
        .expose("panic_late", || async {
            tokio::task::yield_now().await;
            if true { panic!("on purpose") } else { Ok(()) }
        })
        .expose("refuse", || async {
            let data = Object::from_iter([("left", 5)]);
            Err::<(), _>(Fault::new("no money").code("declined").data(data))
        })
        .expose("io", || async { Ok(std::fs::read_to_string("/nowhere/at/all")?) })
        .expose_values("all", |_, all| async move { Ok(all.into()) })
        .bind("tcp://127.0.0.1:0")
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    (server, client)
}

#[tokio::test]
async fn f063_wrong_arguments_are_told_to_the_caller() {
    let (_server, client) = server().await;
    for (arguments, says) in [
        (vec![], "argument 1 is missing: f64"),
        (vec![1.into()], "argument 2 is missing: f64"),
        (vec![1.into(), "x".into()], "argument 2: invalid type: string \"x\", expected f64"),
        (vec![1.into(), 2.into(), 3.into()], "2 arguments are expected and 3 were given"),
    ] {
        let error = client.call::<f64>("add", arguments).await.expect_err("does not fit");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.kind(), ErrorKind::Fault);
        assert_eq!(error.fault().and_then(Fault::code_str), Some("bad_arguments"));
    }
    assert_eq!(client.call::<f64>("add", (1, 2)).await.expect("fits"), 3.0);
}

#[tokio::test]
async fn arguments_that_may_be_missing_may_be_left_out() {
    let (_server, client) = server().await;
    assert_eq!(client.call::<String>("greet", ("Ann",)).await.expect("fits"), "Ann");
    assert_eq!(client.call::<String>("greet", ("Ann", "Dr. ")).await.expect("fits"), "Dr. Ann");
    let all: Vec<i64> = client.call("all", (1, 2, 3)).await.expect("any number");
    assert_eq!(all, [1, 2, 3]);
}

#[tokio::test]
async fn f063_a_handler_that_panics_or_errs_answers_its_caller_and_nobody_else_notices() {
    let (server, client) = server().await;
    let calls = (0..200).map(|n| {
        let client = client.clone();
        async move {
            match n % 4 {
                0 => client.call::<()>("panic", ()).await.expect_err("panics").to_string(),
                1 => client.call::<()>("panic_late", ()).await.expect_err("panics").to_string(),
                2 => client.call::<String>("io", ()).await.expect_err("errs").to_string(),
                _ => client.call::<f64>("add", (n, 1)).await.expect("adds").to_string(),
            }
        }
    });
    for (n, end) in join_all(calls).await.into_iter().enumerate() {
        match n % 4 {
            0 | 1 => assert!(end.ends_with("the handler panicked"), "{end}"),
            2 => assert!(end.contains("No such file"), "{end}"),
            _ => assert_eq!(end, (n + 1).to_string()),
        }
    }
    assert_eq!(server.stats().accepted, 1);
    assert_eq!((server.stats().calls, server.stats().faults), (200, 150));
}

#[tokio::test]
async fn f066_faults_arrive_with_code_and_data() {
    let (_server, client) = server().await;
    let error = client.call::<()>("refuse", ()).await.expect_err("refuses");
    let fault = error.fault().expect("a fault");
    assert_eq!((fault.message(), fault.code_str()), ("no money", Some("declined")));
    assert_eq!(fault.data_value(), &Value::from(Object::from_iter([("left", 5)])));
    assert_eq!(fault.stack(), None);
}

#[tokio::test]
async fn an_unknown_method_is_named_and_so_is_the_server() {
    let (server, client) = server().await;
    for name in ["missing", "toString", "constructor", "__proto__", "hasOwnProperty"] {
        let error = client.call::<()>(name, ()).await.expect_err("does not exist");
        let expected = format!(
            "{name:?} of {}: method {name:?} does not exist at \"till\"",
            server.local_address()
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn f066_methods_are_listed_with_what_they_take() {
    let (_server, client) = server().await;
    let methods = client.methods().await.expect("a list");
    let parameters = |name| methods.get(name).and_then(|m| m.get("params")).map(Value::to_string);
    assert_eq!(parameters("add").as_deref(), Some(r#"["f64","f64"]"#));
    assert_eq!(parameters("panic").as_deref(), Some("[]"));
    assert_eq!(parameters("all").as_deref(), Some(r#"["...args"]"#));
    assert_eq!(methods.len(), 7);
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_an_error_that_says_so() {
    let (_server, client) = server().await;
    let error = client.call::<String>("add", (1, 2)).await.expect_err("a number");
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("the result: invalid type: floating point"), "{error}");
}
