//! Memory of this process, and its connections as the kernel has them.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;

/// What is in use while nothing happens, after each round.
pub(super) struct Memory {
    /// Bytes on the heap, which the binary's allocator counts.
    allocated: fn() -> usize,
    heap: Vec<usize>,
}

/// What the heap may have more after the last round than after the first: buffers that the threads
/// keep, tables as large as they once had to be. What leaks with each request, or with one of a
/// hundred, exceeds it within a round.
const SLACK: usize = 256 * 1024;

impl Memory {
    pub(super) fn new(allocated: fn() -> usize) -> Memory {
        Memory { allocated, heap: Vec::with_capacity(1024) }
    }

    pub(super) fn sample(&mut self) {
        self.heap.push((self.allocated)());
    }

    pub(super) fn check(&self) {
        let [first, .., last] = self.heap[..] else { return };
        assert!(last <= first + SLACK, "memory grows: {self}");
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve of all, the first and the last among them.
        let last = self.heap.len().saturating_sub(1);
        let step = last.div_ceil(11).max(1);
        let shown = (0..last).step_by(step).chain([last]);
        let shown: Vec<_> = shown.filter_map(|at| Some(self.heap.get(at)? / 1024)).collect();
        writeln!(f, "KiB on the heap at rest, from the first round to the last: {shown:?}")
    }
}

/// How many connections to this address the process has open, or is opening, by the kernel's table.
///
/// The table is no snapshot: it takes milliseconds to read, and connections that come and go
/// meanwhile are seen or not, so it says the truth only while none does. Of both ends the client's
/// is counted: a connection that was closed with bytes still on their way is open for its server
/// until these have come.
pub(super) fn connections_to(server: SocketAddr) -> io::Result<usize> {
    let table = fs::read_to_string("/proc/net/tcp")?;
    let port = format!(":{:04X}", server.port());
    let is_held = |row: &&str| {
        let columns: Vec<_> = row.split_whitespace().collect();
        let column = |at: usize| columns.get(at).copied().unwrap_or_default();
        // ESTABLISHED, SYN_SENT, CLOSE_WAIT; and a closed one has no inode any more.
        let open = matches!(column(3), "01" | "02" | "08") && column(9) != "0";
        column(2).ends_with(&port) && open
    };
    Ok(table.lines().filter(is_held).count())
}
