//! The worker under test, in a process of its own: this same program, started as `bench-worker`.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jobbers_common::name::RoleName;
use jobbers_process::shutdown::Shutdown;
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
}

/// Works until SIGTERM, or until whoever started it is gone.
///
/// # Errors
/// When the store can't be opened.
pub async fn run(args: BenchWorkerArgs) -> Result<()> {
    let config = Config {
        engine_url: args.engine_url,
        concurrency: args.concurrency,
        role: RoleName::new(BENCH)?,
        ..Config::default()
    };
    let shutdown = Shutdown::on_signals()?;
    let now = shutdown.now.clone();
    // Standard input is a pipe from the bench: its end is the bench's end, even when that was killed.
    std::thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        now.cancel();
    });
    Worker::open(config).task(&noop).task(&latency).run_until(shutdown).await?;
    Ok(())
}

/// The process, from outside.
pub(super) struct Child {
    process: Process,
    pid: u32,
}

impl Child {
    /// Starts it and waits until the store knows it.
    pub(super) async fn start(store: &Store, concurrency: u32) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["bench-worker", "--engine-url", &store.scratch.url, "--concurrency", &concurrency.to_string()])
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the worker's process can't be started")?;
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
