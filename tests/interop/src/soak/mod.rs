//! An agent at full speed against servers that misbehave in every way that has a script, with callers
//! who cancel, drop and interfere.
//!
//! What is asserted is what must hold whatever happens, and however slow the machine is:
//!
//! - no limit is exceeded, as the agent counts and as a connector does;
//! - every response is the request's own, to its last byte;
//! - a POST that is not marked runs once at most, and none that was answered did not run;
//! - the numbers add up, with themselves and with what the servers have counted;
//! - after each round nothing is left: no place taken, no request waiting, no connection that only
//!   one of agent, kernel and servers has; and the same agent serves at full width;
//! - memory does not grow from round to round.

mod body;
mod client;
mod counted;
mod ledger;
mod memory;
mod random;
mod report;
mod server;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use warmwire::Agent;
use warmwire::http::{OriginStats, RequestBuilder, Stats};

use self::client::{ANSWERED, CANCELLED, Outcomes, Worker, interfere};
use self::counted::Gauges;
use self::ledger::Ledger;
use self::memory::Memory;
use self::random::Random;
pub use self::report::Report;

const SERVERS: u64 = 3;
const WORKERS: u64 = 64;
/// Per server; below what the workers want, so that they wait.
const MAX_CONNECTIONS: usize = 12;
const MAX_TOTAL: usize = 30;
const MAX_WAITING: usize = 40;

/// How long anything may take that should take no time.
const GUARD: Duration = Duration::from_secs(120);

/// By which way the agent reaches the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its own sockets, as users have it.
    Sockets,
    /// A connector that counts at every moment how many are open.
    Counted,
}

/// What to soak.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Does not make a second run the same: the threads are the machine's to schedule.
    pub seed: u64,
    /// By which way.
    pub way: Way,
    /// Rounds begin until this has passed, three at least.
    pub time: Duration,
    /// Requests of each of the 64 workers in each round.
    pub requests: u64,
    /// How many bytes the heap has in use, for which the binary's allocator has to count them.
    pub allocated: fn() -> usize,
}

/// Soaks.
///
/// # Errors
///
/// When the machine has no sockets or does not tell of them.
///
/// # Panics
///
/// When something happens that must not, with the seed.
pub async fn run(plan: Plan) -> io::Result<Report> {
    let told = Told(plan.seed);
    let began = Instant::now();
    let soak = Soak::start(plan).await?;
    let (mut outcomes, mut memory) = (Outcomes::default(), Memory::new(plan.allocated));
    let mut rounds = 0;
    while rounds < 3 || began.elapsed() < plan.time {
        outcomes.add(&soak.work(rounds).await);
        soak.come_to_rest().await?;
        soak.serve_at_full_width().await;
        soak.come_to_rest().await?;
        memory.sample();
        rounds += 1;
    }
    memory.check();
    let mut report = soak.end(outcomes, memory).await?;
    (report.took, report.rounds) = (began.elapsed(), rounds);
    std::mem::forget(told);
    Ok(report)
}

/// Tells the seed when a soak fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        let told = format!("the seed of the soak that failed is {}\n", self.0);
        // Without standard error nobody is to be told.
        let _ = io::Write::write_all(&mut io::stderr(), told.as_bytes());
    }
}

struct Soak {
    agent: Agent,
    servers: Arc<[SocketAddr]>,
    ledger: Arc<Ledger>,
    gauges: Gauges,
    plan: Plan,
}

impl Soak {
    async fn start(plan: Plan) -> io::Result<Soak> {
        let ledger = Arc::new(Ledger::new());
        let mut servers = Vec::new();
        for server in 0..SERVERS {
            servers.push(server::start(ledger.clone(), plan.seed ^ ((server + 1) << 32)).await?);
        }
        let gauges = Gauges::new(&servers);
        let builder = Agent::builder()
            .max_connections(MAX_CONNECTIONS)
            .max_total_connections(MAX_TOTAL)
            .max_waiting(MAX_WAITING)
            .max_idle(8)
            .min_idle(1)
            .max_lifetime(Duration::from_secs(2))
            .max_requests_per_connection(40)
            .acquire_timeout(Duration::from_secs(2))
            .response_timeout(Duration::from_millis(100))
            .read_timeout(Duration::from_millis(150))
            .timeout(Duration::from_secs(3));
        let builder = match plan.way {
            Way::Sockets => builder,
            Way::Counted => builder.connector(gauges.clone()),
        };
        let agent = builder.build().expect("the settings are valid");
        Ok(Soak { agent, servers: servers.into(), ledger, gauges, plan })
    }

    fn worker(&self, seed: u64) -> Worker {
        Worker {
            agent: self.agent.clone(),
            servers: self.servers.clone(),
            ledger: self.ledger.clone(),
            random: Random::new(self.plan.seed ^ seed),
            outcomes: Outcomes::default(),
        }
    }

    /// One round of every mischief.
    async fn work(&self, round: u64) -> Outcomes {
        self.ledger.polite.store(false, Ordering::Relaxed);
        let stop = Arc::new(AtomicBool::new(false));
        let seed = |worker: u64| (round << 32) ^ (worker << 16);
        let workers: Vec<_> = (1..=WORKERS)
            .map(|number| tokio::spawn(self.worker(seed(number)).run(self.plan.requests)))
            .collect();
        let meddler = Random::new(!self.plan.seed ^ round);
        let meddling = interfere(self.agent.clone(), self.servers.clone(), meddler, stop.clone());
        let meddling = tokio::spawn(meddling);
        let mut outcomes = Outcomes::default();
        for mut worker in workers {
            let began = Instant::now();
            let worker = loop {
                check(&self.agent.stats());
                self.check_gauges();
                match timeout(Duration::from_millis(20), &mut worker).await {
                    Ok(ended) => break ended,
                    Err(_) => assert!(began.elapsed() < GUARD, "a worker hangs"),
                }
            };
            outcomes.add(&worker.expect("a worker has told what is wrong"));
        }
        stop.store(true, Ordering::Relaxed);
        meddling.await.expect("who interferes asserts nothing");
        outcomes
    }

