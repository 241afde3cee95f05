//! A doubly linked list through the entries of an arena: removal from the middle costs the same as
//! from the ends, and a move between lists allocates nothing.

use std::marker::PhantomData;

use crate::arena::Arena;

/// An entry's place in one list. An entry that can be in several lists has one of these for each,
/// told apart by the marker type `M` of [`Linked`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    previous: usize,
    next: usize,
}

impl Links {
    pub(crate) const fn new() -> Self {
        Self { previous: NIL, next: NIL }
    }
}

/// Gives the list `M` access to its links in an entry.
pub(crate) trait Linked<M> {
    fn links(&self) -> &Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// The list itself: its ends and its length. Whether an entry is in it is known by the entry's
/// owner; removing one that is not in it is a bug of the caller.
#[derive(Debug)]
pub(crate) struct List<M> {
    front: usize,
    back: usize,
    len: usize,
    marker: PhantomData<fn() -> M>,
}

/// No entry: an index that no slab reaches.
const NIL: usize = usize::MAX;

impl<M> List<M> {
    pub(crate) const fn new() -> Self {
        Self { front: NIL, back: NIL, len: 0, marker: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn front(&self) -> Option<usize> {
        index(self.front)
    }

    pub(crate) fn back(&self) -> Option<usize> {
        index(self.back)
    }

    pub(crate) fn push_front<T: Linked<M>>(&mut self, arena: &mut Arena<T>, entry: usize) {
        self.link(arena, NIL, entry, self.front);
    }

    pub(crate) fn push_back<T: Linked<M>>(&mut self, arena: &mut Arena<T>, entry: usize) {
        self.link(arena, self.back, entry, NIL);
    }

    /// Inserts by serial number into a list that is sorted by it. The walk starts at the front:
    /// who comes back to a queue was near its front before.
    pub(crate) fn insert_by_serial<T: Linked<M>>(&mut self, arena: &mut Arena<T>, entry: usize) {
        let mut next = self.front;
        while next != NIL && arena.serial(next) < arena.serial(entry) {
            next = arena[next].links().next;
        }
        let previous = if next == NIL { self.back } else { arena[next].links().previous };
        self.link(arena, previous, entry, next);
    }

    pub(crate) fn remove<T: Linked<M>>(&mut self, arena: &mut Arena<T>, entry: usize) {
        let links = std::mem::replace(arena[entry].links_mut(), Links::new());
        match index(links.previous) {
            Some(previous) => arena[previous].links_mut().next = links.next,
            None => self.front = links.next,
        }
        match index(links.next) {
            Some(next) => arena[next].links_mut().previous = links.previous,
            None => self.back = links.previous,
        }
        self.len -= 1;
    }

    fn link<T: Linked<M>>(
        &mut self,
        arena: &mut Arena<T>,
        previous: usize,
        entry: usize,
        next: usize,
    ) {
        *arena[entry].links_mut() = Links { previous, next };
        match index(previous) {
            Some(previous) => arena[previous].links_mut().next = entry,
            None => self.front = entry,
        }
        match index(next) {
            Some(next) => arena[next].links_mut().previous = entry,
            None => self.back = entry,
        }
        self.len += 1;
    }
}

fn index(raw: usize) -> Option<usize> {
    (raw != NIL).then_some(raw)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Entry(Links);

    impl Linked<()> for Entry {
        fn links(&self) -> &Links {
            &self.0
        }

        fn links_mut(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    fn forwards(list: &List<()>, arena: &Arena<Entry>) -> Vec<usize> {
        let step = |&entry: &usize| index(arena[entry].links().next);
        std::iter::successors(list.front(), step).collect()
    }

    fn backwards(list: &List<()>, arena: &Arena<Entry>) -> Vec<usize> {
        let step = |&entry: &usize| index(arena[entry].links().previous);
        std::iter::successors(list.back(), step).collect()
    }

    /// Every sequence of `depth` operations on up to three entries, against a `VecDeque`.
    #[test]
    fn agrees_with_a_deque_in_every_short_sequence() {
        const OPERATIONS: usize = 4 * 3;
        const DEPTH: u32 = 5;
        for sequence in 0..OPERATIONS.pow(DEPTH) {
            let mut arena = Arena::new();
            let entries: Vec<_> = (0..3).map(|_| arena.insert(Entry(Links::new())).index).collect();
            let (mut list, mut deque) = (List::new(), VecDeque::new());
            for place in 0..DEPTH {
                let operation = sequence / OPERATIONS.pow(place) % OPERATIONS;
                let entry = entries[operation % 3];
                let inside = deque.iter().position(|&other| other == entry);
                match (operation / 3, inside) {
                    (0, None) => {
                        list.push_front(&mut arena, entry);
                        deque.push_front(entry);
                    }
                    (1, None) => {
                        list.push_back(&mut arena, entry);
                        deque.push_back(entry);
                    }
                    (2, None) if deque.iter().is_sorted() => {
                        list.insert_by_serial(&mut arena, entry);
                        let at = deque.iter().take_while(|&&other| other < entry).count();
                        deque.insert(at, entry);
                    }
                    (3, Some(at)) => {
                        list.remove(&mut arena, entry);
                        deque.remove(at);
                    }
                    _ => continue,
                }
                assert_eq!(forwards(&list, &arena), Vec::from(deque.clone()));
                let reversed: Vec<_> = deque.iter().rev().copied().collect();
                assert_eq!(backwards(&list, &arena), reversed);
                assert_eq!(list.len(), deque.len());
            }
        }
    }
}
