//! The agent against scripted peers: what a caller and the server at the other end can see.

mod support;

mod limits;
mod timers;
