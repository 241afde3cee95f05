//! In place of `tracing`.

use crate::event::Event;

pub(crate) fn listens() -> bool {
    false
}

pub(crate) fn event(_: &Event) {}

pub(crate) fn resent() {}
