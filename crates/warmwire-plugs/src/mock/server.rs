//! The mock's side of a connection: reads requests, does as the script says.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::client::ServerEnd;
use super::{Recorded, Reply, Shared, Step};

/// Header lines of a request, at most.
const MAX_HEADERS: usize = 256;

/// Answers the requests of a connection until one end closes it.
pub(super) async fn serve(shared: Arc<Shared>, connection: usize, mut end: ServerEnd) {
    let mut buffer = BytesMut::new();
    loop {
        if buffer.is_empty() && !next_begins(&shared, &mut end.stream, &mut buffer).await {
            return;
        }
        // A request that is not whole is nobody's to assert on: the agent gave it up.
        let Ok(Some(request)) = receive(&mut end.stream, &mut buffer, connection).await else {
            return;
        };
        match shared.meet(&request) {
            Step::Reply(reply) => match answer(&mut end.stream, &reply, &request.method).await {
                Ok(()) if !reply.closes() => {}
                _ => return,
            },
            Step::Stall => {
                // Ends when the agent closes.
                let _ = tokio::io::copy(&mut end.stream, &mut tokio::io::sink()).await;
                return;
            }
            Step::Reset => return end.reset(),
            Step::Close => return,
        }
    }
}

/// Whether another request begins before the idle time is over and the agent has closed.
async fn next_begins(shared: &Shared, stream: &mut DuplexStream, buffer: &mut BytesMut) -> bool {
    let idle = shared.lock().close_after;
    let read = stream.read_buf(buffer);
    let read = match idle {
        Some(idle) => tokio::time::timeout(idle, read).await.unwrap_or(Ok(0)),
        None => read.await,
    };
    matches!(read, Ok(length) if length > 0)
}

async fn answer(stream: &mut DuplexStream, reply: &Reply, method: &Method) -> io::Result<()> {
    tokio::time::sleep(reply.delay).await;
    stream.write_all(&reply.encode(method)).await
}

/// The next request with its body; `None` at the end of the stream.
async fn receive(
    stream: &mut DuplexStream,
    buffer: &mut BytesMut,
    connection: usize,
) -> io::Result<Option<Recorded>> {
    let (method, target, headers) = loop {
        if let Some(head) = parse(buffer)? {
            break head;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    if headers.contains_key(header::EXPECT) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let body = if headers.contains_key(header::TRANSFER_ENCODING) {
        chunks(stream, buffer).await?
    } else {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.map_or(Ok(0), str::parse).map_err(|_| invalid("content-length"))?;
        take(stream, buffer, length).await?
    };
    Ok(Some(Recorded { method, target, headers, body, connection }))
}

/// Takes a request's head from the front of the buffer, if it is there whole.
fn parse(buffer: &mut BytesMut) -> io::Result<Option<(Method, String, HeaderMap)>> {
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut lines);
    let status = request.parse(buffer).map_err(|error| invalid(&error.to_string()))?;
    let httparse::Status::Complete(length) = status else { return Ok(None) };
    let method = request.method.unwrap_or_default();
    let method = method.parse().map_err(|_| invalid("method"))?;
    let target = request.path.unwrap_or_default().to_owned();
    let mut headers = HeaderMap::new();
    for line in request.headers.iter() {
        let name: HeaderName = line.name.parse().map_err(|_| invalid("header name"))?;
        let value = HeaderValue::from_bytes(line.value).map_err(|_| invalid("header value"))?;
        headers.append(name, value);
    }
    let _head = buffer.split_to(length);
    Ok(Some((method, target, headers)))
}

async fn chunks(stream: &mut DuplexStream, buffer: &mut BytesMut) -> io::Result<Bytes> {
    let mut body = BytesMut::new();
    loop {
        let line = line(stream, buffer).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| invalid("chunk size"))?;
        if size == 0 {
            break;
        }
        body.extend_from_slice(&take(stream, buffer, size).await?);
        self::line(stream, buffer).await?;
    }
    // Trailers are passed over; an empty line ends them.
    while !line(stream, buffer).await?.is_empty() {}
    Ok(body.freeze())
}

/// The next line without its end.
async fn line(stream: &mut DuplexStream, buffer: &mut BytesMut) -> io::Result<String> {
    loop {
        if let Some(end) = buffer.windows(2).position(|pair| pair == b"\r\n") {
            let line = buffer.split_to(end + 2);
            return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
        }
        more(stream, buffer).await?;
    }
}

async fn take(
    stream: &mut DuplexStream,
    buffer: &mut BytesMut,
    length: usize,
) -> io::Result<Bytes> {
    while buffer.len() < length {
        more(stream, buffer).await?;
    }
    Ok(buffer.split_to(length).freeze())
}

async fn more(stream: &mut DuplexStream, buffer: &mut BytesMut) -> io::Result<()> {
    match stream.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the request's {what}"))
}
