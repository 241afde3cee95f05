//! Callers who do everything at random, and a server that comes and goes: no answer is another's, no
//! call hangs, and the numbers add up.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use warmwire_rpc::{Client, ErrorKind, Server, Value};
use warmwire_testkit::{Random, guarded};

const CALLERS: u64 = 32;
const STEPS: usize = 150;

async fn server(endpoint: &str) -> Server {
    guarded("the address", async {
        loop {
            let server = Server::builder()
                .expose("echo", |value: Value| async move { Ok(value) })
                .expose("late", |n: u64| async move {
                    tokio::task::yield_now().await;
                    Ok(n)
                })
                .expose("fail", |text: String| async move { Ok(text.parse::<u64>()?) })
                .expose("hang", || async {
                    std::future::pending::<()>().await;
                    Ok(())
                })
                .max_in_flight(16)
                .bind(endpoint);
            match server.await {
                Ok(server) => return server,
                // The last one is just ending.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await
}

/// Does one thing at random. Panics where an answer is wrong.
async fn step(client: &Client, random: &mut Random) {
    let n = random.draw();
    let patience = Duration::from_millis(random.below(30));
    match random.below(6) {
        0 => {
            let buffer = Bytes::from(vec![n as u8; random.below(100_000) as usize]);
            let value = Value::from(vec![n.into(), buffer.into()]);
            if let Ok(back) = client.call::<Value>("echo", (&value,)).await {
                assert_eq!(back, value);
            }
        }
        1 => {
            let error = client.call::<u64>("fail", ("x",)).await.expect_err("it never answers");
            assert_ne!(error.kind(), ErrorKind::Protocol, "{error}");
        }
        2 => {
            let hang = client.call::<()>("hang", ()).timeout(patience);
            assert!(hang.await.is_err());
        }
        // Dropped wherever it is by then.
        3 => drop(tokio::time::timeout(patience, client.call::<()>("hang", ())).await),
        4 => drop(client.notify("late", (n,)).await),
        _ => {
            let call = client.call::<u64>("late", (n,)).idempotent(n.is_multiple_of(2));
            if let Ok(back) = call.await {
                assert_eq!(back, n);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_every_call_ends_once_and_gets_its_own_answer() {
    let path = std::env::temp_dir().join(format!("ww-chaos-{}.sock", std::process::id()));
    let endpoint = format!("unix://{}", path.display());
    let mut current = server(&endpoint).await;
    let client = Client::builder()
        .pool(3)
        .max_in_flight(8)
        .timeout(Duration::from_secs(5))
        .backoff(Duration::from_millis(1), Duration::from_millis(5))
        .connect(&*endpoint)
        .await
        .expect("connects");
    let left = Arc::new(AtomicU64::new(CALLERS));
    let callers: Vec<_> = (0..CALLERS)
        .map(|seed| {
            let (client, left) = (client.clone(), Arc::clone(&left));
            tokio::spawn(async move {
                let mut random = Random::new(seed);
                for _ in 0..STEPS {
                    step(&client, &mut random).await;
                }
                left.fetch_sub(1, Relaxed);
            })
        })
        .collect();
    let mut restarts = 0;
    while left.load(Relaxed) > 0 {
        let seen = client.stats().calls;
        while left.load(Relaxed) > 0 && client.stats().calls < seen + 300 {
            tokio::task::yield_now().await;
        }
        match restarts % 2 {
            0 => drop(current),
            _ => drop(tokio::time::timeout(Duration::from_millis(50), current.close()).await),
        }
        current = server(&endpoint).await;
        restarts += 1;
    }
    for caller in guarded("every caller", join_all(callers)).await {
        caller.expect("no answer is wrong");
    }
    let stats = client.stats();
    let ends = stats.answered
        + stats.faults
        + stats.timeouts
        + stats.disconnected
        + stats.queue_full
        + stats.cancelled
        + stats.failed
        + stats.notified;
    assert_eq!((ends, stats.in_flight, stats.waiting), (stats.calls, 0, 0), "{stats:?}");
    assert!(restarts > 5 && stats.answered > 500, "{restarts} restarts, {stats:?}");
}
