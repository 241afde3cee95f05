//! Names and their addresses: spread, set back, lost.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use warmwire_http::{
    Agent, BoxFuture, CloseReason, ErrorKind, Resolve, Resolved, Scheduling, Spread, Tls,
};
use warmwire_testkit::{BlackHole, Certificates, Peer, Server};

use crate::http2;
use crate::support::{get, until};

/// The loopback address that ends so.
fn local(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))
}

/// A name whose addresses a test changes.
#[derive(Clone)]
struct Name {
    answer: Arc<Mutex<Resolved>>,
    asked: Arc<Mutex<usize>>,
}

impl Name {
    fn new(addresses: &[IpAddr], ttl: Duration) -> Name {
        let answer = Resolved::new(addresses.to_vec(), Some(ttl));
        Name { answer: Arc::new(Mutex::new(answer)), asked: Arc::default() }
    }

    fn becomes(&self, addresses: &[IpAddr]) {
        self.answer.lock().unwrap().addresses = addresses.to_vec();
    }

    fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }
}

impl Resolve for Name {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        *self.asked.lock().unwrap() += 1;
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move { Ok(answer) })
    }
}

const LONG: Duration = Duration::from_secs(3600);

/// Servers on one port of 127.0.0.1 and so on.
async fn servers(count: u8) -> (Vec<Server>, String) {
    loop {
        let first = Server::tcp(Peer::echo_targets).await;
        let port = first.address().port();
        let free = (2..=count)
            .all(|last| std::net::TcpListener::bind(SocketAddr::new(local(last), port)).is_ok());
        if !free {
            continue;
        }
        let mut servers = vec![first];
        for last in 2..=count {
            let address = SocketAddr::new(local(last), port).to_string();
            servers.push(Server::on(&address, None, Peer::echo_targets).await);
        }
        return (servers, format!("http://spread.example:{port}/"));
    }
}

/// How many connections are open to each address.
fn spread(agent: &Agent) -> BTreeMap<IpAddr, usize> {
    let mut by_address = BTreeMap::new();
    agent.evict(|candidate| {
        *by_address.entry(candidate.remote.unwrap().ip()).or_default() += 1;
        false
    });
    by_address
}

#[tokio::test]
async fn f092_connections_are_even_over_the_addresses() {
    let (_servers, url) = servers(3).await;
    let name = Name::new(&[local(1), local(2), local(3)], LONG);
    let agent = Agent::builder().resolver(name.clone()).build().unwrap();
    assert_eq!(agent.warm(&*url, 9).await.unwrap(), 9);
    let even = BTreeMap::from([(local(1), 3), (local(2), 3), (local(3), 3)]);
    assert_eq!(spread(&agent), even);
    assert_eq!(name.asked(), 1, "the dials share one look-up");

    // What is closed is counted no more: the next ones fill the gap.
    agent.evict(|candidate| candidate.remote.unwrap().ip() == local(2));
    assert_eq!(agent.warm(&*url, 9).await.unwrap(), 3);
    assert_eq!(spread(&agent), even);
}

#[tokio::test]
async fn f092_in_order_takes_the_first_address() {
    let (_servers, url) = servers(3).await;
    let name = Name::new(&[local(2), local(1), local(3)], LONG);
    let agent = Agent::builder().resolver(name).spread(Spread::InOrder).build().unwrap();
    agent.warm(&*url, 6).await.unwrap();
    assert_eq!(spread(&agent), BTreeMap::from([(local(2), 6)]));
}

#[tokio::test]
async fn f092_an_address_that_the_name_lost_is_retired_without_a_dial() {
    let (_servers, url) = servers(2).await;
    let name = Name::new(&[local(1), local(2)], Duration::ZERO);
    let agent = Agent::builder().resolver(name.clone()).idle_timeout(LONG).build().unwrap();
    agent.warm(&*url, 4).await.unwrap();
    let lost = spread(&agent)[&local(1)] as u64;
    name.becomes(&[local(2)]);
    // A second after the look-up, the floor of a TTL, a request brings the next one about.
    until_gone(&agent, &url, lost).await;
    assert!(!spread(&agent).contains_key(&local(1)));
    assert_eq!(agent.stats().total.open_errors, 0);
}

/// Sends requests until as many connections were closed for their address.
async fn until_gone(agent: &Agent, url: &str, wanted: u64) {
    let began = std::time::Instant::now();
    while agent.stats().total.closed.get(CloseReason::AddressGone) < wanted {
        assert!(began.elapsed() < Duration::from_secs(30), "{:#?}", agent.stats());
        get(agent, url).await.unwrap();
    }
}

