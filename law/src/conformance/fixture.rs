//! A store to run a case on, and what cases do with it.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        ClaimRequest, Cycle, CycleReply, Engine, Error, ListRequest, OnConflict, Outcome, PutMode, QueueClaim,
        QueueStats, Refusal, SettleAnswer, Settlement, Submit, Submitted, TaskFilter, reads::first_queues,
    },
    lifecycle::Status,
    limits::MAX_QUEUES_PER_BATCH,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    queue::QueueConfig,
    task::{AttemptFailure, ClaimedTask, FailureKind, NewTask, Task},
    time::ManualClock,
    worker::task_kind::TaskKind,
};

/// The lease that the helpers take.
pub const LEASE: Duration = Duration::from_secs(8);

/// An empty store that goes by a clock the case moves.
pub struct Fixture {
    /// The store.
    pub engine: Arc<dyn Engine>,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    /// What must live as long as the store: a server, a folder.
    pub guard: Box<dyn Any + Send>,
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine.fmt(f)
    }
}

#[must_use]
pub fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

#[must_use]
pub fn queue(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

#[must_use]
pub fn worker(text: &str) -> WorkerId {
    WorkerId::new(text).unwrap()
}

#[must_use]
pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[must_use]
pub fn failure(message: &str) -> AttemptFailure {
    AttemptFailure::new(FailureKind::Error, message)
}

#[must_use]
pub fn retry(delay: Duration) -> Outcome {
    Outcome::Retry { delay, failure: failure("boom") }
}

#[must_use]
pub fn failed(dead_letter: bool) -> Outcome {
    Outcome::Failed { failure: failure("no"), dead_letter }
}

pub const DONE: Outcome = Outcome::Completed { result: None };
pub const RELEASED: Outcome = Outcome::Released { delay: Duration::ZERO };

/// A task for the queue `default`.
#[must_use]
pub fn task(text: &str) -> NewTask {
    NewTask::new(id(text), TaskName::new("echo").unwrap(), queue("default"), Payload::json(&b"{\"n\":1}"[..]))
}

#[must_use]
pub fn task_in(text: &str, into: &str) -> NewTask {
    NewTask { queue: queue(into), queue_is_explicit: true, ..task(text) }
}

#[must_use]
pub fn ids(tasks: &[ClaimedTask]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

impl Fixture {
    pub async fn try_submit(&self, tasks: Vec<NewTask>, on_conflict: OnConflict) -> Result<Vec<Submitted>, Error> {
        self.engine.submit(Submit { tasks, on_conflict }).await
    }

    pub async fn submit(&self, tasks: Vec<NewTask>) -> Vec<Submitted> {
        self.try_submit(tasks, OnConflict::Fail).await.unwrap()
    }

    /// Submits tasks of many queues, in batches that are as large as they may be.
    pub async fn submit_to_many(&self, tasks: Vec<NewTask>) {
        for batch in tasks.chunks(MAX_QUEUES_PER_BATCH) {
            self.submit(batch.to_vec()).await;
        }
    }

    /// Submits tasks of these ids to `default`, each in a call of its own.
    pub async fn submit_ids(&self, ids: &[&str]) {
        for id in ids {
            self.submit(vec![task(id)]).await;
        }
    }

    pub async fn cycle_as(
        &self,
        name: &str,
        queues: &[&str],
        limit: usize,
        settlements: Vec<Settlement>,
    ) -> CycleReply {
        let queues = queues.iter().map(|name| QueueClaim { queue: queue(name), limit }).collect();
        let claim = Some(ClaimRequest { queues, limit, refused: Vec::new(), lease: LEASE });
        self.engine.cycle(Cycle { worker: worker(name), settlements, claim }).await.unwrap()
    }

    /// One cycle of a claim that leaves tasks of some names, all of version 1, to others.
    pub async fn cycle_refusing(
        &self,
        name: &str,
        names: &[&str],
        limit: usize,
        settlements: Vec<Settlement>,
    ) -> CycleReply {
        let kind = |name: &&str| TaskKind { name: TaskName::new(name).unwrap(), version: 1 };
        let refused = names.iter().map(|name| Refusal { queue: queue("default"), kind: kind(name) }).collect();
        let queues = vec![QueueClaim { queue: queue("default"), limit }];
        let claim = Some(ClaimRequest { queues, limit, refused, lease: LEASE });
        self.engine.cycle(Cycle { worker: worker(name), settlements, claim }).await.unwrap()
    }

    pub async fn claim_from(&self, queues: &[&str], limit: usize) -> Vec<ClaimedTask> {
        self.cycle_as("w1", queues, limit, Vec::new()).await.claimed
    }

    pub async fn claim(&self, limit: usize) -> Vec<ClaimedTask> {
        self.claim_from(&["default"], limit).await
    }

    pub async fn claim_one(&self) -> ClaimedTask {
        let mut claimed = self.claim(1).await;
        assert_eq!(claimed.len(), 1, "one task to claim");
        claimed.remove(0)
    }

    pub async fn settle(&self, task: &ClaimedTask, outcome: Outcome) -> SettleAnswer {
        let settlement = Settlement::new(task.id.clone(), task.fence, outcome);
        let cycle = Cycle { worker: worker("w1"), settlements: vec![settlement], claim: None };
        let reply = self.engine.cycle(cycle).await.unwrap();
        assert_eq!(reply.settled.len(), 1);
        reply.settled[0]
    }

    pub async fn get(&self, text: &str) -> Task {
        self.engine.get(&id(text)).await.unwrap().unwrap_or_else(|| panic!("task {text} should exist"))
    }

    pub async fn status(&self, text: &str) -> Status {
        self.get(text).await.status
    }

    pub async fn stats(&self, name: &str) -> QueueStats {
        self.engine.queue_stats(&queue(name)).await.unwrap()
    }

    /// The counts of all queues.
    pub async fn all_stats(&self) -> Vec<QueueStats> {
        first_queues(&*self.engine, usize::MAX).await.unwrap()
    }

    pub async fn count(&self, status: Status) -> u64 {
        self.stats("default").await.tasks.get(&status).copied().unwrap_or(0)
    }

    /// Accepted = live + finished + removed, in every queue.
    pub async fn assert_conserved(&self) {
        for stats in self.all_stats().await {
            assert_eq!(stats.accepted, stats.removed + stats.tasks.values().sum::<u64>(), "{stats:?}");
        }
    }

    pub async fn create_queue(&self, name: &str) {
        self.engine.put_queue(QueueConfig::new(queue(name)), PutMode::Create).await.unwrap();
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Every task that matches, by pages of `limit`.
    pub async fn list(&self, filter: TaskFilter, limit: usize) -> Vec<Task> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.engine.list(ListRequest { filter: filter.clone(), limit, cursor }).await.unwrap();
            assert!(page.tasks.len() <= limit);
            all.extend(page.tasks);
            cursor = page.next;
            if cursor.is_none() {
                return all;
            }
        }
    }
}
