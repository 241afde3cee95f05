//! Frames into bytes, collected for as few system calls as possible.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::{Argument, FrameError, MAX_ARGUMENTS};

const VERSION: u8 = 1;

/// Bytes from which on an argument is handed to the kernel from where it lies in place of being
/// copied behind the others. Below it the copy is cheaper than one more slice of a vectored write.
const CHAINED: usize = 4096;

/// What an idle writer keeps of its buffer: more than 64 messages of 1 KiB, which would otherwise
/// have it made anew each time.
const KEPT: usize = 128 << 10;

/// Frames that wait to be written.
///
/// Small arguments are copied one behind the other, large ones ([`Bytes`]) are kept as they are.
/// [`slices`](Self::slices) shows all of it for one vectored write.
#[derive(Debug, Default)]
pub struct FrameWriter {
    /// Before `tail`, in the order of the wire.
    chunks: VecDeque<Bytes>,
    tail: Vec<u8>,
    /// How much of `tail` has been written.
    written: usize,
    /// Bytes in `chunks`.
    chained: usize,
}

impl FrameWriter {
    /// Adds a frame of `arguments`.
    ///
    /// # Errors
    ///
    /// No arguments, or more than [`MAX_ARGUMENTS`]; nothing is added then.
    pub fn frame(&mut self, arguments: &[Argument]) -> Result<(), FrameError> {
        self.head(arguments.len())?;
        for argument in arguments {
            argument.write(self);
        }
        Ok(())
    }

    /// Adds a frame that was written before, by another writer.
    pub fn written(&mut self, frame: &Bytes) {
        self.bytes(frame);
    }

    /// Begins a frame. Exactly `count` arguments are to follow.
    pub(crate) fn head(&mut self, count: usize) -> Result<(), FrameError> {
        match count {
            0 => Err(FrameError::NoArguments),
            // The count is known to fit into four bits.
            1..=MAX_ARGUMENTS => {
                self.tail.push(VERSION << 4 | count as u8);
                Ok(())
            }
            _ => Err(FrameError::TooManyArguments { count }),
        }
    }

    /// Adds an argument that is put together from parts.
    pub(crate) fn parts(&mut self, parts: &[&[u8]]) {
        self.length(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            self.tail.extend_from_slice(part);
        }
    }

    /// Adds an argument of raw bytes, which are not copied if they are many.
    pub(crate) fn raw(&mut self, bytes: &Bytes) {
        self.length(bytes.len());
        self.bytes(bytes);
    }

    /// Adds one argument that is all of `buffers`, one behind the other.
    pub(crate) fn joined(&mut self, buffers: &[Bytes]) {
        self.length(buffers.iter().map(Bytes::len).sum());
        for buffer in buffers {
            self.bytes(buffer);
        }
    }

