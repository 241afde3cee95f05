//! A clipped and escaped piece of what a peer sent, for error messages.

use std::fmt;

/// Bytes of the input that an error message quotes at most.
const MAX_BYTES: usize = 40;

/// Copies the start of `bytes`, escaped so that it can be printed anywhere.
pub(crate) fn snippet(bytes: &[u8]) -> Box<str> {
    let clipped = &bytes[..bytes.len().min(MAX_BYTES)];
    let mut text = clipped.escape_ascii().to_string();
    if clipped.len() < bytes.len() {
        text.push_str("...");
    }
    text.into_boxed_str()
}

/// Writes `` : `snippet` `` when there is something to quote.
pub(crate) fn write_quoted(f: &mut fmt::Formatter<'_>, text: Option<&str>) -> fmt::Result {
    match text {
        Some(text) => write!(f, ": `{text}`"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_bytes_are_escaped_and_long_input_is_clipped() {
        assert_eq!(&*snippet(b"a\r\n\x00\xff"), r"a\r\n\x00\xff");
        let long = snippet(&[b'x'; 100]);
        assert_eq!(long.len(), MAX_BYTES + 3);
        assert!(long.ends_with("..."));
    }
}
