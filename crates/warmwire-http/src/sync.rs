//! The locks that [`pooled`](crate::pooled) is built on; the shuttle test puts its own here.

pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
