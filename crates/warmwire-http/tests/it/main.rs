//! The agent against scripted peers: what a caller and the server at the other end can see.

mod support;

mod errors;
mod limits;
mod reuse;
mod timers;
