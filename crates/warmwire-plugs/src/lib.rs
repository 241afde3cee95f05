//! The agent in what people run already. Each module stands behind the feature of its name, and
//! none is on by default.
//!
//! | module | feature | what |
//! |---|---|---|
#![cfg_attr(
    feature = "mock",
    doc = "| [`mock`] | `mock` | a scripted server in memory, for a program's own tests |"
)]
//!
//! What wraps a service is generic over `tower`'s `Service` trait and has a `tower` layer: it stacks
//! with whatever else is built on tower.

#[cfg(feature = "compression")]
pub mod compression;
#[cfg(feature = "cookies")]
pub mod cookies;
#[cfg(feature = "mock")]
pub mod mock;
