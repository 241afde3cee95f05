//! Servers that other people wrote, as child processes on loopback.
//!
//! A server whose program is missing is skipped, loudly; with `CI=true` a missing Node is a
//! failure, since Node is what most of the agent's peers run.

pub mod axon;
mod proxies;
pub mod soak;
pub mod sweep;

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A running server. Dropping it ends it.
pub struct Peer {
    /// Ends the process when dropped, before its folder goes.
    _child: Child,
    folder: Folder,
    port: u16,
}

impl Peer {
    /// Node's `http` server, which closes connections that were idle for `keep_alive` and says so
    /// in a `Keep-Alive` header if `hint`. `None` without Node.
    ///
    /// # Panics
    ///
    /// If there is Node and the server does not start, or if there is none and `CI` is `true`.
    pub async fn node(keep_alive: Duration, hint: bool) -> Option<Peer> {
        if !have_node().await {
            return None;
        }
        let mut command = Command::new("node");
        command.arg(source("server.mjs")).arg(keep_alive.as_millis().to_string()).arg(if hint {
            "hint"
        } else {
            "no-hint"
        });
        Some(Peer::start(command, Folder::new()).await)
    }

    /// Go's `net/http` server, which closes connections that were idle for `keep_alive` and does
    /// not say so. `None` without Go.
    ///
    /// # Panics
    ///
    /// If there is Go and the server cannot be built or does not start.
    pub async fn go(keep_alive: Duration) -> Option<Peer> {
        if !have("go", "version").await {
            return None;
        }
        let (mut command, folder) = go_program("go/server.go").await;
        command.arg(keep_alive.as_millis().to_string());
        Some(Peer::start(command, folder).await)
    }

    /// Node's `http2` server without TLS, which says goodbye to a connection after so many requests.
    /// `None` without Node.
    ///
    /// # Panics
    ///
    /// As [`node`](Self::node).
    pub async fn node_http2(requests: u32) -> Option<Peer> {
        if !have_node().await {
            return None;
        }
        let mut command = Command::new("node");
        command.arg(source("http2.mjs")).arg(requests.to_string());
        Some(Peer::start(command, Folder::new()).await)
    }

    /// Go's `net/http` server with HTTP/2, TLS and a certificate that nobody signed. `None` without
    /// Go.
    ///
    /// # Panics
    ///
    /// As [`go`](Self::go).
    pub async fn go_http2() -> Option<Peer> {
        if !have("go", "version").await {
            return None;
        }
        let (command, folder) = go_program("go/http2.go").await;
        Some(Peer::start(command, folder).await)
    }

    /// nginx, which closes a connection after 100 requests. `None` without nginx.
    ///
    /// # Panics
    ///
    /// If there is nginx and it does not start.
    pub async fn nginx() -> Option<Peer> {
        Peer::nginx_closing("60s", 100).await
    }

    /// nginx with this `keepalive_timeout` and `keepalive_requests`. `None` without nginx.
    ///
    /// # Panics
    ///
    /// If there is nginx and it does not start.
    pub async fn nginx_closing(timeout: &str, requests: u32) -> Option<Peer> {
        if !have("nginx", "-v").await {
            return None;
        }
        let start = |folder: &Folder, port: u16| {
            let settings = fs::read_to_string(source("nginx.conf")).expect("it lies here");
            let settings = settings
                .replace("FOLDER", &folder.path("").display().to_string())
                .replace("PORT", &port.to_string())
                .replace("KEEPALIVE", timeout)
                .replace("REQUESTS", &requests.to_string());
            fs::write(folder.path("nginx.conf"), settings).expect("the folder is new");
            fs::write(folder.path("large"), vec![b'x'; 1 << 20]).expect("the folder is new");
            let mut command = Command::new("nginx");
            command.args(["-e", "stderr", "-p"]).arg(folder.path(""));
            command.arg("-c").arg(folder.path("nginx.conf"));
            command
        };
        Some(Peer::on_a_free_port("nginx", start).await)
    }

