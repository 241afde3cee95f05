//! What happens to every connection can be watched.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use warmwire::Agent;
use warmwire::http::{CloseReason, Event};

#[tokio::main]
async fn main() -> Result<(), warmwire::Error> {
    let url = std::env::args().nth(1).expect("usage: agent_events URL");
    let opened = Arc::new(AtomicU64::new(0));
    let reused = Arc::new(AtomicU64::new(0));

    let (o, r) = (opened.clone(), reused.clone());
    let agent = Agent::builder()
        .on_event(move |event| match event {
            Event::Connected { origin, connection, elapsed, .. } => {
                o.fetch_add(1, Ordering::Relaxed);
                println!("{origin}: connection {connection} up in {elapsed:?}");
            }
            Event::Acquired { reused: true, .. } => {
                r.fetch_add(1, Ordering::Relaxed);
            }
            Event::Closed { origin, connection, reason, requests, .. } => {
                let why = match reason {
                    CloseReason::IdleTimeout => "it was idle too long",
                    CloseReason::ClosedByPeer => "the server closed it",
                    _ => "another reason",
                };
                println!(
                    "{origin}: connection {connection} closed after {requests} requests: {why}"
                );
            }
            _ => {}
        })
        .build()?;

    agent.warm(&url, 3).await?; // three connections, no request
    assert_eq!(opened.load(Ordering::Relaxed), 3);
    for _ in 0..10 {
        let response = agent.get(&url).send().await?;
        let t = response.timings();
        println!("queued {:?}, connect {:?}, first byte {:?}", t.queued, t.connect, t.first_byte);
        response.bytes().await?;
    }
    assert_eq!(opened.load(Ordering::Relaxed), 3);
    assert_eq!(reused.load(Ordering::Relaxed), 10);
    agent.close().await;
    Ok(())
}
