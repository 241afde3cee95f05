//! The real binary, as a user runs it.

mod bench;
mod command_line;
mod given_url;
mod interrupt;
mod simulation;
mod support;
