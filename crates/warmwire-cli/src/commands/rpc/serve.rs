//! `warmwire rpc serve`: commands as methods.

use std::process::Stdio;

use anyhow::Context;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use warmwire::rpc::{Fault, Server, ServerBuilder, Value};

use super::echo;
use crate::commands::interrupt::Interrupt;
use crate::failure::Failure;
use crate::flags::{Exec, ServeFlags};
use crate::output;

/// How much of a failed command's standard error its caller gets, from the end.
const SHOWN_ERROR: usize = 1000;

pub(super) async fn run(flags: &ServeFlags) -> Result<(), Failure> {
    if flags.exec.is_empty() && !flags.echo {
        return Err(Failure::usage(
            "there is nothing to expose: give --exec NAME=COMMAND or --echo",
        ));
    }
    if flags.endpoint.is_remote() && !flags.exec.is_empty() && !flags.allow_remote {
        return Err(Failure::usage(format!(
            "{} can be reached from other machines, which could run the commands: listen on \
             tcp://127.0.0.1:PORT or a Unix socket, or say --allow-remote",
            flags.endpoint
        )));
    }
    let mut server = Server::builder().id("warmwire rpc serve");
    if flags.exec.is_empty() {
        server = echo::expose(server);
    } else {
        server = server.max_in_flight(flags.max_in_flight.get() as usize);
        if flags.echo {
            server = echo::expose(server);
        }
    }
    if let Some(mode) = flags.mode {
        server = server.mode(mode);
    }
    for exec in &flags.exec {
        server = expose(server, exec);
    }
    let interrupt = Interrupt::listen();
    let server = server.bind(&flags.endpoint).await.map_err(anyhow::Error::from)?;
    if flags.json {
        output::json(&json!({"listening": server.local_address().to_string()}))?;
    } else {
        output::note(&format!("listening on {}", server.local_address()));
    }
    interrupt.raised().await;
    server.close().await;
    Ok(())
}

fn expose(server: ServerBuilder, exec: &Exec) -> ServerBuilder {
    let command = exec.command.clone();
    server.expose_values(exec.name.clone(), move |_, arguments| {
        let command = command.clone();
        async move { execute(&command, arguments).await }
    })
}

/// Runs a command: the arguments go in as JSON, what comes out is the result. A caller that goes
/// away ends it.
async fn execute(command: &str, arguments: Vec<Value>) -> Result<Value, Fault> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).kill_on_drop(true);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(|error| Fault::new(format!("cannot run sh: {error}")))?;
    let mut input = child.stdin.take();
    let feed = async {
        if let Some(input) = &mut input {
            // A command that does not read its input is none the worse for it.
            let _ = input.write_all(Value::from(arguments).to_string().as_bytes()).await;
        }
        drop(input);
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    let output = output?;
    if output.status.success() {
        return Ok(result(output.stdout));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_end();
    let start = said.len().saturating_sub(SHOWN_ERROR);
    let said = said.get(said.ceil_char_boundary(start)..).unwrap_or_default();
    let status = output.status;
    Err(Fault::new(format!("{status}: {said}")).code(status.code().map(i64::from)))
}

/// What a command printed: JSON, or else text without the last line's end, or else bytes.
fn result(output: Vec<u8>) -> Value {
    if let Ok(value) = serde_json::from_slice(&output) {
        return value;
    }
    match String::from_utf8(output) {
        Ok(text) => Value::from(text.strip_suffix('\n').unwrap_or(&text)),
        Err(error) => Value::Buffer(error.into_bytes().into()),
    }
}

/// A server for `bench`, in a process of its own.
pub(super) struct Embedded {
    _child: tokio::process::Child,
    pub(super) endpoint: String,
}

impl Embedded {
    /// Starts `warmwire rpc serve ENDPOINT --echo`.
    pub(super) async fn start(endpoint: &str) -> anyhow::Result<Self> {
        use tokio::io::{AsyncBufReadExt, BufReader};
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(["rpc", "serve", endpoint, "--echo"]).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let stderr = child.stderr.take().context("the server has no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let first = lines.next_line().await?.unwrap_or_default();
        match first.strip_prefix("listening on ") {
            Some(endpoint) => Ok(Self { _child: child, endpoint: endpoint.to_owned() }),
            None => anyhow::bail!("the server did not start: {first}"),
        }
    }
}
