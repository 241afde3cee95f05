//! Runtimes that come, go, and are kept without being driven; and processes that are started.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use warmwire_http::{Agent, CloseReason, Io};
use warmwire_testkit::{GUARD, Gate, Peer, Server, guarded};

use crate::support::{ConnectWith, MEMORY, get, spawn_get, until};

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const LONG: Duration = Duration::from_secs(600);

/// Lets the agent's task begin to wait, which is the last thing that a kept runtime does for it.
async fn rest(runtime: &Runtime) {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(runtime.metrics().num_alive_tasks(), 1, "the agent's task lives here");
}

#[test]
fn f019_a_dial_elsewhere_brings_the_reaper_along() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let other = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().idle_timeout(ms(50)).build().unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(async {
        get(&agent, server.url("/")).await.unwrap();
        rest(&kept).await;
    });
    driven.block_on(async {
        get(&agent, other.url("/")).await.unwrap();
        // Nobody acts from here on, and the first runtime is not driven.
        server.until(|counts| counts.open == 0).await;
        other.until(|counts| counts.open == 0).await;
    });
    assert_eq!(agent.stats().total.closed.get(CloseReason::IdleTimeout), 2);
    kept.block_on(async {
        let ended = async {
            while kept.metrics().num_alive_tasks() > 0 {
                tokio::task::yield_now().await;
            }
        };
        guarded("the reaper that was relieved", ended).await;
    });
}

#[test]
fn f019_a_connection_that_moves_brings_the_reaper_along() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().idle_timeout(ms(300)).build().unwrap();
    let (kept, driven) = (one_thread(), one_thread());
    kept.block_on(async {
        get(&agent, server.url("/")).await.unwrap();
        rest(&kept).await;
    });
    driven.block_on(async {
        let response = agent.get(server.url("/")).send().await.unwrap();
        assert!(response.connection().reused());
        response.text().await.unwrap();
        server.until(|counts| counts.open == 0).await;
    });
}

#[test]
fn f019_whoever_finds_the_reaper_late_takes_over() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().idle_timeout(ms(20)).min_idle(1).build().unwrap();
    let (kept, driven) = (one_thread(), many_threads());
    kept.block_on(async {
        get(&agent, server.url("/")).await.unwrap();
        rest(&kept).await;
    });
    let began = Instant::now();
    driven.block_on(async {
        // Changes nothing, but is a change for all the pool knows.
        while agent.stats().total.opened < 4 {
            agent.evict(|_| false);
            assert!(began.elapsed() < GUARD, "{}", agent.stats());
            tokio::task::yield_now().await;
        }
    });
    let total = agent.stats().total;
    assert!(total.closed.get(CloseReason::IdleTimeout) >= 2, "{total:#?}");
}

#[test]
fn f019_who_waits_is_served_though_dial_and_reaper_are_not_driven() {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all();
    let (kept, driven) = (runtime.build().unwrap(), runtime.start_paused(true).build().unwrap());
    let server = driven.block_on(async { Server::memory(Peer::echo_targets) });
    let (dialer, dials) = (server.dialer(), Arc::new(AtomicUsize::new(0)));
    let connector = ConnectWith(move |_| {
        let is_first = dials.fetch_add(1, Ordering::SeqCst) == 0;
        let stream = dialer.dial();
        async move {
            if is_first {
                std::future::pending::<()>().await;
            }
            Ok(Box::new(stream) as Box<dyn Io>)
        }
    });
    let agent = Agent::builder().max_connections(1).connect_timeout(ms(100));
    let agent = agent.connector(connector).build().unwrap();
    kept.block_on(async {
        spawn_get(&agent, MEMORY);
        until(&agent, |total| total.connecting == 1).await;
    });
    driven.block_on(async {
        let began = tokio::time::Instant::now();
        assert_eq!(get(&agent, format!("{MEMORY}/2")).await.unwrap(), "/2");
        assert!(began.elapsed() < ms(1_300), "{:?}", began.elapsed());
    });
}

