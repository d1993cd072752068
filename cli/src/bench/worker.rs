//! The worker under test, in a process of its own: this same program, started as `bench-worker`.

use std::{net::Ipv4Addr, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jobbers_common::{metrics::catalogue::CLAIM_BATCH_SIZE, name::RoleName};
use jobbers_process::{
    shutdown::Shutdown,
    telemetry::{Options, Telemetry, exposition},
};
use jobbers_worker::{Config, prelude::*};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
};

use super::{
    cpu::CpuTime,
    latency::clock_micros,
    load::BENCH,
    process::{self, Owned},
    store::BenchStore,
};

/// Does nothing, and does not even look at its parameters.
#[task(name = "bench.noop", unlisted)]
async fn noop() -> Result<(), TaskError> {
    std::future::ready(Ok(())).await
}

/// How many microseconds ago its parameters were written.
#[task(name = "bench.latency", unlisted)]
pub(super) async fn latency(sent: u64) -> Result<u64, TaskError> {
    std::future::ready(Ok(clock_micros().saturating_sub(sent))).await
}

/// The worker that `jobbers bench` measures; it starts it by itself
#[derive(Debug, Args)]
pub struct BenchWorkerArgs {
    #[arg(long)]
    engine_url: String,
    #[arg(long)]
    concurrency: u32,
    /// Its role
    #[arg(long, default_value = BENCH)]
    role: RoleName,
    /// Whether it keeps metrics and, if `OTEL_*` requests it, sends telemetry, as the shipped worker does
    #[arg(long)]
    watched: bool,
}

/// Works until SIGTERM, or until the process that started it is gone.
///
/// # Errors
/// When the store can't be opened.
pub async fn run(args: BenchWorkerArgs) -> Result<()> {
    let telemetry = args.watched.then(watch).transpose()?;
    let config =
        Config { engine_url: args.engine_url, concurrency: args.concurrency, role: args.role, ..Config::default() };
    let shutdown = Shutdown::on_signals()?;
    process::end_with_parent(shutdown.now.clone(), claims);
    Worker::open(config).task(&noop).task(&latency).run_until(shutdown).await?;
    if let Some(telemetry) = telemetry {
        telemetry.shutdown().await;
    }
    Ok(())
}

/// As the shipped worker's `main` does it.
fn watch() -> Result<Telemetry> {
    let options = Options {
        service: "worker",
        version: env!("CARGO_PKG_VERSION"),
        metrics_listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        insecure: false,
        exposed_elsewhere: false,
    };
    Ok(Telemetry::start(&options)?)
}

/// How many tasks this process has claimed, and with how many calls, by its own metrics.
fn claims() -> Option<String> {
    let text = exposition()?.text().ok()?;
    let name = CLAIM_BATCH_SIZE.name.replace('.', "_");
    let of = |kind: &str| -> f64 {
        let is_of = |line: &&str| {
            line.starts_with(&name) && line.split(['{', ' ']).next().is_some_and(|name| name.ends_with(kind))
        };
        text.lines().filter(is_of).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    Some(format!("{} {}", of("_sum"), of("_count")))
}

/// What a worker is started as.
pub(super) struct Post {
    pub(super) role: RoleName,
    pub(super) concurrency: u32,
    /// Whether it keeps metrics for `/metrics`.
    pub(super) watched: bool,
    /// Where it sends them by OTLP, with one trace in a hundred.
    pub(super) collector: Option<String>,
}

impl Post {
    /// A worker as it ships, in the role of this name.
    pub(super) fn shipped(role: &str, concurrency: u32) -> Result<Self> {
        Ok(Self { role: RoleName::new(role)?, concurrency, watched: true, collector: None })
    }
}

/// The process, from outside.
pub(super) struct Child {
    process: Owned,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    pid: u32,
}

/// What a worker has claimed so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClaimCounts {
    pub(super) tasks: f64,
    pub(super) calls: f64,
}

impl Child {
    /// Starts it and waits until the store knows it.
    pub(super) async fn start(store: &BenchStore, post: &Post) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["bench-worker", "--engine-url", &store.scratch.url])
            .args(["--concurrency", &post.concurrency.to_string(), "--role", post.role.as_str()])
            .args(post.watched.then_some("--watched"));
        process::without_telemetry_settings(&mut command);
        if let Some(collector) = &post.collector {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).env("OTEL_METRIC_EXPORT_INTERVAL", "1000");
            command.env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio").env("OTEL_TRACES_SAMPLER_ARG", "0.01");
        }
        let spawned = Owned::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut process = spawned.context("the worker's process can't be started")?;
        let pid = process.id().context("the worker's process ended at once")?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (questions, answers) = pipes.context("the worker's process has no standard input and output")?;
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !store.scratch.engine.workers().await?.iter().any(|worker| worker.report.pid == pid) {
            ensure!(process.try_wait()?.is_none(), "the worker's process ended before it registered");
            ticks.tick().await;
        }
        Ok(Self { process, questions, answers: BufReader::new(answers).lines(), pid })
    }

    pub(super) fn cpu(&self) -> Result<CpuTime> {
        CpuTime::of(self.pid)
    }

    /// What it has claimed so far; it must be a watched one.
    pub(super) async fn claims(&mut self) -> Result<ClaimCounts> {
        self.questions.write_all(b"\n").await?;
        let line = self.answers.next_line().await?.context("the worker's process has ended")?;
        let (tasks, calls) = line.split_once(' ').context("the worker's process does not say what it claimed")?;
        Ok(ClaimCounts { tasks: tasks.parse()?, calls: calls.parse()? })
    }

    /// Ends it in good order: its standard input ends, it settles what it has and leaves.
    pub(super) async fn stop(self) -> Result<()> {
        let Self { mut process, questions, .. } = self;
        drop(questions);
        let status = process.wait().await?;
        ensure!(status.success(), "the worker's process ended with {status}");
        Ok(())
    }
}
