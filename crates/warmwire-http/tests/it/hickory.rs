//! Names looked up by hickory at a scripted name server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use warmwire_http::{Agent, AgentBuilder, ErrorKind, HickoryResolver, Phase};
use warmwire_testkit::{DnsAnswer, DnsRecord, DnsServer, Peer, Server, guarded};

use crate::support::{get, spawn_get, until};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An agent that asks `dns` for each connection, and keeps none.
fn asking(dns: &DnsServer) -> AgentBuilder {
    let resolver = HickoryResolver::with_servers([dns.address()]).timeout(secs(5));
    Agent::builder().resolver(resolver).keep_alive(false)
}

/// A web server, and its URL by this name.
async fn serve(name: &str) -> (Server, String) {
    let server = Server::tcp(Peer::echo_targets).await;
    let url = format!("http://{name}:{}/", server.address().port());
    (server, url)
}

fn address(ttl: u32, ip: IpAddr) -> DnsRecord {
    DnsRecord::Address(ttl, ip)
}

fn alias(ttl: u32, name: &str) -> DnsRecord {
    DnsRecord::Alias(ttl, name.to_owned())
}

/// Time that passes while nothing is under way, so that no wait for a socket is cut short by it.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn f093_an_answer_holds_for_its_ttl_from_the_look_up_on() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("ttl.example").await;
    dns.set("ttl.example", DnsAnswer::Records(vec![address(3000, V4)]));
    let agent = asking(&dns).build().unwrap();
    for _ in 0..3 {
        get(&agent, &url).await.unwrap();
        pass(secs(900)).await;
    }
    assert_eq!(dns.asked("ttl.example"), 1);
    pass(secs(301)).await;
    get(&agent, &url).await.unwrap();
    assert_eq!(dns.asked("ttl.example"), 2);
}

#[tokio::test]
async fn f093_the_shortest_ttl_of_aliases_and_addresses_counts() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("www.example").await;
    dns.set("www.example", DnsAnswer::Records(vec![alias(5000, "cdn.example")]));
    dns.set("cdn.example", DnsAnswer::Records(vec![alias(1000, "node.example")]));
    dns.set("node.example", DnsAnswer::Records(vec![address(5000, V4)]));
    let agent = asking(&dns).build().unwrap();
    get(&agent, &url).await.unwrap();
    pass(secs(900)).await;
    get(&agent, &url).await.unwrap();
    assert_eq!(dns.asked("www.example"), 1);
    pass(secs(101)).await;
    get(&agent, &url).await.unwrap();
    assert_eq!(dns.asked("www.example"), 2);
}

#[tokio::test]
async fn f093_a_ttl_of_zero_is_asked_for_by_each_dial() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("zero.example").await;
    dns.set("zero.example", DnsAnswer::Records(vec![address(0, V4)]));
    let agent = asking(&dns).build().unwrap();
    for _ in 0..3 {
        get(&agent, &url).await.unwrap();
    }
    assert_eq!(dns.asked("zero.example"), 3);
}

#[tokio::test]
async fn f094_both_families_are_tried_and_named() {
    let dns = DnsServer::start().await;
    let (server, url) = serve("both.example").await;
    dns.set("both.example", DnsAnswer::Records(vec![address(60, V4), address(60, V6)]));
    // The server is at the IPv4 address only.
    get(&asking(&dns).build().unwrap(), &url).await.unwrap();

    drop(server);
    tokio::task::yield_now().await;
    let error = get(&asking(&dns).build().unwrap(), &url).await.unwrap_err();
    assert_ne!(error.kind(), ErrorKind::Dns);
    let text = error.to_string();
    assert!(text.contains("[::1]:") && text.contains("127.0.0.1:"), "{text}");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_fetched_over_tcp() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("long.example").await;
    dns.set("long.example", DnsAnswer::Long(vec![address(60, V4)]));
    get(&asking(&dns).build().unwrap(), &url).await.unwrap();
    assert_eq!(dns.asked_over_tcp("long.example"), 1);
}

