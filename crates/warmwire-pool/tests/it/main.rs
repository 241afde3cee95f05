//! The pool from outside, with a virtual clock.

mod exclusive;
mod expiry;
mod model;
mod queue;
mod reference;
mod reuse;
mod shutdown;
mod slots;
mod support;
mod tokens;
mod total;
