//! Keeps the leases of this worker: renews them, writes heartbeats with them, and stops attempts whose lease can't be
//! kept.
//!
//! Runs on the control thread, separate from the runtime of the task functions, so that no task can starve it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Engine, Error, ExtendAnswer, Extension, Result},
    limits::MAX_BATCH,
};
use tokio::time::sleep_until;

use crate::{
    attempts::{
        attempt::{Attempt, SharedState, Stop},
        leases::HeldLeases,
        meters::Renewals,
    },
    liveness::outage::blames_a_record,
};

/// Renews every lease four times within its length, in batches. Writes due heartbeats of all tasks together, no more
/// often than 64 times within a lease.
#[derive(Debug, Clone)]
pub(crate) struct Renewal {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) leases: Arc<HeldLeases>,
    pub(crate) meters: Renewals,
}

impl Renewal {
    /// Runs until it is dropped.
    pub(crate) async fn run(self) {
        let (every, gap) = (self.shared.lease / 4, self.shared.lease / 64);
        let mut next_round = Instant::now() + every;
        let mut not_before = Instant::now();
        loop {
            let held = self.leases.all();
            let now = Instant::now();
            let news = held.iter().filter_map(|attempt| attempt.news_due(now)).min();
            let next = news.map_or(next_round, |due| due.max(not_before).min(next_round));
            tokio::select! {
                biased;
                () = sleep_until(next.into()) => {}
                // An attempt has its first heartbeat: look again, but not once for each of many attempts that start
                // together.
                () = self.shared.news.notified() => {
                    sleep_until(not_before.min(next_round).into()).await;
                    continue;
                }
            }
            let now = Instant::now();
            not_before = now + gap;
            let round = now >= next_round;
            let due = |attempt: &&Arc<Attempt>| {
                if attempt.stopped() == Some(Stop::LeaseLost) {
                    return false;
                }
                // Claimed or renewed within the last eighth: the next round is soon enough.
                let fresh = attempt.lease_ends() > now + self.shared.lease / 8 * 7;
                round && !fresh || attempt.news_due(now).is_some_and(|due| due <= now)
            };
            let held = self.leases.all();
            let due: Vec<&Arc<Attempt>> = held.iter().filter(due).collect();
            let mut all_well = true;
            for batch in due.chunks(MAX_BATCH) {
                all_well &= self.extend(batch).await;
            }
            if !all_well {
                next_round = Instant::now() + self.shared.lease / 16;
            } else if round {
                next_round = now + every;
            }
        }
    }

    /// Renews a batch. If one record makes the store refuse it, the others are renewed without that one.
    async fn extend(&self, batch: &[&Arc<Attempt>]) -> bool {
        let (mut parts, mut all_well) = (vec![batch], true);
        while let Some(part) = parts.pop() {
            match self.try_extend(part).await {
                Ok(()) => {}
                Err(error) if part.len() > 1 && blames_a_record(&error) => {
                    let (some, others) = part.split_at(part.len() / 2);
                    parts.extend([others, some]);
                }
                Err(error) => {
                    self.meters.error.add(part.len() as u64);
                    tracing::warn!(leases = part.len(), %error, "leases could not be renewed");
                    all_well = false;
                }
            }
        }
        all_well
    }

    async fn try_extend(&self, batch: &[&Arc<Attempt>]) -> Result<()> {
        let sent = Instant::now();
        let extensions: Vec<Extension> = batch
            .iter()
            .map(|attempt| Extension {
                id: attempt.task.id.clone(),
                fence: attempt.task.fence,
                heartbeat: attempt.take_news(sent),
            })
            .collect();
        let call = self.engine.extend(&self.shared.worker, self.shared.lease, extensions);
        let answered = tokio::time::timeout(self.shared.lease / 4, call).await;
        let error = match answered.unwrap_or_else(|_| Err(Error::unavailable("no answer in time"))) {
            Ok(answers) => {
                let lost = answers.iter().filter(|answer| **answer == ExtendAnswer::LeaseLost).count() as u64;
                self.meters.renewed.add(answers.len() as u64 - lost);
                self.meters.lost.add(lost);
                for (attempt, answer) in batch.iter().zip(answers) {
                    attempt.confirm_news();
                    apply_answer(attempt, answer, sent);
                }
                return Ok(());
            }
            Err(error) => error,
        };
        // At once in a smaller part, or else after a while.
        let splits = batch.len() > 1 && blames_a_record(&error);
        let later = if splits { sent } else { Instant::now() + self.shared.lease / 16 };
        batch.iter().for_each(|attempt| attempt.return_news(later));
        Err(error)
    }

    /// Stops attempts whose leases could not be renewed in time, before another worker may start their tasks. It uses
    /// the monotonic clock of this process and counts from before the lease was requested, so that it errs on the safe
    /// side. Runs until it is dropped.
    pub(crate) async fn guard(self) {
        let tick = (self.shared.lease / 16).max(Duration::from_millis(5));
        loop {
            tokio::time::sleep(tick).await;
            let limit = Instant::now() + self.shared.lease / 8;
            for attempt in self.leases.all().iter().filter(|attempt| attempt.lease_ends() <= limit) {
                if !attempt.has_ended() && attempt.stopped().is_none_or(|why| why < Stop::LeaseEnding) {
                    tracing::warn!(id = %attempt.task.id, "its lease can't be renewed; the task is stopped and given back");
                    attempt.stop(Stop::LeaseEnding);
                }
            }
        }
    }
}

fn apply_answer(attempt: &Attempt, answer: ExtendAnswer, sent: Instant) {
    match answer {
        ExtendAnswer::Extended { cancel_requested } => {
            attempt.renewed(sent);
            if cancel_requested {
                attempt.stop(Stop::Cancel);
            }
        }
        // One that has ended may have been settled while this call was under way.
        ExtendAnswer::LeaseLost if attempt.has_ended() => {}
        ExtendAnswer::LeaseLost => {
            tracing::warn!(id = %attempt.task.id, fence = %attempt.task.fence, "its lease is lost; the task is stopped");
            attempt.stop(Stop::LeaseLost);
        }
    }
}
