//! Gives back tasks that this worker does not know, after reading from the store which other workers know them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{engine::Outcome, outcome::settling::settle_unknown, worker::RegisteredWorker};

use super::{Fetcher, settling::Settling};
use crate::fetcher::unknown_tasks::UnknownTaskAction;

impl Fetcher {
    /// Gives back the tasks that this worker does not know: at once if another worker knows them or this one claims no
    /// more, else after a delay. Reads the registered workers first where needed.
    pub(super) fn decide_unknown(&mut self) {
        if !self.life.claims() {
            for task in self.unknown.take_undecided() {
                self.unsettled.push(Settling::unstarted(task, Outcome::Unstarted { delay: Duration::ZERO }));
            }
            return;
        }
        let now = Instant::now();
        if self.workers.is_under_way() {
            return;
        }
        if self.unknown.needs_workers(now) {
            self.workers.begin(Arc::clone(&self.parts.engine), self.parts.shared.lease / 4);
        } else if self.unknown.has_undecided() {
            self.give_back_undecided(now);
        }
    }

    /// Handles the list of registered workers. Kinds of tasks that no other worker knows any more are claimed again.
    pub(super) fn follow_workers(&mut self, workers: Option<Vec<RegisteredWorker>>) {
        let now = Instant::now();
        if self.unknown.follow_workers(workers, &self.parts.shared.worker, now) {
            self.demand.renew();
        }
        self.give_back_undecided(now);
    }

    fn give_back_undecided(&mut self, now: Instant) {
        for task in self.unknown.take_undecided() {
            let outcome = match self.unknown.judge(&task, &self.parts.shared.worker, now) {
                UnknownTaskAction::HandOn => Outcome::Unstarted { delay: Duration::ZERO },
                UnknownTaskAction::GiveBack(delay) => {
                    self.parts.meters.begin(&task.queue, &task.name, task.version);
                    settle_unknown(&task, delay, self.parts.planner.patience(&task.queue))
                }
            };
            self.unsettled.push(Settling::unstarted(task, outcome));
        }
    }
}
