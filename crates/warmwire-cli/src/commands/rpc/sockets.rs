//! `warmwire rpc push`, `pull`, `pub` and `sub`: one JSON message a line.

use std::fmt::Display;

use anyhow::Context;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use warmwire::rpc::sockets::SocketBuilder;
use warmwire::rpc::{Endpoint, Value};

use super::tls;

use crate::commands::interrupt::Interrupt;
use crate::failure::Failure;
use crate::flags::{ReceiveFlags, SendFlags, SocketFlags, SubFlags};
use crate::output;

/// Has a socket listen or connect as the flags say.
macro_rules! attach {
    ($socket:expr, $flags:expr) => {
        if $flags.bind {
            listening(&$socket.bind(&$flags.endpoint).await.map_err(anyhow::Error::from)?);
        } else {
            $socket.connect(&$flags.endpoint).map_err(anyhow::Error::from)?;
        }
    };
}
pub(super) async fn push(flags: &SendFlags) -> Result<(), Failure> {
    let push = builder(&flags.socket)?.push();
    attach!(push, flags.socket);
    let interrupt = Interrupt::listen();
    let mut lines = Lines::new();
    while let Some(values) = lines.next(&interrupt).await? {
        let sent = tokio::select! {
            sent = push.send(values) => sent,
            () = interrupt.raised() => break,
        };
        sent.with_context(|| lines.place())?;
    }
    // What waits for a peer waits on, until there is one or nobody wants to wait any more.
    while push.stats().waiting > 0 && !interrupt.is_raised() {
        tokio::time::sleep(POLL).await;
    }
    push.close().await;
    Ok(())
}

pub(super) async fn publish(flags: &SendFlags) -> Result<(), Failure> {
    let publisher = builder(&flags.socket)?.publish();
    attach!(publisher, flags.socket);
    let interrupt = Interrupt::listen();
    // A publication reaches who is connected. Without anybody all of them would be lost.
    while publisher.stats().peers == 0 && !interrupt.is_raised() {
        tokio::time::sleep(POLL).await;
    }
    let mut lines = Lines::new();
    while let Some(values) = lines.next(&interrupt).await? {
        let mut values = values.into_iter();
        let topic = match values.next() {
            Some(Value::String(topic)) => topic,
            _ => {
                let text = format!("{}: the first element is the topic, a string", lines.place());
                return Err(Failure::usage(text));
            }
        };
        let sent = publisher.publish(&topic, values.collect::<Vec<_>>());
        sent.with_context(|| lines.place())?;
    }
    publisher.close().await;
    Ok(())
}

pub(super) async fn pull(flags: &ReceiveFlags) -> Result<(), Failure> {
    let mut pull = builder(&flags.socket)?.pull();
    attach!(pull, flags.socket);
    let interrupt = Interrupt::listen();
    let mut left = flags.count;
    while left != Some(0) {
        tokio::select! {
            values = pull.recv() => print_line(&Value::from(values))?,
            () = interrupt.raised() => break,
        }
        left = left.map(|left| left - 1);
    }
    Ok(())
}

pub(super) async fn subscribe(flags: &SubFlags) -> Result<(), Failure> {
    let mut sub = builder(&flags.receive.socket)?.subscribe();
    for pattern in &flags.patterns {
        sub.subscribe(pattern);
    }
    attach!(sub, flags.receive.socket);
    let interrupt = Interrupt::listen();
    let mut left = flags.receive.count;
    while left != Some(0) {
        let message = tokio::select! {
            message = sub.recv() => message,
            () = interrupt.raised() => break,
        };
        // Its own text, since buffers have a form of their own there.
        let arguments = Value::from(message.arguments);
        let (topic, captures) = (json!(message.topic), json!(message.captures));
        print_line(&format!(
            "{{\"topic\":{topic},\"captures\":{captures},\"arguments\":{arguments}}}"
        ))?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

/// How often it is looked whether a peer has come.
const POLL: std::time::Duration = std::time::Duration::from_millis(10);

fn builder(flags: &SocketFlags) -> Result<SocketBuilder, Failure> {
    Ok(SocketBuilder::default().tls(tls(flags.cacert.as_deref())?))
}

fn listening(endpoint: &Endpoint) {
    output::note(&format!("listening on {endpoint}"));
}

fn print_line(value: &impl Display) -> anyhow::Result<()> {
    output::print(format!("{value}\n").as_bytes())
}

/// The messages on standard input.
struct Lines {
    lines: tokio::io::Lines<BufReader<tokio::io::Stdin>>,
    number: u64,
}

impl Lines {
    fn new() -> Self {
        Self { lines: BufReader::new(tokio::io::stdin()).lines(), number: 0 }
    }

    /// The next message: the elements of an array, or any other value alone.
    async fn next(&mut self, interrupt: &Interrupt) -> Result<Option<Vec<Value>>, Failure> {
        loop {
            let line = tokio::select! {
                line = self.lines.next_line() => line.context("cannot read standard input")?,
                () = interrupt.raised() => None,
            };
            let Some(line) = line else { return Ok(None) };
            self.number += 1;
            if line.trim().is_empty() {
                continue;
            }
            return match serde_json::from_str(&line) {
                Ok(Value::Array(values)) => Ok(Some(values)),
                Ok(value) => Ok(Some(vec![value])),
                Err(error) => Err(Failure::usage(format!("{}: not JSON: {error}", self.place()))),
            };
        }
    }

    fn place(&self) -> String {
        format!("line {} of standard input", self.number)
    }
}
