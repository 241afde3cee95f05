//! HTTP/2, from both ends of a connection.

mod dead_paths;
mod ends;
mod goodbyes;
mod runtimes;
mod sharing;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use http::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use warmwire_http::{Agent, AgentBuilder, BoxFuture, HttpVersion};
use warmwire_testkit::{GUARD, Gate, Peer};

use crate::support::get;

pub(crate) async fn guard<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(GUARD, future).await.expect("it ends")
}

/// Until so many requests have come.
pub(crate) async fn arrived(begun: &AtomicUsize, requests: usize) {
    guard(async {
        while begun.load(Ordering::SeqCst) < requests {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(crate) async fn begin(peer: Peer, streams: u32) -> Connection<Box<dyn Io>, Bytes> {
    let mut builder = Builder::new();
    builder.max_concurrent_streams(streams);
    builder.handshake(Box::new(peer.into_stream()) as Box<dyn Io>).await.unwrap()
}

pub(crate) fn answer(respond: &mut SendResponse<Bytes>, text: &str) {
    // The client may have reset the stream.
    if let Ok(mut body) = respond.send_response(Response::new(()), false) {
        let _ = body.send_data(Bytes::copy_from_slice(text.as_bytes()), true);
    }
}

/// Answers every request with its path once the gate lets it through.
pub(crate) async fn serve(peer: Peer, streams: u32, gate: Gate, begun: Arc<AtomicUsize>) {
    let mut connection = begin(peer, streams).await;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        begun.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        tokio::spawn(async move {
            gate.pass().await;
            answer(&mut respond, request.uri().path());
        });
    }
}

pub(crate) fn serving(
    streams: u32,
    gate: &Gate,
    begun: &Arc<AtomicUsize>,
) -> impl Fn(Peer) -> BoxFuture<'static, ()> + Clone + Send + Sync + 'static + use<> {
    let (gate, begun) = (gate.clone(), begun.clone());
    move |peer| Box::pin(serve(peer, streams, gate.clone(), begun.clone()))
}

pub(crate) fn open_gate() -> Gate {
    let gate = Gate::shut();
    gate.open();
    gate
}

pub(crate) fn builder() -> AgentBuilder {
    Agent::builder().http_version(HttpVersion::Http2)
}

pub(crate) fn burst(agent: &Agent, url: &str, requests: usize) -> JoinSet<String> {
    let mut all = JoinSet::new();
    for n in 0..requests {
        let (agent, url) = (agent.clone(), format!("{url}/{n}"));
        all.spawn(async move { get(&agent, url).await.unwrap() });
    }
    all
}

/// Reads the client's preface and sends empty SETTINGS.
pub(crate) async fn greet(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    stream.read_exact(&mut [0; 24]).await.unwrap();
}

/// The kind, the flags, the stream and the payload of the next frame.
pub(crate) async fn next_frame(
    stream: &mut (impl AsyncRead + Unpin),
) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).await.ok()?;
    let number = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
    Some((head[3], head[4], number, payload))
}

/// The kinds of frames (RFC 9113, 6).
pub(crate) const HEADERS: u8 = 1;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;

/// The flag of an acknowledgement.
pub(crate) const ACK: u8 = 1;

/// `:status: 200` from HPACK's static table.
pub(crate) const OK: &[u8] = &[0x88];

/// A frame (RFC 9113, 4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    frame.extend_from_slice(payload);
    frame
}
