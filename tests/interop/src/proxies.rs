//! Proxies that other people wrote: tinyproxy (HTTP) and microsocks (SOCKS5).

use std::fs::{self, File};

use tokio::process::Command;
use warmwire::http::Proxy;

use super::{Folder, Peer, have};

/// Who may use a proxy.
const USER: &str = "user";
const PASSWORD: &str = "secret";

impl Peer {
    /// tinyproxy, which closes connections that were idle for this many seconds. `None` without it.
    ///
    /// # Panics
    ///
    /// If there is tinyproxy and it does not start.
    pub async fn tinyproxy(idle_seconds: u32) -> Option<Peer> {
        if !have("tinyproxy", "-v").await {
            return None;
        }
        let start = |folder: &Folder, port: u16| {
            let log = folder.path("log");
            let settings = format!(
                "Port {port}\nListen 127.0.0.1\nTimeout {idle_seconds}\nMaxClients 100\n\
                 LogFile \"{}\"\nLogLevel Connect\nBasicAuth {USER} {PASSWORD}\n",
                log.display()
            );
            fs::write(folder.path("tinyproxy.conf"), settings).expect("the folder is new");
            let mut command = Command::new("tinyproxy");
            command.arg("-d").arg("-c").arg(folder.path("tinyproxy.conf"));
            command
        };
        Some(Peer::on_a_free_port("tinyproxy", start).await)
    }

    /// microsocks. `None` without it.
    ///
    /// # Panics
    ///
    /// If there is microsocks and it does not start.
    pub async fn microsocks() -> Option<Peer> {
        if !have("microsocks", "-h").await {
            return None;
        }
        let start = |folder: &Folder, port: u16| {
            let log = File::create(folder.path("log")).expect("the folder is new");
            let mut command = Command::new("microsocks");
            command.args(["-i", "127.0.0.1", "-u", USER, "-P", PASSWORD, "-p"]);
            command.arg(port.to_string()).stderr(log);
            command
        };
        Some(Peer::on_a_free_port("microsocks", start).await)
    }

    /// This proxy, spoken to by a protocol: `http`, `socks5`, `socks5h`. It wants credentials.
    ///
    /// # Panics
    ///
    /// If there is no such protocol.
    pub fn proxy(&self, protocol: &str) -> Proxy {
        Proxy::parse(format!("{protocol}://127.0.0.1:{}", self.port)).expect("a known protocol")
    }

    /// This proxy with the credentials that it wants.
    ///
    /// # Panics
    ///
    /// If there is no such protocol.
    pub fn proxy_for_user(&self, protocol: &str) -> Proxy {
        self.proxy(protocol).credentials(USER, PASSWORD).expect("a name without a colon")
    }

    /// How often the proxy has written that it does `what` for the server.
    ///
    /// # Panics
    ///
    /// If this is no proxy.
    pub fn logged(&self, what: &str, server: &Peer) -> usize {
        let log = fs::read_to_string(self.folder.path("log")).expect("a proxy writes a log");
        let wanted = format!("{what} 127.0.0.1:{}", server.port);
        log.lines().filter(|line| line.contains(&wanted)).count()
    }
}
