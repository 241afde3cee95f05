//! A network of two ends, one of them in a namespace of its own, whose link can be taken down.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace that is reached over a pair of virtual interfaces. Dropping it removes both.
///
/// Taking its link down is what a cable that is pulled does: what is sent is lost, and nobody is
/// told.
pub struct Netns {
    name: String,
    address: String,
}

impl Netns {
    /// A new one. `None`, with a notice on standard error, where it cannot be made: that takes
    /// root and iproute2.
    ///
    /// # Panics
    ///
    /// If making it fails half-way.
    pub fn new() -> Option<Netns> {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("ww{process}-{number}");
        if !quietly(&["netns", "add", &name]) {
            let notice =
                "SKIPPED: no network namespace can be made (that takes root and iproute2)\n";
            // Written past the test's captured output. Without standard error nobody is to be told.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), notice.as_bytes());
            return None;
        }
        // 198.18.0.0/15 is for tests of networks (RFC 2544), so nobody's routes have it.
        let network = format!("198.18.{}", process % 256);
        let (host, peer) = (4 * (number % 64) + 1, 4 * (number % 64) + 2);
        let near = format!("ww{process}-{number}");
        let netns = Netns { name: name.clone(), address: format!("{network}.{peer}") };
        let (host, peer) = (format!("{network}.{host}/30"), format!("{network}.{peer}/30"));
        for command in [
            &["link", "add", &near, "type", "veth", "peer", "name", "far", "netns", &name]
                as &[&str],
            &["address", "add", &host, "dev", &near],
            &["link", "set", &near, "up"],
            &["-n", &name, "address", "add", &peer, "dev", "far"],
            &["-n", &name, "link", "set", "far", "up"],
        ] {
            assert!(quietly(command), "ip {command:?} failed");
        }
        Some(netns)
    }

    /// A TCP listener on a free port within the namespace.
    ///
    /// # Panics
    ///
    /// If the namespace cannot be entered.
    pub fn listen(&self) -> TcpListener {
        let (path, address) = (format!("/run/netns/{}", self.name), self.address.clone());
        // A socket stays in the namespace that it was made in, and so would a thread.
        let listening = std::thread::spawn(move || {
            let namespace = File::open(path).expect("`ip` has put it there");
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("root may enter it");
            let address: SocketAddr = format!("{address}:0").parse().expect("an address");
            TcpListener::bind(address).expect("every port is free")
        });
        listening.join().expect("the reason is above")
    }

    /// Takes the link down or up again.
    ///
    /// # Panics
    ///
    /// If `ip` fails.
    pub fn link(&self, up: bool) {
        let state = if up { "up" } else { "down" };
        assert!(quietly(&["-n", &self.name, "link", "set", "far", state]), "the link is {state}");
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        // The interfaces go with it. What cannot be removed is the machine's to forget.
        let _ = quietly(&["netns", "del", &self.name]);
    }
}

fn quietly(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
