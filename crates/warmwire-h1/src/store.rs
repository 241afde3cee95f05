//! How bytes leave the caller's read buffer.
//!
//! The caller keeps one large buffer per thread and wants it back empty and
//! unshared, so what is small is copied out in one allocation. What is large
//! takes the buffer along, since copying a big body costs more than a buffer.

use bytes::{Bytes, BytesMut};

/// Above this many bytes the buffer itself is handed over.
pub(crate) const COPY_MAX: usize = 4 * 1024;

/// Up to this many bytes the copy shares its allocation with the reference
/// count. (`Bytes::copy_from_slice` allocates a second time when it is first
/// sliced, and a head is sliced at once.)
const INLINE_MAX: usize = 512;

/// Takes everything out of `input`, which is empty afterwards.
pub(crate) fn take_all(input: &mut BytesMut) -> Bytes {
    if input.len() > COPY_MAX {
        return std::mem::take(input).freeze();
    }
    let copy = copy(input);
    input.clear();
    copy
}

/// Copies `bytes` so that slices of the copy cost no further allocation when
/// it is small.
pub(crate) fn copy(bytes: &[u8]) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    if bytes.len() > INLINE_MAX {
        return Bytes::copy_from_slice(bytes);
    }
    let mut inline = Inline { len: bytes.len(), bytes: [0; INLINE_MAX] };
    inline.bytes[..bytes.len()].copy_from_slice(bytes);
    Bytes::from_owner(inline)
}

struct Inline {
    len: usize,
    bytes: [u8; INLINE_MAX],
}

impl AsRef<[u8]> for Inline {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_arrives_whole_and_leaves_the_buffer_empty() {
        for len in [0, 1, INLINE_MAX, INLINE_MAX + 1, COPY_MAX, COPY_MAX + 1] {
            let content: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut input = BytesMut::from(&content[..]);
            assert_eq!(take_all(&mut input), content);
            assert!(input.is_empty());
        }
    }

    #[test]
    fn a_small_take_leaves_the_capacity() {
        let mut input = BytesMut::with_capacity(32 * 1024);
        input.extend_from_slice(&[b'x'; COPY_MAX]);
        let _taken = take_all(&mut input);
        assert_eq!(input.capacity(), 32 * 1024);
    }
}
