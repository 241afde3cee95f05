//! Frames out of bytes.
//!
//! ```text
//! byte 0      version << 4 | number of arguments
//! then for each argument: u32 big-endian length, that many bytes
//! ```
//!
//! The version is written as 1 and never read, as in `amp` 0.3.1.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};
use smallvec::SmallVec;

/// The arguments that a frame can have: their number travels in four bits.
pub const MAX_ARGUMENTS: usize = 15;

/// The default limit of a message, 16 MiB: far above any message that belongs on a light RPC, and
/// low enough that a peer which lost step cannot make this end keep gigabytes.
pub const DEFAULT_MAX_MESSAGE: usize = 16 << 20;

/// The length that stands before each argument.
const LENGTH: usize = 4;

/// One frame: its bytes, and where in them its arguments are.
///
/// Shares the memory that it was read into; keeping a small part of it keeps the block.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    whole: Bytes,
    arguments: SmallVec<[(usize, usize); 4]>,
}

impl Frame {
    /// How many arguments it has.
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// An argument, counted from 0.
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        self.arguments.get(number).map(|&(start, end)| &self.whole[start..end])
    }

    /// An argument, counted from 0, to be kept.
    pub fn bytes(&self, number: usize) -> Option<Bytes> {
        self.arguments.get(number).map(|&(start, end)| self.whole.slice(start..end))
    }

    /// Takes the last argument away: where req/rep keep the id of a request.
    pub fn pop(&mut self) -> Option<Bytes> {
        self.arguments.pop().map(|(start, end)| self.whole.slice(start..end))
    }

    /// The arguments, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.arguments.iter().map(|&(start, end)| &self.whole[start..end])
    }

    /// The arguments, in their order, to be kept.
    pub fn into_arguments(self) -> impl DoubleEndedIterator<Item = Bytes> + ExactSizeIterator {
        self.arguments.into_iter().map(move |(start, end)| self.whole.slice(start..end))
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Frame {
    /// A frame of copies of the arguments.
    fn from_iter<I: IntoIterator<Item = T>>(arguments: I) -> Self {
        let mut whole = Vec::new();
        let mut places = SmallVec::new();
        for argument in arguments {
            let start = whole.len();
            whole.extend_from_slice(argument.as_ref());
            places.push((start, whole.len()));
        }
        Self { whole: whole.into(), arguments: places }
    }
}

/// Cuts a stream of bytes into frames, whatever pieces it comes in.
///
/// Remembers how far it looked, so a frame that comes byte by byte is not read again from its
/// beginning each time. Allocates nothing for what has only been announced.
#[derive(Debug)]
pub struct FrameReader {
    max_message: usize,
    /// Where the arguments are whose lengths have been read, counted from the frame's start.
    found: SmallVec<[(usize, usize); 4]>,
    /// Bytes of the frame up to the end of the last argument found; 0 before its first byte.
    end: usize,
    count: usize,
}

impl FrameReader {
    /// A reader that takes frames of at most `max_message` bytes, lengths and head included.
    pub fn new(max_message: usize) -> Self {
        Self { max_message, found: SmallVec::new(), end: 0, count: 0 }
    }

    /// The next frame, or `None` until more bytes have been added to `input`.
    ///
    /// Takes the bytes of a whole frame out of `input` and leaves the others. A frame without
    /// arguments, and one whose last argument is empty, come out with their last byte.
    ///
    /// # Errors
    ///
    /// [`FrameError`] as soon as a length passes the limit. The stream cannot be read on: where the
    /// next frame begins is not known.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        if self.end == 0 {
            let Some(&head) = input.first() else {
                return Ok(None);
            };
            self.count = usize::from(head & 0x0f);
            self.end = 1;
        }
        while self.found.len() < self.count {
            let Some(length) = input.get(self.end..self.end + LENGTH) else {
                return Ok(None);
            };
            let length = u32::from_be_bytes(length.try_into().unwrap_or_default()) as usize;
            let start = self.end + LENGTH;
            if length > self.max_message.saturating_sub(start) {
                return Err(FrameError::TooLarge {
                    argument: self.found.len() + 1,
                    length,
                    limit: self.max_message,
                });
            }
            self.end = start + length;
            self.found.push((start, self.end));
        }
        if input.len() < self.end {
            return Ok(None);
        }
        let whole = input.split_to(self.end).freeze();
        self.end = 0;
        Ok(Some(Frame { whole, arguments: std::mem::take(&mut self.found) }))
    }

    /// How many bytes, at least, are still to come before there is another frame.
    pub fn missing(&self, input: &BytesMut) -> usize {
        let known = if self.found.len() < self.count { self.end + LENGTH } else { self.end.max(1) };
        known.saturating_sub(input.remaining()).max(1)
    }
}

