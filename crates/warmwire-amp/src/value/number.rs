//! Numbers without loss.

use std::fmt;

/// A number: an `i64`, a `u64` or an `f64`, whichever holds it exactly.
///
/// Two numbers are equal if they mean the same: `1` and `1.0` are. A NaN equals nothing.
#[derive(Clone, Copy)]
pub struct Number(Kind);

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Signed(i64),
    /// Only what is above `i64::MAX`.
    Unsigned(u64),
    Float(f64),
}

impl Number {
    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// As an `i64`, if it is whole and in range.
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Kind::Signed(value) => Some(value),
            Kind::Unsigned(_) => None,
            Kind::Float(value) => whole(value).and_then(|value| value.try_into().ok()),
        }
    }

    /// As a `u64`, if it is whole and in range.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Kind::Signed(value) => value.try_into().ok(),
            Kind::Unsigned(value) => Some(value),
            Kind::Float(value) => whole(value).and_then(|value| value.try_into().ok()),
        }
    }

    /// As an `f64`, rounded to the nearest where 53 bits do not hold it.
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Kind::Signed(value) => value as f64,
            Kind::Unsigned(value) => value as f64,
            Kind::Float(value) => value,
        }
    }
}

/// The exact whole number that `value` is, if it is one and within what the integers here hold.
fn whole(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() <= 2f64.powi(64)).then_some(value as i128)
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Kind::Signed(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Kind::Unsigned(value), Kind::Signed))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(Kind::Float(value))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Kind::Float(a), Kind::Float(b)) => a == b,
            (Kind::Float(float), exact) | (exact, Kind::Float(float)) => {
                let exact = match exact {
                    Kind::Signed(value) => i128::from(value),
                    Kind::Unsigned(value) => i128::from(value),
                    Kind::Float(_) => return false,
                };
                whole(float) == Some(exact)
            }
            (Kind::Signed(a), Kind::Signed(b)) => a == b,
            (Kind::Unsigned(a), Kind::Unsigned(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Signed(value) => write!(f, "{value}"),
            Kind::Unsigned(value) => write!(f, "{value}"),
            Kind::Float(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_if_they_mean_the_same() {
        assert_eq!(Number::from(1_i64), Number::from(1.0));
        assert_eq!(Number::from(u64::MAX), Number::from(u64::MAX));
        assert_ne!(Number::from(i64::MAX), Number::from(i64::MAX as f64));
        assert_ne!(Number::from(u64::MAX), Number::from(u64::MAX as f64));
        assert_ne!(Number::from(f64::NAN), Number::from(f64::NAN));
        assert_ne!(Number::from(0.5), Number::from(0_i64));
    }

    #[test]
    fn only_exact_numbers_become_integers() {
        assert_eq!(Number::from(3.0).as_i64(), Some(3));
        assert_eq!(Number::from(3.5).as_i64(), None);
        assert_eq!(Number::from(-1_i64).as_u64(), None);
        assert_eq!(Number::from(u64::MAX).as_i64(), None);
        assert_eq!(Number::from(2f64.powi(63)).as_i64(), None);
        assert_eq!(Number::from(2f64.powi(63)).as_u64(), Some(1 << 63));
        assert_eq!(Number::from(f64::INFINITY).as_u64(), None);
    }
}
