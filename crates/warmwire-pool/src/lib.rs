//! The connection pool of Warmwire as a pure state machine.
//!
//! [`Pool`] decides: which connection a request gets, when to dial, who waits and for how long a
//! place in the queue is worth having, what closes and why. It holds no socket, reads no clock
//! (`now` is passed in), draws no random number, takes no lock, awaits and logs nothing, and knows
//! no protocol. A *driver* keeps one pool behind one mutex, makes short calls, and does after
//! unlocking what the calls have left in [`Actions`].
//!
//! # Words
//!
//! An **origin** is what connections of one kind have in common: its key, its limits, its queue. A
//! **connection** lends **slots**: HTTP/1.1 has one, HTTP/2 and an RPC have many. A [`Lease`] is a
//! slot lent, a [`Permit`] the right to dial. A request that is not served at once is a **waiter**.
//!
//! # A request
//!
//! ```text
//!              acquire
//!   Reuse ───────┼──────── Open ────────── Wait ─────── Refuse
//!     │                     │ permit        │
//!     │                   dial ┐            │     poll_waiter gives
//!     │                        │  waiter ───┴───▶ Open    dial; the waiter stays in the queue
//!     │                        ▼                  Lease   ──┐
//!     │                     connected             Failed    │ its dial failed, or a later one
//!     │                     connect_failed        Refused   │ the pool was closed
//!     │                     connect_abandoned               │
//!     └────────────────────▶ use the connection ◀───────────┘
//!                                   │ release
//!                        first waiter, idle, or closed
//! ```
//!
//! Also the request that dials is a waiter: it takes whichever comes first, its dial or another
//! connection, and the other one is kept for whoever comes next. A request that is dropped calls
//! [`cancel`](Pool::cancel) and leaves its dial to the pool.
//!
//! # A connection
//!
//! | state | leases | free slots | may become |
//! |---|---|---|---|
//! | idle | 0 | all | partial or busy (lent), closed (deadline, limits, peer, user) |
//! | partial | 1 or more | some | idle, busy, retired |
//! | busy | 1 or more | none | idle, partial, retired |
//! | retired | 1 or more | not lent | closed, when the last lease is back |
//! | closed | 0 | none | gone, when [`close_finished`](Pool::close_finished) gives its place back |
//!
//! Partial connections are lent before idle ones. A connection is never lent when its idle time or
//! its lifetime is over, when it has taken its number of requests, or when it is retired.
//!
//! # An origin whose dials fail
//!
//! | state | dials | ends |
//! |---|---|---|
//! | sound | as the limits allow | with a dial that fails |
//! | backing off | none | when the time of [`Limits::dial_backoff`] is over |
//! | due | one, as a probe | with the probe: sound, or backing off for twice as long |
//!
//! Requests use free slots as ever; the others wait. A dial that fails ends its own waiter, and, where
//! no connection is open, all who were waiting without a dial when it began. Any success makes the
//! origin sound, and so does the end of a back-off for which nobody waits.
//!
//! # A task that does not run
//!
//! A dial may get a [deadline](Pool::bound_dial), after which its place goes on. A waiter whose dial
//! that was, or that has not collected its permit for a second, is put aside: it is served no more
//! until it is polled, and is at its old place then.
//!
//! # Calling order
//!
//! 1. [`find`](Pool::find) or [`insert`](Pool::insert), then [`acquire`](Pool::acquire), under one
//!    lock: an origin with nothing left is forgotten at once, unless it keeps
//!    [`Limits::min_idle`] connections or backs off.
//! 2. Every [`Permit`] and every [`Lease`] goes back exactly once. Wrap them in guards whose `Drop`
//!    calls [`connect_abandoned`](Pool::connect_abandoned), or releases with
//!    [`CloseReason::Abandoned`].
//! 3. After unlocking: close what is in [`Actions::closed`], wake, then give the places of what is
//!    closed back by [`close_finished`](Pool::close_finished), which may lead to more of both.
//! 4. Whenever [`next_deadline`](Pool::next_deadline) is earlier than the timer that is set, set it
//!    anew; when it fires, call [`expire`](Pool::expire), then [`refill`](Pool::refill) until it
//!    gives nothing.
//! 5. `now` never goes back. If it does, nothing breaks, and times come out too short.
//!
//! # Laws
//!
//! They hold after every call; the model test checks them after each of a million random steps.
//!
//! - opened = closed + open, closed is the sum over the reasons, open = idle + active.
//! - Connections, those being closed included, and permits that are not overdue together never exceed
//!   `max_connections` of their origin, nor the limit over all origins.
//! - No waiter waits while a slot is free at its origin, or while there is room for a dial that no
//!   dial in progress makes needless, that no back-off forbids, and to which it does not prefer to
//!   wait.
//! - An origin whose dials fail has one dial at a time that began after a failure.
//! - Waiters of an origin are served in order of arrival; where only the limit over all origins is
//!   in the way, origins are served in the order in which their first waiters arrived. An origin
//!   whose own waiters keep its connections busy is not made to give one up.
//! - A slot or permit given to a waiter that is cancelled goes to the next one.
//! - A pool has no deadline when nothing is idle, no dial has one, no origin backs off or lacks
//!   connections, and nobody prefers to wait.
//!
//! # Cost
//!
//! Every call is O(1), amortised, in the number of connections, origins and waiters, except: the
//! calls that name many connections; a logarithm for deadlines, and for origins that wait for the
//! limit over all origins. A call that serves waiters costs as much as it serves.
//!
//! # Example
//!
//! ```
//! use std::task::{Poll, Waker};
//! use std::time::{Duration, Instant};
//! use warmwire_pool::{Acquire, Actions, Grant, Keep, Limits, Opened, Pool, Verdict};
//!
//! let mut pool: Pool<&str, String, std::io::Error> = Pool::new(Limits::default(), usize::MAX);
//! let mut actions = Actions::new();
//! let now = Instant::now();
//!
//! let origin = pool.insert("example.com");
//! let Acquire::Open(permit, waiter) = pool.acquire(origin, now, &mut actions) else {
//!     panic!("nothing is open yet");
//! };
//! // Dial without the lock, then:
//! let opened = Opened { slots: 1, jitter: 0.5, elapsed: Duration::from_millis(20) };
//! pool.connected(permit, "a stream".to_owned(), opened, now, &mut actions);
//! let Poll::Ready(Grant::Lease(lease)) =
//!     pool.poll_waiter(waiter, Waker::noop(), now, &mut actions)
//! else {
//!     panic!("the dial is finished");
//! };
//! assert!(!lease.reused());
//! pool.release(lease, Verdict::Keep(Keep::default()), now, &mut actions);
//!
//! let Acquire::Reuse(lease) = pool.acquire(origin, now, &mut actions) else {
//!     panic!("a connection is idle");
//! };
//! assert!(lease.reused());
//! # pool.release(lease, Verdict::Keep(Keep::default()), now, &mut actions);
//! ```

mod acquire;
mod actions;
mod arena;
mod backoff;
mod closing;
mod connect;
mod connection;
mod counters;
mod evict;
mod exclusive;
mod expiry;
mod limits;
mod list;
mod origin;
mod overdue;
mod place;
mod pool;
mod reason;
mod refill;
mod release;
mod settle;
mod surplus;
mod timers;
mod token;
mod waiters;

pub use hashbrown::Equivalent;

pub use crate::acquire::{Acquire, Grant, RefuseReason};
pub use crate::actions::{Actions, Closed};
pub use crate::closing::Closing;
pub use crate::connect::{Failed, Opened};
pub use crate::connection::ConnectionView;
pub use crate::counters::Counters;
pub use crate::limits::{Backoff, Limits, Scheduling};
pub use crate::pool::Pool;
pub use crate::reason::CloseReason;
pub use crate::release::{Keep, Verdict};
pub use crate::token::{ConnectionId, Lease, OriginId, Permit, WaiterId};
