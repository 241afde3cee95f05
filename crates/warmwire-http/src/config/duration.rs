//! Lengths of time as text: `30s`, `1h30m`, `250ms`.

use std::fmt::Write as _;
use std::time::Duration;

const NANOS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Spellings that npm's `ms` takes beside those of [`NANOS`].
const LONG_UNITS: [(&str, &[&str]); 5] = [
    ("d", &["day", "days"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("m", &["min", "mins", "minute", "minutes"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
];

/// One or more numbers with their units, as `1h30m`. `None` for anything else, a number without a
/// unit included.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        total = total.checked_add(times(number, nanos(unit)?)?)?;
        rest = after.trim_start();
    }
    Some(total)
}

/// Milliseconds, as a number without a unit means in JavaScript.
pub(super) fn parse_millis(number: &str) -> Option<Duration> {
    times(number.trim(), 1_000_000)
}

/// The shortest text that [`parse`] reads as this.
pub(super) fn show(duration: Duration) -> String {
    let mut left = duration.as_nanos();
    let mut text = String::new();
    // Without days: nobody sets "1d6h".
    for (unit, nanos) in &NANOS[1..] {
        let (count, rest) = (left / u128::from(*nanos), left % u128::from(*nanos));
        if count > 0 {
            let _ = write!(text, "{count}{unit}");
        }
        left = rest;
    }
    if text.is_empty() { "0s".into() } else { text }
}

fn nanos(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let long = LONG_UNITS.iter().find(|(_, long)| long.contains(&unit.as_str()));
    let unit = long.map_or(unit.as_str(), |(short, _)| short);
    NANOS.iter().find(|(known, _)| *known == unit).map(|(_, nanos)| *nanos)
}

fn times(number: &str, nanos: u64) -> Option<Duration> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.len() > 9 {
        return None;
    }
    let digits = |text: &str| match text {
        "" => Some(0),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u64>().ok(),
        _ => None,
    };
    let scale = 10_u128.pow(part.len() as u32);
    let parts = u128::from(digits(whole)?) * scale + u128::from(digits(part)?);
    let total = parts.checked_mul(u128::from(nanos))? / scale;
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, (total % 1_000_000_000) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_length_of_time() {
        for (text, millis) in [
            ("30s", 30_000),
            ("250ms", 250),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("1.5s", 1_500),
            (".5s", 500),
            ("2 days", 172_800_000),
            ("1 minute", 60_000),
            ("10 Secs", 10_000),
            ("0s", 0),
            ("1500us", 1),
        ] {
            assert_eq!(parse(text).map(|found| found.as_millis()), Some(millis), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1x", "1s2", "1..5s", "1e3s", "99999999999999999999d"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse_millis("4000"), Some(Duration::from_secs(4)));
        assert_eq!(parse_millis("1.5"), Some(Duration::from_micros(1_500)));
        assert_eq!(parse_millis("-1"), None);
    }

    #[test]
    fn what_is_shown_is_read_as_the_same() {
        for (nanos, text) in [
            (0, "0s"),
            (30_000_000_000, "30s"),
            (5_400_000_000_000, "1h30m"),
            (1_500_000_000, "1s500ms"),
            (172_800_000_000_000, "48h"),
            (1_000_001, "1ms1ns"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(show(duration), text);
            assert_eq!(parse(text), Some(duration));
        }
    }
}
