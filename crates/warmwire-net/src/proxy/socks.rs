//! SOCKS version 5 (RFC 1928, RFC 1929) and version 4 with its extension 4A.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{Endpoint, Host};
use crate::ProxyFault;

const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NOTHING_ACCEPTABLE: u8 = 0xff;

/// Opens the way to `to` by version 5.
pub(super) async fn open5<S>(
    stream: &mut S,
    to: Endpoint<'_>,
    credentials: Option<(&str, &str)>,
) -> Result<(), ProxyFault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let greeting: &[u8] = match credentials {
        None => &[5, 1, NO_AUTHENTICATION],
        Some(_) => &[5, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
    };
    send(stream, greeting).await?;
    let [version, method] = receive(stream).await?;
    check_version(version, 5)?;
    match (method, credentials) {
        (NO_AUTHENTICATION, _) => {}
        (USER_AND_PASSWORD, Some((user, password))) => {
            authenticate(stream, user, password).await?;
        }
        (NOTHING_ACCEPTABLE, None) => return Err(denied("it wants a user and a password")),
        (NOTHING_ACCEPTABLE, Some(_)) => {
            return Err(denied("it wants another authentication than user and password"));
        }
        (other, _) => {
            return Err(broken(format!("it chose method {other}, which was not offered")));
        }
    }
    send(stream, &request5(to)?).await?;
    let [version, reply, _, kind] = receive(stream).await?;
    check_version(version, 5)?;
    if reply != 0 {
        return Err(ProxyFault::SocksRefused { code: reply, meaning: meaning5(reply) });
    }
    // The address that the proxy connects from; it must be read and is of no use.
    match kind {
        1 => receive::<_, 6>(stream).await.map(|_| ()),
        4 => receive::<_, 18>(stream).await.map(|_| ()),
        3 => {
            let [length] = receive(stream).await?;
            let mut name = [0; 257];
            let name = &mut name[..usize::from(length) + 2];
            stream.read_exact(name).await.map(|_| ()).map_err(cut)
        }
        other => Err(broken(format!("its reply has an address of the unknown kind {other}"))),
    }
}

async fn authenticate<S>(stream: &mut S, user: &str, password: &str) -> Result<(), ProxyFault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut request = vec![1];
    for part in [user, password] {
        request.push(length_of(part)?);
        request.extend_from_slice(part.as_bytes());
    }
    send(stream, &request).await?;
    match receive(stream).await? {
        [_, 0] => Ok(()),
        [_, _] => Err(denied("it does not accept the user and the password")),
    }
}

fn request5(to: Endpoint<'_>) -> Result<Vec<u8>, ProxyFault> {
    let mut request = vec![5, 1, 0];
    match to.host {
        Host::Address(IpAddr::V4(address)) => {
            request.push(1);
            request.extend_from_slice(&address.octets());
        }
        Host::Address(IpAddr::V6(address)) => {
            request.push(4);
            request.extend_from_slice(&address.octets());
        }
        Host::Name(name) => {
            request.extend_from_slice(&[3, length_of(name)?]);
            request.extend_from_slice(name.as_bytes());
        }
    }
    request.extend_from_slice(&to.port.to_be_bytes());
    Ok(request)
}

/// RFC 1928, section 6.
fn meaning5(reply: u8) -> &'static str {
    match reply {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "address type not supported",
        _ => "unknown reply",
    }
}

/// Opens the way to `to` by version 4, or 4A if it is a name.
pub(super) async fn open4<S>(stream: &mut S, to: Endpoint<'_>, user: &str) -> Result<(), ProxyFault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut request = vec![4, 1];
    request.extend_from_slice(&to.port.to_be_bytes());
    let (address, name) = match to.host {
        Host::Address(IpAddr::V4(address)) => (address.octets(), None),
        Host::Address(IpAddr::V6(_)) => return Err(broken("SOCKS4 knows no IPv6".into())),
        // An address that cannot be says that a name follows.
        Host::Name(name) => ([0, 0, 0, 1], Some(name)),
    };
    request.extend_from_slice(&address);
    request.extend_from_slice(user.as_bytes());
    request.push(0);
    if let Some(name) = name {
        request.extend_from_slice(name.as_bytes());
        request.push(0);
    }
    send(stream, &request).await?;
    let [version, reply, ..]: [u8; 8] = receive(stream).await?;
    check_version(version, 0)?;
    match reply {
        90 => Ok(()),
        92 | 93 => Err(denied("it does not accept the user")),
        91 => Err(ProxyFault::SocksRefused { code: 91, meaning: "rejected or failed" }),
        code => Err(ProxyFault::SocksRefused { code, meaning: "unknown reply" }),
    }
}

