//! A store in memory.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Entry, Store};

/// Responses in memory, up to a number of bytes; what was not used for longest goes first.
///
/// A handle: clones share what is kept. What a kept response takes is its body and 4 KiB for what
/// belongs to it.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    pages: HashMap<String, Page>,
    /// URLs by when they were last used.
    used: BTreeMap<u64, String>,
    now: u64,
    bytes: usize,
}

/// What is kept of one URL.
struct Page {
    entries: Vec<Arc<Entry>>,
    bytes: usize,
    used: u64,
}

impl MemoryStore {
    /// A store of at most so many bytes.
    pub fn new(max_bytes: usize) -> MemoryStore {
        MemoryStore(Arc::new(Inner { max_bytes, kept: Mutex::default() }))
    }

    /// How many bytes are kept.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.lock() = Kept::default();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn get(&self, url: &str) -> Vec<Arc<Entry>> {
        let kept = &mut *self.lock();
        let Some(page) = kept.pages.get_mut(url) else { return Vec::new() };
        kept.now += 1;
        kept.used.remove(&page.used);
        kept.used.insert(kept.now, url.to_owned());
        page.used = kept.now;
        page.entries.clone()
    }

    fn put(&self, url: &str, entries: Vec<Arc<Entry>>) {
        let kept = &mut *self.lock();
        kept.remove(url);
        let bytes = entries.iter().map(|entry| entry.size()).sum();
        if entries.is_empty() || bytes > self.0.max_bytes {
            return;
        }
        while kept.bytes + bytes > self.0.max_bytes {
            let Some((_, oldest)) = kept.used.pop_first() else { break };
            kept.remove(&oldest);
        }
        kept.now += 1;
        kept.bytes += bytes;
        kept.used.insert(kept.now, url.to_owned());
        kept.pages.insert(url.to_owned(), Page { entries, bytes, used: kept.now });
    }
}

impl Kept {
    fn remove(&mut self, url: &str) {
        if let Some(page) = self.pages.remove(url) {
            self.used.remove(&page.used);
            self.bytes -= page.bytes;
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lock();
        f.debug_struct("MemoryStore")
            .field("urls", &kept.pages.len())
            .field("bytes", &kept.bytes)
            .field("max_bytes", &self.0.max_bytes)
            .finish()
    }
}
