//! The agent against Node, nginx and Go, and through proxies; the RPC against axon and pm2.

mod axon;
mod go;
mod http2;
mod load;
mod nginx;
mod node;
mod pm2;
mod proxies;
mod reconnects;
mod sides;
mod sockets;
mod sweep;