fn length_of(part: &str) -> Result<u8, ProxyFault> {
    part.len().try_into().map_err(|_| broken("a name is longer than SOCKS carries".into()))
}

fn check_version(version: u8, expected: u8) -> Result<(), ProxyFault> {
    match version == expected {
        true => Ok(()),
        false => Err(broken(format!(
            "its reply has version {version} and not {expected}: it does not speak this SOCKS"
        ))),
    }
}

async fn send<S>(stream: &mut S, bytes: &[u8]) -> Result<(), ProxyFault>
where
    S: AsyncWrite + Unpin + Send,
{
    stream.write_all(bytes).await.map_err(ProxyFault::Broken)?;
    stream.flush().await.map_err(ProxyFault::Broken)
}

async fn receive<S, const N: usize>(stream: &mut S) -> Result<[u8; N], ProxyFault>
where
    S: AsyncRead + Unpin + Send,
{
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(cut)?;
    Ok(bytes)
}

fn cut(error: io::Error) -> ProxyFault {
    ProxyFault::Broken(match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it closed the connection within its reply")
        }
        _ => error,
    })
}

fn denied(why: &'static str) -> ProxyFault {
    ProxyFault::SocksAuthentication(why)
}

fn broken(text: String) -> ProxyFault {
    ProxyFault::Broken(io::Error::new(io::ErrorKind::InvalidData, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was asked, and how it ended, with a proxy that answers with these bytes.
    async fn ask(answer: &[u8], version: u8, host: &str) -> (Vec<u8>, Result<(), ProxyFault>) {
        let (mut near, mut far) = tokio::io::duplex(1024);
        far.write_all(answer).await.expect("the pipe has room");
        far.shutdown().await.expect("a pipe ends");
        let to = Endpoint::new(host, 443);
        let opened = match version {
            4 => open4(&mut near, to, "me").await,
            _ => open5(&mut near, to, Some(("me", "pw"))).await,
        };
        drop(near);
        let mut asked = Vec::new();
        far.read_to_end(&mut asked).await.expect("a pipe ends");
        (asked, opened)
    }

    #[tokio::test]
    async fn version_5_asks_by_name_and_by_address() {
        let granted = [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let (asked, opened) = ask(&granted, 5, "a.example").await;
        opened.expect("a way");
        assert_eq!(asked, b"\x05\x02\x00\x02\x05\x01\x00\x03\x09a.example\x01\xbb");
        let named = [5, 2, 1, 0, 5, 0, 0, 3, 1, b'x', 0, 0];
        let (asked, opened) = ask(&named, 5, "::1").await;
        opened.expect("a way");
        assert_eq!(&asked[4..11], b"\x01\x02me\x02pw");
        assert_eq!(&asked[11..15], [5, 1, 0, 4]);
    }

    #[tokio::test]
    async fn version_4_asks_by_address_and_4a_by_name() {
        let granted = [0, 90, 0, 0, 0, 0, 0, 0];
        let (asked, opened) = ask(&granted, 4, "127.0.0.1").await;
        opened.expect("a way");
        assert_eq!(asked, b"\x04\x01\x01\xbb\x7f\x00\x00\x01me\x00");
        let (asked, opened) = ask(&granted, 4, "a.example").await;
        opened.expect("a way");
        assert_eq!(asked, b"\x04\x01\x01\xbb\x00\x00\x00\x01me\x00a.example\x00");
    }

    #[tokio::test]
    async fn every_reply_is_told_apart() {
        for (answer, version, told) in [
            (&[5, 0, 5, 5, 0, 1][..], 5, "connection refused"),
            (&[5, 0, 5, 4, 0, 1], 5, "host unreachable"),
            (&[5, 0, 5, 99, 0, 1], 5, "unknown reply"),
            (&[5, 0xff], 5, "another authentication"),
            (&[5, 2, 1, 1], 5, "does not accept"),
            (&[5, 7], 5, "not offered"),
            (&[4, 0], 5, "version 4 and not 5"),
            (&[5, 0, 5, 0, 0, 9], 5, "unknown kind"),
            (&[5, 0, 5], 5, "closed the connection"),
            (&[0, 91, 0, 0, 0, 0, 0, 0], 4, "rejected"),
            (&[0, 93, 0, 0, 0, 0, 0, 0], 4, "does not accept the user"),
            (b"HTTP/1.1", 4, "version 72"),
        ] {
            let fault = ask(answer, version, "a.example").await.1.expect_err(told);
            assert!(fault.to_string().contains(told), "{told:?} is not in {fault}");
        }
        let fault = ask(&[], 4, "::1").await.1.expect_err("no IPv6");
        assert!(fault.to_string().contains("no IPv6"), "{fault}");
    }
}