    /// Adds an argument that `write` appends to the buffer.
    pub(crate) fn appended<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.tail.len();
        self.length(0);
        let returned = write(&mut self.tail);
        let length = argument_length(self.tail.len() - start - 4);
        self.tail[start..start + 4].copy_from_slice(&length);
        returned
    }

    fn length(&mut self, length: usize) {
        self.tail.extend_from_slice(&argument_length(length));
    }

    fn bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < CHAINED {
            self.tail.extend_from_slice(bytes);
        } else {
            self.end_tail();
            self.chained += bytes.len();
            self.chunks.push_back(bytes.clone());
        }
    }

    /// Moves everything out of `other`, behind what is here.
    pub fn append(&mut self, other: &mut Self) {
        if !other.chunks.is_empty() {
            self.end_tail();
            self.chained += other.chained;
            self.chunks.append(&mut other.chunks);
            other.chained = 0;
        }
        self.tail.extend_from_slice(&other.tail[other.written..]);
        other.tail.clear();
        other.tail.shrink_to(KEPT);
        other.written = 0;
    }

    fn end_tail(&mut self) {
        if self.written == self.tail.len() {
            self.tail.clear();
        } else {
            let tail = Bytes::from(std::mem::take(&mut self.tail)).split_off(self.written);
            self.chained += tail.len();
            self.chunks.push_back(tail);
        }
        self.written = 0;
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.chained + self.tail.len() - self.written
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `slices` with what waits, from the front, and returns how many were filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let tail = &self.tail[self.written..];
        let waiting = self.chunks.iter().map(|chunk| &chunk[..]);
        let waiting = waiting.chain(Some(tail).filter(|tail| !tail.is_empty()));
        let mut filled = 0;
        for (slice, bytes) in slices.iter_mut().zip(waiting) {
            *slice = IoSlice::new(bytes);
            filled += 1;
        }
        filled
    }

    /// Takes `count` bytes away from the front: they have been written.
    ///
    /// # Panics
    ///
    /// If fewer bytes wait.
    pub fn advance(&mut self, mut count: usize) {
        assert!(count <= self.len(), "{count} bytes written of {}", self.len());
        while let Some(chunk) = self.chunks.front_mut() {
            if count < chunk.len() {
                chunk.advance(count);
                self.chained -= count;
                return;
            }
            count -= chunk.len();
            self.chained -= chunk.len();
            self.chunks.pop_front();
        }
        self.written += count;
        if self.written == self.tail.len() {
            self.tail.clear();
            self.tail.shrink_to(KEPT);
            self.written = 0;
        }
    }

    /// A copy of all that waits.
    pub fn to_vec(&self) -> Vec<u8> {
        let chunks = self.chunks.iter().flat_map(|chunk| chunk.iter());
        chunks.chain(&self.tail[self.written..]).copied().collect()
    }
}

/// The four bytes before an argument. A message of ours was measured against its limit, which is
/// below 4 GiB, before it is let out; see `message`.
fn argument_length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> Bytes {
        Bytes::from(vec![7; CHAINED])
    }

    #[test]
    fn the_bytes_are_those_of_amp() {
        let mut out = FrameWriter::default();
        out.frame(&["hi".into(), Argument::Raw(Bytes::from_static(b"\x01\x02"))]).expect("two");
        assert_eq!(out.to_vec(), b"\x12\0\0\0\x04s:hi\0\0\0\x02\x01\x02");
    }

    #[test]
    fn f057_a_frame_has_one_to_fifteen_arguments() {
        let mut out = FrameWriter::default();
        assert_eq!(out.frame(&[]), Err(FrameError::NoArguments));
        assert_eq!(
            out.frame(&vec!["x".into(); 16]),
            Err(FrameError::TooManyArguments { count: 16 })
        );
        assert!(out.is_empty());
        out.frame(&vec!["x".into(); 15]).expect("fifteen");
    }

    #[test]
    fn large_arguments_are_not_copied() {
        let large = large();
        let mut out = FrameWriter::default();
        out.frame(&["a".into(), Argument::Raw(large.clone()), "b".into()]).expect("three");
        let mut slices = [IoSlice::new(&[]); 8];
        assert_eq!(out.slices(&mut slices), 3);
        assert_eq!(slices[1].as_ptr(), large.as_ptr());
    }

    #[test]
    fn any_way_of_writing_gives_the_same_bytes() {
        for step in [1, 5, 100, CHAINED, CHAINED * 3] {
            let mut out = FrameWriter::default();
            out.frame(&["a".into(), Argument::Raw(large()), "b".into()]).expect("three");
            let expected = out.to_vec();
            let mut more = FrameWriter::default();
            more.frame(&[Argument::Raw(large()), "c".into()]).expect("two");
            let expected = [expected, more.to_vec()].concat();
            out.append(&mut more);
            assert!(more.is_empty());
            let mut written = Vec::new();
            while !out.is_empty() {
                let mut slices = [IoSlice::new(&[]); 2];
                let filled = out.slices(&mut slices);
                let all: Vec<u8> =
                    slices[..filled].iter().flat_map(|s| s.iter()).copied().take(step).collect();
                written.extend_from_slice(&all);
                out.advance(all.len());
            }
            assert_eq!(written, expected, "in steps of {step}");
        }
    }
}