#[tokio::test]
async fn f010_load_follows_a_name_that_moves() {
    let (_servers, url) = servers(2).await;
    let name = Name::new(&[local(1)], Duration::ZERO);
    let agent = Agent::builder().resolver(name.clone()).build().unwrap();
    agent.warm(&*url, 4).await.unwrap();
    name.becomes(&[local(2)]);
    let mut load = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (agent, url) = (agent.clone(), url.clone());
        load.spawn(async move { until_gone(&agent, &url, 4).await });
    }
    while let Some(ended) = load.join_next().await {
        ended.unwrap();
    }
    get(&agent, &url).await.unwrap();
    assert!(spread(&agent).keys().all(|address| *address == local(2)), "{:?}", spread(&agent));
}

/// Answers without a TTL.
#[derive(Clone)]
struct WithoutTtl(Name);

impl Resolve for WithoutTtl {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        let answer = self.0.resolve(host);
        Box::pin(async move { Ok(answer.await?.addresses.into()) })
    }
}

#[tokio::test]
async fn f010_connections_that_are_never_idle_end_with_their_lifetime() {
    let (servers, url) = servers(2).await;
    let name = Name::new(&[local(1)], LONG);
    let agent = Agent::builder()
        .resolver(WithoutTtl(name.clone()))
        .dns_cache(Duration::ZERO)
        .dns_refresh(LONG)
        .max_lifetime(Duration::from_millis(50))
        .max_connections(2)
        .build()
        .unwrap();
    agent.warm(&*url, 2).await.unwrap();
    name.becomes(&[local(2)]);
    let began = std::time::Instant::now();
    let ended = || agent.stats().total.closed.get(CloseReason::MaxLifetime);
    while ended() == 0 || servers[1].counts().requests.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "{:#?}", agent.stats());
        let both = tokio::join!(get(&agent, &url), get(&agent, &url));
        assert!(both.0.is_ok() && both.1.is_ok(), "no request is cut: {both:?}");
    }
    // The dial in its place tells that the other one's address is gone too.
    assert!(spread(&agent).keys().all(|address| *address == local(2)), "{:?}", spread(&agent));
}

#[tokio::test]
async fn f094_a_silent_address_costs_the_delay_that_was_set() {
    let hole = BlackHole::new();
    let port = hole.address().port();
    let _server = Server::on(&format!("127.0.0.2:{port}"), None, Peer::echo_targets).await;
    let agent = Agent::builder()
        .resolver(Name::new(&[local(1), local(2)], LONG))
        .spread(Spread::InOrder)
        .happy_eyeballs_delay(Duration::from_millis(50))
        .build()
        .unwrap();
    let response = agent.get(format!("http://spread.example:{port}/")).send().await.unwrap();
    assert_eq!(response.connection().remote_address().unwrap().ip(), local(2));
    // The default would be 250 ms, and the kernel tries for two minutes.
    let connect = response.timings().connect;
    assert!(connect >= Duration::from_millis(50), "{connect:?}");
}

#[tokio::test]
async fn f094_the_error_of_a_name_with_a_hundred_addresses_can_be_read() {
    let (servers, url) = servers(1).await;
    drop(servers);
    tokio::task::yield_now().await;
    let hundred: Vec<_> = (1..=100).map(local).collect();
    let agent = Agent::builder().resolver(Name::new(&hundred, LONG)).build().unwrap();
    let error = get(&agent, &url).await.unwrap_err().to_string();
    assert_eq!(error.matches("127.0.0.").count(), 16, "{error}");
    assert!(error.contains("and 84 more"), "{error}");
}

#[tokio::test]
async fn f093_an_address_that_does_not_speak_http2_is_tried_last() {
    let broken = Server::tcp(async |_: Peer| {}).await;
    let port = broken.address().port();
    let script = http2::serving(9, &http2::open_gate(), &Arc::default());
    let _server = Server::on(&format!("127.0.0.2:{port}"), None, script).await;
    let agent = http2::builder()
        .resolver(Name::new(&[local(1), local(2)], LONG))
        .spread(Spread::InOrder)
        .address_set_back(LONG)
        .build()
        .unwrap();
    let url = format!("http://spread.example:{port}/");
    // The origin is left in peace for some time after the failure.
    http2::guard(async { while get(&agent, &url).await.is_err() {} }).await;
    assert_eq!(broken.counts().accepted, 1);
}

