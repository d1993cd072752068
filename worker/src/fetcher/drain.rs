//! The end of a worker: draining, and closing when that takes too long.

use std::time::Instant;

use jobbers_common::policy::OnShutdown;

use super::{
    Fetcher,
    life::{LAST_WORDS, Phase},
    settling::Settling,
};
use crate::attempts::attempt::Stop;

impl Fetcher {
    /// Stops or resumes claiming, as the operator wishes. Running tasks and the worker continue.
    pub(super) fn follow_operator(&mut self, quiet: bool) {
        if quiet == self.life.quiet || !self.life.is_running() {
            return;
        }
        self.life.quiet = quiet;
        tracing::info!(
            running = self.slots.running(),
            "{}",
            if quiet { "told to drain" } else { "told to claim again" }
        );
        if quiet {
            self.parts.status.drain(None);
            self.give_back_what_waits();
        } else {
            self.parts.status.resume();
        }
    }

    /// Claims no more tasks, gives back those that have not begun, and treats each running task by its policy.
    pub(super) fn begin_drain(&mut self) {
        let now = Instant::now();
        let deadline = now + self.parts.drain_deadline;
        self.life.drain(now, deadline);
        self.parts.status.drain(Some(deadline));
        tracing::info!(running = self.slots.running(), "draining");
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
        self.parts.status.count_hung(hung);
        if self.life.is_running() && hung >= most {
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
        self.slots.lanes.give_back();
        for attempt in self.parts.leases.all().iter().filter(|attempt| attempt.withdraw()) {
            attempt.stop(Stop::Requeue);
        }
    }

    /// Gives back every task that still runs, whether it has ended or not.
    pub(super) fn close(&mut self) {
        let now = Instant::now();
        self.life.close(now);
        self.parts.status.drain(Some(now + LAST_WORDS));
        let running = self.slots.running();
        self.slots.lanes.give_back();
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
        match self.life.phase {
            Phase::Draining { deadline } if now >= deadline => self.close(),
            Phase::Closing { release_at, .. } if now >= release_at && self.slots.held > 0 => {
                for attempt in self.parts.leases.all() {
                    if attempt.take_end() {
                        self.left(&attempt);
                        let outcome = attempt.given_back();
                        self.unsettled.push(Settling::ended(attempt, outcome));
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether everything is done.
    pub(super) fn is_over(&self) -> bool {
        let has_none = self.unsettled.len() == 0 && !self.unknown.has_undecided();
        let idle = self.slots.held == 0 && has_none && self.calls.is_empty();
        match self.life.phase {
            Phase::Running => idle && self.slots.are_used_up(),
            Phase::Draining { .. } => idle,
            Phase::Closing { until, .. } => idle || Instant::now() >= until,
        }
    }
}
