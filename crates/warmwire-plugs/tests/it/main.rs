//! The plugs against scripted servers, one module for each.

#[cfg(feature = "mock")]
mod mock;
