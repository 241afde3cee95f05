//! `warmwire bench`: what does keep-alive save here?

mod load;
mod plan;
pub(crate) mod prediction;
mod progress;
mod record;
pub(crate) mod result;
mod rounds;
mod side;
mod simulate;

pub(crate) use record::BUCKETS_PER_DECADE;
pub(crate) use side::Side;

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::Context;

use crate::commands::interrupt::Interrupt;
use crate::failure::Failure;
use crate::flags::BenchFlags;
use crate::output;
use crate::server::EmbeddedServer;
use crate::timer::PreciseTimer;
use crate::units::percent;
use plan::{Plan, Target};
use prediction::Prediction;
use progress::Progress;
use result::{
    BenchResult, OptionsResult, Saving, ServerResult, SideResult, Simulated, TargetResult, Totals,
};
use rounds::{Bench, Contestant};
use side::{Client, Site};

/// Measures and shows.
///
/// # Errors
/// A contradiction in the flags; a server that cannot be started; a side of which every request
/// failed; with `--check`, a saving that is too small.
pub(super) fn run(flags: &BenchFlags) -> Result<(), Failure> {
    let plan = Plan::new(flags)?;
    if let Some(path) = &flags.output.report {
        check_writable(path)?;
    }
    // One thread, so that CPU per request is that of the client and not of handing work around.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(measure(&plan, flags.output.quiet))?;

    if flags.output.json {
        output::json(&result)?;
    } else if !result.all_failed() {
        output::text::show(&result)?;
    }
    // After the figures: a disk that has filled up meanwhile must not cost the measurement.
    if let Some(path) = &flags.output.report {
        let page = output::report::page(&result);
        std::fs::write(path, page)
            .with_context(|| format!("cannot write --report {}", path.display()))?;
    }
    judge(&result, flags)
}

/// A page that cannot be written is told before minutes are spent on what it should show. What is
/// there stays as it is until then.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(|_| ()).map_err(|error| {
        Failure::usage(format!("--report {} cannot be written: {error}", path.display()))
    })
}

async fn measure(plan: &Plan, is_quiet: bool) -> Result<BenchResult, Failure> {
    let interrupt = Interrupt::listen();
    let timer = PreciseTimer::start().context("cannot start the timer's thread")?;
    let server = match &plan.target {
        Target::Url(_) => None,
        Target::Embedded { server, .. } => Some(EmbeddedServer::start(server).await?),
    };
    let site = Site::new(&plan.target, server.as_ref());
    let contestants = plan
        .sides
        .iter()
        .map(|side| {
            let client = Client::new(*side, plan, &site, &timer)?;
            Ok(Contestant { side: *side, client, totals: Totals::default() })
        })
        .collect::<Result<_, Failure>>()?;
    let progress = Progress::new(is_quiet, plan.load.rounds);
    let mut bench = Bench { plan, timer, interrupt, progress, server, contestants };
    let rounds = bench.run().await?;

    let totals =
        |side| bench.contestants.iter().find(|one| one.side == side).map(|one| &one.totals);
    let (without, with) = (totals(Side::Without), totals(Side::With));
    let server = ServerResult {
        without: without.and_then(|totals| totals.server),
        with: with.and_then(|totals| totals.server),
    };
    let (without, with) = (without.map(SideResult::new), with.map(SideResult::new));
    let result = BenchResult {
        target: TargetResult {
            url: site.url.clone(),
            embedded: bench.server.is_some(),
            http_version: bench.contestants.iter().find_map(|one| one.client.http_version()),
            simulated: Simulated::new(&plan.target),
            predicted_ms: Prediction::new(plan),
            server,
        },
        options: OptionsResult::new(plan, command_line()),
        rounds,
        saving: Saving::new(without.as_ref(), with.as_ref()),
        without,
        with,
    };
    for contestant in bench.contestants {
        contestant.client.close().await;
    }
    Ok(result)
}

/// The command line, as a shell would read it.
fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(|argument| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=%,@+?&".contains(c);
        // `?` and `&` mean something to a shell, so a word that has them is quoted as well.
        let needs_quotes =
            argument.is_empty() || !argument.chars().all(is_plain) || argument.contains(['?', '&']);
        if needs_quotes { format!("'{}'", argument.replace('\'', r"'\''")) } else { argument }
    });
    std::iter::once("warmwire".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The exit code that the result asks for.
fn judge(result: &BenchResult, flags: &BenchFlags) -> Result<(), Failure> {
    for (name, side) in [("without", &result.without), ("with", &result.with)] {
        let Some(side) = side.as_ref().filter(|side| side.all_failed()) else { continue };
        let which = match result.all_failed() {
            true => "every request".to_owned(),
            false => format!("every request {name} keep-alive"),
        };
        let kinds: Vec<_> = side.failures.keys().map(String::as_str).collect();
        let why = side.first_error.clone().unwrap_or_else(|| kinds.join(", "));
        return Err(Failure::Work(anyhow::anyhow!("{which} failed: {why}")));
    }
    let Some(least) = flags.output.check else { return Ok(()) };
    match &result.saving {
        None => Err(Failure::Work(anyhow::anyhow!(
            "--check has nothing to compare: the measurement ended too early"
        ))),
        Some(saving) if saving.p50 < least.0 => Err(Failure::Check(format!(
            "keep-alive saves {} of the median latency, less than the {} that --check asks for",
            percent(saving.p50),
            percent(least.0)
        ))),
        Some(_) => Ok(()),
    }
}
