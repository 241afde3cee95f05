//! Numbers as bytes, without an allocation.

/// A number in decimal digits.
pub(crate) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    pub(crate) fn new(mut number: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut start = digits.len() - 1;
        digits[start] = b'0' + (number % 10) as u8;
        while number >= 10 {
            number /= 10;
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
        }
        Self { digits, start }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_equals_the_standard_formatting() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::new(number).as_bytes(), number.to_string().as_bytes());
        }
    }
}
