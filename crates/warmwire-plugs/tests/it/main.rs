//! The plugs against scripted servers, one module for each.

#[cfg(all(feature = "aws", feature = "mock"))]
mod aws;
#[cfg(all(feature = "cache", feature = "mock"))]
mod cache;
#[cfg(all(feature = "compression", feature = "mock"))]
mod compression;
#[cfg(all(feature = "cookies", feature = "mock"))]
mod cookies;
#[cfg(feature = "mock")]
mod mock;
#[cfg(all(feature = "object-store", feature = "mock"))]
mod object_store;
#[cfg(all(feature = "cache", feature = "compression", feature = "cookies", feature = "mock"))]
mod stack;
#[cfg(all(feature = "tonic", feature = "mock"))]
mod tonic;
