//! The connection pool of Warmwire as a pure state machine.

mod acquire;
mod actions;
mod arena;
mod connect;
mod connection;
mod counters;
mod evict;
mod exclusive;
mod expiry;
mod limits;
mod list;
mod origin;
mod pool;
mod reason;
mod release;
mod token;
mod waiters;

pub use hashbrown::Equivalent;

pub use crate::acquire::{Acquire, Grant, RefuseReason};
pub use crate::actions::{Actions, Closed};
pub use crate::connect::Opened;
pub use crate::connection::ConnectionView;
pub use crate::counters::Counters;
pub use crate::limits::{Limits, Scheduling};
pub use crate::pool::Pool;
pub use crate::reason::CloseReason;
pub use crate::release::{Keep, Verdict};
pub use crate::token::{ConnectionId, Lease, OriginId, Permit, WaiterId};
