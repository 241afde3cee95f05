//! A program's own test without a network: a scripted server in place of the sockets.
//!
//! `cargo run -p warmwire-examples --bin mock`

use std::time::Duration;

use warmwire::plugs::mock::{Mock, Reply};
use warmwire::{Agent, Error};

/// What is being tested: asks again after a 503.
async fn balance(agent: &Agent) -> Result<String, Error> {
    loop {
        let response = agent.get("http://bank.test/balance").send().await?;
        if response.status() != 503 {
            return response.text().await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    // As `#[tokio::test(start_paused = true)]` does: waiting takes no time.
    tokio::time::pause();
    let mock = Mock::new().reply(Reply::status(503)).reset().reply("42 €");
    let agent = mock.install(Agent::builder()).build()?;

    println!("balance: {}", balance(&agent).await?);
    println!("requests: {}", mock.requests().len());
    println!("repeated by the agent: {}", agent.stats().total.retries);
    mock.assert_all_used();
    Ok(())
}
