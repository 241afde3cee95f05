//! `warmwire rpc`: the RPC from a shell.

mod bench;
mod call;
mod echo;
mod serve;
mod sockets;

use std::path::Path;

use anyhow::Context;
use serde_json::json;
use warmwire::rpc::{Client, Endpoint, Tls};

use crate::failure::Failure;
use crate::flags::{HowFlags, PeerFlags, RpcCommand};
use crate::output;
use crate::units::milliseconds;

/// Does what `warmwire rpc` was asked for.
///
/// # Errors
/// A peer that cannot be reached, a call that fails, a server that cannot listen.
pub(super) fn run(command: &RpcCommand) -> Result<(), Failure> {
    let mut runtime = match command {
        RpcCommand::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        // One thread, so that CPU per call is that of the client and not of handing work around.
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(async {
        match command {
            RpcCommand::Call(flags) => call::run(flags).await,
            RpcCommand::Methods(flags) => methods(flags).await,
            RpcCommand::Ping(flags) => ping(flags).await,
            RpcCommand::Serve(flags) => serve::run(flags).await,
            RpcCommand::Bench(flags) => bench::run(flags).await,
            RpcCommand::Push(flags) => sockets::push(flags).await,
            RpcCommand::Pull(flags) => sockets::pull(flags).await,
            RpcCommand::Pub(flags) => sockets::publish(flags).await,
            RpcCommand::Sub(flags) => sockets::subscribe(flags).await,
        }
    })
}

async fn methods(flags: &PeerFlags) -> Result<(), Failure> {
    let client = connect(&flags.endpoint, &flags.how).await?;
    let methods = client.methods().await.map_err(anyhow::Error::from)?;
    if flags.how.json {
        let list = json!({"endpoint": flags.endpoint.to_string(), "methods": methods});
        return Ok(output::json(&list)?);
    }
    let mut text = String::new();
    for (name, method) in methods.iter() {
        let parameters = method.get("params").and_then(|params| params.as_array());
        let parameters: Vec<_> =
            parameters.unwrap_or_default().iter().filter_map(|one| one.as_str()).collect();
        text += &format!("{name}({})\n", parameters.join(", "));
    }
    Ok(output::print(text.as_bytes())?)
}

async fn ping(flags: &PeerFlags) -> Result<(), Failure> {
    let client = connect(&flags.endpoint, &flags.how).await?;
    let took = client.ping().await.map_err(anyhow::Error::from)?.as_secs_f64() * 1e3;
    let warmwire = client.status().warmwire > 0;
    if flags.how.json {
        return Ok(output::json(&json!({
            "endpoint": flags.endpoint.to_string(),
            "rtt_ms": took,
            "peer": if warmwire { "warmwire" } else { "axon" },
        }))?);
    }
    let peer = if warmwire { "a Warmwire server" } else { "an axon server" };
    let text = format!("{}: {peer} answered in {}\n", flags.endpoint, milliseconds(took));
    Ok(output::print(text.as_bytes())?)
}

/// A client of the peer that was named.
async fn connect(endpoint: &Endpoint, how: &HowFlags) -> Result<Client, Failure> {
    let client = Client::builder()
        .tls(tls(how.cacert.as_deref())?)
        .timeout(how.timeout.0)
        .connect_timeout(how.timeout.0);
    Ok(client.reconnect(false).connect(endpoint).await.map_err(anyhow::Error::from)?)
}

/// The roots that were named, or the system's.
fn tls(roots: Option<&Path>) -> Result<Tls, Failure> {
    let Some(path) = roots else { return Ok(Tls::new()) };
    let roots = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("--cacert {}: {error}", path.display())))?;
    Ok(Tls::new().roots_pem(&roots))
}
