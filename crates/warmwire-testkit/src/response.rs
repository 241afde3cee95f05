//! Responses for scripts to send.

/// A response with a length, being written.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

/// `200 OK` with this body, as bytes.
pub fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    Reply::new(200).body(body).bytes()
}

impl Reply {
    /// An empty response of this status.
    pub fn new(status: u16) -> Reply {
        Reply { status, headers: String::new(), body: Vec::new() }
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Reply {
        self.body = body.as_ref().to_vec();
        self
    }

    /// The response as bytes, with `Content-Length`.
    pub fn bytes(&self) -> Vec<u8> {
        let Reply { status, headers, body } = self;
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Scripted\r\n{headers}Content-Length: {length}\r\n");
        [head.as_bytes(), b"\r\n", body].concat()
    }
}
