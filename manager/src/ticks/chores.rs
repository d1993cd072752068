//! The tick: chores that must happen even if no worker claims.
//!
//! Every manager ticks; none is special. Each chore is a bounded call that is safe to repeat, so several at once only
//! share the work. The pause is drawn at random each time, so that managers started together do not march in step.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
};

use crate::app::App;

/// Most calls of one chore per tick; what is left waits for the next.
const MAX_CALLS_PER_TICK: usize = 50;

/// Ticks until the manager stops, at least once in `every`.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let ticking = async {
        let mut chores = Chores::new(Arc::clone(&app));
        loop {
            // Tasks past their retention do not wait for the next pause, so that the limit also holds at full speed.
            if !chores.has_backlog {
                tokio::time::sleep(every.mul_f64(rand::random_range(0.75..1.0))).await;
            }
            chores.tick().await;
        }
    };
    app.drain.run_until_cancelled(ticking).await;
}

#[derive(Debug)]
struct Chores {
    app: Arc<App>,
    /// Where pruning continues at the next tick.
    prune_from: Option<String>,
    /// Whether the latest tick left finished tasks to prune; false after a failed tick, so that the next one waits.
    has_backlog: bool,
    /// The error that was logged last, so that a store that is down is logged once and not every second.
    trouble: Option<Error>,
}

impl Chores {
    const fn new(app: Arc<App>) -> Self {
        Self { app, prune_from: None, has_backlog: false, trouble: None }
    }

    async fn tick(&mut self) {
        self.has_backlog = false;
        let done = self.all().await;
        match (done, self.trouble.take()) {
            (Ok(()), Some(_)) => tracing::info!("the store is well again"),
            (Ok(()), None) => {}
            (Err(error), before) => {
                self.app.leases.grace.note(&error).await;
                if before.is_none_or(|before| std::mem::discriminant(&before) != std::mem::discriminant(&error)) {
                    tracing::warn!(%error, "the store does not let chores be done");
                }
                self.trouble = Some(error);
            }
        }
    }

    /// A store that refuses moves is still read, because the ages of waiting tasks must be visible.
    async fn all(&mut self) -> Result<()> {
        let moved = self.move_tasks().await;
        let observed = self.observe().await;
        moved.and(observed)
    }

    async fn move_tasks(&mut self) -> Result<()> {
        let began = Instant::now();
        let promoted = self.promote().await;
        self.note("promote", began, promoted)?;
        let began = Instant::now();
        let reclaimed = self.reclaim().await;
        self.note("reclaim", began, reclaimed)?;
        let began = Instant::now();
        let pruned = self.prune(MAX_CALLS_PER_TICK).await;
        self.note("prune", began, pruned)
    }

    async fn observe(&self) -> Result<()> {
        if !self.app.gauges.is_due() {
            return Ok(());
        }
        let began = Instant::now();
        let read = self.app.gauges.read(self.app.engine.as_ref(), self.app.boards.as_ref()).await;
        self.note("observe", began, read.map(|()| 0))
    }

    /// Counts the work of a chore.
    fn note(&self, chore: &'static str, began: Instant, tasks: Result<u64>) -> Result<()> {
        self.app.meters.chore(chore, began.elapsed(), tasks.as_ref().ok().copied());
        tasks.map(|_| ())
    }

    async fn promote(&self) -> Result<u64> {
        let mut promoted = 0;
        for _ in 0..MAX_CALLS_PER_TICK {
            let tasks = self.app.engine.promote_due(MAX_BATCH).await?;
            promoted += tasks;
            if tasks < full_batch() {
                break;
            }
        }
        Ok(promoted)
    }

    async fn reclaim(&self) -> Result<u64> {
        let mut total = 0;
        self.app.leases.grace.grant().await?;
        for _ in 0..MAX_CALLS_PER_TICK {
            let reclaimed = self.app.engine.reclaim_expired(MAX_BATCH).await?;
            self.app.meters.reclaimed(&reclaimed);
            total += reclaimed.total();
            if reclaimed.total() > 0 {
                let (failed, cancelled) = (reclaimed.count(Status::Failed), reclaimed.count(Status::Cancelled));
                tracing::info!(requeued = reclaimed.requeued, failed, cancelled, "took expired leases back");
            }
            if reclaimed.total() < full_batch() {
                break;
            }
        }
        Ok(total)
    }

