//! The RPC with a pm2 daemon.

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
