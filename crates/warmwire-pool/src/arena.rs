//! Slots for values that refer to each other by index, with handles that never go wrong.

use std::ops::{Index, IndexMut};

use slab::Slab;

/// Names one value for the life of its arena: the serial number is never given twice, so the
/// handle of a removed value finds nothing, whoever lives at its index now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle {
    pub(crate) index: usize,
    pub(crate) serial: u64,
}

/// A slab whose entries carry serial numbers, counted from 1 in order of insertion.
///
/// Indexing by a plain `usize` is for links that the crate keeps true itself; what comes from
/// outside is a [`Handle`] and goes through [`find`](Self::find).
#[derive(Debug)]
pub(crate) struct Arena<T> {
    entries: Slab<(u64, T)>,
    last_serial: u64,
}

/// An arena that becomes empty gives its memory back when it held more entries than this; below,
/// the memory is worth less than the allocation that would be repeated.
const KEPT_CAPACITY: usize = 1024;

impl<T> Arena<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Slab::new(), last_serial: 0 }
    }

    pub(crate) fn insert(&mut self, value: T) -> Handle {
        self.last_serial += 1;
        let serial = self.last_serial;
        Handle { index: self.entries.insert((serial, value)), serial }
    }

    pub(crate) fn remove(&mut self, index: usize) -> T {
        let (_, value) = self.entries.remove(index);
        if self.entries.is_empty() && self.entries.capacity() > KEPT_CAPACITY {
            self.entries = Slab::new();
        }
        value
    }

    /// The index behind a handle, unless its value is gone.
    pub(crate) fn find(&self, handle: Handle) -> Option<usize> {
        match self.entries.get(handle.index) {
            Some((serial, _)) if *serial == handle.serial => Some(handle.index),
            _ => None,
        }
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        self.find(handle).map(|index| &self[index])
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.find(handle).map(|index| &mut self[index])
    }

    pub(crate) fn handle(&self, index: usize) -> Handle {
        Handle { index, serial: self.serial(index) }
    }

    pub(crate) fn serial(&self, index: usize) -> u64 {
        self.entries[index].0
    }

    /// The serial number of the youngest value, whether it is still there or not.
    pub(crate) fn last_serial(&self) -> u64 {
        self.last_serial
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.entries
            .iter()
            .map(|(index, (serial, value))| (Handle { index, serial: *serial }, value))
    }
}

impl<T> Index<usize> for Arena<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.entries[index].1
    }
}

impl<T> IndexMut<usize> for Arena<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.entries[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handle_of_a_removed_value_finds_nothing() {
        let mut arena = Arena::new();
        let first = arena.insert("a");
        arena.remove(first.index);
        let second = arena.insert("b");
        assert_eq!(first.index, second.index, "the index is used again");
        assert_eq!(arena.find(first), None);
        assert_eq!(arena.get(second), Some(&"b"));
    }

    #[test]
    fn an_empty_arena_gives_its_memory_back() {
        let mut arena = Arena::new();
        let handles: Vec<_> = (0..10_000).map(|n| arena.insert(n)).collect();
        for handle in &handles {
            arena.remove(handle.index);
        }
        assert_eq!(arena.entries.capacity(), 0);
        assert_eq!(arena.insert(0).serial, 10_001, "serials go on");
    }
}
