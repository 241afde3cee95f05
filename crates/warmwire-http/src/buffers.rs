//! Read and write buffers, kept per thread between exchanges.
//!
//! A connection owns no buffer: while it waits it is its stream alone. An exchange takes a buffer
//! when bytes have come and gives it back when it has taken them out, so that on one thread a few
//! buffers, warm in the cache, serve thousands of connections.

use std::cell::RefCell;

use bytes::BytesMut;

/// The room for one read: a response of 16 KiB and its head in one system call.
pub(crate) const READ_BUFFER: usize = 32 * 1024;

/// Buffers kept per thread, at most `KEPT` × [`READ_BUFFER`] = 256 KiB.
const KEPT: usize = 8;

thread_local! {
    static STORE: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer with room for [`READ_BUFFER`] bytes.
pub(crate) fn take() -> BytesMut {
    STORE
        .try_with(|store| store.borrow_mut().pop())
        .ok()
        .flatten()
        .unwrap_or_else(|| BytesMut::with_capacity(READ_BUFFER))
}

/// Keeps `buffer` for the next [`take`] if it is whole and there is room for it.
pub(crate) fn give(mut buffer: BytesMut) {
    buffer.clear();
    // A buffer of which a part was handed out has less room, and a grown one is not kept.
    if buffer.capacity() != READ_BUFFER {
        return;
    }
    // At the end of a thread the store may be gone already: the buffer is then simply freed.
    let _ = STORE.try_with(|store| {
        let mut store = store.borrow_mut();
        if store.len() < KEPT {
            store.push(buffer);
        }
    });
}
