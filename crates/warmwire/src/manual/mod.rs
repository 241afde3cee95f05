//! The manual: what the single items do not say.
//!
//! - [`defaults`]: each default of the agent, with its reason.
//! - [`reuse`]: when a connection is used again, the race that is left, and what `sent` means.
//! - [`limits`]: per origin and in total, waiting, and requests within requests.
//! - [`errors`]: what to do about which.

pub mod defaults;
pub mod errors;
pub mod limits;
pub mod reuse;
