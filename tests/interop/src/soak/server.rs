//! A server that does at random what servers do wrong.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::body;
use super::ledger::Ledger;
use super::random::Random;

/// Listens on a port of loopback for as long as the runtime lives.
pub(super) async fn start(ledger: Arc<Ledger>, seed: u64) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let mut random = Random::new(seed);
        // Too many files are open for a moment when both ends are in one process.
        while let Ok((stream, _)) = listener.accept().await {
            ledger.accepted.fetch_add(1, Ordering::SeqCst);
            let random = Random::new(seed ^ random.below(u64::MAX));
            let connection = Connection { stream, input: Vec::new(), random };
            tokio::spawn(connection.serve(ledger.clone()));
        }
    });
    Ok(address)
}

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mischief {
    None,
    Chunked,
    NoContent,
    Http10,
    CloseHeader,
    Hint,
    Interim,
    SlowHead,
    DribbledHead,
    Early,
    CloseBefore,
    ResetBefore,
    CloseUnread,
    CutBody,
    ResetBody,
    BadChunk,
    Stall,
    Surplus,
    Goodbye,
    CloseSoon,
    Garbage,
    Switch,
    TwoLengths,
}

const ALL: [Mischief; 23] = [
    Mischief::None,
    Mischief::Chunked,
    Mischief::NoContent,
    Mischief::Http10,
    Mischief::CloseHeader,
    Mischief::Hint,
    Mischief::Interim,
    Mischief::SlowHead,
    Mischief::DribbledHead,
    Mischief::Early,
    Mischief::CloseBefore,
    Mischief::ResetBefore,
    Mischief::CloseUnread,
    Mischief::CutBody,
    Mischief::ResetBody,
    Mischief::BadChunk,
    Mischief::Stall,
    Mischief::Surplus,
    Mischief::Goodbye,
    Mischief::CloseSoon,
    Mischief::Garbage,
    Mischief::Switch,
    Mischief::TwoLengths,
];

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    random: Random,
}

/// A request's head, as far as the server needs it.
struct Head {
    id: u64,
    length: usize,
    may_be_repeated: bool,
}

/// Whether the connection goes on.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Close,
    Reset,
}

impl Connection {
    async fn serve(mut self, ledger: Arc<Ledger>) {
        ledger.serving.fetch_add(1, Ordering::SeqCst);
        // Ends with an error when the client has gone, which is its right.
        if let Ok(Then::Reset) = self.exchanges(&ledger).await {
            let _ = self.stream.set_zero_linger();
        }
        drop(self);
        ledger.serving.fetch_sub(1, Ordering::SeqCst);
    }

    async fn exchanges(&mut self, ledger: &Ledger) -> io::Result<Then> {
        let mut left = 1 + self.random.below(60);
        while let Some(head) = self.head().await? {
            ledger.heads.fetch_add(1, Ordering::SeqCst);
            let mischief = self.choose(ledger);
            let then = self.exchange(ledger, &head, mischief).await?;
            left = left.saturating_sub(1);
            if then != Then::GoOn {
                return Ok(then);
            }
            if left == 0 && !ledger.polite.load(Ordering::Relaxed) {
                return Ok(Then::Close);
            }
        }
        Ok(Then::Close)
    }

    /// Three requests of four are answered as they should be.
    fn choose(&mut self, ledger: &Ledger) -> Mischief {
        let polite = ledger.polite.load(Ordering::Relaxed) || !self.random.once_in(4);
        if polite { Mischief::None } else { ALL[self.random.below(ALL.len() as u64) as usize] }
    }

