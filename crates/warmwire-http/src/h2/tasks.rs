//! Futures that run as one task: a connection's own and those of its requests.
//!
//! They go together where the connection goes, which tasks of their own would not, and a wake from
//! within, as of a request whose response was just read, costs no trip through the runtime.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use hyper::rt::Executor;

pub(super) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The futures of a connection's requests.
pub(super) struct Tasks {
    queue: Arc<Queue>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Kept for their room.
    new: Vec<Task>,
    ready: Vec<usize>,
}

struct Slot {
    task: Option<Task>,
    signal: Arc<Signal>,
    waker: Waker,
}

/// Who is to be polled.
#[derive(Default)]
pub(super) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    new: Vec<Task>,
    ready: Vec<usize>,
    /// The task that they run in, while it rests.
    parent: Option<Waker>,
}

impl Queue {
    /// Wakes do not reach the task any more: it looks itself before it [rests](Self::rest).
    pub(super) fn hold(&self) {
        self.lock().parent = None;
    }

    /// Has `parent` woken from now on; `false` if there is something to do already, as `also` may
    /// know too.
    pub(super) fn rest(&self, parent: &Waker, also: impl FnOnce() -> bool) -> bool {
        let mut state = self.lock();
        if also() || !state.new.is_empty() || !state.ready.is_empty() {
            return false;
        }
        state.parent = Some(parent.clone());
        true
    }

    fn wake(&self, change: impl FnOnce(&mut State)) {
        let parent = {
            let mut state = self.lock();
            change(&mut state);
            state.parent.take()
        };
        if let Some(parent) = parent {
            parent.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where one future's wakes arrive.
pub(super) struct Signal {
    queue: Arc<Queue>,
    /// Its place among the [`Tasks`]; `None` for one that is looked at without a list.
    index: Option<usize>,
    raised: AtomicBool,
}

impl Signal {
    fn new(queue: Arc<Queue>, index: Option<usize>) -> Arc<Signal> {
        Arc::new(Signal { queue, index, raised: AtomicBool::new(false) })
    }

    /// One that was raised, for a future that was not polled yet.
    pub(super) fn raised(queue: Arc<Queue>) -> Arc<Signal> {
        let signal = Signal::new(queue, None);
        signal.raise();
        signal
    }

    pub(super) fn raise(&self) {
        self.raised.store(true, Ordering::Release);
    }

    pub(super) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Whether the future was woken since this was last asked.
    pub(super) fn take(&self) -> bool {
        self.raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            self.queue.wake(|state| state.ready.extend(self.index));
        }
    }
}

impl Tasks {
    pub(super) fn new(queue: Arc<Queue>) -> Tasks {
        let (slots, free, new, ready) = Default::default();
        Tasks { queue, slots, free, new, ready }
    }

    /// Polls once who is new or was woken.
    pub(super) fn run(&mut self) {
        {
            let mut state = self.queue.lock();
            std::mem::swap(&mut state.new, &mut self.new);
            std::mem::swap(&mut state.ready, &mut self.ready);
        }
        let (mut new, mut ready) = (std::mem::take(&mut self.new), std::mem::take(&mut self.ready));
        for index in ready.drain(..) {
            if let Some(task) = self.slots[index].task.take() {
                self.poll(index, task);
            }
        }
        for task in new.drain(..) {
            let index = self.free.pop().unwrap_or_else(|| self.grow());
            self.poll(index, task);
        }
        (self.new, self.ready) = (new, ready);
    }

    fn grow(&mut self) -> usize {
        let index = self.slots.len();
        let signal = Signal::new(self.queue.clone(), Some(index));
        let waker = Waker::from(signal.clone());
        self.slots.push(Slot { task: None, signal, waker });
        index
    }

    fn poll(&mut self, index: usize, mut task: Task) {
        let slot = &mut self.slots[index];
        slot.signal.take();
        let mut cx = Context::from_waker(&slot.waker);
        match task.as_mut().poll(&mut cx) {
            Poll::Pending => slot.task = Some(task),
            Poll::Ready(()) => self.free.push(index),
        }
    }
}

/// Takes what hyper would have spawned.
#[derive(Clone)]
pub(super) struct Spawner(Arc<Queue>);

impl Spawner {
    pub(super) fn new(queue: Arc<Queue>) -> Spawner {
        Spawner(queue)
    }

    /// The first task of all, which hyper hands over while it opens the connection.
    pub(super) fn take_first(&self) -> Option<Task> {
        self.0.lock().new.pop()
    }
}

impl<F> Executor<F> for Spawner
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let task: Task = Box::pin(future);
        self.0.wake(|state| state.new.push(task));
    }
}
