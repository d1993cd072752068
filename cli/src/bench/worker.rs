//! The worker under test, in a process of its own: this same program, started as `bench-worker`.

use std::{net::Ipv4Addr, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jobbers_common::name::RoleName;
use jobbers_process::{
    shutdown::Shutdown,
    telemetry::{Options, Telemetry},
};
use jobbers_worker::{Config, prelude::*};
use tokio::process::{Child as Process, Command};

use super::{cpu::CpuTime, latency::clock_micros, phases::BENCH, store::Store};

pub(super) const NOOP: &str = "bench.noop";
pub(super) const LATENCY: &str = "bench.latency";

/// Does nothing, and does not even look at its parameters.
#[task(name = "bench.noop", unlisted)]
async fn noop() -> Result<(), TaskError> {
    std::future::ready(Ok(())).await
}

/// How many microseconds ago its parameters were written.
#[task(name = "bench.latency", unlisted)]
async fn latency(sent: u64) -> Result<u64, TaskError> {
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
    /// Whether it keeps metrics and, where `OTEL_*` says so, sends telemetry, as the shipped worker does
    #[arg(long)]
    watched: bool,
}

/// Works until SIGTERM, or until whoever started it is gone.
///
/// # Errors
/// When the store can't be opened.
pub async fn run(args: BenchWorkerArgs) -> Result<()> {
    let telemetry = args.watched.then(watch).transpose()?;
    let config =
        Config { engine_url: args.engine_url, concurrency: args.concurrency, role: args.role, ..Config::default() };
    let shutdown = Shutdown::on_signals()?;
    let now = shutdown.now.clone();
    // Standard input is a pipe from the bench: its end is the bench's end, even when that was killed.
    std::thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        now.cancel();
    });
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

/// What a worker is started as.
pub(super) struct Post {
    pub(super) role: RoleName,
    /// Whether it keeps metrics for `/metrics`.
    pub(super) watched: bool,
    /// Where it sends them by OTLP, with one trace in a hundred.
    pub(super) collector: Option<String>,
}

impl Post {
    /// The worker that most phases measure: nobody watches it.
    pub(super) fn unwatched() -> Result<Self> {
        Ok(Self { role: RoleName::new(BENCH)?, watched: false, collector: None })
    }
}

/// The process, from outside.
pub(super) struct Child {
    process: Process,
    pid: u32,
}

impl Child {
    /// Starts it and waits until the store knows it.
    pub(super) async fn start(store: &Store, concurrency: u32, post: &Post) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["bench-worker", "--engine-url", &store.scratch.url, "--concurrency", &concurrency.to_string()])
            .args(["--role", post.role.as_str()])
            .args(post.watched.then_some("--watched"));
        // Whatever the shell says of telemetry is not what is measured.
        for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")) {
            command.env_remove(variable);
        }
        if let Some(collector) = &post.collector {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).env("OTEL_METRIC_EXPORT_INTERVAL", "1000");
            command.env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio").env("OTEL_TRACES_SAMPLER_ARG", "0.01");
        }
        let spawned = command.stdin(Stdio::piped()).kill_on_drop(true).spawn();
        let mut process = spawned.context("the worker's process can't be started")?;
        let pid = process.id().context("the worker's process ended at once")?;
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !store.scratch.engine.workers().await?.iter().any(|worker| worker.report.pid == pid) {
            ensure!(process.try_wait()?.is_none(), "the worker's process ended before it registered");
            ticks.tick().await;
        }
        Ok(Self { process, pid })
    }

    pub(super) fn cpu(&self) -> Result<CpuTime> {
        CpuTime::of(self.pid)
    }

    /// Ends it in good order: its standard input ends, it settles what it has and leaves.
    pub(super) async fn stop(mut self) -> Result<()> {
        drop(self.process.stdin.take());
        let status = self.process.wait().await?;
        ensure!(status.success(), "the worker's process ended with {status}");
        Ok(())
    }
}
