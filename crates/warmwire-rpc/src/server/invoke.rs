//! One invocation of a handler, which can panic, hang, or be in time.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as Task, Poll, Waker};
use std::time::Instant;

use tokio_util::sync::DropGuard;
use warmwire_amp::message::Reply;
use warmwire_amp::{Fault, Value};

use super::Caller;
use super::handler::Invocation;
use super::registry::Method;

/// A handler that runs.
pub(super) struct Running {
    invocation: Invocation,
    deadline: Option<Instant>,
    /// Tells the handler's context when all of this is over.
    _cancel: Option<DropGuard>,
}

/// Starts a handler, and runs it until it waits for something.
///
/// Most handlers never wait: their reply goes out with the others that were read with them, and no
/// task is made for it.
pub(super) fn start(
    method: &Method,
    caller: Caller<'_>,
    deadline: Option<Instant>,
    arguments: Vec<Value>,
) -> Result<Reply, Running> {
    let started = catch_unwind(AssertUnwindSafe(|| method.invoke(&caller, arguments)));
    let Ok(invocation) = started else {
        return Ok(panicked());
    };
    let mut running = Running { invocation, deadline, _cancel: caller.into_guard() };
    // Whoever goes on with it polls it at once, so nobody need be woken yet.
    match running.poll_guarded(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(reply) => Ok(reply),
        Poll::Pending => Err(running),
    }
}

impl Running {
    /// Runs the handler to its end. Drops it, without a reply, when its caller's time is over: the
    /// caller has ended by its own clock then.
    pub(super) async fn finish(mut self) -> Option<Reply> {
        let deadline = self.deadline;
        let ended = std::future::poll_fn(|cx| self.poll_guarded(cx));
        let Some(deadline) = deadline else {
            return Some(ended.await);
        };
        tokio::time::timeout_at(deadline.into(), ended).await.ok()
    }

    fn poll_guarded(&mut self, cx: &mut Task<'_>) -> Poll<Reply> {
        let invocation = Pin::new(&mut self.invocation);
        match catch_unwind(AssertUnwindSafe(|| invocation.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            // As in axon, a function without a result answers with none.
            Ok(Poll::Ready(Ok(Value::Undefined))) => Poll::Ready(Reply::Results(Vec::new())),
            Ok(Poll::Ready(Ok(value))) => Poll::Ready(Reply::Results(vec![value])),
            Ok(Poll::Ready(Err(fault))) => Poll::Ready(Reply::Fault(fault)),
            Err(_) => Poll::Ready(panicked()),
        }
    }
}

/// What it panicked with is the server's affair: the panic hook has told it there.
fn panicked() -> Reply {
    Reply::Fault(Fault::new("the handler panicked").code("panic"))
}
