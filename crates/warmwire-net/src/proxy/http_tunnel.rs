//! The tunnel through an HTTP proxy: `CONNECT` (RFC 9110, 9.3.6).

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::Endpoint;
use crate::ProxyFault;

/// Bytes of an answer's head, at most.
const MAX_HEAD: usize = 16 * 1024;

/// Bytes that are kept of the body of an answer that is no tunnel, at most.
const MAX_BODY: usize = 8 * 1024;

/// How long such a body may take: it explains an error that has happened already.
const BODY_TIME: Duration = Duration::from_millis(500);

/// What an HTTP proxy answered in place of opening a tunnel.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAnswer {
    /// The status: 407, 502, …
    pub status: u16,
    /// The header lines, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The beginning of the body, of at most 8 KiB.
    pub body: Vec<u8>,
    reason: String,
}

impl ProxyAnswer {
    fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }
}

/// The status line's content: headers and body are for code.
impl fmt::Display for ProxyAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.reason.escape_debug())
    }
}

/// As [`Display`](fmt::Display): a proxy's challenge or cookie belongs in no log.
impl fmt::Debug for ProxyAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAnswer({self})")
    }
}

pub(super) async fn open<S>(
    stream: &mut S,
    to: Endpoint<'_>,
    authorization: Option<&str>,
) -> Result<(), ProxyFault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut request = format!("CONNECT {to} HTTP/1.1\r\nhost: {to}\r\n");
    if let Some(value) = authorization {
        request.push_str(&format!("proxy-authorization: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(ProxyFault::Broken)?;
    stream.flush().await.map_err(ProxyFault::Broken)?;
    loop {
        let mut answer = head(stream).await.map_err(ProxyFault::Broken)?;
        match answer.status {
            // Without a body, whatever its header says (RFC 9110, 9.3.6).
            200..300 => return Ok(()),
            100 | 102..200 => {}
            // Only the proxy can have answered so: tinyproxy says 401 to a wrong password.
            401 | 407 => {
                read_body(stream, &mut answer).await;
                return Err(ProxyFault::Authentication(answer));
            }
            _ => {
                read_body(stream, &mut answer).await;
                return Err(ProxyFault::Refused(answer));
            }
        }
    }
}

/// The next head, read byte by byte.
///
/// The byte behind it is the target's, which may speak first; reading on would have to give it
/// back. This costs some hundred short reads for each connection that is opened.
async fn head<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<ProxyAnswer> {
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        if head.len() == MAX_HEAD {
            return Err(invalid(format!("its answer's head is longer than {MAX_HEAD} bytes")));
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let text = match head.is_empty() {
                    true => "it closed the connection without an answer",
                    false => "it closed the connection within its answer's head",
                };
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            Err(error) => return Err(error),
        }
    }
    parse(&head).ok_or_else(|| {
        let begin = head[..head.len().min(32)].escape_ascii().to_string();
        invalid(format!("its answer is not HTTP/1: it begins with {begin:?}"))
    })
}

fn parse(head: &[u8]) -> Option<ProxyAnswer> {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let status_line = lines.next()?.strip_prefix(b"HTTP/1.")?;
    let (minor, rest) = status_line.split_at_checked(1)?;
    let (code, reason) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
    let digits = minor.iter().chain(code).all(u8::is_ascii_digit);
    if !digits || !(reason.is_empty() || reason.starts_with(b" ")) {
        return None;
    }
    let headers = lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = std::str::from_utf8(&line[..colon]).ok()?;
        Some((name.to_owned(), line[colon + 1..].trim_ascii().to_vec()))
    });
    Some(ProxyAnswer {
        status: std::str::from_utf8(code).ok()?.parse().ok().filter(|&code| code >= 100)?,
        headers: headers.collect(),
        body: Vec::new(),
        reason: String::from_utf8_lossy(reason.trim_ascii()).into_owned(),
    })
}

