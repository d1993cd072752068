//! The phases of a worker's life, and whether it claims tasks.

use std::time::{Duration, Instant};

/// How long dropped tasks may take to report their end before they are given back regardless.
const LAST_CALL: Duration = Duration::from_millis(500);
/// How long a closing worker tries to send the remaining settlements to the store.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);

/// The phase of a worker's life.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// It claims tasks.
    Running,
    /// It claims no task and lets its tasks end, until `deadline`.
    Draining { deadline: Instant },
    /// It waits for nothing: running tasks are given back.
    Closing { release_at: Instant, until: Instant },
}

/// Where the worker is in its life.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) phase: Phase,
    /// When it was first asked to stop.
    pub(super) stopping_since: Option<Instant>,
    /// Whether the operator drained it, until the operator resumes it.
    pub(super) quiet: bool,
}

impl Default for Life {
    fn default() -> Self {
        Self { phase: Phase::Running, stopping_since: None, quiet: false }
    }
}

impl Life {
    /// Whether it claims tasks.
    pub(super) const fn claims(&self) -> bool {
        self.is_running() && !self.quiet
    }

    /// Whether it was not asked to stop.
    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    pub(super) const fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// When its phase is next due for a check, with this number of attempts left.
    pub(super) fn timer(&self, held: usize) -> Option<Instant> {
        match self.phase {
            Phase::Running => None,
            Phase::Draining { deadline } => Some(deadline),
            Phase::Closing { release_at, until } => Some(if held > 0 { release_at } else { until }),
        }
    }

    /// Claims no more tasks, and waits until `deadline`.
    pub(super) fn drain(&mut self, now: Instant, deadline: Instant) {
        self.stopping_since.get_or_insert(now);
        self.phase = Phase::Draining { deadline };
    }

    /// Waits for nothing any more.
    pub(super) fn close(&mut self, now: Instant) {
        self.stopping_since.get_or_insert(now);
        self.phase = Phase::Closing { release_at: now + LAST_CALL, until: now + LAST_WORDS };
    }
}
