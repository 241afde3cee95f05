//! What the pure crates never do, and which crate alone names sockets.

use anyhow::Result;

use crate::repository::{File, Repository, code};

/// In the crates that only decide: no clock, no socket, no runtime, no log.
const PURE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    ".elapsed()",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Condvar",
    "Mutex",
    "RwLock",
    "tokio",
    "tracing",
    "log::",
    "print!",
    "println!",
];

/// Above `warmwire-net`: addresses are values, sockets are not named.
const NO_SOCKETS: &[&str] =
    &["TcpListener", "TcpStream", "UdpSocket", "UnixStream", "rustls::", "socket2", "tokio::net"];

const RULES: &[(&str, &[&str])] = &[
    ("crates/warmwire-pool/src", PURE),
    ("crates/warmwire-h1/src", PURE),
    ("crates/warmwire-amp/src", PURE),
    ("crates/warmwire-http/src", NO_SOCKETS),
    ("crates/warmwire-rpc/src", NO_SOCKETS),
    ("crates/warmwire/src", NO_SOCKETS),
];

/// Every line that names what its crate must not name.
pub(crate) fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for (folder, banned) in RULES {
        for file in repository.files(folder, &[".rs"])? {
            faults.extend(scan(&file, banned));
        }
    }
    Ok(faults)
}

fn scan(file: &File, banned: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in file.before_tests() {
        for word in banned.iter().filter(|word| code(line).contains(**word)) {
            faults.push(format!("{}:{number}: names `{word}`", file.path));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_crates_stay_pure_and_only_net_names_sockets() {
        let faults = check(&Repository::find().unwrap()).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn a_lock_in_a_pure_crate_is_a_fault_however_it_is_imported() {
        let text = "use std::sync::{Arc, Mutex};\nuse std::sync::RwLock;\n";
        let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(scan(&file, PURE), ["a.rs:1: names `Mutex`", "a.rs:2: names `RwLock`"]);
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_a_fault_and_in_a_comment_it_is_none() {
        let text = "// Instant::now\nlet now = Instant::now();\n";
        let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(scan(&file, PURE), ["a.rs:2: names `Instant::now`"]);
    }
}
