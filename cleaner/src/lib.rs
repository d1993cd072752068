//! Chores over the store, and the runner that carries them out.
//!
//! A chore is a [`Pass`]: a small value that does one bounded batch per call. The [`Runner`] repeats it until nothing
//! is left, stops between two batches on request, and returns a [`Report`]. [`Prune`] deletes finished tasks by their
//! queue's retention or by an operator's criteria, [`Clear`] those that have not begun, [`BoardRetention`] deletes tasks of
//! boards by their rules, [`DeadLetters`] deletes old dead letters, and [`Repair`] repairs inconsistencies of the store.
//!
//! It deliberately does not promote or reclaim: every claim does a part of that and managers do the rest, so that no
//! task waits for a cleaner. Any number of cleaners may run at once. Start reading at [`run`], then [`runner`].

pub mod boards;
pub mod clear;
pub mod config;
pub mod dead_letters;
mod meters;
mod pass;
pub mod program;
pub mod prune;
pub mod repair;
mod report;
pub mod runner;

use std::{io::Write, sync::Arc};

use jobbers_common::engine::Engine;
use jobbers_process::{readiness, shutdown::Shutdown};

pub use crate::{
    boards::{BoardRetention, BoardRule},
    clear::Clear,
    config::{Args, Config, ConfigError},
    dead_letters::DeadLetters,
    pass::{Batch, Pass, Round},
    prune::{Criteria, Prune},
    repair::Repair,
    report::{Ending, PassReport, Report},
    runner::Runner,
};

/// Carries out what `config` requests: one round, or rounds until `shutdown`. Writes each round's report to `out` and
/// returns the last one.
///
/// # Errors
/// [`ConfigError`] if the configuration requests nothing, and if `out` can't be written to. Failures of the store are
/// part of the report.
pub async fn run(
    config: &Config,
    engine: Arc<dyn Engine>,
    shutdown: &Shutdown,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Report> {
    let runner = Runner::new(engine, config.passes()?, config.dry_run);
    let mut write = |report: &Report| if config.json { report.write_json(out) } else { report.write_table(out) };
    let Some(interval) = config.watch else {
        let report = runner.run_once(shutdown).await;
        write(&report)?;
        return Ok(report);
    };
    let mut latest = Report::default();
    let mut rounds = runner.watch(interval, shutdown);
    while let Some(report) = rounds.next().await {
        readiness::set(report.failure().map_or(Ok(()), |failure| Err(failure.to_owned())));
        write(&report)?;
        latest = report;
    }
    Ok(latest)
}
