//! What the server has seen: which requests ran, and how much of everything.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Requests that one soak can tell apart: an hour at 18,000 a second.
const IDS: u64 = 1 << 26;

/// One bit for each request, made at the start: the memory must not grow with the requests.
pub(super) struct Ledger {
    ran: Vec<AtomicU64>,
    pub(super) accepted: AtomicU64,
    /// Connections that the servers have now.
    pub(super) serving: AtomicUsize,
    pub(super) heads: AtomicU64,
    /// Requests that ran more than once and were not marked as safe to repeat.
    pub(super) ran_twice: AtomicU64,
    pub(super) repeated: AtomicU64,
    /// The server does no more mischief.
    pub(super) polite: AtomicBool,
    next: AtomicU64,
}

impl Ledger {
    pub(super) fn new() -> Ledger {
        // Written to, so that the pages count from the start.
        let ran = (0..IDS / 64).map(AtomicU64::new).collect::<Vec<_>>();
        ran.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        Ledger {
            ran,
            accepted: AtomicU64::new(0),
            serving: AtomicUsize::new(0),
            heads: AtomicU64::new(0),
            ran_twice: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            polite: AtomicBool::new(false),
            // 0 is the id of what nobody asked for.
            next: AtomicU64::new(1),
        }
    }

    /// The id of a new request.
    ///
    /// # Panics
    ///
    /// When there are no more.
    pub(super) fn id(&self) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(id < IDS, "a soak this long needs more ids");
        id
    }

    /// The server has read the whole request, and does what it asks for.
    pub(super) fn run(&self, id: u64, may_be_repeated: bool) {
        let bit = 1 << (id % 64);
        let Some(word) = self.ran.get((id / 64) as usize) else { return };
        if word.fetch_or(bit, Ordering::SeqCst) & bit != 0 {
            let counter = if may_be_repeated { &self.repeated } else { &self.ran_twice };
            counter.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub(super) fn has_run(&self, id: u64) -> bool {
        let word = self.ran.get((id / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::SeqCst) & (1 << (id % 64)) != 0)
    }
}
