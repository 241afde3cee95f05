//! Callers who do all that callers do, and check what they get.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use warmwire::Agent;
use warmwire::http::{Error, Response};

use super::body::Check;
use super::ledger::Ledger;
use super::random::Random;

/// What became of the requests of a worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes(pub(super) BTreeMap<&'static str, u64>);

impl Outcomes {
    fn note(&mut self, outcome: &'static str) {
        *self.0.entry(outcome).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Outcomes) {
        for (outcome, count) in &other.0 {
            *self.0.entry(outcome).or_default() += count;
        }
    }

    pub(super) fn get(&self, outcome: &str) -> u64 {
        self.0.get(outcome).copied().unwrap_or(0)
    }
}

pub(super) const ANSWERED: &str = "answered";
pub(super) const CANCELLED: &str = "cancelled";

/// One of those who use the agent.
pub(super) struct Worker {
    pub(super) agent: Agent,
    pub(super) servers: Arc<[SocketAddr]>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) random: Random,
    pub(super) outcomes: Outcomes,
}

impl Worker {
    /// Sends so many requests, one after the other.
    ///
    /// # Panics
    ///
    /// When something happens that must not.
    pub(super) async fn run(mut self, requests: u64) -> Outcomes {
        for _ in 0..requests {
            let patience = Duration::from_micros(200 * self.random.below(40));
            let impatient = self.random.once_in(12);
            let (id, request) = self.request();
            let outcome = match impatient {
                // Dropped at whatever it is doing then.
                true => timeout(patience, self.exchange(id, request)).await.unwrap_or(CANCELLED),
                false => self.exchange(id, request).await,
            };
            self.outcomes.note(outcome);
        }
        self.outcomes
    }

    fn request(&mut self) -> (u64, warmwire::http::RequestBuilder) {
        let id = self.ledger.id();
        let server = self.servers[self.random.below(self.servers.len() as u64) as usize];
        let url = format!("http://{server}/{id}");
        let request = match self.random.below(3) {
            0 => {
                let length = self.random.below(20_000) as usize;
                self.agent.post(url).body(vec![b'x'; length])
            }
            1 => {
                let request = self.agent.post(url).body("marked").header("x-marked", "1");
                request.idempotent(true)
            }
            _ => self.agent.get(url),
        };
        (id, request.header("x-id", id.to_string()))
    }

    async fn exchange(&mut self, id: u64, request: warmwire::http::RequestBuilder) -> &'static str {
        match request.send().await {
            Ok(response) => match self.read(id, response).await {
                Ok(outcome) => outcome,
                Err(error) => error.kind().as_str(),
            },
            Err(error) => error.kind().as_str(),
        }
    }

    /// Reads the response, or some of it, or drops it.
    async fn read(&mut self, id: u64, mut response: Response) -> Result<&'static str, Error> {
        if response.status() == 408 {
            // Crossed the request on its way; nothing else is said without an id.
            return Ok("answered by a goodbye");
        }
        let number = |name: &str| -> Option<u64> {
            response.headers().get(name)?.to_str().ok()?.parse().ok()
        };
        assert_eq!(number("x-id"), Some(id), "a response to somebody else");
        assert!(self.ledger.has_run(id), "an answer to {id}, which the server has not seen");
        let length = number("x-length").or(response.content_length());
        let mut pieces = match self.random.below(10) {
            0 => return Ok("dropped unread"),
            1 => 1,
            _ => u64::MAX,
        };
        if self.random.once_in(40) {
            sleep(Duration::from_micros(100 * self.random.below(200))).await;
        }
        let mut check = Check::new(id);
        while let Some(piece) = response.chunk().await? {
            assert!(check.takes(&piece), "{id} has got foreign bytes");
            pieces -= 1;
            if pieces == 0 {
                return Ok("dropped within the body");
            }
        }
        let came = check.length() as u64;
        assert!(length.is_none_or(|length| length == came), "{id} has {came} of {length:?} bytes");
        Ok(ANSWERED)
    }
}

/// Interferes with the pool until it is told to stop.
pub(super) async fn interfere(
    agent: Agent,
    servers: Arc<[SocketAddr]>,
    mut random: Random,
    stop: Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(1 + random.below(20))).await;
        match random.below(8) {
            0 => {
                agent.close_idle();
            }
            1 => {
                let server = servers[random.below(servers.len() as u64) as usize];
                agent.evict_origin(format!("http://{server}/")).expect("it is a URL");
            }
            2 | 3 => {
                agent.evict(|_| random.once_in(5));
            }
            4 => {
                let server = servers[random.below(servers.len() as u64) as usize];
                // Fails where the limits leave no room, as it should.
                let _ = agent.warm(format!("http://{server}/"), 4).await;
            }
            _ => {}
        }
    }
}
