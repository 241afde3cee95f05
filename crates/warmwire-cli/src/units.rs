//! Durations, sizes and percentages as people write and read them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest duration that a flag accepts: a year, so that sums of a few never overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A duration as a flag or a configuration file has it: `250ms`, `30s`, `5m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) Duration);

/// A number of bytes as a flag has it: `256B`, `64KiB`, `1MB`; a bare number counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

/// A share as a flag has it: `30%`; kept as a fraction of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a duration: write a number and a unit (us, ms, s, m or h), \
                 such as 250ms, 30s or 5m"
            )
        };
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let seconds = match unit {
            "us" | "µs" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            "" if number == 0.0 => 0.0,
            _ => return Err(wrong()),
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if duration <= LONGEST => Ok(Self(duration)),
            _ => Err(format!("`{text}` is too long: at most 8760h (a year) is accepted")),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a size: write a number and a unit (B, KB, MB, GB, KiB, \
                 MiB or GiB), such as 256B, 64KiB or 1MB"
            )
        };
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let factor = match unit {
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * factor;
        // An f64 counts single bytes only up to 2^53.
        if bytes.fract() != 0.0 || bytes > 2_f64.powi(53) {
            Err(wrong())
        } else {
            Ok(Self(bytes as u64))
        }
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match split(text) {
            Some((number, "%")) if number <= 100.0 => Ok(Self(number / 100.0)),
            _ => Err(format!("`{text}` is not a percentage: write 0% to 100%, such as 30%")),
        }
    }
}

/// Splits `12.5ms` into its number, finite and not negative, and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim_start()))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, size) = [
            ("h", 3_600_000_000_000),
            ("m", 60_000_000_000),
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
        ]
        .into_iter()
        .find(|(_, size)| nanos >= *size && nanos.is_multiple_of(*size))
        .unwrap_or(("us", 1_000));
        if nanos == 0 {
            f.write_str("0s")
        } else {
            write!(f, "{}{unit}", nanos as f64 / size as f64)
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
            .into_iter()
            .find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size))
            .unwrap_or(("B", 1));
        write!(f, "{}{unit}", self.0 / size)
    }
}

/// Written and read in files as in flags.
macro_rules! serde_as_text {
    ($($unit:ty),*) => { $(
        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $unit {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )* };
}

serde_as_text!(Span, Size);

/// A number with its thousands apart: `60,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 connection`, `60,000 connections`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Milliseconds with three significant digits and the unit that suits them: `870 µs`, `12.9 ms`,
/// `1.23 s`.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms {
        0.0 => "0 ms".to_owned(),
        ms if ms < 0.9995 => format!("{} µs", three_digits(ms * 1e3)),
        ms if ms < 999.5 => format!("{} ms", three_digits(ms)),
        ms => format!("{} s", three_digits(ms / 1e3)),
    }
}

/// Milliseconds that are a round number, as ticks and options are: `20 ms`, not `20.0 ms`.
pub(crate) fn whole_milliseconds(ms: f64) -> String {
    let (value, unit) = match ms {
        0.0 => return "0".to_owned(),
        ms if ms < 0.9995 => (ms * 1e3, "µs"),
        ms if ms < 1000.0 => (ms, "ms"),
        ms => (ms / 1e3, "s"),
    };
    let digits = format!("{value:.2}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Bytes with the decimal unit that suits them: `256 B`, `9.14 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e3 => format!("{b} B"),
        b if b < 1e6 => format!("{} kB", three_digits(b / 1e3)),
        b if b < 1e9 => format!("{} MB", three_digits(b / 1e6)),
        b => format!("{} GB", three_digits(b / 1e9)),
    }
}

/// A fraction as a percentage: `78 %`, `4.2 %`; a tenth is shown below ten.
pub(crate) fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    if value == 0.0 || value.abs() >= 9.95 {
        format!("{value:.0} %")
    } else {
        format!("{value:.1} %")
    }
}

/// Three significant digits: `1.23`, `12.3`, `123`, `1,230`.
pub(crate) fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => grouped(value.max(0.0).round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, micros) in [
            ("250ms", 250_000),
            ("30s", 30_000_000),
            ("5m", 300_000_000),
            ("1.5h", 5_400_000_000),
            ("12.5ms", 12_500),
            ("7us", 7),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_micros(micros))), "{text}");
        }
        for text in ["", "5", "ms", "-5ms", "5x", "1e9s", "five", "1..2s", "9999999999h", "∞s"] {
            let error = text.parse::<Span>().unwrap_err();
            assert!(
                error.contains(text) && error.contains("accepted") || error.contains("250ms"),
                "{error}"
            );
        }
    }

    #[test]
    fn durations_print_as_they_are_read() {
        for text in ["250ms", "30s", "5m", "2h", "12500us", "0s", "1500ms"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn sizes_read_decimal_and_binary_units() {
        for (text, bytes) in [
            ("256", 256),
            ("256B", 256),
            ("64KiB", 65_536),
            ("1MB", 1_000_000),
            ("1.5KB", 1500),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "KiB", "-1B", "1TB", "0.3B", "1 mb", "99999999999GiB"] {
            assert!(text.parse::<Size>().unwrap_err().contains("64KiB"), "{text}");
        }
    }

    #[test]
    fn percentages_need_their_sign() {
        assert_eq!("30%".parse(), Ok(Percent(0.3)));
        assert_eq!("0%".parse(), Ok(Percent(0.0)));
        for text in ["30", "101%", "-1%", "%", "x%"] {
            assert!(text.parse::<Percent>().unwrap_err().contains("30%"), "{text}");
        }
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(milliseconds(12.94), "12.9 ms");
        assert_eq!(milliseconds(0.87), "870 µs");
        assert_eq!(milliseconds(1234.0), "1.23 s");
        assert_eq!(milliseconds(9.999), "10.0 ms");
        assert_eq!(whole_milliseconds(20.0), "20 ms");
        assert_eq!(whole_milliseconds(12.5), "12.5 ms");
        assert_eq!(whole_milliseconds(0.2), "200 µs");
        assert_eq!(whole_milliseconds(100.0), "100 ms");
        assert_eq!(grouped(60_000), "60,000");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(bytes(256), "256 B");
        assert_eq!(bytes(9_140_000), "9.14 MB");
        assert_eq!(percent(0.784), "78 %");
        assert_eq!(percent(0.0421), "4.2 %");
        assert_eq!(percent(-1.5), "-150 %");
    }
}
