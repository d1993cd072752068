//! Carries out passes: batch after batch, round after round.
//!
//! Only this module batches, waits and stops; passes do not.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Engine, Error, Finding, boards::Boards},
    time::Timestamp,
};
use jobbers_process::{shutdown::Shutdown, telemetry::SCOPE};

use crate::{
    meters::Meters,
    pass::{Pass, Round},
    report::{Ending, PassReport, Report},
};

/// How far the rounds of many cleaners are spread: a tenth of the interval, either way.
const JITTER: f64 = 0.1;

/// The most findings that a report names; of further ones it reports only the number.
const NAMED: usize = 100;

/// Passes, and the store they work on.
#[derive(Debug)]
pub struct Runner {
    engine: Arc<dyn Engine>,
    boards: Arc<dyn Boards>,
    passes: Vec<Box<dyn Pass>>,
    dry_run: bool,
    meters: Meters,
}

impl Runner {
    /// A runner that carries out `passes` in their order.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, passes: Vec<Box<dyn Pass>>, dry_run: bool) -> Self {
        let meters = Meters::new(&opentelemetry::global::meter(SCOPE));
        Self { boards: Arc::clone(&engine).boards(), engine, passes, dry_run, meters }
    }

    /// Carries out each pass until nothing is left to do or until `shutdown`: `drain` ends it between two batches,
    /// `now` at once. A pass that fails does not prevent the next.
    pub async fn run_once(&self, shutdown: &Shutdown) -> Report {
        let began = Instant::now();
        let now = self.engine.health().await.map(|health| health.now);
        let mut reports = Vec::with_capacity(self.passes.len());
        for pass in &self.passes {
            let report = match &now {
                Ok(now) => self.run_pass(pass.as_ref(), *now, shutdown).await,
                Err(error) => Tally::default().end(pass.as_ref(), began, Err(error.clone())),
            };
            tracing::debug!(pass = report.pass, removed = report.removed, ending = ?report.ending, "pass ended");
            reports.push(report);
        }
        let report = Report::new(self.dry_run, reports);
        self.meters.count(&report);
        report
    }

    async fn run_pass(&self, pass: &dyn Pass, now: Timestamp, shutdown: &Shutdown) -> PassReport {
        let began = Instant::now();
        let (engine, boards) = (self.engine.as_ref(), self.boards.as_ref());
        let round = Round { engine, boards, now, dry_run: self.dry_run };
        let mut tally = Tally::default();
        let mut cursor = None;
        loop {
            if shutdown.drain.is_cancelled() {
                return tally.end(pass, began, Ok(Ending::Stopped));
            }
            let batch = tokio::select! {
                batch = pass.run_once(round, cursor.take()) => batch,
                () = shutdown.now.cancelled() => return tally.end(pass, began, Ok(Ending::Stopped)),
            };
            match batch {
                Ok(batch) => {
                    tally.removed += batch.removed;
                    tally.batches += 1;
                    tally.repaired += batch.repaired;
                    tally.left += batch.left.len() as u64;
                    let room = NAMED.saturating_sub(tally.findings.len());
                    tally.findings.extend(batch.left.into_iter().take(room));
                    cursor = batch.next;
                }
                Err(error) => return tally.end(pass, began, Err(error)),
            }
            if cursor.is_none() {
                return tally.end(pass, began, Ok(Ending::Done));
            }
        }
    }

    /// Rounds without end: the first at once, the others about `interval` apart, until `shutdown.drain`.
    #[must_use]
    pub fn watch<'a>(&'a self, interval: Duration, shutdown: &'a Shutdown) -> Rounds<'a> {
        Rounds { runner: self, interval, shutdown, is_first: true }
    }
}

/// The rounds of a [`Runner::watch`].
#[derive(Debug)]
pub struct Rounds<'a> {
    runner: &'a Runner,
    interval: Duration,
    shutdown: &'a Shutdown,
    is_first: bool,
}

impl Rounds<'_> {
    /// Waits for the next round's time, carries it out and returns its report; `None` after a stop.
    pub async fn next(&mut self) -> Option<Report> {
        if !std::mem::take(&mut self.is_first) {
            let spread = 1.0 - JITTER + 2.0 * JITTER * rand::random::<f64>();
            tokio::select! {
                () = tokio::time::sleep(self.interval.mul_f64(spread)) => {}
                () = self.shutdown.drain.cancelled() => {}
            }
        }
        if self.shutdown.drain.is_cancelled() {
            return None;
        }
        Some(self.runner.run_once(self.shutdown).await)
    }
}

#[derive(Debug, Default)]
struct Tally {
    removed: u64,
    repaired: u64,
    left: u64,
    findings: Vec<Finding>,
    batches: u64,
}

impl Tally {
    fn end(self, pass: &dyn Pass, began: Instant, ending: Result<Ending, Error>) -> PassReport {
        let (ending, error) = match ending {
            Ok(ending) => (ending, None),
            Err(error) => (Ending::Failed, Some(error)),
        };
        PassReport {
            pass: pass.name(),
            ending,
            removed: self.removed,
            repaired: self.repaired,
            left: self.left,
            findings: self.findings,
            batches: self.batches,
            seconds: began.elapsed().as_secs_f64(),
            transient: error.as_ref().is_some_and(Error::is_transient),
            error: error.map(|error| error.to_string()),
        }
    }
}
