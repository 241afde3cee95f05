//! What an agent remembers of an origin for longer than the origin has connections.
//!
//! The pool forgets an origin with its last connection, and with it the key. What was learned of the
//! server must not go with them: the next connection is where it is of use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hashbrown::{DefaultHashBuilder, HashSet};

use crate::idle_limit::IdleLimit;
use crate::key::{Address, Key};
use crate::retry_budget::RetryBudget;

/// Origins without a key in use that are remembered at most, those of which nothing was learned not
/// counted: about 300 KB.
const REMEMBERED: usize = 1024;

/// What is remembered of one origin. All keys of an origin share one.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) idle_limit: IdleLimit,
    pub(crate) retries: RetryBudget,
}

/// What is remembered of all origins of an agent.
#[derive(Debug, Default)]
pub(crate) struct Memories(Mutex<HashSet<Key, DefaultHashBuilder>>);

impl Memories {
    /// The key of an origin that the pool does not know, made by `make` from what is remembered.
    pub(crate) fn key(
        &self,
        address: &Address<'_>,
        now: Instant,
        make: impl FnOnce(Arc<Memory>) -> Key,
    ) -> Key {
        let known = self.lock().get(address).map(|known| known.memory().clone());
        let is_known = known.is_some();
        // Not under the lock: which proxy an origin has may be for the caller's own code to say.
        let key = make(known.unwrap_or_default());
        if is_known {
            return key;
        }
        let mut keys = self.lock();
        if let Some(meanwhile) = keys.get(address) {
            return meanwhile.renew();
        }
        if keys.len() >= REMEMBERED && keys.len() == keys.capacity() {
            forget(&mut keys, now);
        }
        keys.insert(key.renew());
        key
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Key, DefaultHashBuilder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room, where the table would have to grow: so the cost is that of growing.
fn forget(keys: &mut HashSet<Key, DefaultHashBuilder>, now: Instant) {
    // The key in the table has one of the two or more.
    let used = |key: &Key| Arc::strong_count(key.memory()) > 1;
    keys.retain(|key| used(key) || key.memory().idle_limit.knows(now));
    if keys.len() >= REMEMBERED {
        keys.retain(used);
    }
    if keys.len() >= REMEMBERED {
        // So that the next time is as far away as it is dear.
        keys.reserve(keys.len());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(memories: &Memories, host: usize, now: Instant) -> Key {
        let uri = format!("http://host-{host}.test/").parse().expect("a URI");
        let address = Address::of(&uri, None).expect("an address");
        memories.key(&address, now, |memory| Key::new(&address, Arc::default(), memory))
    }

    fn learn(key: &Key, now: Instant) {
        key.memory().idle_limit.ended(Duration::from_secs(5), now);
    }

    #[test]
    fn keys_of_one_origin_share_what_is_remembered() {
        let (memories, now) = (Memories::default(), Instant::now());
        let (one, other) = (key(&memories, 1, now), key(&memories, 1, now));
        assert!(Arc::ptr_eq(one.memory(), other.memory()));
        assert!(Arc::ptr_eq(one.memory(), one.renew().memory()));
        assert!(!Arc::ptr_eq(one.memory(), key(&memories, 2, now).memory()));
    }

    #[test]
    fn a_crawlers_origins_are_forgotten_and_those_in_use_are_not() {
        let (memories, now) = (Memories::default(), Instant::now());
        let used: Vec<Key> = (0..100).map(|host| key(&memories, host, now)).collect();
        learn(&key(&memories, 100, now), now);
        for host in 101..100_000 {
            // Even if something was learned of each.
            let key = key(&memories, host, now);
            if host > 50_000 {
                learn(&key, now);
            }
            let remembered = memories.0.lock().expect("nobody panicked").len();
            assert!(remembered <= 4 * REMEMBERED, "{remembered}");
        }
        for (host, known) in used.iter().enumerate() {
            assert!(Arc::ptr_eq(known.memory(), key(&memories, host, now).memory()));
        }
    }
}