    /// Starts a server that cannot choose its port: one that is free now may be taken in a moment,
    /// so another one is tried then.
    async fn on_a_free_port(name: &str, command: impl Fn(&Folder, u16) -> Command) -> Peer {
        for _ in 0..5 {
            let folder = Folder::new();
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
            let port = listener.local_addr().expect("it is bound").port();
            drop(listener);
            let mut command = command(&folder, port);
            command.stdin(Stdio::null()).kill_on_drop(true);
            let child = command.spawn().expect("the program was found a moment ago");
            if let Some(peer) = Peer::listening(child, folder, port).await {
                return peer;
            }
        }
        panic!("{name} did not start; its reasons are above");
    }

    async fn listening(mut child: Child, folder: Folder, port: u16) -> Option<Peer> {
        while child.try_wait().expect("it is our child").is_none() {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(Peer { _child: child, folder, port });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    async fn start(mut command: Command, folder: Folder) -> Peer {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the program was found a moment ago");
        let output = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).await.expect("a pipe can be read");
        let port = line.trim().parse().expect("the server's first line is its port");
        Peer { _child: child, folder, port }
    }

    /// The URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same with TLS.
    pub fn https_url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// What the requests to `/id` had in their header `x-id`, in the order in which they came.
    ///
    /// # Panics
    ///
    /// If the server does not tell.
    pub async fn ids(&self) -> Vec<String> {
        let log = self.folder.path("ids");
        let ids = match fs::read_to_string(log) {
            Ok(logged) => logged,
            // Only nginx writes a log.
            Err(_) => {
                let response = warmwire::Agent::new().get(self.url("/ids")).send().await;
                response.expect("it is up").text().await.expect("it answers with text")
            }
        };
        ids.lines().map(str::to_owned).collect()
    }

    /// The Unix socket of [`nginx`](Self::nginx).
    pub fn unix_socket(&self) -> PathBuf {
        self.folder.path("nginx.sock")
    }

    /// The Unix socket of [`nginx`](Self::nginx) on which it speaks HTTP/2.
    pub fn http2_socket(&self) -> PathBuf {
        self.folder.path("http2.sock")
    }
}

/// The command `warmwire`, as the build of the whole workspace leaves it beside the tests. `None`,
/// with a notice, where only these tests were built.
///
/// # Panics
///
/// If there is none and `CI` is `true`.
pub fn command() -> Option<PathBuf> {
    let here = std::env::current_exe().expect("a test knows its program");
    let command = here.parent().and_then(Path::parent).map(|folder| folder.join("warmwire"));
    let command = command.filter(|command| command.exists());
    if command.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "the command was not built");
        let notice = "SKIPPED: there is no command `warmwire` in the target folder\n";
        // Without standard error there is nobody to tell.
        let _ = io::stderr().write_all(notice.as_bytes());
    }
    command
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Builds a program of Go's.
async fn go_program(file: &str) -> (Command, Folder) {
    let folder = Folder::new();
    let program = folder.path("server");
    let mut build = Command::new("go");
    build.arg("build").arg("-o").arg(&program).arg(source(file));
    let built = build.status().await.expect("go was found a moment ago");
    assert!(built.success(), "go build: {built}");
    (Command::new(program), folder)
}

async fn have_node() -> bool {
    let have = have("node", "--version").await;
    assert!(have || std::env::var("CI").as_deref() != Ok("true"), "CI has no node");
    have
}

/// Whether `program` can be run; says so when not, also where a test's output is captured.
async fn have(program: &str, question: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(question).stdout(Stdio::null()).stderr(Stdio::null());
    // Not every program has a question that it takes for a success.
    let have = command.status().await.is_ok();
    if !have {
        let notice = format!("SKIPPED: there is no {program}, so it was not tested against\n");
        // Without standard error there is nobody to tell.
        let _ = io::stderr().write_all(notice.as_bytes());
    }
    have
}

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("warmwire-interop-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("the folder for temporary files can be written");
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is the system's to remove later.
        let _ = fs::remove_dir_all(&self.0);
    }
}
