//! What all kinds of sockets share: peers that come and go.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warmwire_amp::message::plain;
use warmwire_amp::{FrameWriter, MAX_ARGUMENTS, Value};
use warmwire_net::{Dialer, Endpoint, EndpointError, Listener};

use super::SocketStats;
use super::builder::Options;
use super::pattern::Pattern;
use super::peer::{self, Peer};
use crate::client::{Counter, backoff};
use crate::error::{Error, ErrorKind};

/// How long a peer that connects may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What all kinds of sockets share.
pub(super) struct Core {
    pub(super) options: Options,
    dialer: Arc<Dialer>,
    state: Mutex<State>,
    /// A peer has come, or one has room again.
    pub(super) room: Notify,
    pub(super) counters: Counters,
    /// Where messages go that come in; only of sockets that receive.
    pub(super) incoming: Option<Incoming>,
    /// Whether each message is for one peer alone, so that another can have what one did not get.
    for_one: bool,
    /// Write what there is, and take no more.
    pub(super) closing: CancellationToken,
    /// End at once.
    ending: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Default)]
pub(super) struct State {
    /// In the order in which they came.
    pub(super) peers: Vec<Arc<Peer>>,
    /// Whose turn it is.
    pub(super) turn: usize,
    /// Messages that no peer has room for.
    pub(super) waiting: VecDeque<Bytes>,
    pub(super) waiting_bytes: usize,
    /// Endpoints that are connected to, with what ends that.
    sources: Vec<(Endpoint, CancellationToken)>,
    pub(super) closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) sent: Counter,
    pub(super) received: Counter,
    pub(super) dropped: Counter,
    pub(super) unreadable: Counter,
}

/// A message that came, with what a pattern's stars stand for.
pub(super) struct Message {
    pub(super) values: Vec<Value>,
    pub(super) captures: Vec<String>,
}

/// Where messages go that come in.
pub(super) struct Incoming {
    sender: mpsc::Sender<Message>,
    /// `None`: everything is wanted.
    pub(super) patterns: Option<Mutex<Vec<(String, Pattern)>>>,
}

impl Incoming {
    pub(super) fn sender(&self) -> mpsc::Sender<Message> {
        self.sender.clone()
    }

    /// The message, if it is wanted. As in axon, without any pattern everything is.
    pub(super) fn accept(&self, values: Vec<Value>) -> Option<Message> {
        let Some(patterns) = &self.patterns else {
            return Some(Message { values, captures: Vec::new() });
        };
        let patterns = patterns.lock().unwrap_or_else(PoisonError::into_inner);
        if patterns.is_empty() {
            return Some(Message { values, captures: Vec::new() });
        }
        let topic = topic(values.first()?);
        let captures = patterns.iter().find_map(|(_, pattern)| pattern.captures(&topic))?;
        Some(Message { values, captures })
    }
}