/// Why bytes are no frame, or arguments make none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// A peer announced more bytes than a message may have.
    TooLarge {
        /// Which argument of the frame, counted from 1.
        argument: usize,
        /// The bytes announced for it.
        length: usize,
        /// The most bytes that a message may have.
        limit: usize,
    },
    /// A message of our own has more bytes than the limit.
    MessageTooLarge {
        /// The bytes that it has.
        length: usize,
        /// The most bytes that a message may have.
        limit: usize,
    },
    /// More arguments than a frame has room for.
    TooManyArguments {
        /// How many were given.
        count: usize,
    },
    /// A frame without arguments makes readers in Node lose step, so none is written.
    NoArguments,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { argument, length, limit } => write!(
                f,
                "argument {argument} of a frame is announced with {length} bytes, and a message may \
                 have {limit}: raise max_message if the peer is right, otherwise it does not speak AMP"
            ),
            Self::MessageTooLarge { length, limit } => write!(
                f,
                "the message has {length} bytes and may have {limit}: raise max_message at both ends, \
                 or send it in parts"
            ),
            Self::TooManyArguments { count } => write!(
                f,
                "a frame has room for {MAX_ARGUMENTS} arguments and {count} were given: put them into \
                 one array"
            ),
            Self::NoArguments => f.write_str(
                "a message without arguments cannot be sent, since Node's reader would lose step: \
                 send at least one",
            ),
        }
    }
}

impl std::error::Error for FrameError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Argument, FrameWriter};

    fn frames_of(pieces: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = FrameReader::new(DEFAULT_MAX_MESSAGE);
        let mut input = BytesMut::new();
        let mut frames = Vec::new();
        for piece in pieces {
            input.extend_from_slice(piece);
            while let Some(frame) = reader.next(&mut input).expect("a frame") {
                frames.push(frame.iter().map(<[u8]>::to_vec).collect());
            }
        }
        assert!(input.is_empty());
        frames
    }

    #[test]
    fn f058_an_empty_last_argument_comes_out_with_its_last_byte() {
        assert_eq!(frames_of(&[b"\x11\0\0\0\0"]), [[b"".to_vec()]]);
        assert_eq!(frames_of(&[b"\x12\0\0\0\0\0\0\0\x03s:a"]), [[b"".to_vec(), b"s:a".to_vec()]]);
    }

    #[test]
    fn f058_a_frame_without_arguments_eats_nothing_of_the_next() {
        let no_arguments: Vec<Vec<u8>> = vec![];
        assert_eq!(frames_of(&[b"\x10\x11\0\0\0\x03s:a"]), [no_arguments, vec![b"s:a".to_vec()]]);
    }

    #[test]
    fn f057_the_version_is_not_looked_at() {
        for head in [0x01, 0x11, 0x31, 0xf1] {
            assert_eq!(frames_of(&[&[head, 0, 0, 0, 1, b'x']]), [[b"x".to_vec()]]);
        }
    }

    #[test]
    fn f058_a_length_beyond_the_limit_is_refused_before_anything_is_kept() {
        let mut input = BytesMut::from(&b"\x12\0\0\0\x02hi\xff\xff\xff\xff"[..]);
        let before = input.capacity();
        let error = FrameReader::new(1024).next(&mut input).expect_err("too large");
        assert_eq!(error, FrameError::TooLarge { argument: 2, length: 0xffff_ffff, limit: 1024 });
        assert!(error.to_string().contains("4294967295 bytes"));
        assert_eq!(input.capacity(), before);
    }

    #[test]
    fn a_frame_of_exactly_the_limit_is_taken() {
        let bytes = b"\x11\0\0\0\x05hello";
        let read = |limit| FrameReader::new(limit).next(&mut BytesMut::from(&bytes[..]));
        assert!(read(bytes.len()).expect("fits").is_some());
        assert!(read(bytes.len() - 1).is_err());
    }

    #[test]
    fn what_is_missing_is_told() {
        let mut reader = FrameReader::new(1024);
        let mut input = BytesMut::from(&b"\x11\0\0"[..]);
        assert!(reader.next(&mut input).expect("no fault").is_none());
        assert_eq!(reader.missing(&input), 2);
        input.extend_from_slice(b"\0\x64abc");
        assert!(reader.next(&mut input).expect("no fault").is_none());
        assert_eq!(reader.missing(&input), 97);
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_frames(
            frames in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..=15), 1..6),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut out = FrameWriter::default();
            for arguments in &frames {
                let arguments: Vec<_> =
                    arguments.iter().map(|a| Argument::Raw(a.clone().into())).collect();
                out.frame(&arguments).expect("at most fifteen");
            }
            let bytes = out.to_vec();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(frames_of(&pieces), frames);
        }
    }
}
