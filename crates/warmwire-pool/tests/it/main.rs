//! The pool from outside, with a virtual clock.

mod backoff;
mod exclusive;
mod expiry;
mod min_idle;
mod model;
mod places;
mod queue;
mod reference;
mod reuse;
mod shutdown;
mod slots;
mod support;
mod tokens;
mod total;
