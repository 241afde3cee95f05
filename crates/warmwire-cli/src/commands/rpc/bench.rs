//! `warmwire rpc bench`: what calls cost.

use std::fmt::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::task::LocalSet;
use warmwire::rpc::{Client, Value};

use super::call::{histogram, quantile};
use super::serve::Embedded;
use crate::commands::interrupt::Interrupt;
use crate::commands::measure::{cpu_time, resident_bytes};
use crate::failure::Failure;
use crate::flags::{Payload, RpcBenchFlags};
use crate::output;
use crate::units::{bytes, milliseconds, three_digits};

const SIZES: [usize; 4] = [64, 1 << 10, 8 << 10, 32 << 10];

/// Name, connections, calls in flight.
const MODES: [(&str, usize, usize); 3] =
    [("sequential", 1, 1), ("pipelined", 1, 64), ("pool(5)", 5, 64)];

/// One figure.
#[derive(Debug, Serialize)]
struct Figure {
    endpoint: String,
    mode: &'static str,
    connections: usize,
    in_flight: usize,
    size_bytes: usize,
    calls: u64,
    elapsed_s: f64,
    calls_per_s: f64,
    megabytes_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    client_cpu_us_per_call: f64,
    rss_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Report {
    payload: &'static str,
    figures: Vec<Figure>,
}

pub(super) async fn run(flags: &RpcBenchFlags) -> Result<(), Failure> {
    let interrupt = Interrupt::listen();
    let mut servers = Vec::new();
    let endpoints = match &flags.endpoint {
        Some(endpoint) => vec![endpoint.to_string()],
        None => {
            let socket = format!("warmwire-rpc-bench-{}.sock", std::process::id());
            let socket = format!("unix://{}", std::env::temp_dir().join(socket).display());
            for endpoint in ["tcp://127.0.0.1:0", &socket] {
                servers.push(Embedded::start(endpoint).await?);
            }
            servers.iter().map(|server| server.endpoint.clone()).collect()
        }
    };
    let payload = if flags.payload == Payload::Buffer { "buffer" } else { "text" };
    let mut report = Report { payload, figures: Vec::new() };
    'all: for endpoint in &endpoints {
        for mode in MODES {
            for size in SIZES {
                if interrupt.is_raised() {
                    break 'all;
                }
                if !flags.quiet && !flags.json {
                    output::note(&format!("{endpoint}, {}, {}", mode.0, bytes(size as u64)));
                }
                report.figures.push(measure(flags, endpoint, mode, size).await?);
            }
        }
    }
    let shown = if flags.json { output::json(&report) } else { show(&report) };
    Ok(shown?)
}

async fn measure(
    flags: &RpcBenchFlags,
    endpoint: &str,
    (mode, connections, in_flight): (&'static str, usize, usize),
    size: usize,
) -> anyhow::Result<Figure> {
    let client = Client::builder().pool(connections).connect(endpoint).await?;
    let payload = match flags.payload {
        Payload::Buffer => Value::Buffer(Bytes::from(vec![b'x'; size])),
        Payload::Text => Value::String("x".repeat(size)),
    };
    // All connections are up, and both ends know each other.
    let warm_up = flags.duration.0 / 4;
    run_for(&client, &payload, in_flight, warm_up).await?;
    let (start, cpu) = (Instant::now(), cpu_time());
    let latencies = run_for(&client, &payload, in_flight, flags.duration.0).await?;
    let (elapsed_s, cpu) = (start.elapsed().as_secs_f64(), cpu_time() - cpu);
    let calls = latencies.len();
    let calls_per_s = calls as f64 / elapsed_s;
    Ok(Figure {
        endpoint: endpoint.to_owned(),
        mode,
        connections,
        in_flight,
        size_bytes: size,
        calls,
        elapsed_s,
        calls_per_s,
        megabytes_per_s: calls_per_s * size as f64 / 1e6,
        p50_ms: quantile(&latencies, 0.5),
        p99_ms: quantile(&latencies, 0.99),
        client_cpu_us_per_call: cpu.as_secs_f64() * 1e6 / calls.max(1) as f64,
        rss_bytes: resident_bytes(),
    })
}

/// Calls `echo` from so many callers until the time is over.
async fn run_for(
    client: &Client,
    payload: &Value,
    callers: usize,
    time: Duration,
) -> anyhow::Result<Histogram<u64>> {
    let end = Instant::now() + time;
    let local = LocalSet::new();
    let payload = Rc::new(payload.clone());
    let tasks: Vec<_> = (0..callers)
        .map(|_| local.spawn_local(call_until(client.clone(), Rc::clone(&payload), end)))
        .collect();
    let mut latencies = histogram();
    local
        .run_until(async {
            for task in tasks {
                latencies.add(task.await.context("a caller failed")??)?;
            }
            anyhow::Ok(())
        })
        .await?;
    Ok(latencies)
}

async fn call_until(
    client: Client,
    payload: Rc<Value>,
    end: Instant,
) -> anyhow::Result<Histogram<u64>> {
    let mut latencies = histogram();
    loop {
        let start = Instant::now();
        if start >= end {
            return Ok(latencies);
        }
        let back: Value = client.call("echo", (&*payload,)).await?;
        anyhow::ensure!(back.kind() == payload.kind(), "echo gave {} back", back.kind());
        latencies.saturating_record(start.elapsed().as_nanos() as u64);
    }
}

fn show(report: &Report) -> anyhow::Result<()> {
    let mut text = String::new();
    let mut endpoint = "";
    for figure in &report.figures {
        if figure.endpoint != endpoint {
            endpoint = &figure.endpoint;
            writeln!(
                text,
                "\n{endpoint}, echo of a {}\n{:<12}{:>10}{:>12}{:>12}{:>10}{:>10}{:>14}",
                report.payload, "", "size", "calls/s", "MB/s", "P50", "P99", "client CPU"
            )?;
        }
        writeln!(
            text,
            "{:<12}{:>10}{:>12}{:>12}{:>10}{:>10}{:>14}",
            figure.mode,
            bytes(figure.size_bytes as u64),
            three_digits(figure.calls_per_s),
            three_digits(figure.megabytes_per_s),
            milliseconds(figure.p50_ms),
            milliseconds(figure.p99_ms),
            milliseconds(figure.client_cpu_us_per_call / 1e3),
        )?;
    }
    output::print(text.trim_start().as_bytes())
}
