//! The RPC with a pm2 daemon.

use warmwire::rpc::sockets::Sub;
use warmwire::rpc::{Client, Fault, Object, Value};
use warmwire_interop::axon::Pm2;

#[tokio::test]
async fn a_pm2_daemon_answers() {
    let Some(pm2) = Pm2::start().await else { return };
    let endpoint = format!("unix://{}", pm2.rpc_socket().display());
    let client = Client::connect(&endpoint).await.expect("connects");
    // Every method of the daemon takes exactly one argument.
    let nothing = || (Object::new(),);
    let version: String = client.call("getVersion", nothing()).await.expect("a version");
    assert_eq!(version, "7.0.4");
    let programs: Vec<Value> = client.call("getMonitorData", nothing()).await.expect("a list");
    let names: Vec<_> =
        programs.iter().map(|one| one.get("name").and_then(Value::as_str)).collect();
    assert_eq!(names, [Some("sleeper")]);
    let error = client.call::<Value>("stopProcessId", (99,)).await.expect_err("is not there");
    assert_eq!(error.fault().map(Fault::message), Some("99 : id unknown"));
    client.ping().await.expect("it lives");
    assert!(client.methods().await.expect("a list").contains_key("getMonitorData"));
}

#[tokio::test]
async fn the_bus_of_a_pm2_daemon_is_heard() {
    let Some(pm2) = Pm2::start().await else { return };
    let mut sub = Sub::builder().subscribe();
    sub.subscribe("log:*");
    sub.connect(format!("unix://{}", pm2.bus_socket().display())).expect("an endpoint");
    let message = sub.recv().await;
    assert_eq!((&*message.topic, &*message.captures), ("log:out", &["out".to_owned()][..]));
    assert_eq!(message.arguments[0].get("data").and_then(Value::as_str), Some("tick\n"));
}

#[tokio::test]
async fn the_command_calls_a_pm2_daemon() {
    let Some(pm2) = Pm2::start().await else { return };
    let Some(command) = warmwire_interop::command() else { return };
    let endpoint = format!("unix://{}", pm2.rpc_socket().display());
    let run = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(&command);
        let output = command.args(["rpc"]).args(arguments).output().await.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(run(&["call", &endpoint, "getVersion", "{}"]).await, "\"7.0.4\"\n");
    let programs = run(&["call", &endpoint, "getMonitorData", "{}"]).await;
    assert!(programs.contains("\"name\":\"sleeper\""), "{programs}");
    assert!(run(&["methods", &endpoint]).await.contains("getVersion("));
    assert!(run(&["ping", &endpoint]).await.contains("an axon server answered"));
}
