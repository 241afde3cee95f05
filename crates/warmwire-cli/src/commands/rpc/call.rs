//! `warmwire rpc call`.

use std::io::{Read, Write};
use std::time::Instant;

use anyhow::Context;
use hdrhistogram::Histogram;
use serde_json::json;
use warmwire::rpc::{Client, Value};

use super::connect;
use crate::commands::interrupt::Interrupt;
use crate::failure::Failure;
use crate::flags::CallFlags;
use crate::output;
use crate::units::{counted, milliseconds, three_digits};

pub(super) async fn run(flags: &CallFlags) -> Result<(), Failure> {
    let arguments = arguments(&flags.arguments)?;
    let client = connect(&flags.endpoint, &flags.how).await?;
    match flags.repeat {
        Some(times) => repeat(flags, &client, &arguments, times.get()).await,
        None => once(flags, &client, arguments).await,
    }
}

async fn once(flags: &CallFlags, client: &Client, arguments: Vec<Value>) -> Result<(), Failure> {
    let start = Instant::now();
    let result: Value = client.call(&flags.method, arguments).await.map_err(anyhow::Error::from)?;
    if flags.how.json {
        let result: serde_json::Value =
            serde_json::from_str(&result.to_string()).context("the result is not JSON")?;
        return Ok(output::json(&json!({
            "endpoint": flags.endpoint.to_string(),
            "method": flags.method,
            "result": result,
            "elapsed_ms": start.elapsed().as_secs_f64() * 1e3,
        }))?);
    }
    let shown = match (&result, flags.raw) {
        (Value::Buffer(bytes), true) => output::print(bytes),
        (Value::String(text), true) => output::print(text.as_bytes()),
        _ => output::print(format!("{result}\n").as_bytes()),
    };
    Ok(shown?)
}

/// The arguments that were given: JSON, text, the bytes of a file, or those of standard input.
fn arguments(given: &[String]) -> Result<Vec<Value>, Failure> {
    if given.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::usage("standard input can be one argument only"));
    }
    given.iter().map(|text| argument(text)).collect()
}

fn argument(text: &str) -> Result<Value, Failure> {
    if let Some(path) = text.strip_prefix('@') {
        let bytes =
            std::fs::read(path).map_err(|error| Failure::usage(format!("{text}: {error}")))?;
        return Ok(Value::Buffer(bytes.into()));
    }
    if text == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(Value::Buffer(bytes.into()));
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)))
}

/// What repeated calls came to.
struct Repeated {
    latencies: Histogram<u64>,
    failed: u32,
    first_error: Option<String>,
}

async fn repeat(
    flags: &CallFlags,
    client: &Client,
    arguments: &[Value],
    times: u32,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen();
    let start = Instant::now();
    let callers = flags.concurrency.get().min(times);
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let share = times / callers + u32::from(caller < times % callers);
        let (client, method) = (client.clone(), flags.method.clone());
        let interrupt = interrupt.clone();
        tasks.spawn(call_often(client, method, arguments.to_vec(), share, interrupt));
    }
    let mut all = Repeated { latencies: histogram(), failed: 0, first_error: None };
    while let Some(one) = tasks.join_next().await {
        let one = one.context("a caller failed")?;
        all.failed += one.failed;
        all.first_error = all.first_error.or(one.first_error);
        all.latencies.add(one.latencies).context("cannot add latencies")?;
    }
    // Fewer than asked for if they were interrupted.
    let done = all.failed + u32::try_from(all.latencies.len()).unwrap_or(u32::MAX);
    show(flags, &all, done, start.elapsed().as_secs_f64())?;
    match (all.failed == done, all.first_error) {
        (true, Some(error)) => Err(Failure::Work(anyhow::anyhow!("every call failed: {error}"))),
        _ => Ok(()),
    }
}

async fn call_often(
    client: Client,
    method: String,
    arguments: Vec<Value>,
    times: u32,
    interrupt: Interrupt,
) -> Repeated {
    let mut all = Repeated { latencies: histogram(), failed: 0, first_error: None };
    for _ in 0..times {
        if interrupt.is_raised() {
            break;
        }
        let start = Instant::now();
        match client.call::<Value>(&method, arguments.clone()).await {
            Ok(_) => all.latencies.saturating_record(start.elapsed().as_nanos() as u64),
            Err(error) => {
                all.failed += 1;
                all.first_error.get_or_insert_with(|| error.to_string());
            }
        }
    }
    all
}

/// Nanoseconds, with three digits; it grows as it must.
pub(super) fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 1 << 40, 3)
        .unwrap_or_else(|_| unreachable!("the bounds are in order"));
    histogram.auto(true);
    histogram
}

/// A quantile in milliseconds.
pub(super) fn quantile(latencies: &Histogram<u64>, quantile: f64) -> f64 {
    latencies.value_at_quantile(quantile) as f64 / 1e6
}

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

fn show(flags: &CallFlags, all: &Repeated, times: u32, elapsed_s: f64) -> anyhow::Result<()> {
    let rate = f64::from(times) / elapsed_s;
    let max = all.latencies.max() as f64 / 1e6;
    if flags.how.json {
        let latency: serde_json::Map<_, _> = QUANTILES
            .iter()
            .map(|(name, at)| ((*name).to_owned(), json!(quantile(&all.latencies, *at))))
            .chain([("max".to_owned(), json!(max))])
            .collect();
        return output::json(&json!({
            "endpoint": flags.endpoint.to_string(),
            "method": flags.method,
            "calls": times,
            "failed": all.failed,
            "elapsed_s": elapsed_s,
            "calls_per_s": rate,
            "latency_ms": latency,
        }));
    }
    let mut text = Vec::new();
    writeln!(
        text,
        "{}, {} failed, {} per second",
        counted(times.into(), "call"),
        all.failed,
        three_digits(rate)
    )?;
    if !all.latencies.is_empty() {
        for (name, at) in QUANTILES {
            let name = if name == "p999" { "P99.9".to_owned() } else { name.to_uppercase() };
            writeln!(text, "  {name:<6}{:>10}", milliseconds(quantile(&all.latencies, at)))?;
        }
        writeln!(text, "  {:<6}{:>10}", "max", milliseconds(max))?;
    }
    output::print(&text)
}
