//! Peers of axon, pm2-axon and pm2, as child processes.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Folder, have_node, source};

/// The packages that speak axon's protocol.
pub const PACKAGES: [&str; 2] = ["axon", "pm2-axon"];

/// After which a peer will say nothing more. Ten thousand calls take it a second or two.
const PATIENCE: Duration = Duration::from_secs(60);

/// A peer of one of the packages. Dropping it ends it.
pub struct AxonPeer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    folder: Folder,
    /// Where it listens, or what it is connected to.
    pub endpoint: String,
}

impl AxonPeer {
    /// A server of `package` on TCP, or on a Unix socket. `None` without Node.
    ///
    /// # Panics
    ///
    /// If there is Node and the packages cannot be installed or the peer does not start.
    pub async fn listening(role: &str, package: &str, unix: bool) -> Option<Self> {
        let folder = Folder::new();
        let endpoint = match unix {
            true => format!("unix://{}", folder.path("s").display()),
            false => "tcp://127.0.0.1:0".to_owned(),
        };
        Self::start(role, package, "bind", endpoint, folder).await
    }

    /// A server of `package` on this endpoint, whose last server has just ended. `None` without Node.
    ///
    /// # Panics
    ///
    /// As [`listening`](Self::listening).
    pub async fn listening_again(role: &str, package: &str, endpoint: &str) -> Option<Self> {
        Self::start(role, package, "bind", endpoint.to_owned(), Folder::new()).await
    }

    /// Ends it, and waits until it has ended.
    ///
    /// # Panics
    ///
    /// If the system does not let it be ended.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it is ours");
    }

    /// A client of `package` that is connected to `endpoint`. `None` without Node.
    ///
    /// # Panics
    ///
    /// As [`listening`](Self::listening).
    pub async fn connected(role: &str, package: &str, endpoint: &str) -> Option<Self> {
        Self::start(role, package, "connect", endpoint.to_owned(), Folder::new()).await
    }

    async fn start(
        role: &str,
        package: &str,
        how: &str,
        endpoint: String,
        folder: Folder,
    ) -> Option<Self> {
        if !installed().await {
            return None;
        }
        let mut command = Command::new("node");
        command.arg("--no-deprecation").arg(source("node/peer.cjs"));
        command.args([role, package, how, &endpoint]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("node was found a moment ago");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut peer = Self { child, input, output, folder, endpoint };
        let ready = peer.answer().await;
        let port = ready.get("ready").unwrap_or_else(|| panic!("it is not ready: {ready}"));
        if let Some(port) = port.as_u64() {
            peer.endpoint = format!("tcp://127.0.0.1:{port}");
        }
        Some(peer)
    }

    /// Sends a command and returns the answer.
    ///
    /// # Panics
    ///
    /// If the peer has died.
    pub async fn ask(&mut self, command: &Value) -> Value {
        self.input.write_all(format!("{command}\n").as_bytes()).await.expect("the peer lives");
        self.answer().await
    }

    /// What the peer says next.
    ///
    /// # Panics
    ///
    /// If the peer has died.
    pub async fn heard(&mut self) -> Value {
        self.answer().await
    }

    async fn answer(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("it said nothing for {PATIENCE:?}"));
        let line = line.expect("a pipe can be read");
        let line = line.expect("the peer lives; why it does not is above");
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// A folder that goes with the peer.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }
}

/// A pm2 daemon with a home of its own. Dropping it ends it.
pub struct Pm2 {
    home: Folder,
}

impl Pm2 {
    /// A daemon that runs one program, called `sleeper`. `None` without Node.
    ///
    /// # Panics
    ///
    /// If there is Node and the daemon does not start.
    pub async fn start() -> Option<Self> {
        if !installed().await {
            return None;
        }
        let daemon = Self { home: Folder::new() };
        let program = daemon.home.path("sleeper.cjs");
        fs::write(&program, "setInterval(() => console.log('tick'), 50);\n")
            .expect("the folder is new");
        let program = program.display().to_string();
        let started = daemon.command(&["start", &program, "--name", "sleeper"]).status().await;
        let started = started.expect("node was found a moment ago");
        assert!(started.success(), "pm2 start: {started}");
        Some(daemon)
    }

    /// The socket on which it publishes what its programs do.
    pub fn bus_socket(&self) -> PathBuf {
        self.home.path("pub.sock")
    }

    /// The socket on which it takes calls.
    pub fn rpc_socket(&self) -> PathBuf {
        self.home.path("rpc.sock")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("node");
        command.arg(source("node/node_modules/pm2/bin/pm2")).args(arguments);
        command.env("PM2_HOME", self.home.path("")).env("PM2_DISCRETE_MODE", "true");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

impl Drop for Pm2 {
    fn drop(&mut self) {
        // The daemon is nobody's child. If it cannot be told, it is no worse than it was.
        let _ = self.command(&["kill"]).into_std().status();
    }
}

/// What `node/vectors.cjs` prints. `None` without Node.
///
/// # Panics
///
/// If there is Node and it does not print.
pub async fn vectors() -> Option<String> {
    if !installed().await {
        return None;
    }
    let output = Command::new("node").arg(source("node/vectors.cjs")).output().await;
    let output = output.expect("node was found a moment ago");
    assert!(output.status.success(), "vectors.cjs: {}", output.status);
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Installs the packages of the lock file, once, if there is Node.
async fn installed() -> bool {
    if !have_node().await {
        return false;
    }
    tokio::task::spawn_blocking(install).await.expect("it does not panic without saying why");
    true
}

/// Many tests, and many test programs, may want the packages at once: the first one installs.
fn install() {
    let folder = source("node");
    let lock = fs::File::create(folder.join(".install.lock")).expect("the folder can be written");
    lock.lock().expect("the lock is waited for");
    let wanted = fs::read(folder.join("package-lock.json")).expect("it lies here");
    let mark = folder.join("node_modules/.installed");
    if fs::read(&mark).is_ok_and(|installed| installed == wanted) {
        return;
    }
    let mut npm = std::process::Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
    let done = npm.stdout(Stdio::null()).status().expect("npm comes with node");
    assert!(done.success(), "npm ci: {done}");
    fs::write(mark, wanted).expect("the folder can be written");
}
