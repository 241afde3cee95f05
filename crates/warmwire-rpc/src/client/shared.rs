//! What all handles of a client share: its connections and the calls that wait for one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warmwire_amp::message::Request;
use warmwire_amp::{Argument, Value};
use warmwire_net::{Connected, Dialer, Endpoint};

use super::builder::{Options, QueuePolicy};
use super::event::Event;
use super::keeper;
use super::link::{Asked, Link, Refused, Ticket};
use super::stats::Counters;
use crate::error::{Error, ErrorKind};

/// A peer that is connected to.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) endpoint: Endpoint,
    /// Ends its connections and the attempts to make others.
    pub(crate) ending: CancellationToken,
}

/// What all handles of a client share.
pub(crate) struct Shared {
    /// The first endpoint, by which errors name the peer.
    pub(crate) endpoint: Endpoint,
    pub(crate) options: Options,
    pub(crate) dialer: Dialer,
    state: Mutex<State>,
    /// Calls that wait, readable without the lock.
    waiting: AtomicUsize,
    pub(crate) counters: Counters,
    /// Let the calls under way end, take no more.
    pub(crate) closing: CancellationToken,
    /// End at once.
    pub(crate) ending: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) links: Vec<Arc<Link>>,
    /// In the order in which they came; the first is served first.
    waiting: BTreeMap<u64, Waiting>,
    waiting_bytes: usize,
    next_ticket: u64,
    /// Why there is no connection, if the last attempt failed.
    pub(crate) last_error: Option<String>,
    pub(crate) sources: Vec<Arc<Source>>,
    /// Tasks that may still bring a connection.
    pub(crate) keepers: usize,
    closed: bool,
}

struct Waiting {
    waker: Waker,
    bytes: usize,
}

/// Where a call stands.
pub(crate) enum Begun {
    /// It is under way. `None` for one without a reply.
    Sent(Option<Ticket>),
    /// It has this place in the queue.
    Waits(u64),
    Failed(Error),
}

/// What a call wants to send.
pub(crate) struct Wanted<'a> {
    pub(crate) request: &'a Asked,
    pub(crate) deadline: Option<Instant>,
    pub(crate) replies: bool,
    /// Its place in the queue, if it waits already.
    pub(crate) place: Option<u64>,
}

