//! In place of watching requests.

use crate::error::Error;
use crate::response::Response;
use crate::send::RequestParts;

pub(crate) struct Watch;

impl Watch {
    pub(crate) fn new(_: &RequestParts) -> Watch {
        Watch
    }

    pub(crate) fn over<F>(&self, future: F) -> F {
        future
    }

    pub(crate) fn ended(self, _: &Result<Response, Error>) {}

    pub(crate) fn failed(&mut self, error: Error) -> Error {
        error
    }
}
