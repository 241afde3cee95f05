//! The methods that `--echo` exposes.

use std::time::Duration;

use warmwire::rpc::{Fault, ServerBuilder, Value};

/// The longest that `sleep` sleeps: an hour.
const LONGEST_SLEEP_MS: u64 = 3_600_000;

pub(super) fn expose(server: ServerBuilder) -> ServerBuilder {
    server
        .expose("echo", |value: Value| async move { Ok(value) })
        .expose("count", |n: i64| async move {
            n.checked_add(1).ok_or_else(|| Fault::new("there is no greater number"))
        })
        .expose("sleep", |milliseconds: u64| async move {
            tokio::time::sleep(Duration::from_millis(milliseconds.min(LONGEST_SLEEP_MS))).await;
            Ok(())
        })
        .expose("fail", |message: Option<String>, code: Option<Value>| async move {
            let fault = Fault::new(message.unwrap_or_else(|| "failed as asked".to_owned()));
            Err::<(), _>(fault.code(code.unwrap_or_default()))
        })
}