impl Shared {
    pub(crate) fn new(endpoint: Endpoint, options: Options, dialer: Dialer) -> Self {
        Self {
            endpoint,
            options,
            dialer,
            state: Mutex::default(),
            waiting: AtomicUsize::new(0),
            counters: Counters::default(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Connects to a peer, as often as the pool says.
    pub(crate) fn add_source(self: &Arc<Self>, endpoint: Endpoint, first: Option<Connected>) {
        let source = Arc::new(Source { endpoint, ending: self.ending.child_token() });
        let mut state = self.lock();
        state.sources.push(Arc::clone(&source));
        state.keepers += self.options.pool;
        drop(state);
        let mut first = first.map(|connected| keeper::adopt(self, connected.stream));
        for _ in 0..self.options.pool {
            let kept = keeper::keep(Arc::clone(self), Arc::clone(&source), first.take());
            self.tasks.spawn(kept);
        }
    }

    /// Sends a request on the connection with the fewest calls in flight, or gives it a place in
    /// the queue.
    pub(crate) fn begin(&self, wanted: &Wanted<'_>, cx: &mut Context<'_>) -> Begun {
        loop {
            let mut state = self.lock();
            if let Some(error) = self.over(&state, wanted.place) {
                state.leave(wanted.place);
                self.publish(&state);
                return Begun::Failed(error);
            }
            let Some(link) = state.choose(wanted.place, self.options.max_in_flight) else {
                let begun = self.wait(&mut state, wanted, cx);
                self.publish(&state);
                return begun;
            };
            drop(state);
            let max = self.options.max_message;
            let sent = match wanted.replies {
                true => link.send(wanted.request, wanted.deadline, max).map(Some),
                false => link.send_only(wanted.request, max).map(|()| None),
            };
            match sent {
                // The link has changed meanwhile, and shows so.
                Err(Refused::Busy) => {}
                Ok(ticket) => {
                    self.leave(wanted.place);
                    return Begun::Sent(ticket);
                }
                Err(Refused::TooLarge(error)) => {
                    self.leave(wanted.place);
                    let error = Error::new(ErrorKind::TooLarge, error.to_string());
                    return Begun::Failed(error);
                }
            }
        }
    }

    /// Why nothing can be sent any more, if so.
    fn over(&self, state: &State, place: Option<u64>) -> Option<Error> {
        if state.closed {
            return Some(Error::new(ErrorKind::Closed, "the client was closed"));
        }
        if state.keepers == 0 && state.links.is_empty() {
            let why = state.last_error.as_deref().unwrap_or("the connection ended");
            return Some(Error::new(ErrorKind::Disconnected, format!("not connected: {why}")));
        }
        if place.is_some_and(|place| !state.waiting.contains_key(&place)) {
            return Some(queue_full("a newer call took its place"));
        }
        None
    }

    fn wait(&self, state: &mut State, wanted: &Wanted<'_>, cx: &mut Context<'_>) -> Begun {
        if let Some(place) = wanted.place {
            if let Some(waiting) = state.waiting.get_mut(&place) {
                waiting.waker.clone_from(cx.waker());
            }
            return Begun::Waits(place);
        }
        let queue = &self.options.queue;
        let bytes = weight(wanted.request);
        let is_full = |state: &State| {
            state.waiting.len() >= queue.max_calls
                || state.waiting_bytes.saturating_add(bytes) > queue.max_bytes
        };
        match queue.policy {
            QueuePolicy::Wait => {}
            QueuePolicy::Off => return Begun::Failed(self.no_connection(state)),
            QueuePolicy::DropNew if is_full(state) => {
                return Begun::Failed(queue_full(&format!(
                    "{} calls with {} bytes wait already",
                    state.waiting.len(),
                    state.waiting_bytes
                )));
            }
            QueuePolicy::DropNew => {}
            QueuePolicy::DropOld => {
                while is_full(state) && !state.waiting.is_empty() {
                    state.drop_oldest();
                }
                if is_full(state) {
                    return Begun::Failed(queue_full("it is larger than the whole queue"));
                }
            }
        }
        let place = state.next_ticket;
        state.next_ticket += 1;
        state.waiting_bytes += bytes;
        let waiting = Waiting { waker: cx.waker().clone(), bytes };
        state.waiting.insert(place, waiting);
        Begun::Waits(place)
    }

    fn no_connection(&self, state: &State) -> Error {
        if state.links.is_empty() {
            let why = state.last_error.as_deref().unwrap_or("no connection is open yet");
            Error::new(ErrorKind::Disconnected, format!("not connected: {why}"))
        } else {
            queue_full("every connection is full, and the queue is off")
        }
    }

    /// Gives a place in the queue up, and the turn on to who is first now.
    pub(crate) fn leave(&self, place: Option<u64>) {
        if place.is_some() {
            let mut state = self.lock();
            state.leave(place);
            self.publish(&state);
        }
    }

    /// Something may be sent again: whoever waits longest tries.
    pub(crate) fn room_is_free(&self) {
        if self.waiting.load(Acquire) > 0 {
            self.lock().wake_first();
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Acquire)
    }

    /// Shows how many wait, which `room_is_free` reads without the lock.
    fn publish(&self, state: &State) {
        self.waiting.store(state.waiting.len(), Release);
    }

    pub(crate) fn connected(&self, link: Arc<Link>) {
        let mut state = self.lock();
        state.last_error = None;
        state.links.push(link);
        state.wake_first();
    }

    pub(crate) fn disconnected(&self, link: &Arc<Link>, why: &str) {
        let mut state = self.lock();
        let before = state.links.len();
        state.links.retain(|other| !Arc::ptr_eq(other, link));
        if state.links.len() < before {
            state.last_error = Some(why.to_owned());
        }
    }

    pub(crate) fn connect_failed(&self, why: &str) {
        self.lock().last_error = Some(why.to_owned());
    }

    /// One task fewer can bring a connection; with the last one nobody need wait any more.
    pub(crate) fn keeper_ended(&self) {
        let mut state = self.lock();
        state.keepers -= 1;
        if state.keepers == 0 {
            state.wake_all();
        }
    }

    /// Calls that wait end, and so does every one that comes.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.wake_all();
        drop(state);
        self.closing.cancel();
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        if let Some(listener) = &self.options.on_event {
            listener(event);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under it leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The connection with the fewest calls in flight, if it is this call's turn.
    fn choose(&self, place: Option<u64>, max_in_flight: usize) -> Option<Arc<Link>> {
        let first = self.waiting.first_key_value().map(|(place, _)| *place);
        if first.is_some() && first != place {
            return None;
        }
        let with_room = self.links.iter().filter(|link| link.has_room(max_in_flight));
        with_room.min_by_key(|link| link.in_flight()).cloned()
    }

    fn leave(&mut self, place: Option<u64>) {
        if let Some(left) = place.and_then(|place| self.waiting.remove(&place)) {
            self.waiting_bytes -= left.bytes;
            self.wake_first();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, oldest)) = self.waiting.pop_first() {
            self.waiting_bytes -= oldest.bytes;
            // It finds its place gone.
            oldest.waker.wake();
        }
    }

    fn wake_first(&self) {
        if let Some((_, first)) = self.waiting.first_key_value() {
            first.waker.wake_by_ref();
        }
    }

    fn wake_all(&self) {
        for waiting in self.waiting.values() {
            waiting.waker.wake_by_ref();
        }
    }
}

fn queue_full(why: &str) -> Error {
    Error::new(ErrorKind::QueueFull, format!("the queue is full: {why}"))
}

/// About how many bytes a request keeps while it waits.
fn weight(request: &Asked) -> usize {
    fn of(value: &Value) -> usize {
        let inner = match value {
            Value::String(text) => text.len(),
            Value::Buffer(bytes) => bytes.len(),
            Value::Array(elements) => elements.iter().map(of).sum(),
            Value::Object(object) => object.iter().map(|(key, value)| key.len() + of(value)).sum(),
            Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        inner + size_of::<Value>()
    }
    match request {
        Asked::Rpc(Request::Call(call)) => {
            call.method.len() + call.arguments.iter().map(of).sum::<usize>()
        }
        Asked::Rpc(Request::Methods | Request::Ping | Request::Cancel) => 0,
        Asked::Plain(arguments) => arguments
            .iter()
            .map(|argument| match argument {
                Argument::Text(text) => text.len(),
                Argument::Raw(bytes) => bytes.len(),
                Argument::Json(value) => of(value),
            })
            .sum(),
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
