//! A byte stream becomes an HTTP/2 connection.

use std::io;
use std::sync::Arc;

use hyper::client::conn::http2::Builder;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::connection::{Link, Stream};
use super::driver::{Driver, NOT_TOLD};
use super::home;
use super::moving::{Clock, Watched};
use super::tasks::{Queue, Spawner};
use crate::core::Core;
use crate::key::Key;
use crate::observe::Open;
use crate::response::Established;

/// Opens an HTTP/2 connection on a stream, and waits for the server's SETTINGS: gives the pool's
/// handle and how many requests the server takes at once.
///
/// The wait is what makes the number of slots true from the first request on: a burst that went out
/// before would meet REFUSED_STREAM where the server takes fewer. It costs a round trip, as long as
/// the dial's other steps, where the server speaks only when it has heard the client: without TLS,
/// and with TLS 1.3, in which the client's preface goes out with the end of the handshake and most
/// servers write nothing before that has come. With TLS 1.2 the server has the last word of the
/// handshake, and its SETTINGS can come with it. One dial pays it, and no request after that.
///
/// # Errors
///
/// Of the stream, or of a peer that does not speak HTTP/2.
pub(crate) async fn handshake(
    core: &Arc<Core>,
    key: &Key,
    stream: warmwire_net::Stream,
    established: Arc<Established>,
) -> io::Result<(Stream, u32)> {
    let policy = key.policy();
    let settings = policy.h2;
    let link = Arc::new(Link::new(Arc::downgrade(core), settings.max_streams, stream.is_movable()));
    let queue = Arc::<Queue>::default();
    let spawner = Spawner::new(queue.clone());
    let head = u32::try_from(policy.h1.max_head_bytes).unwrap_or(u32::MAX);
    let io = TokioIo::new(Watched::new(stream, link.clone()));
    let (sender, connection) = Builder::new(spawner.clone())
        .timer(Clock::new(link.clone()))
        .initial_max_send_streams(NOT_TOLD)
        .initial_stream_window_size(settings.stream_window)
        .initial_connection_window_size(settings.connection_window)
        .keep_alive_interval(settings.keep_alive_interval)
        .keep_alive_timeout(settings.keep_alive_timeout)
        .keep_alive_while_idle(settings.keep_alive_while_idle)
        .max_header_list_size(head)
        .handshake(io)
        .await
        .map_err(io::Error::other)?;
    let (ready, told) = oneshot::channel();
    let (hold, held) = oneshot::channel();
    let frames = spawner.take_first();
    home::settle(&link, Driver::new(frames, connection, queue, link.clone(), ready, held));
    if told.await.is_err() {
        let text = "the server closed the connection, or does not speak HTTP/2";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let slots = link.slots();
    Ok((Stream::new(sender, established, link, Open::new(key), hold), slots))
}
