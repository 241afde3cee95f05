//! Runs everything in interleaved rounds and prints a table.

use std::io;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::clients::Kind;
use crate::{REFERENCE, STREAMS};

/// Bodies, and how many requests with each make a part of about a second.
const LOADS: [(&str, usize, usize); 2] = [("256 B", 256, 80_000), ("16 KiB", 16 * 1024, 30_000)];

/// What one client came to in one round.
#[derive(Clone, Copy, Default)]
struct Part {
    requests_per_second: f64,
    cpu_us: f64,
    allocations: f64,
    connections: f64,
}

/// Measures `rounds` rounds of each load and prints the medians.
pub async fn run(rounds: usize) -> io::Result<()> {
    println!(
        "{STREAMS} streams at once, HTTP/2 without TLS, medians of {rounds} interleaved rounds; in \
         brackets the median and the range of the ratios to {} in the same round\n",
        REFERENCE.name()
    );
    println!(
        "| body | client | requests/s | client CPU, µs a request | allocations | connections |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    for (name, bytes, requests) in LOADS {
        let mut parts = Vec::new();
        for round in 0..rounds {
            // A fresh one for each round, as the clients are; all clients of a round share it.
            let mut server = Server::start(bytes).await?;
            parts.push(measure(&mut server, round, requests).await?);
        }
        for kind in Kind::ALL {
            println!("| {name} | {} |{}", kind.name(), row(&parts, kind));
        }
    }
    Ok(())
}

/// One round, in an order that turns, so that none always follows the same one.
async fn measure(server: &mut Server, round: usize, requests: usize) -> io::Result<[Part; 4]> {
    let mut parts = [Part::default(); 4];
    for place in 0..parts.len() {
        let index = (place + round) % parts.len();
        parts[index] = client(server, Kind::ALL[index], requests).await?;
    }
    Ok(parts)
}

async fn client(server: &mut Server, kind: Kind, requests: usize) -> io::Result<Part> {
    let before = server.connections().await?;
    let output = Command::new(std::env::current_exe()?)
        .args(["client", kind.name(), &server.address, &requests.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .await?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{} has failed", kind.name())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [seconds, cpu, allocations] = figures[..] else {
        return Err(io::Error::other(format!("{} has printed `{text}`", kind.name())));
    };
    let each = requests as f64;
    Ok(Part {
        requests_per_second: each / seconds,
        cpu_us: cpu * 1e6 / each,
        allocations: allocations / each,
        connections: (server.connections().await? - before) as f64,
    })
}

fn row(rounds: &[[Part; 4]], kind: Kind) -> String {
    let of = |kind: Kind, figure: fn(&Part) -> f64| {
        let index = Kind::ALL.into_iter().position(|one| one == kind).unwrap_or_default();
        rounds.iter().map(move |parts| figure(&parts[index]))
    };
    let alone = |figure| median(of(kind, figure).collect());
    let ratios = |figure| {
        let ratios = of(kind, figure).zip(of(REFERENCE, figure)).map(|(own, other)| own / other);
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios.first().copied(), ratios.last().copied());
        let (least, most) = (least.unwrap_or(f64::NAN), most.unwrap_or(f64::NAN));
        format!("{:.2}; {least:.2} to {most:.2}", median(ratios))
    };
    let requests: fn(&Part) -> f64 = |part| part.requests_per_second;
    let cpu: fn(&Part) -> f64 = |part| part.cpu_us;
    let allocations = match alone(|part| part.allocations) {
        0.0 => "not counted".to_owned(),
        count => format!("{count:.1}"),
    };
    format!(
        " {:.0} ({}) | {:.2} ({}) | {allocations} | {:.0} |",
        alone(requests),
        ratios(requests),
        alone(cpu),
        ratios(cpu),
        alone(|part| part.connections)
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The server's process, which ends with this.
struct Server {
    _child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Server {
    async fn start(bytes: usize) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["server", &bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(questions), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no standard input or output"));
        };
        let answers = BufReader::new(stdout).lines();
        let mut server = Self { _child: child, questions, answers, address: String::new() };
        server.address = server.answer().await?;
        Ok(server)
    }

    /// How many connections it has accepted until now.
    async fn connections(&mut self) -> io::Result<u64> {
        self.questions.write_all(b"\n").await?;
        self.answer().await?.parse().map_err(io::Error::other)
    }

    async fn answer(&mut self) -> io::Result<String> {
        self.answers.next_line().await?.ok_or_else(|| io::Error::other("the server has ended"))
    }
}
