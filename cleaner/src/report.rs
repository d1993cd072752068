//! The report of a round, for people and for programs.

use std::{
    io::{self, Write},
    time::Duration,
};

use jobbers_common::engine::Finding;
use jobbers_process::printable::{self, on_one_line};
use serde::Serialize;

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Nothing is left to do.
    Done,
    /// It was stopped; the rest is left to the next round.
    Stopped,
    /// The store refused or was unreachable; the rest is left to the next round.
    Failed,
}

impl Ending {
    /// Its name in reports and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// What one pass did in one round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassReport {
    /// Its name.
    pub pass: &'static str,
    /// How it ended.
    pub ending: Ending,
    /// Tasks or letters removed; in a dry run, those that would be.
    pub removed: u64,
    /// The number of repaired inconsistencies.
    pub repaired: u64,
    /// The number of inconsistencies that were left.
    pub left: u64,
    /// The first hundred of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The number of batches.
    pub batches: u64,
    /// How long it took.
    pub seconds: f64,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the same pass may succeed later without any change.
    #[serde(skip)]
    pub transient: bool,
}

/// The report of one round.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// Whether it only counted.
    pub dry_run: bool,
    /// Whether every pass finished and no inconsistency is left.
    pub complete: bool,
    /// Tasks and letters removed by all passes.
    pub removed: u64,
    /// Each pass.
    pub passes: Vec<PassReport>,
}

impl Report {
    pub(crate) fn new(dry_run: bool, passes: Vec<PassReport>) -> Self {
        Self {
            dry_run,
            complete: passes.iter().all(|pass| pass.ending == Ending::Done && pass.left == 0),
            removed: passes.iter().map(|pass| pass.removed).sum(),
            passes,
        }
    }

    /// Whether a pass failed for a reason that may end by itself, such as a store that is down.
    #[must_use]
    pub fn is_transient_failure(&self) -> bool {
        self.passes.iter().any(|pass| pass.ending == Ending::Failed && pass.transient)
    }

    /// Why the first pass that failed did.
    pub(crate) fn failure(&self) -> Option<&str> {
        let failed = self.passes.iter().find(|pass| pass.ending == Ending::Failed)?;
        Some(failed.error.as_deref().unwrap_or("no reason given"))
    }

    /// Writes a small table for people.
    ///
    /// # Errors
    /// If `out` can't be written to.
    pub fn write_table(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let removed = if self.dry_run { "WOULD REMOVE" } else { "REMOVED" };
        writeln!(out, "{:<16} {:>12} {:>8} {:>8} {:>9}  ENDED", "PASS", removed, "MENDED", "BATCHES", "TOOK")?;
        for pass in &self.passes {
            let took = format!("{:.1?}", Duration::from_secs_f64(pass.seconds));
            let ended = match (pass.ending, &pass.error) {
                (Ending::Done, _) if pass.left > 0 => format!("done; {} not mended", pass.left),
                (Ending::Done, _) => "done".to_owned(),
                (Ending::Stopped, _) => "stopped before the end".to_owned(),
                (Ending::Failed, error) => format!("failed: {}", error.as_deref().unwrap_or("no reason given")),
            };
            let PassReport { pass: name, removed, repaired, batches, .. } = pass;
            let ended = on_one_line(&ended);
            writeln!(out, "{name:<16} {removed:>12} {repaired:>8} {batches:>8} {took:>9}  {ended}")?;
            for Finding { flaw, subject, detail, .. } in &pass.findings {
                let (subject, detail) = (on_one_line(subject), on_one_line(detail));
                writeln!(out, "  {}: {subject}: {detail}", flaw.as_str())?;
            }
        }
        out.flush()
    }

    /// Writes one JSON object on a line.
    ///
    /// # Errors
    /// If `out` can't be written to.
    pub fn write_json(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        writeln!(out, "{}", printable::json(&serde_json::to_string(self)?))?;
        out.flush()
    }
}
