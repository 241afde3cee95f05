//! In place of `metrics`.

use std::time::Duration;

use http::Method;
use tokio::time::Instant;
use warmwire_pool::CloseReason;

use crate::error::ErrorKind;
use crate::key::Key;

pub(crate) struct Active;

impl Active {
    pub(crate) fn new(_: &Key, _: &Method, _: Instant) -> Active {
        Active
    }

    pub(crate) fn end(self) {}
}

pub(crate) struct Open;

impl Open {
    pub(crate) fn new(_: &Key) -> Open {
        Open
    }

    pub(crate) fn busy(&self, _reused: bool, _queued: Duration) {}

    pub(crate) fn idle(&self) {}
}

pub(crate) fn closed(_: &Key, _: CloseReason, _: Duration) {}

pub(crate) fn connect_failed(_: &Key, _: impl FnOnce() -> ErrorKind) {}

pub(crate) fn retried(_: &Key) {}