    async fn exchange(
        &mut self,
        ledger: &Ledger,
        head: &Head,
        mischief: Mischief,
    ) -> io::Result<Then> {
        if mischief == Mischief::CloseUnread {
            return Ok(Then::Close);
        }
        if mischief != Mischief::Early {
            self.skip(head.length).await?;
        }
        ledger.run(head.id, head.may_be_repeated);
        let length = match self.random.below(8) {
            0 => 0,
            7 => self.random.below(100_000) as usize,
            _ => self.random.below(2_000) as usize,
        };
        let body = body::make(head.id, length);
        let (first, rest) = body.split_at(body.len() / 2);
        let id = head.id;
        let start = |extra: &str| {
            format!("HTTP/1.1 200 OK\r\nx-id: {id}\r\n{extra}Content-Length: {length}\r\n\r\n")
        };
        match mischief {
            Mischief::None | Mischief::Early | Mischief::CloseUnread => {
                self.send(&[start("").as_bytes(), &body]).await?;
                if mischief == Mischief::Early {
                    self.skip(head.length).await?;
                }
            }
            Mischief::Chunked => {
                let head =
                    format!("HTTP/1.1 200 OK\r\nx-id: {id}\r\nTransfer-Encoding: chunked\r\n\r\n");
                self.send(&[head.as_bytes()]).await?;
                for chunk in body.chunks(1_000) {
                    let size = format!("{:x};extension\r\n", chunk.len());
                    self.send(&[size.as_bytes(), chunk, b"\r\n"]).await?;
                }
                self.send(&[b"0\r\nx-trailer: yes\r\n\r\n"]).await?;
            }
            Mischief::NoContent => {
                let head = format!("HTTP/1.1 204 No Content\r\nx-id: {id}\r\n\r\n");
                self.send(&[head.as_bytes()]).await?;
            }
            Mischief::Http10 => {
                let head = format!("HTTP/1.0 200 OK\r\nx-id: {id}\r\nx-length: {length}\r\n\r\n");
                self.send(&[head.as_bytes(), &body]).await?;
                return Ok(Then::Close);
            }
            Mischief::CloseHeader => {
                self.send(&[start("Connection: close\r\n").as_bytes(), &body]).await?;
                return Ok(Then::Close);
            }
            Mischief::Hint => {
                let max = self.random.below(3);
                let hint = format!("Keep-Alive: timeout=1, max={max}\r\n");
                self.send(&[start(&hint).as_bytes(), &body]).await?;
                if max == 0 {
                    return Ok(Then::Close);
                }
            }
            Mischief::Interim => {
                self.send(&[b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"]).await?;
                self.send(&[start("").as_bytes(), &body]).await?;
            }
            Mischief::SlowHead => {
                self.pause(150).await;
                self.send(&[start("").as_bytes(), &body]).await?;
            }
            Mischief::DribbledHead => {
                for piece in start("").as_bytes().chunks(20) {
                    self.send(&[piece]).await?;
                    tokio::task::yield_now().await;
                }
                self.send(&[&body]).await?;
            }
            Mischief::CloseBefore => return Ok(Then::Close),
            Mischief::ResetBefore => return Ok(Then::Reset),
            Mischief::CutBody | Mischief::ResetBody => {
                self.send(&[start("").as_bytes(), first]).await?;
                let reset = mischief == Mischief::ResetBody;
                return Ok(if reset { Then::Reset } else { Then::Close });
            }
            Mischief::BadChunk => {
                let head =
                    format!("HTTP/1.1 200 OK\r\nx-id: {id}\r\nTransfer-Encoding: chunked\r\n\r\n");
                self.send(&[head.as_bytes(), b"wrong\r\n"]).await?;
            }
            Mischief::Stall => {
                self.send(&[start("").as_bytes(), first]).await?;
                self.pause(250).await;
                self.send(&[rest]).await?;
            }
            Mischief::Surplus => {
                let foreign = b"HTTP/1.1 200 OK\r\nx-id: 0\r\nContent-Length: 2\r\n\r\n0;";
                self.send(&[start("").as_bytes(), &body, foreign]).await?;
            }
            Mischief::Goodbye => {
                self.send(&[start("").as_bytes(), &body]).await?;
                self.pause(3).await;
                let goodbye = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                self.send(&[goodbye]).await?;
                return Ok(Then::Close);
            }
            Mischief::CloseSoon => {
                self.send(&[start("").as_bytes(), &body]).await?;
                self.pause(3).await;
                return Ok(Then::Close);
            }
            Mischief::Garbage => self.send(&[b"\x16\x03\x01 this is not HTTP\r\n\r\n"]).await?,
            Mischief::Switch => {
                let head =
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
                self.send(&[head.as_bytes()]).await?;
            }
            Mischief::TwoLengths => {
                let extra = format!("Content-Length: {}\r\n", length + 1);
                self.send(&[start(&extra).as_bytes(), &body]).await?;
            }
        }
        Ok(Then::GoOn)
    }

    /// Up to so many milliseconds.
    async fn pause(&mut self, most: u64) {
        sleep(Duration::from_micros(self.random.below(1_000 * most))).await;
    }

    async fn send(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        self.stream.write_all(&pieces.concat()).await
    }

    async fn head(&mut self) -> io::Result<Option<Head>> {
        let end = loop {
            if let Some(at) = self.input.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            if self.read().await? == 0 {
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.input.drain(..end).collect();
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let id = field("x-id").ok_or(io::ErrorKind::InvalidData)?;
        let length = field("content-length").unwrap_or(0) as usize;
        let may_be_repeated = text.starts_with("get ") || field("x-marked").is_some();
        Ok(Some(Head { id, length, may_be_repeated }))
    }

    /// Reads a body and forgets it.
    async fn skip(&mut self, length: usize) -> io::Result<()> {
        while self.input.len() < length {
            if self.read().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.input.drain(..length);
        Ok(())
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.input).await
    }
}
