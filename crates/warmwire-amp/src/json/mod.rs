//! Values as JSON: as Node's axon packages write and read them, and as two Warmwire ends do, without
//! loss.
//!
//! The lossless form is a **skeleton**: JSON in which a string that begins with `~` means something
//! else, and the bytes of buffers stand beside it.
//!
//! | in the skeleton | means |
//! |---|---|
//! | `"~u"` | undefined |
//! | `"~nan"`, `"~inf"`, `"~-inf"` | NaN, the infinities |
//! | `"~b3"` | the fourth buffer |
//! | `"~b11:5:20"` | 20 bytes from the fifth on of the twelfth buffer |
//! | `"~~text"` | the text `~text` |

mod read;
mod surrogates;
mod write;

pub(crate) use read::{Any, NodeBuffers, read_node, read_skeleton};
pub(crate) use write::{buffer_arguments, loses, write_node, write_skeleton};

/// Buffers that get an argument each; those after them share one more.
pub(crate) const WHOLE_BUFFERS: usize = 11;

/// The skeleton of a buffer alone, which most calls that carry one have. To know it by sight saves a
/// tenth of what a call costs (`bench/rpc`, 64 B).
const ONE_BUFFER: &[u8] = br#"["~b0"]"#;
