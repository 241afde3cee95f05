//! Lone surrogates in JSON.
//!
//! `JSON.stringify('\ud800')` writes an escape that no UTF-8 text can be made of, and serde_json
//! refuses it. Node itself makes U+FFFD of a lone surrogate wherever it writes UTF-8, so that is what
//! it becomes here.

/// `json` with every escape of a lone surrogate replaced by that of U+FFFD.
pub(super) fn replace_lone(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            (Some(_), _) => 6,
            // The next character may be a backslash, which begins no escape of its own.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&escape[..taken]);
        rest = &escape[taken..];
    }
    out + rest
}

/// The UTF-16 unit that `\uXXXX` at the start of `escape` means.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::replace_lone;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\udc00\ud800x""#, r#""\ufffd\ufffdx""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\\\ud800""#, r#""\\\ufffd""#),
            (r#""\u00e9\ud8""#, r#""\u00e9\ud8""#),
            ("\\", "\\"),
            ("\\é", "\\é"),
        ] {
            assert_eq!(replace_lone(json), expected);
        }
    }
}
