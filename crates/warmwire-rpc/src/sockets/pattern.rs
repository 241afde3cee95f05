//! Axon's topic patterns: `*` stands for one character or more, none of them a line's end.

/// A pattern, cut at its stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Box<str>>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('*').map(Into::into).collect())
    }

    /// What the stars stand for in `topic`, if it matches. As with axon's regular expression, each
    /// star takes as much as leaves the others something.
    pub(super) fn captures(&self, topic: &str) -> Option<Vec<String>> {
        let (first, rest) = self.0.split_first()?;
        let Some((last, between)) = rest.split_last() else {
            return (topic == &**first).then(Vec::new);
        };
        let start = topic.strip_prefix(&**first).map(|_| first.len())?;
        let mut end = topic[start..].strip_suffix(&**last).map(|middle| start + middle.len())?;
        let mut captures = Vec::with_capacity(between.len() + 1);
        // From the right, each literal as far right as it goes: that leaves the stars before it the
        // most, which is what greedy ones take.
        for literal in between.iter().rev() {
            let before = topic[start..end].char_indices().next_back()?.0 + start;
            let at = topic[start..before].rfind(&**literal)? + start;
            captures.push(topic[at + literal.len()..end].to_owned());
            end = at;
        }
        captures.push(topic[start..end].to_owned());
        captures.reverse();
        let is_one_line = |capture: &String| {
            !capture.is_empty() && !capture.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
        };
        captures.iter().all(is_one_line).then_some(captures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_match_as_they_do_in_axon() {
        for (pattern, topic, expected) in [
            ("user:login", "user:login", Some(&[][..])),
            ("user:login", "user:login2", None),
            ("user:*", "user:login", Some(&["login"])),
            ("user:*", "user:a:b", Some(&["a:b"])),
            ("user:*", "user:", None),
            ("user:*", "user:a\nb", None),
            ("*:*", "user:login", Some(&["user", "login"])),
            ("*:*", "a:b:c", Some(&["a:b", "c"])),
            ("*:*", ":b", None),
            ("*", "é", Some(&["é"])),
            ("**", "abc", Some(&["ab", "c"])),
            ("**", "a", None),
            ("a*b*c", "a1b2b3c", Some(&["1b2", "3"])),
            ("a*a", "aa", None),
            ("log:*", "log:out", Some(&["out"])),
            ("(.+)", "(.+)", Some(&[])),
            ("", "", Some(&[])),
        ] {
            let captures = Pattern::new(pattern).captures(topic);
            let expected = expected.map(|all| all.iter().map(|s| (*s).to_owned()).collect());
            assert_eq!(captures, expected, "{pattern:?} on {topic:?}");
        }
    }
}
