//! The pool from outside, with a virtual clock.

mod model;
mod queue;
mod reference;
mod reuse;
mod support;
