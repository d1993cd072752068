//! A manager and a cleaner with the settings they ship with, in a process of their own: this same program, started as
//! `bench-services`.

use std::{io::Write, net::SocketAddr, process::Stdio, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use jobbers_engines::OpenOptions;
use jobbers_manager::{Config, Listeners};
use jobbers_process::{
    shutdown::Shutdown,
    telemetry::{Options, Telemetry},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::Command,
};

use super::{
    cpu::CpuTime,
    process::{self, Owned},
    store::BenchStore,
};
use crate::stack::clean;

/// The manager and the cleaner that `jobbers bench` measures; it starts them by itself
#[derive(Debug, Args)]
pub struct BenchServicesArgs {
    #[arg(long)]
    engine_url: String,
    /// Answer MassTasker's clients too
    #[arg(long)]
    masstasker: bool,
}

/// Serves until SIGTERM, or until the process that started it is gone. Prints the addresses for HTTP, and for MassTasker's
/// clients if these are answered.
///
/// # Errors
/// When the store can't be opened, or no address can be had.
pub async fn run(args: BenchServicesArgs) -> Result<()> {
    let telemetry = Telemetry::start(&Options {
        service: "jobbers",
        version: env!("CARGO_PKG_VERSION"),
        metrics_listen: None,
        insecure: false,
        exposed_elsewhere: true,
    })?;
    let engine = jobbers_engines::open(&args.engine_url, OpenOptions::existing()).await?;
    let http = TcpListener::bind(("127.0.0.1", 0)).await?;
    let masstasker = if args.masstasker { Some(TcpListener::bind(("127.0.0.1", 0)).await?) } else { None };
    let shutdown = Shutdown::on_signals()?;
    process::end_with_parent(shutdown.drain.clone(), || None);
    let listening = [Some(&http), masstasker.as_ref()].into_iter().flatten();
    let addresses: Vec<String> =
        listening.map(|listener| Ok(listener.local_addr()?.to_string())).collect::<Result<_>>()?;
    writeln!(std::io::stdout(), "{}", addresses.join(" "))?;
    let config = Config { dlq_path: "none".to_owned(), ..Config::default() };
    let cleaning = tokio::spawn(clean(Arc::clone(&engine), shutdown.clone()));
    let listeners = Listeners { masstasker: masstasker.map(Into::into), ..http.into() };
    jobbers_manager::run(config, engine, listeners, shutdown).await;
    cleaning.await?;
    telemetry.shutdown().await;
    Ok(())
}

/// The process, from outside.
pub(super) struct Services {
    process: Owned,
    /// Where the manager listens.
    pub(super) address: SocketAddr,
    /// Where it answers MassTasker's clients, if it does.
    pub(super) masstasker: Option<SocketAddr>,
}

impl Services {
    /// Starts them and waits until the manager listens.
    pub(super) async fn start(store: &BenchStore) -> Result<Self> {
        Self::start_with(store, &[]).await
    }

    /// The same with more flags.
    pub(super) async fn start_with(store: &BenchStore, flags: &[&str]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench-services", "--engine-url", &store.scratch.url]).args(flags);
        process::without_telemetry_settings(&mut command);
        let spawned = Owned::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut process = spawned.context("the manager's process can't be started")?;
        let told = process.stdout.take().context("the manager's process has no standard output")?;
        let line = BufReader::new(told).lines().next_line().await?;
        let line = line.context("the manager's process ended before it listened")?;
        let (address, masstasker) = match line.split_once(' ') {
            Some((address, masstasker)) => (address, Some(masstasker.parse()?)),
            None => (line.as_str(), None),
        };
        Ok(Self { process, address: address.parse()?, masstasker })
    }

    pub(super) fn cpu(&self) -> Result<CpuTime> {
        CpuTime::of(self.process.id().context("the manager's process has ended")?)
    }

    /// Ends them in good order.
    pub(super) async fn stop(mut self) -> Result<()> {
        drop(self.process.stdin.take());
        let status = self.process.wait().await?;
        ensure!(status.success(), "the manager's process ended with {status}");
        Ok(())
    }
}
