//! A [`Value`] through serde without a copy.
//!
//! serde lends bytes as `&[u8]`, so a buffer of a megabyte would be copied each time a value goes
//! through it. Where both ends are ours, the value is left in this thread's pocket in place of being
//! taken apart: whoever serializes or deserializes announces a name that only the two of them know,
//! and the other answers by the pocket. With any other format the pocket stays empty, and the plain
//! way is taken.

use std::cell::RefCell;

use super::Value;

/// The name of the newtype struct that announces a value.
pub(crate) const NAME: &str = "$warmwire::Value";

/// The unit struct that stands for undefined.
pub(crate) const UNDEFINED: &str = "$warmwire::Undefined";

enum Pocket {
    Closed,
    /// Somebody waits for a value.
    Open,
    Full(Value),
}

thread_local! {
    static POCKET: RefCell<Pocket> = const { RefCell::new(Pocket::Closed) };
}

/// Runs `lender`, which may [`put`] a value, and returns what it returned and what it put.
pub(crate) fn receive<T>(lender: impl FnOnce() -> T) -> (T, Option<Value>) {
    let before = POCKET.replace(Pocket::Open);
    let returned = lender();
    let value = match POCKET.replace(before) {
        Pocket::Full(value) => Some(value),
        Pocket::Open | Pocket::Closed => None,
    };
    (returned, value)
}

/// Puts what `value` makes if somebody waits for it.
pub(crate) fn put(value: impl FnOnce() -> Value) -> bool {
    POCKET.with_borrow_mut(|pocket| {
        let waiting = matches!(pocket, Pocket::Open);
        if waiting {
            *pocket = Pocket::Full(value());
        }
        waiting
    })
}

/// Runs `borrower`, which may [`take`] the value.
pub(crate) fn offer<T>(value: Value, borrower: impl FnOnce() -> T) -> T {
    let before = POCKET.replace(Pocket::Full(value));
    let returned = borrower();
    POCKET.set(before);
    returned
}

/// The value that is offered, if one is.
pub(crate) fn take() -> Option<Value> {
    POCKET.with_borrow_mut(|pocket| match std::mem::replace(pocket, Pocket::Closed) {
        Pocket::Full(value) => Some(value),
        other => {
            *pocket = other;
            None
        }
    })
}
