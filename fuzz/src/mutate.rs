//! Small random changes of a seed, the same for the same number.

/// Pieces that turn one valid response into a nearly valid one.
const TOKENS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"=",
    b"\0",
    b"0",
    b"1",
    b"5",
    b"f",
    b"00000000",
    b"18446744073709551615",
    b"ffffffffffffffff",
    b"-",
    b"+",
    b"\x80",
    b"\x7f",
    b"chunked",
    b"gzip",
    b"identity",
    b"close",
    b"keep-alive",
    b"timeout",
    b"max",
    b"\"",
    b"\r\nContent-Length: 5",
    b"\r\nContent-Length: 0",
    b"\r\nTransfer-Encoding: chunked",
    b"\r\nConnection: close",
    b"\r\n folded",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 304 x\r\n\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"0\r\na: b\r\n\r\n",
];

/// A source of numbers that looks random and never differs.
pub struct Numbers(u64);

impl Numbers {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// Changes `seed` in one to four places.
pub fn mutate(seed: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(data.len() + 1);
        let end = (at + 1 + numbers.below(8)).min(data.len());
        match numbers.below(6) {
            0 if at < data.len() => data[at] = numbers.below(256) as u8,
            1 if at < data.len() => data[at] ^= 1 << numbers.below(8),
            2 => drop(data.drain(at..end)),
            3 => {
                let copy = data[at..end].to_vec();
                data.splice(at..at, copy);
            }
            4 if at > 2 => data.truncate(at),
            _ => {
                let token = TOKENS[numbers.below(TOKENS.len())];
                data.splice(at..at, token.iter().copied());
            }
        }
    }
    data
}
