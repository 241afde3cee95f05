//! A scripted server in memory, for a program's own tests.
//!
//! [`Mock`] takes the place of the network below an agent: pool, timers, retries and statistics are
//! the real ones. It answers requests in the order of its script, does what bad servers do
//! ([`stall`](Mock::stall), [`reset`](Mock::reset), [`close_after`](Mock::close_after)), keeps what
//! it was asked, and needs no port, no clock but tokio's, and no sleep: under
//! `#[tokio::test(start_paused = true)]` an hour passes at once.
//!
//! ```
//! use warmwire_http::Agent;
//! use warmwire_plugs::mock::{Mock, Reply};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), warmwire_http::Error> {
//! let mock = Mock::new().reply("first").reply(Reply::status(503).header("retry-after", "1"));
//! let agent = mock.install(Agent::builder()).build()?;
//!
//! assert_eq!(agent.get("http://api.test/a").send().await?.text().await?, "first");
//! assert_eq!(agent.post("http://api.test/b").body("x").send().await?.status(), 503);
//!
//! assert_eq!(mock.requests()[1].text(), "x");
//! assert_eq!(mock.connections(), 1); // the second request went over the first one's connection
//! mock.assert_all_used();
//! # Ok(()) }
//! ```

mod client;
mod recorded;
mod reply;
mod server;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warmwire_http::{AgentBuilder, BoxFuture, Connect, ConnectTarget, Io, Resolve, Resolved};

pub use recorded::Recorded;
pub use reply::Reply;

/// What each connection holds of bytes that the other side has not read yet, as sockets do.
const PIPE: usize = 64 * 1024;

/// From the block that RFC 5737 sets aside for documentation: no name of a test is looked up.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// A scripted server in memory.
///
/// A handle: clones share the script and the record. One is given to an agent as its connector and
/// resolver by [`install`](Self::install); all origins with `http://` lead to it. It speaks no TLS:
/// a test of a program that calls `https://` makes the scheme a setting.
///
/// Steps are taken in their order by the requests in the order of their arrival, whatever their
/// connection. A request for which no step is left gets what [`otherwise`](Self::otherwise) says,
/// or a 501 that tells so, and lets [`assert_all_used`](Self::assert_all_used) fail.
#[derive(Clone, Default)]
pub struct Mock(Arc<Shared>);

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    /// How many of the next connects are refused.
    refusals: usize,
    close_after: Option<Duration>,
    otherwise: Option<Arc<Otherwise>>,
    connections: usize,
    requests: Vec<Recorded>,
    /// Method and path of each request for which there was nothing in the script.
    unexpected: Vec<String>,
}

type Otherwise = dyn Fn(&Recorded) -> Reply + Send + Sync;

/// What the next request meets.
#[derive(Clone, Debug)]
enum Step {
    Reply(Box<Reply>),
    Stall,
    Reset,
    Close,
}

impl Mock {
    /// A server that answers nothing yet.
    pub fn new() -> Mock {
        Mock::default()
    }

    /// Answers the next request: with a text, bytes, a status, an [`http::Response`] or a
    /// [`Reply`].
    pub fn reply(self, reply: impl Into<Reply>) -> Mock {
        self.step(Step::Reply(Box::new(reply.into())))
    }

    /// Reads the next request and never answers; the connection stays open.
    pub fn stall(self) -> Mock {
        self.step(Step::Stall)
    }

    /// Reads the next request and resets the connection.
    pub fn reset(self) -> Mock {
        self.step(Step::Reset)
    }

    /// Reads the next request and closes the connection without an answer.
    pub fn close(self) -> Mock {
        self.step(Step::Close)
    }

    /// Refuses the next connect that is not refused by an earlier call.
    pub fn refuse(self) -> Mock {
        self.with(|state| state.refusals += 1);
        self
    }

    /// Closes each connection that was idle for so long, as servers do; default: never.
    pub fn close_after(self, idle: Duration) -> Mock {
        self.with(|state| state.close_after = Some(idle));
        self
    }

    /// Answers every request for which the script has no step; such requests are no fault then.
    pub fn otherwise(self, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Mock {
        self.with(|state| state.otherwise = Some(Arc::new(answer)));
        self
    }

    /// Makes the agent that is being built use this server for every origin. Options that are
    /// about sockets have no effect then.
    pub fn install(&self, builder: AgentBuilder) -> AgentBuilder {
        builder.connector(self.clone()).resolver(self.clone())
    }

    /// All requests that have come, in the order in which they were complete.
    pub fn requests(&self) -> Vec<Recorded> {
        self.with(|state| state.requests.clone())
    }

    /// How many connections were opened, refused ones not counted.
    pub fn connections(&self) -> usize {
        self.with(|state| state.connections)
    }

    /// Whether every step was taken and every request met one.
    ///
    /// # Panics
    ///
    /// If not; the text names what is left and what was not expected.
    #[track_caller]
    pub fn assert_all_used(&self) {
        let (left, refusals, unexpected) = self.with(|state| {
            let left: Vec<String> = state.script.iter().map(Step::to_string).collect();
            (left, state.refusals, state.unexpected.clone())
        });
        assert!(
            left.is_empty() && refusals == 0 && unexpected.is_empty(),
            "the mock's script and the requests differ: steps left: [{}]; refusals left: \
             {refusals}; requests without a step: [{}]",
            left.join(", "),
            unexpected.join(", "),
        );
    }

    fn step(self, step: Step) -> Mock {
        self.with(|state| state.script.push_back(step));
        self
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panics with the lock held has failed already; others may still read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and says what is to become of it.
    fn meet(&self, request: &Recorded) -> Step {
        let (step, otherwise) = {
            let mut state = self.lock();
            state.requests.push(request.clone());
            let step = state.script.pop_front();
            if step.is_none() && state.otherwise.is_none() {
                state.unexpected.push(request.to_string());
            }
            (step, state.otherwise.clone())
        };
        // The caller's closure runs outside the lock: it may ask the mock.
        step.unwrap_or_else(|| {
            let reply = otherwise.map_or_else(
                || Reply::status(501).body(format!("the mock has no step left for {request}")),
                |answer| answer(request),
            );
            Step::Reply(Box::new(reply))
        })
    }
}

impl Connect for Mock {
    fn connect(&self, _: ConnectTarget) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let shared = self.0.clone();
        Box::pin(async move {
            let connection = {
                let mut state = shared.lock();
                if state.refusals > 0 {
                    state.refusals -= 1;
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                state.connections += 1;
                state.connections
            };
            let (client, server) = client::pipe(PIPE);
            tokio::spawn(server::serve(shared, connection, server));
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

impl Resolve for Mock {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        Box::pin(std::future::ready(Ok(vec![ADDRESS].into())))
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Mock")
            .field("script", &state.script)
            .field("connections", &state.connections)
            .field("requests", &state.requests.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Reply(reply) => write!(f, "reply {}", reply.status_code()),
            Step::Stall => f.write_str("stall"),
            Step::Reset => f.write_str("reset"),
            Step::Close => f.write_str("close"),
        }
    }
}