#[tokio::test]
async fn f093_addresses_that_are_down_are_tried_last() {
    let (mut servers, url) = servers(3).await;
    servers.truncate(1);
    // Their tasks hold the sockets until they are polled.
    tokio::task::yield_now().await;
    let name = Name::new(&[local(3), local(2), local(1)], LONG);
    let agent = Agent::builder().resolver(name).build().unwrap();
    for _ in 0..2 {
        get(&agent, &url).await.unwrap();
        agent.close_idle();
    }
    assert_eq!(agent.stats().total.open_errors, 0);
    assert_eq!(agent.stats().total.opened, 2);
}

#[tokio::test]
async fn f093_an_origin_whose_addresses_are_all_down_comes_back() {
    let (servers, url) = servers(2).await;
    drop(servers);
    tokio::task::yield_now().await;
    let name = Name::new(&[local(1), local(2)], LONG);
    let agent = Agent::builder().resolver(name).dial_backoff(Duration::ZERO, Duration::ZERO);
    let agent = agent.build().unwrap();
    let error = get(&agent, &url).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:") && error.contains("127.0.0.2:"), "{error}");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let _server = Server::on(&format!("127.0.0.2:{port}"), None, Peer::echo_targets).await;
    get(&agent, &url).await.expect("set back is not excluded");
}

#[tokio::test]
async fn f093_an_address_that_is_silent_is_set_back_however_short_the_connect_timeout() {
    let hole = BlackHole::new();
    let port = hole.address().port();
    let _server = Server::on(&format!("127.0.0.2:{port}"), None, Peer::echo_targets).await;
    let url = format!("http://spread.example:{port}/");
    let agent = Agent::builder()
        .resolver(Name::new(&[local(1), local(2)], LONG))
        .spread(Spread::InOrder)
        .connect_timeout(Duration::from_millis(50))
        .happy_eyeballs_delay(LONG)
        .dial_backoff(Duration::ZERO, Duration::ZERO)
        .build()
        .unwrap();
    let error = get(&agent, &url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectTimeout);
    get(&agent, &url).await.expect("the second try begins with the other address");
}

#[tokio::test]
async fn f093_an_address_whose_tls_is_broken_does_not_draw_every_dial() {
    let certificates = Certificates::new();
    let good = Server::tls(certificates.server(), Peer::echo_targets).await;
    let port = good.address().port();
    // Takes connections and closes them.
    let address = format!("127.0.0.2:{port}");
    let _bad = Server::on(&address, None, |peer: Peer| async { drop(peer) }).await;
    let agent = Agent::builder()
        .resolver(Name::new(&[local(1), local(2)], LONG))
        .tls(Tls::new().roots_pem(certificates.root_pem()))
        .dial_backoff(Duration::ZERO, Duration::ZERO)
        .build()
        .unwrap();
    let url = format!("https://localhost:{port}/");
    // The one with no connection has the fewest, so it is tried once at the latest by the second.
    let mut failed = 0;
    for number in 1..=6 {
        failed += usize::from(agent.warm(&*url, number).await.is_err());
    }
    assert_eq!(failed, 1);
    assert_eq!(spread(&agent).keys().collect::<Vec<_>>(), [&local(1)]);
}

#[tokio::test]
async fn f092_requests_are_even_over_ready_connections() {
    let (servers, url) = servers(3).await;
    let agent = Agent::builder()
        .resolver(Name::new(&[local(1), local(2), local(3)], LONG))
        .scheduling(Scheduling::Fifo)
        .max_connections(3)
        .build()
        .unwrap();
    agent.warm(&*url, 3).await.unwrap();
    for _ in 0..300 {
        get(&agent, &url).await.unwrap();
    }
    for server in &servers {
        assert_eq!(server.counts().requests.len(), 100);
    }
}

#[tokio::test]
async fn f034_an_origin_is_evicted_and_no_other() {
    let (_servers, url) = servers(1).await;
    let name = Name::new(&[local(1)], LONG);
    let agent = Agent::builder().resolver(name).build().unwrap();
    let other = url.replace("spread", "other");
    agent.warm(&*url, 2).await.unwrap();
    agent.warm(&*other, 3).await.unwrap();
    assert_eq!(agent.evict_origin(&*url).unwrap(), 2);
    let stats = until(&agent, |total| total.open == 3).await;
    assert_eq!(stats.total.closed.get(CloseReason::Evicted), 2);
    assert_eq!(agent.evict_origin(&*url).unwrap(), 0);
}
