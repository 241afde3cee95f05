//! The parent's side of the server.

use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Counts, Hello, ServerConfig};

/// A running server; it ends when this is dropped.
pub(crate) struct EmbeddedServer {
    /// Dropping it kills the child, should it not have seen its standard input end.
    _child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    hello: Hello,
}

impl EmbeddedServer {
    /// Starts this program once more as a server and waits until it listens.
    ///
    /// # Errors
    /// When the program cannot be started or ends before it listens.
    pub(crate) async fn start(config: &ServerConfig) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's file")?;
        let mut command = Command::new(program);
        command
            .arg(crate::flags::SERVER_COMMAND)
            .arg(serde_json::to_string(config)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C is for the client: the server must be there until the last request is counted.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().context("cannot start the embedded server")?;
        let (Some(questions), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the embedded server has no standard input or output");
        };
        let mut answers = BufReader::new(stdout).lines();
        let Some(line) = answers.next_line().await? else {
            bail!("the embedded server ended before it listened");
        };
        let hello =
            serde_json::from_str(&line).context("the embedded server said something unexpected")?;
        Ok(Self { _child: child, questions, answers, hello })
    }

    /// The port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.hello.port
    }

    /// The certificate to trust, with TLS only.
    pub(crate) fn certificate_pem(&self) -> Option<&str> {
        self.hello.certificate_pem.as_deref()
    }

    /// What it has seen until now; [`Counts::peak_open`] begins anew.
    ///
    /// # Errors
    /// When the server has gone.
    pub(crate) async fn counts(&mut self) -> anyhow::Result<Counts> {
        self.questions.write_all(b"counts\n").await.context("the embedded server has gone")?;
        let Some(line) = self.answers.next_line().await? else {
            bail!("the embedded server has gone")
        };
        serde_json::from_str(&line).context("the embedded server said something unexpected")
    }
}
