//! The runtime on which a connection lives, and how it leaves one that may not be driven.
//!
//! A connection is run by a task of the runtime that dialled. If that is one of a single thread it
//! runs only within `block_on`, and the streams of other runtimes would stand still with it: so the
//! connection leaves it for a runtime of our own, with a thread of its own, before it is used from
//! elsewhere. It also leaves a runtime that is shut down. A program with one runtime has no such thread.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use tokio::runtime::{Builder, Handle, Id, RuntimeFlavor};

use super::connection::Link;
use super::driver::Driver;

pub(super) struct Home {
    /// The runtime that dialled, if it may be one that is not driven.
    leaves: Option<Id>,
    /// A stream that the caller made is the caller's to move.
    movable: bool,
    away: AtomicBool,
    seat: Mutex<Seat>,
}

/// Who has the driver.
#[derive(Default)]
enum Seat {
    /// Nobody yet, or nobody any more.
    #[default]
    Empty,
    /// It rests until its task is polled.
    Resting(Box<Driver>),
    /// Its task, which runs it. To leave when that is done, or not.
    Running { leaves: bool },
}

impl Home {
    /// The current runtime.
    pub(super) fn here(movable: bool) -> Home {
        let here = Handle::current();
        let alone = here.runtime_flavor() == RuntimeFlavor::CurrentThread;
        let leaves = (movable && alone).then(|| here.id());
        Home { leaves, movable, away: AtomicBool::new(false), seat: Mutex::default() }
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.load(Ordering::Acquire)
    }

    /// Whether it must leave, since the caller is on another runtime.
    fn must_leave(&self) -> bool {
        let elsewhere = |home| !Handle::try_current().is_ok_and(|here| here.id() == home);
        self.leaves.is_some_and(|home| !self.is_away() && elsewhere(home))
    }

    /// Takes the driver to be run by the task at home, or by the one that is `away`.
    fn sit(&self, away: bool) -> Option<Box<Driver>> {
        let mut seat = self.lock();
        if self.is_away() != away {
            return None;
        }
        match std::mem::replace(&mut *seat, Seat::Running { leaves: false }) {
            Seat::Resting(driver) => Some(driver),
            other => {
                *seat = other;
                None
            }
        }
    }

    /// Gives it back; it comes back if it must leave.
    fn rest(&self, driver: Box<Driver>) -> Option<Box<Driver>> {
        let mut seat = self.lock();
        if let Seat::Running { leaves: true } = *seat {
            *seat = Seat::Empty;
            return Some(driver);
        }
        *seat = Seat::Resting(driver);
        None
    }

    /// Takes the driver to move it; if it is just being run, whoever does that moves it.
    fn fetch(&self) -> Option<Box<Driver>> {
        let mut seat = self.lock();
        match std::mem::take(&mut *seat) {
            Seat::Resting(driver) => Some(driver),
            Seat::Running { .. } => {
                *seat = Seat::Running { leaves: true };
                None
            }
            Seat::Empty => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a new connection on the current runtime.
pub(super) fn settle(link: &Arc<Link>, driver: Driver) {
    *link.home().lock() = Seat::Resting(Box::new(driver));
    tokio::spawn(Seated { link: link.clone(), away: false });
}

/// Called before a connection is used, and when nobody uses it any more: makes sure that it is run.
pub(super) fn visit(link: &Arc<Link>) {
    if link.home().must_leave()
        && let Some(driver) = link.home().fetch()
    {
        leave(link, driver);
    }
}

/// Moves a connection to the background; without one it dies, and the pool is told.
fn leave(link: &Arc<Link>, mut driver: Box<Driver>) {
    let Some(background) = background() else { return };
    driver.depart();
    {
        let mut seat = link.home().lock();
        // Under the lock, so that the task at home does not take the driver again.
        link.home().away.store(true, Ordering::Release);
        *seat = Seat::Resting(driver);
    }
    background.spawn(Seated { link: link.clone(), away: true });
}

/// The task that runs a connection. One that the connection has left ends when it is polled next.
struct Seated {
    link: Arc<Link>,
    away: bool,
}

impl Future for Seated {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(mut driver) = self.link.home().sit(self.away) else { return Poll::Ready(()) };
        if Pin::new(&mut *driver).poll(cx).is_ready() {
            *self.link.home().lock() = Seat::Empty;
            return Poll::Ready(());
        }
        match self.link.home().rest(driver) {
            None => Poll::Pending,
            Some(driver) => {
                leave(&self.link, driver);
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Seated {
    /// The runtime is being shut down, if there is a driver still.
    fn drop(&mut self) {
        let home = self.link.home();
        let Some(driver) = home.sit(self.away) else { return };
        *home.lock() = Seat::Empty;
        if home.movable && !self.away {
            leave(&self.link, driver);
        }
    }
}

/// A runtime with a thread of its own, which is started when it is needed first and lives as long as
/// the process. `None` if the system gives none.
fn background() -> Option<&'static Handle> {
    static BACKGROUND: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let run = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("warmwire-http2".into()).spawn(run).ok()?;
        Some(handle)
    };
    BACKGROUND.get_or_init(start).as_ref()
}
