//! The pool from outside, with a virtual clock.

mod queue;
mod reuse;
mod support;
