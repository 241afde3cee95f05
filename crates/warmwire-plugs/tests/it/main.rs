//! The plugs against scripted servers, one module for each.

#[cfg(all(feature = "compression", feature = "mock"))]
mod compression;
#[cfg(all(feature = "cookies", feature = "mock"))]
mod cookies;
#[cfg(feature = "mock")]
mod mock;