/// The topic of a message: its first argument, as JavaScript would make text of it.
pub(super) fn topic(first: &Value) -> String {
    match first {
        Value::String(text) => text.clone(),
        Value::Buffer(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
    }
}

impl Core {
    pub(super) fn new(options: Options, dialer: Arc<Dialer>) -> Self {
        Self {
            options,
            dialer,
            state: Mutex::default(),
            room: Notify::new(),
            counters: Counters::default(),
            incoming: None,
            for_one: true,
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Makes it receive; what comes is in the receiver that is returned.
    pub(super) fn receive(&mut self, filters: bool) -> mpsc::Receiver<Message> {
        let (sender, receiver) = mpsc::channel(self.options.inbox);
        let patterns = filters.then(Mutex::default);
        self.incoming = Some(Incoming { sender, patterns });
        receiver
    }

    /// Makes its messages be for every peer.
    pub(super) fn publishes(&mut self) {
        self.for_one = false;
    }

    pub(super) async fn bind<E>(self: &Arc<Self>, endpoint: E) -> Result<Endpoint, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let listener = crate::listen(&crate::endpoint(endpoint)?, &self.options.listen).await?;
        let endpoint = listener.local_endpoint().clone();
        self.tasks.spawn(accept(Arc::clone(self), listener));
        Ok(endpoint)
    }

    pub(super) fn connect<E>(self: &Arc<Self>, endpoint: E) -> Result<(), Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let endpoint = crate::endpoint(endpoint)?;
        let ending = self.ending.child_token();
        self.lock().sources.push((endpoint.clone(), ending.clone()));
        self.tasks.spawn(keep(Arc::clone(self), endpoint, ending));
        Ok(())
    }

    pub(super) fn disconnect(&self, endpoint: &Endpoint) -> bool {
        let mut state = self.lock();
        let before = state.sources.len();
        state.sources.retain(|(source, ending)| {
            if source == endpoint {
                ending.cancel();
            }
            source != endpoint
        });
        state.sources.len() < before
    }

    /// The bytes of a message, made once however many peers it is for.
    pub(super) fn encode(&self, values: Vec<Value>) -> Result<Bytes, Error> {
        let wrong = |text: String| Error::new(ErrorKind::Value, text);
        let arguments = plain::arguments(values, MAX_ARGUMENTS);
        let arguments = arguments.map_err(|fault| wrong(fault.message().to_owned()))?;
        let mut out = FrameWriter::default();
        out.frame(&arguments).map_err(|error| wrong(error.to_string()))?;
        let (length, limit) = (out.len(), self.options.max_message);
        if length > limit {
            let text = format!("the message has {length} bytes and may have {limit}");
            return Err(Error::new(ErrorKind::TooLarge, text));
        }
        Ok(out.to_vec().into())
    }

    /// The most messages and bytes that a queue may hold.
    pub(super) fn limits(&self) -> (usize, usize) {
        (self.options.max_messages, self.options.max_bytes)
    }

    /// Gives messages that wait to peers that have room, and lets who waits try.
    pub(super) fn room_is_free(&self) {
        let mut state = self.lock();
        while let Some(first) = state.waiting.front() {
            let length = first.len();
            let Some(peer) = state.next_with_room(length, self.limits()) else { break };
            if let Some(frame) = state.waiting.pop_front() {
                state.waiting_bytes -= length;
                peer.push(frame);
            }
        }
        drop(state);
        self.room.notify_waiters();
    }

    pub(super) fn stats(&self) -> SocketStats {
        let state = self.lock();
        let at_peers: usize = state.peers.iter().map(|peer| peer.waiting()).sum();
        SocketStats {
            peers: state.peers.len(),
            waiting: state.waiting.len() + at_peers,
            sent: self.counters.sent.get(),
            received: self.counters.received.get(),
            dropped: self.counters.dropped.get(),
            unreadable: self.counters.unreadable.get(),
        }
    }

    /// Writes what peers have to get still, and ends. What waits for a peer to come is dropped.
    pub(super) async fn close(&self) {
        self.shut();
        self.tasks.wait().await;
    }

    fn shut(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.counters.dropped.add(state.waiting.len());
        state.waiting.clear();
        state.waiting_bytes = 0;
        drop(state);
        self.closing.cancel();
        self.tasks.close();
        self.room.notify_waiters();
    }

    /// Ends at once.
    pub(super) fn end(&self) {
        self.shut();
        self.ending.cancel();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under it leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next peer in turn that has room.
    pub(super) fn next_with_room(
        &mut self,
        bytes: usize,
        limits: (usize, usize),
    ) -> Option<Arc<Peer>> {
        let count = self.peers.len();
        let offset = (0..count)
            .find(|offset| self.peers[(self.turn + offset) % count].has_room(bytes, limits))?;
        let chosen = (self.turn + offset) % count;
        self.turn = (chosen + 1) % count;
        Some(Arc::clone(&self.peers[chosen]))
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Keeps a connection to `endpoint` open until the socket ends or the endpoint is given up.
async fn keep(core: Arc<Core>, endpoint: Endpoint, ending: CancellationToken) {
    let mut failures = 0;
    loop {
        let dialled = async {
            if failures > 0 {
                tokio::time::sleep(backoff(core.options.backoff, failures)).await;
            }
            core.dialer.dial(&endpoint).await
        };
        let wanted = core.closing.run_until_cancelled(dialled);
        let Some(Some(dialled)) = ending.run_until_cancelled(wanted).await else { return };
        failures += 1;
        let Ok(connected) = dialled else { continue };
        let up = Instant::now();
        serve(&core, connected.stream, ending.clone()).await;
        // One that lived longer than the greatest wait makes no storm.
        if up.elapsed() > core.options.backoff.1 {
            failures = 0;
        }
    }
}

async fn accept(core: Arc<Core>, listener: Listener) {
    // A listening socket that has failed does not recover; who is connected is served on.
    while let Some(Ok(accepted)) = core.closing.run_until_cancelled(listener.accept()).await {
        let for_peer = Arc::clone(&core);
        core.tasks.spawn(async move {
            let handshake = for_peer.closing.run_until_cancelled(accepted.handshake(HANDSHAKE));
            if let Some(Ok((stream, _))) = handshake.await {
                serve(&for_peer, stream, for_peer.ending.child_token()).await;
            }
        });
    }
}

async fn serve<S>(core: &Arc<Core>, stream: S, ending: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let peer = Arc::new(Peer::new(ending));
    core.lock().peers.push(Arc::clone(&peer));
    core.room_is_free();
    let unsent = peer::run(core, &peer, stream).await;
    let mut state = core.lock();
    state.peers.retain(|other| !Arc::ptr_eq(other, &peer));
    if state.closed || !core.for_one {
        core.counters.dropped.add(unsent.len());
    } else {
        // Of these nothing was written, so another peer can have them, before all that wait.
        for frame in unsent.into_iter().rev() {
            state.waiting_bytes += frame.len();
            state.waiting.push_front(frame);
        }
    }
    drop(state);
    core.room_is_free();
}
