//! The agent against Node, nginx and Go, and through proxies.

mod go;
mod http2;
mod load;
mod nginx;
mod node;
mod proxies;
mod sweep;
