//! The end of a worker: draining, and closing when that takes too long.

use std::time::{Duration, Instant};

use jobbers_common::policy::OnShutdown;

use super::{Fetcher, Settling};
use crate::attempt::Stop;

/// How long dropped tasks may take to report their end before they are given back regardless.
const LAST_CALL: Duration = Duration::from_millis(500);
/// How long a closing worker tries to send the remaining settlements to the store.
const LAST_WORDS: Duration = Duration::from_secs(5);

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

impl Phase {
    pub(super) const fn claims(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// When this phase is next due for a check.
    pub(super) fn timer(&self, held: usize) -> Option<Instant> {
        match *self {
            Self::Running => None,
            Self::Draining { deadline } => Some(deadline),
            Self::Closing { release_at, until } => Some(if held > 0 { release_at } else { until }),
        }
    }
}

impl Fetcher {
    /// Whether it claims tasks.
    pub(super) const fn claims(&self) -> bool {
        self.phase.claims() && !self.quiet
    }

    /// Stops or resumes claiming, as the operator wishes. Running tasks and the worker continue.
    pub(super) fn heed_operator(&mut self, quiet: bool) {
        if quiet == self.quiet || !self.phase.claims() {
            return;
        }
        self.quiet = quiet;
        tracing::info!(running = self.running(), "{}", if quiet { "told to drain" } else { "told to claim again" });
        if quiet {
            self.parts.board.drain(None);
            self.give_back_what_waits();
        } else {
            self.parts.board.resume();
        }
    }

    /// Claims no more tasks, gives back those that have not begun, and treats each running task by its policy.
    pub(super) fn begin_drain(&mut self) {
        let now = Instant::now();
        let deadline = now + self.parts.drain_deadline;
        self.told_to_stop.get_or_insert(now);
        self.phase = Phase::Draining { deadline };
        self.parts.board.drain(Some(deadline));
        tracing::info!(running = self.running(), "draining");
        self.give_back_what_waits();
        for attempt in self.parts.leases.all().iter().filter(|attempt| !attempt.has_ended()) {
            match attempt.policy.on_shutdown {
                OnShutdown::Finish => {}
                OnShutdown::Requeue => attempt.stop(Stop::Requeue),
                OnShutdown::Fail => attempt.stop(Stop::Fail),
            }
        }
    }

    /// Drains when endless tasks hold too many threads, because only a new process gets rid of them.
    pub(super) fn count_hung_threads(&mut self) {
        let most = self.parts.max_hung_threads;
        let hung = self.parts.shared.hung.count();
        self.parts.board.count_hung(hung);
        if self.phase.claims() && hung >= most {
            tracing::error!(
                threads = most,
                "too many threads are held by tasks that do not end; draining, to be started again"
            );
            self.report.hung = true;
            self.begin_drain();
        }
    }

    /// Gives back the tasks that wait for a lane or a thread, because another worker may have a free one.
    fn give_back_what_waits(&self) {
        self.lanes.give_back();
        for attempt in self.parts.leases.all().iter().filter(|attempt| attempt.withdraw()) {
            attempt.stop(Stop::Requeue);
        }
    }

    /// Gives back every task that still runs, whether it has ended or not.
    pub(super) fn close(&mut self) {
        let now = Instant::now();
        self.told_to_stop.get_or_insert(now);
        self.phase = Phase::Closing { release_at: now + LAST_CALL, until: now + LAST_WORDS };
        self.parts.board.drain(Some(now + LAST_WORDS));
        let running = self.running();
        self.lanes.give_back();
        if running > 0 {
            self.report.late = true;
            tracing::warn!(running, "no more time; giving back what still runs");
        }
        for attempt in self.parts.leases.all().iter().filter(|attempt| !attempt.has_ended()) {
            attempt.stop(Stop::Requeue);
        }
        self.parts.shared.halt.cancel();
    }

    /// Moves on when the phase's time is up. A drain that took too long is closed. Tasks that do not even end when they
    /// are dropped are given back regardless, because this process is about to end.
    pub(super) fn release_stragglers(&mut self) {
        let now = Instant::now();
        match self.phase {
            Phase::Draining { deadline } if now >= deadline => self.close(),
            Phase::Closing { release_at, .. } if now >= release_at && self.held > 0 => {
                for attempt in self.parts.leases.all() {
                    if attempt.take_end() {
                        self.left(&attempt);
                        let (id, fence) = (attempt.task.id.clone(), attempt.task.fence);
                        let outcome = attempt.given_back();
                        self.unsettled.push(Settling { id, unstarted: None, fence, outcome, attempt: Some(attempt) });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether everything is done.
    pub(super) fn is_over(&self) -> bool {
        let has_none = self.unsettled.is_empty() && !self.unknown.has_undecided() && self.aside.len() == 0;
        let idle = self.held == 0 && has_none && self.calls.is_empty();
        match self.phase {
            Phase::Running => idle && self.parts.ttl == Some(0),
            Phase::Draining { .. } => idle,
            Phase::Closing { until, .. } => idle || Instant::now() >= until,
        }
    }
}
