//! The RPC as a peer of the RPC benchmark: an echo of a buffer, or of a string where the program's
//! name ends in `json`.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use common::{Addr, Args, Meter, Mode, ready};
use warmwire::rpc::{Client, Server, Value};

/// What a caller sends, again and again.
#[derive(Clone)]
enum Payload {
    Buffer(Value),
    Text(String),
}

fn endpoint(args: &Args) -> String {
    match &args.addr {
        Addr::Tcp(address) => format!("tcp://{address}"),
        Addr::Unix(path) => format!("unix://{path}"),
    }
}

async fn serve(args: &Args) {
    let _server = Server::builder()
        .expose("echo", |value: Value| async move { Ok(value) })
        .expose("echo_text", |text: String| async move { Ok(text) })
        .bind(endpoint(args))
        .await
        .expect("the address is free");
    ready();
    std::future::pending::<()>().await;
}

async fn measure(args: &Args, payload: Payload) {
    let client = Client::builder().pool(args.conns).connect(endpoint(args)).await;
    let client = client.expect("the server is ready");
    while client.status().connections < args.conns {
        tokio::task::yield_now().await;
    }
    let meter = Arc::new(Mutex::new(Meter::new(args)));
    let callers: Vec<_> = (0..args.inflight)
        .map(|_| tokio::spawn(call_on(client.clone(), Arc::clone(&meter), payload.clone())))
        .collect();
    for caller in callers {
        caller.await.expect("it does not panic");
    }
    meter.lock().expect("no caller panicked").report();
}

async fn call_on(client: Client, meter: Arc<Mutex<Meter>>, payload: Payload) {
    loop {
        let start = Instant::now();
        match &payload {
            Payload::Buffer(buffer) => {
                let back: Value = client.call("echo", (buffer,)).await.expect("an answer");
                assert!(back.as_buffer().is_some());
            }
            Payload::Text(text) => {
                let back: String = client.call("echo_text", (text,)).await.expect("an answer");
                assert_eq!(back.len(), text.len());
            }
        }
        if !meter.lock().expect("no caller panicked").done(start) {
            return;
        }
    }
}

fn main() {
    let args = Args::parse();
    assert!(args.mode != Mode::Oneway, "calls only");
    let is_text = std::env::args().next().is_some_and(|name| name.ends_with("json"));
    let payload = match is_text {
        true => Payload::Text("x".repeat(args.size)),
        false => Payload::Buffer(Bytes::from(args.payload()).into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        match args.server {
            true => serve(&args).await,
            false => measure(&args, payload).await,
        }
    });
}