/// Reads what of the body comes soon. However it ends: the answer is known, this only explains it.
async fn read_body<S: AsyncRead + Unpin>(stream: &mut S, answer: &mut ProxyAnswer) {
    let chunked = answer.header("transfer-encoding").is_some();
    let length = answer.header("content-length").and_then(|value| {
        std::str::from_utf8(value).ok()?.parse::<usize>().ok().filter(|_| !chunked)
    });
    let limit = length.unwrap_or(MAX_BODY).min(MAX_BODY);
    let mut body = Vec::new();
    let whole = async {
        let mut piece = [0; 1024];
        while body.len() < limit && !(chunked && body.ends_with(b"0\r\n\r\n")) {
            let room = piece.len().min(limit - body.len());
            match stream.read(&mut piece[..room]).await {
                Ok(read) if read > 0 => body.extend_from_slice(&piece[..read]),
                _ => break,
            }
        }
    };
    // Its end by time is as good as any other.
    let _ = timeout(BODY_TIME, whole).await;
    answer.body = if chunked { without_chunks(&body) } else { body };
}

fn without_chunks(mut framed: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(framed.len());
    while let Some(end) = framed.windows(2).position(|bytes| bytes == b"\r\n") {
        let digits = framed[..end].split(|&byte| byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(digits).ok().map(str::trim);
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|&size| size > 0) else { break };
        framed = &framed[end + 2..];
        let (chunk, rest) = framed.split_at(size.min(framed.len()));
        data.extend_from_slice(chunk);
        framed = rest.strip_prefix(b"\r\n").unwrap_or_default();
    }
    data
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answered(answer: &[u8]) -> (Result<(), ProxyFault>, Vec<u8>, Vec<u8>) {
        let (mut near, mut far) = tokio::io::duplex(64 * 1024);
        far.write_all(answer).await.expect("the pipe has room");
        let to = Endpoint::new("a.example", 443);
        let opened = open(&mut near, to, Some("Basic eA==")).await;
        let mut asked = vec![0; 1024];
        let read = far.read(&mut asked).await.expect("it was asked");
        asked.truncate(read);
        drop(far);
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.expect("a pipe ends");
        (opened, asked, rest)
    }

    #[tokio::test]
    async fn a_tunnel_begins_right_behind_the_answers_head() {
        let answer = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let (opened, asked, rest) = answered(answer).await;
        opened.expect("a tunnel");
        assert_eq!(rest, b"hello", "what the target says first is kept");
        assert_eq!(
            String::from_utf8_lossy(&asked),
            "CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\
             proxy-authorization: Basic eA==\r\n\r\n"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_are_told_with_what_explains_them() {
        let body = |fault: ProxyFault| match fault {
            ProxyFault::Refused(answer) => (answer.status, answer.body),
            ProxyFault::Authentication(answer) => (answer.status, answer.body),
            other => panic!("{other:?}"),
        };
        let answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nwhy?and more";
        assert_eq!(body(answered(answer).await.0.unwrap_err()), (502, b"why?".to_vec()));
        let answer =
            b"HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwh\r\n2\r\ny?\r\n0\r\n\r\n";
        assert_eq!(body(answered(answer).await.0.unwrap_err()), (407, b"why?".to_vec()));
        let (fault, ..) = answered(b"HTTP/1.1 503 Never\r\n\r\nends").await;
        assert_eq!(body(fault.unwrap_err()), (503, b"ends".to_vec()));
        let long = [b"HTTP/1.1 500 Long\r\n\r\n", &[b'x'; 32 * 1024][..]].concat();
        assert_eq!(body(answered(&long).await.0.unwrap_err()).1.len(), MAX_BODY);
    }

    #[tokio::test]
    async fn what_is_no_answer_is_an_error_that_says_so() {
        let endless = [b"HTTP/1.1 200 OK\r\nx: ", &[b'x'; MAX_HEAD][..]].concat();
        for (answer, why) in [
            (&b"SSH-2.0-OpenSSH\r\n\r\n"[..], "SSH-2.0"),
            (b"HTTP/1.1 20x OK\r\n\r\n", "not HTTP/1"),
            (b"HTTP/1.1 000 OK\r\n\r\n", "not HTTP/1"),
            (b"HTTP/2 200\r\n\r\n", "not HTTP/1"),
            (&endless, "longer than 16384"),
        ] {
            match answered(answer).await.0 {
                Err(ProxyFault::Broken(error)) => {
                    assert!(error.to_string().contains(why), "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