/// The text of the error of a request to `name`, whose look-up must be what failed.
async fn refused(dns: &DnsServer, name: &str) -> String {
    // More than all questions take.
    let agent = asking(dns).connect_timeout(secs(60)).build().unwrap();
    let error = get(&agent, format!("http://{name}:9/")).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Dns, Phase::Dns), "{error}");
    error.to_string()
}

#[tokio::test]
async fn f095_negative_answers_are_errors_of_the_look_up() {
    let dns = DnsServer::start().await;
    dns.set("empty.example", DnsAnswer::Records(Vec::new()));
    dns.set("dangling.example", DnsAnswer::Records(vec![alias(60, "nowhere.example")]));
    dns.set("failing.example", DnsAnswer::Failure);
    for name in ["nowhere.example", "empty.example", "dangling.example", "failing.example"] {
        let text = refused(&dns, name).await;
        assert!(text.contains(name), "{text}");
        assert!(dns.asked(name) >= 1);
    }
}

#[tokio::test]
async fn f093_a_negative_answer_is_not_remembered() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("new.example").await;
    let agent = asking(&dns).build().unwrap();
    get(&agent, &url).await.unwrap_err();
    dns.set("new.example", DnsAnswer::Records(vec![address(60, V4)]));
    // The origin is left in peace for some time after a failure.
    let there = async { while get(&agent, &url).await.is_err() {} };
    guarded("the name that is there now", there).await;
}

#[tokio::test(start_paused = true)]
async fn f095_a_silent_name_server_is_an_error_of_the_look_up() {
    let dns = DnsServer::start().await;
    dns.set("silent.example", DnsAnswer::Silence);
    let began = Instant::now();
    let text = refused(&dns, "silent.example").await;
    assert!(text.contains("timed out"), "{text}");
    assert!(began.elapsed() >= secs(5), "{:?}", began.elapsed());
    assert!(dns.asked("silent.example") >= 2, "it is asked again");
}

#[tokio::test(start_paused = true)]
async fn f095_connect_timeout_bounds_a_look_up() {
    let dns = DnsServer::start().await;
    dns.set("silent.example", DnsAnswer::Silence);
    let agent = asking(&dns).connect_timeout(secs(1)).build().unwrap();
    let began = Instant::now();
    let error = get(&agent, "http://silent.example:9/").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ConnectTimeout, Phase::Dns), "{error}");
    assert_eq!(began.elapsed(), secs(1));
}

#[tokio::test]
async fn without_name_servers_a_look_up_fails() {
    let nobody = HickoryResolver::with_servers([]);
    let agent = Agent::builder().resolver(nobody).build().unwrap();
    let error = get(&agent, "http://name.example:9/").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Dns, Phase::Dns), "{error}");
}

#[tokio::test]
async fn localhost_is_loopback_without_a_question() {
    let dns = DnsServer::start().await;
    let (_server, url) = serve("localhost").await;
    get(&asking(&dns).build().unwrap(), &url).await.unwrap();
    assert_eq!(dns.asked("localhost"), 0);
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn f019_a_look_up_outlives_the_runtime_that_began_it() {
    let peers = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let dns = peers.block_on(DnsServer::start());
    let (_server, url) = peers.block_on(serve("shared.example"));
    dns.set("shared.example", DnsAnswer::Silence);
    let agent = asking(&dns).build().unwrap();
    let (first, second) = (one_thread(), one_thread());
    first.block_on(async {
        spawn_get(&agent, &*url);
        let asked = async {
            while dns.asked("shared.example") == 0 {
                tokio::task::yield_now().await;
            }
        };
        guarded("the first one's question", asked).await;
    });
    dns.set("shared.example", DnsAnswer::Records(vec![address(60, V4)]));
    second.block_on(async {
        let joins = spawn_get(&agent, &*url);
        // Until it waits for the look-up of the first one.
        until(&agent, |total| total.connecting == 2).await;
        tokio::task::yield_now().await;
        first.shutdown_background();
        guarded("the look-up that began anew", joins).await.unwrap().unwrap();
    });
}
