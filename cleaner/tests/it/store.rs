//! A store with finished tasks in it, and a clock to move.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, OnConflict, Outcome, PutMode, QueueClaim, Settlement, Submit},
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    queue::QueueConfig,
    task::{AttemptFailure, ClaimedTask, FailureKind, NewTask},
    time::{ManualClock, Timestamp},
};
use jobbers_law::model::ModelEngine;

pub(crate) struct Store {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) clock: Arc<ManualClock>,
}

impl Store {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_700_000_000_000_000)));
        Self { engine: Arc::new(ModelEngine::new(clock.clone())), clock }
    }

    pub(crate) async fn create_queue(&self, name: &str) {
        let queue = QueueConfig::new(QueueName::new(name).unwrap());
        self.engine.put_queue(queue, PutMode::Create).await.unwrap();
    }

    /// Submits `count` tasks and leaves them there.
    pub(crate) async fn submit(&self, queue: &str, name: &str, count: usize) {
        let queue = QueueName::new(queue).unwrap();
        let task = |n: usize| {
            let id = TaskId::new(format!("{queue}/{name}/{n}")).unwrap();
            NewTask::new(id, TaskName::new(name).unwrap(), queue.clone(), Payload::json(&b"{}"[..]))
        };
        let tasks = (0..count).map(task).collect();
        self.engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
    }

    /// Submits `count` tasks and completes them.
    pub(crate) async fn complete(&self, queue: &str, name: &str, count: usize) {
        self.run(queue, name, count, &Outcome::Completed { result: None }).await;
    }

    /// Submits `count` tasks and fails them for good.
    pub(crate) async fn fail(&self, queue: &str, name: &str, count: usize) {
        let failure = AttemptFailure::new(FailureKind::Fatal, "boom");
        self.run(queue, name, count, &Outcome::Failed { failure, dead_letter: false }).await;
    }

    /// Claims `count` tasks, which then run.
    pub(crate) async fn claim(&self, queue: &str, count: usize) -> Vec<ClaimedTask> {
        let queues = vec![QueueClaim { queue: QueueName::new(queue).unwrap(), limit: count }];
        let claim = Some(ClaimRequest { queues, limit: count, refused: Vec::new(), lease: Duration::from_secs(8) });
        let worker = WorkerId::new("worker").unwrap();
        let claimed = self.engine.cycle(Cycle { worker, settlements: Vec::new(), claim }).await.unwrap().claimed;
        assert_eq!(claimed.len(), count);
        claimed
    }

    async fn run(&self, queue: &str, name: &str, count: usize, outcome: &Outcome) {
        self.submit(queue, name, count).await;
        let claimed = self.claim(queue, count).await;
        let worker = WorkerId::new("worker").unwrap();
        let settle = |(id, fence)| Settlement::new(id, fence, outcome.clone());
        let settlements = claimed.into_iter().map(|task| settle((task.id, task.fence))).collect();
        self.engine.cycle(Cycle { worker, settlements, claim: None }).await.unwrap();
    }

    /// How many tasks a queue holds, whatever their status.
    pub(crate) async fn count(&self, queue: &str) -> u64 {
        let stats = self.engine.queue_stats(&QueueName::new(queue).unwrap()).await.unwrap();
        stats.tasks.values().sum()
    }
}