    /// The limits as the connector sees them: exactly, and at every moment until now.
    fn check_gauges(&self) {
        let most = self.gauges.of.iter().map(|(_, gauge)| gauge.most()).max().unwrap_or(0);
        let all = self.gauges.all.most();
        assert!(most <= MAX_CONNECTIONS, "{most} connections: {}", self.agent.stats());
        assert!(all <= MAX_TOTAL, "{all} connections: {}", self.agent.stats());
    }

    /// Until all that was going on has ended, by itself. Then agent, kernel and servers, who each
    /// count for themselves, have the same connections.
    async fn come_to_rest(&self) -> io::Result<()> {
        self.ledger.polite.store(true, Ordering::Relaxed);
        let began = Instant::now();
        loop {
            // What was misbehaved on is still open.
            self.agent.close_idle();
            let stats = self.agent.stats();
            check(&stats);
            let (busy, held) = (stats.total.active + stats.total.connecting, self.held()?);
            let same = held.iter().all(|held| *held == stats.total.open);
            if busy + stats.total.waiting + stats.total.held == 0 && same {
                return Ok(());
            }
            assert!(began.elapsed() < GUARD, "it does not come to rest, {held:?}: {stats}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// How many connections there are, by everybody but the agent.
    fn held(&self) -> io::Result<Vec<usize>> {
        let mut kernel = 0;
        for server in self.servers.iter() {
            kernel += memory::connections_to(*server)?;
        }
        let mut held = vec![kernel, self.ledger.serving.load(Ordering::SeqCst)];
        if self.plan.way == Way::Counted {
            held.push(self.gauges.all.taken());
        }
        Ok(held)
    }

    /// Every place that was lost on the way is missing here.
    async fn serve_at_full_width(&self) {
        for server in self.servers.iter() {
            for _ in 0..5 {
                let requests: Vec<_> = (0..MAX_CONNECTIONS)
                    .map(|_| tokio::spawn(self.patient_request(*server).send()))
                    .collect();
                for request in requests {
                    let response = timeout(GUARD, request).await.expect("a request hangs");
                    let response = response.expect("no task panics");
                    let response = response.expect("the servers are polite now");
                    response.bytes().await.expect("the servers are polite now");
                }
            }
        }
    }

    /// One that no noise on the machine can end.
    fn patient_request(&self, server: SocketAddr) -> RequestBuilder {
        let id = self.ledger.id();
        let request = self.agent.get(format!("http://{server}/{id}"));
        let request = request.header("x-id", id.to_string()).timeout(GUARD).acquire_timeout(GUARD);
        request.response_timeout(GUARD).read_timeout(GUARD)
    }

    async fn end(self, outcomes: Outcomes, memory: Memory) -> io::Result<Report> {
        timeout(GUARD, self.agent.close()).await.expect("a place is never given back");
        self.come_to_rest().await?;
        let stats = self.agent.stats();
        let total = stats.total;
        assert_eq!(total.open, 0, "something is left: {total:#?}");
        let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let (accepted, heads) = (count(&self.ledger.accepted), count(&self.ledger.heads));
        assert!(accepted >= total.opened, "the servers saw {accepted} connections: {total:#?}");
        // A repeat's dial ends with its request, and may have reached the server by then; so may a
        // dial that ends with the agent.
        let lost_dials = outcomes.get(CANCELLED) + total.timeouts.total + MAX_TOTAL as u64;
        assert!(
            accepted <= total.opened + lost_dials,
            "the servers saw {accepted} connections: {total:#?}"
        );
        assert!(heads <= total.requests, "the servers saw {heads} requests: {total:#?}");
        let answered = outcomes.get(ANSWERED);
        assert!(answered <= heads, "{answered} answers to {heads} requests");
        assert!(answered > 0, "nothing was answered");
        assert_eq!(count(&self.ledger.ran_twice), 0, "POSTs ran twice");
        let most_to_one = self.gauges.of.iter().map(|(_, gauge)| gauge.most()).max().unwrap_or(0);
        Ok(Report {
            plan: self.plan,
            took: Duration::ZERO,
            rounds: 0,
            outcomes,
            total,
            accepted,
            heads,
            repeated: count(&self.ledger.repeated),
            most: (self.plan.way == Way::Counted).then(|| (most_to_one, self.gauges.all.most())),
            memory,
        })
    }
}

/// What holds in every snapshot.
fn check(stats: &Stats) {
    let one = |of: &OriginStats| {
        assert_eq!(of.opened, of.closed.total() + of.open as u64, "{of:#?}");
        assert_eq!(of.open, of.idle + of.active, "{of:#?}");
        assert!(of.reused <= of.requests, "{of:#?}");
        assert!(of.waiting <= SERVERS as usize * MAX_WAITING, "{of:#?}");
    };
    for of in stats.origins.values() {
        one(of);
        assert!(of.open + of.connecting <= MAX_CONNECTIONS, "{of:#?}");
        assert!(of.max_open <= MAX_CONNECTIONS && of.waiting <= MAX_WAITING, "{of:#?}");
    }
    one(&stats.total);
    assert!(stats.total.open + stats.total.connecting <= MAX_TOTAL, "{:#?}", stats.total);
    assert!(stats.total.max_open <= MAX_TOTAL, "{:#?}", stats.total);
}
