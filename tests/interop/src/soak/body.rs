//! Bodies that tell whose they are at every place.

/// The body of this length of a response to the request of this id.
pub(super) fn make(id: u64, length: usize) -> Vec<u8> {
    word(id).into_bytes().into_iter().cycle().take(length).collect()
}

/// Checks the bodies of one response, piece by piece.
pub(super) struct Check {
    word: Vec<u8>,
    at: usize,
}

impl Check {
    pub(super) fn new(id: u64) -> Check {
        Check { word: word(id).into_bytes(), at: 0 }
    }

    /// Whether all of the next piece belongs to the response.
    pub(super) fn takes(&mut self, piece: &[u8]) -> bool {
        let expected = self.word.iter().cycle().skip(self.at % self.word.len());
        self.at += piece.len();
        piece.iter().zip(expected).all(|(one, other)| one == other)
    }

    /// How many bytes have come.
    pub(super) fn length(&self) -> usize {
        self.at
    }
}

fn word(id: u64) -> String {
    format!("{id};")
}
