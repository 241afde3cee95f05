//! A name server whose answers a test sets.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// What is answered to questions for one name. A name that has none does not exist.
#[derive(Clone, Debug)]
pub enum DnsAnswer {
    /// These records, as far as they are of the type that is asked for.
    Records(Vec<DnsRecord>),
    /// The same, but over UDP only that there is more than fits: the client must ask over TCP.
    Long(Vec<DnsRecord>),
    /// The server fails (SERVFAIL).
    Failure,
    /// Nothing.
    Silence,
}

/// A record with its time to live in seconds.
#[derive(Clone, Debug)]
pub enum DnsRecord {
    /// A or AAAA.
    Address(u32, IpAddr),
    /// CNAME: the records of the other name follow, as a recursive server tells them.
    Alias(u32, String),
}

/// A recursive name server on one port of 127.0.0.1, over UDP and TCP.
pub struct DnsServer {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Zone {
    answers: HashMap<String, DnsAnswer>,
    asked: Vec<Asked>,
}

struct Asked {
    name: String,
    kind: u16,
    tcp: bool,
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

impl DnsServer {
    /// One that knows no name.
    pub async fn start() -> DnsServer {
        let (udp, tcp) = bind().await;
        let address = udp.local_addr().expect("it is bound");
        let zone = Arc::new(Mutex::new(Zone::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_udp(udp, zone.clone()));
        tasks.spawn(serve_tcp(tcp, zone.clone()));
        DnsServer { address, zone, _tasks: tasks }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is answered for `name` from now on.
    pub fn set(&self, name: &str, answer: DnsAnswer) {
        self.zone().answers.insert(name.to_owned(), answer);
    }

    /// How often addresses of `name` were asked for; the two families are asked for together, so
    /// the questions for IPv4 ones are counted.
    pub fn asked(&self, name: &str) -> usize {
        let zone = self.zone();
        zone.asked.iter().filter(|asked| asked.name == name && asked.kind == A).count()
    }

    /// How many of these questions came over TCP.
    pub fn asked_over_tcp(&self, name: &str) -> usize {
        let zone = self.zone();
        let questions = zone.asked.iter().filter(|asked| asked.name == name && asked.kind == A);
        questions.filter(|asked| asked.tcp).count()
    }

    fn zone(&self) -> std::sync::MutexGuard<'_, Zone> {
        self.zone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A port that is free for both.
async fn bind() -> (UdpSocket, TcpListener) {
    loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = udp.local_addr().expect("it is bound");
        if let Ok(tcp) = TcpListener::bind(address).await {
            return (udp, tcp);
        }
    }
}

async fn serve_udp(socket: UdpSocket, zone: Arc<Mutex<Zone>>) {
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = reply(&zone, &buffer[..length], false) {
            // A client that is gone does not read it.
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, zone: Arc<Mutex<Zone>>) {
    let mut clients = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let zone = zone.clone();
        clients.spawn(async move {
            // The client closes when it has its answers.
            let _ = serve_stream(stream, &zone).await;
        });
    }
}

async fn serve_stream(mut stream: TcpStream, zone: &Mutex<Zone>) -> io::Result<()> {
    loop {
        let mut message = vec![0; stream.read_u16().await?.into()];
        stream.read_exact(&mut message).await?;
        if let Some(answer) = reply(zone, &message, true) {
            stream.write_u16(answer.len() as u16).await?;
            stream.write_all(&answer).await?;
        }
    }
}

/// The answer to a message with one question (RFC 1035, 4.1).
fn reply(zone: &Mutex<Zone>, message: &[u8], tcp: bool) -> Option<Vec<u8>> {
    let (name, kind, question) = question(message)?;
    let mut zone = zone.lock().unwrap_or_else(PoisonError::into_inner);
    zone.asked.push(Asked { name: name.clone(), kind, tcp });
    let (truncated, code, records) = match zone.answers.get(&name) {
        None => (false, 3, Vec::new()),
        Some(DnsAnswer::Silence) => return None,
        Some(DnsAnswer::Failure) => (false, 2, Vec::new()),
        Some(DnsAnswer::Long(_)) if !tcp => (true, 0, Vec::new()),
        Some(DnsAnswer::Records(_) | DnsAnswer::Long(_)) => (false, 0, zone.records(name, kind)),
    };
    let mut answer = message[..2].to_vec();
    // A response; recursion was desired and is available.
    answer.extend([0x81 | u8::from(truncated) << 1, 0x80 | code]);
    for count in [1, records.len() as u16, 0, 0] {
        answer.extend(count.to_be_bytes());
    }
    answer.extend(question);
    answer.extend(records.concat());
    Some(answer)
}

impl Zone {
    /// Every record of a type that answers for `name`, encoded, through its aliases.
    fn records(&self, mut name: String, kind: u16) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        // An alias of itself must not hold up a test.
        for _ in 0..16 {
            let mut next = None;
            let answer = self.answers.get(&name);
            let Some(DnsAnswer::Records(records) | DnsAnswer::Long(records)) = answer else {
                break;
            };
            for record in records {
                match record {
                    DnsRecord::Address(ttl, IpAddr::V4(ip)) if kind == A => {
                        found.push(encode(&name, A, *ttl, &ip.octets()));
                    }
                    DnsRecord::Address(ttl, IpAddr::V6(ip)) if kind == AAAA => {
                        found.push(encode(&name, AAAA, *ttl, &ip.octets()));
                    }
                    DnsRecord::Address(..) => {}
                    DnsRecord::Alias(ttl, other) => {
                        found.push(encode(&name, CNAME, *ttl, &labels(other)));
                        next = Some(other.clone());
                    }
                }
            }
            let Some(other) = next else { break };
            name = other;
        }
        found
    }
}

/// The name in lower case, the type, and the bytes of the question.
fn question(message: &[u8]) -> Option<(String, u16, &[u8])> {
    let rest = message.get(12..)?;
    let (mut at, mut name) = (0, Vec::new());
    loop {
        let length = usize::from(*rest.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        let label = rest.get(at..at + length)?;
        name.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]);
    Some((name.join("."), kind, rest.get(..at + 4)?))
}

fn encode(name: &str, kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut record = labels(name);
    record.extend(kind.to_be_bytes());
    // The class IN.
    record.extend(1u16.to_be_bytes());
    record.extend(ttl.to_be_bytes());
    record.extend((data.len() as u16).to_be_bytes());
    record.extend(data);
    record
}

fn labels(name: &str) -> Vec<u8> {
    let mut encoded = Vec::new();
    for label in name.split('.') {
        encoded.push(label.len() as u8);
        encoded.extend(label.as_bytes());
    }
    encoded.push(0);
    encoded
}
