//! The agent against scripted peers: what a caller and the server at the other end can see.

mod support;

mod bodies;
mod drops;
mod errors;
mod limits;
mod reuse;
mod timers;