    async fn prune(&mut self, calls: usize) -> Result<u64> {
        let mut removed = 0;
        for _ in 0..calls {
            let request = PruneRequest {
                scope: PruneScope::Retention,
                limit: MAX_BATCH,
                dry_run: false,
                // Taken, so that a cursor that the store no longer accepts is not sent twice.
                cursor: self.prune_from.take(),
            };
            let pruned = self.app.engine.prune(request).await?;
            removed += pruned.removed;
            self.prune_from = pruned.next;
            // If many queues have nothing to prune, a tick checks only some of them.
            self.has_backlog = pruned.removed > 0 && self.prune_from.is_some();
            if !self.has_backlog {
                break;
            }
        }
        Ok(removed)
    }
}

const fn full_batch() -> u64 {
    MAX_BATCH as u64
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use jobbers_common::{
        engine::{OnConflict, PutMode, Queues, Submit, Tasks, reads::first_queues},
        name::{QueueName, TaskId, TaskName},
        payload::Payload,
        queue::{QueueConfig, Retention},
        task::{NewTask, Start},
        time::{ManualClock, Timestamp},
    };
    use jobbers_law::model::ModelEngine;
    use jobbers_process::shutdown::Shutdown;

    use super::*;

    /// A store with as many finished tasks, all past their retention.
    async fn overfull_store(tasks: usize) -> Arc<ModelEngine> {
        let engine = Arc::new(ModelEngine::new(Arc::new(ManualClock::new(Timestamp::from_micros(0)))));
        let queue = QueueName::new("default").unwrap();
        for first in (0..tasks).step_by(MAX_BATCH) {
            let task = |n: usize| {
                let id = TaskId::new(format!("t{n}")).unwrap();
                NewTask::new(id, TaskName::new("echo").unwrap(), queue.clone(), Payload::json(Bytes::new()))
            };
            let tasks: Vec<_> = (first..tasks.min(first + MAX_BATCH)).map(task).collect();
            let ids = tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
            engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
            engine.cancel(&ids).await.unwrap();
        }
        let retention = Retention { count: 0, ..Retention::default() };
        engine.put_queue(QueueConfig { retention, ..QueueConfig::new(queue) }, PutMode::Upsert).await.unwrap();
        engine
    }

    #[tokio::test]
    async fn a_backlog_of_pruning_does_not_wait_for_the_next_pause() {
        let tasks = MAX_BATCH + 1;
        let engine = overfull_store(tasks).await;
        let app = App::new(&crate::Config::default(), engine.clone(), String::new(), &Shutdown::new());
        let mut chores = Chores::new(Arc::new(app));
        assert!(!chores.has_backlog);
        chores.prune(1).await.unwrap();
        assert!(chores.has_backlog);
        chores.tick().await;
        assert!(!chores.has_backlog);
        assert_eq!(first_queues(&*engine, 1).await.unwrap()[0].removed, tasks as u64);
    }

    #[tokio::test]
    async fn a_due_task_is_promoted_without_any_worker() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let engine = Arc::new(ModelEngine::new(clock.clone()));
        let id = TaskId::new("later").unwrap();
        let task = NewTask {
            start: Start::After(Duration::from_secs(5)),
            ..NewTask::new(
                id.clone(),
                TaskName::new("echo").unwrap(),
                QueueName::new("default").unwrap(),
                Payload::json(Bytes::from_static(b"{}")),
            )
        };
        engine.submit(Submit { tasks: vec![task], on_conflict: OnConflict::Fail }).await.unwrap();
        let app = App::new(&crate::Config::default(), engine.clone(), String::new(), &Shutdown::new());
        let mut chores = Chores::new(Arc::new(app));
        for (seconds, status) in [(4, Status::Scheduled), (1, Status::Submitted)] {
            clock.advance(Duration::from_secs(seconds));
            chores.tick().await;
            assert_eq!(engine.get(&id).await.unwrap().unwrap().status, status);
        }
    }
}