#[test]
fn f019_fifty_runtimes_one_after_the_other_and_all_kept() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().max_connections(3).idle_timeout(LONG).build().unwrap();
    let mut kept = Vec::new();
    for round in 0..50 {
        let runtime = one_thread();
        runtime.block_on(async {
            let requests: Vec<_> =
                (0..20).map(|n| spawn_get(&agent, server.url(&format!("/{round}/{n}")))).collect();
            for (n, request) in requests.into_iter().enumerate() {
                let text = guarded("a request on a shared agent", request).await.unwrap();
                assert_eq!(text.unwrap(), format!("/{round}/{n}"));
            }
        });
        kept.push(runtime);
    }
    let total = agent.stats().total;
    assert_eq!((total.requests, total.active, total.waiting), (1_000, 0, 0), "{total:#?}");
    assert!(total.max_open <= 3, "{total:#?}");
}

#[test]
fn f019_several_runtimes_of_one_thread_share_an_agent_at_once() {
    let peers = many_threads();
    let server = peers.block_on(Server::tcp(Peer::echo_targets));
    let agent = Agent::builder().max_connections(4).idle_timeout(ms(200)).build().unwrap();
    let all_done = Barrier::new(6);
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let (agent, server, all_done) = (&agent, &server, &all_done);
            scope.spawn(move || {
                let runtime = one_thread();
                runtime.block_on(async {
                    for n in 0..200 {
                        let target = format!("/{worker}/{n}");
                        let answer = guarded("a worker", get(agent, server.url(&target))).await;
                        assert_eq!(answer.unwrap(), target);
                    }
                });
                // Kept until no other needs what it lent.
                all_done.wait();
            });
        }
    });
    let total = agent.stats().total;
    assert_eq!((total.requests - total.retries, total.active), (1_200, 0), "{total:#?}");
    assert!(total.max_open <= 4, "{total:#?}");
}

#[test]
fn f019_a_runtime_that_is_shut_down_mid_body_costs_its_connection_only() {
    let peers = many_threads();
    let gate = Gate::shut();
    let at = gate.clone();
    let server = peers.block_on(Server::tcp(move |mut peer: Peer| {
        let at = at.clone();
        async move {
            while peer.request().await.is_some() {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha").await;
                at.pass().await;
                peer.send("lf").await;
            }
        }
    }));
    let agent = Agent::builder().max_connections(1).build().unwrap();
    let (doomed, survivor, url) = (one_thread(), one_thread(), server.url("/"));
    let response = doomed.block_on(agent.get(&url).send()).unwrap();
    doomed.spawn(response.text());
    doomed.block_on(async { tokio::task::yield_now().await });
    survivor.block_on(async {
        let waiting = spawn_get(&agent, &url);
        until(&agent, |total| total.waiting == 1).await;
        doomed.shutdown_background();
        gate.open();
        assert_eq!(guarded("the request that waited", waiting).await.unwrap().unwrap(), "half");
    });
    let total = agent.stats().total;
    assert_eq!((total.opened, total.active, total.waiting), (2, 0, 0), "{total:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn f019_a_process_that_is_started_inherits_no_connection() {
    use std::process::{Command, Stdio};

    let runtime = many_threads();
    runtime.block_on(async {
        let server = Server::tcp(Peer::echo_targets).await;
        let agent = Agent::builder().idle_timeout(LONG).build().unwrap();
        agent.warm(server.url("/"), 3).await.unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let own = sockets(std::process::id());
        assert!(own.len() >= 6, "three connections have six ends: {own:?}");
        // What the tests themselves were started with is on the standard streams.
        let inherited = sockets(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(inherited.iter().all(|(number, _)| *number <= 2), "{inherited:?}");
        agent.close().await;
    });

    /// The sockets that a process has, with their numbers.
    fn sockets(process: u32) -> Vec<(u32, String)> {
        let entries = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let links = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.parse().ok()?;
            Some((number, std::fs::read_link(&path).ok()?.to_string_lossy().into_owned()))
        });
        links.filter(|(_, link)| link.starts_with("socket:")).collect()
    }
}
