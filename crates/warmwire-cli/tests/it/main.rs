//! The real binary, as a user runs it.

mod bench;
mod command_line;
mod given_url;
mod http2;
mod interrupt;
mod rpc;
mod simulation;
mod support;
