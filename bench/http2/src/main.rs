//! HTTP/2 clients compared: 64 streams at once on one connection without TLS to a server of hyper's
//! in another process.
//!
//! Every client runs in a process of its own, a fresh one in each round, on core 1; the server has
//! core 0. `bench-http2` runs all and prints a table; `bench-http2 client NAME ADDRESS REQUESTS` and
//! `bench-http2 server BYTES` are what it starts.

mod clients;
mod compare;
mod server;
mod usage;

use std::io;

use clients::Kind;

/// The one that all others are compared with.
const REFERENCE: Kind = Kind::HyperUtil;
const STREAMS: usize = 64;
const SERVER_CORE: usize = 0;
const CLIENT_CORE: usize = 1;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["server", bytes] => {
            usage::pin(SERVER_CORE)?;
            runtime.block_on(server::run(number(bytes)?))
        }
        ["client", name, address, requests] => {
            usage::pin(CLIENT_CORE)?;
            let kind = Kind::named(name).ok_or_else(|| wrong(name))?;
            runtime.block_on(clients::run(kind, address, number(requests)?))
        }
        [] => runtime.block_on(compare::run(5)),
        ["--rounds", rounds] => runtime.block_on(compare::run(number(rounds)?.max(1))),
        _ => Err(wrong(&arguments.join(" "))),
    }
}

fn number(text: &str) -> io::Result<usize> {
    text.parse().map_err(|_| wrong(text))
}

fn wrong(text: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("`{text}` is not understood; usage: bench-http2 [--rounds COUNT]"),
    )
}
