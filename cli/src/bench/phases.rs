//! The phases, in the order they are run: submit singly, fill, drain, both at once, idle latency, HTTP.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use jobbers_common::{
    engine::{Engine, OnConflict, PutMode, Submit},
    lifecycle::Status,
    name::{QueueName, RoleName, TaskId, TaskName},
    payload::Payload,
    queue::{QueueConfig, Retention, RoleConfig},
    task::NewTask,
};
use tokio::sync::Mutex;
use ulid::Generator;

use super::{
    BATCH, CALLERS,
    cpu::CpuTime,
    latency,
    limit::per_second,
    report::IdleLatency,
    store::Store,
    worker::{Child, NOOP, Post},
};

/// 100 bytes of JSON.
pub(super) const PAYLOAD: &str =
    r#"{"account":"0123456789","from":"alpha@example.org","to":"omega@example.org","note":"a hundred B"}   "#;
/// The queue, and the role, that nobody else serves.
pub(super) const BENCH: &str = "bench";

pub(super) struct Bench<'a> {
    store: &'a Store,
    tasks: usize,
    concurrency: u32,
    ids: Arc<parking_lot::Mutex<Generator>>,
    worker: Mutex<Option<Child>>,
}

pub(super) struct Fill {
    pub(super) rate: f64,
    pub(super) bytes_per_task: f64,
    pub(super) client_us: f64,
    pub(super) store_us: f64,
}

pub(super) struct Drain {
    pub(super) rate: f64,
    pub(super) worker_us: f64,
    pub(super) store_us: f64,
}

pub(super) fn queue() -> Result<QueueName> {
    Ok(QueueName::new(BENCH)?)
}

impl<'a> Bench<'a> {
    pub(super) async fn new(store: &'a Store, tasks: usize, concurrency: u32) -> Result<Self> {
        let bench = Self { store, tasks, concurrency, ids: Arc::default(), worker: Mutex::new(None) };
        bench.pause(true).await?;
        let role = RoleConfig::new(RoleName::new(BENCH)?, vec![queue()?]);
        store.scratch.engine.put_role(role, PutMode::Upsert).await?;
        Ok(bench)
    }

    pub(super) async fn pause(&self, paused: bool) -> Result<()> {
        // Nothing is pruned in mid-run: what is measured is submitting and draining.
        let retention = Retention { age: Duration::from_secs(86_400), count: u64::from(u32::MAX) };
        let config = QueueConfig { paused, retention, ..QueueConfig::new(queue()?) };
        self.store.scratch.engine.put_queue(config, PutMode::Upsert).await?;
        Ok(())
    }

    pub(super) async fn purge(&self) -> Result<()> {
        while self.store.scratch.engine.purge_queue(&queue()?, 1_000).await? > 0 {}
        Ok(())
    }

    /// Submits from `clients` clients at once, each awaiting every call; tasks per second.
    pub(super) async fn submit_one(&self, clients: usize) -> Result<f64> {
        let each = (self.tasks / 20).clamp(clients, 20_000) / clients;
        let start = Instant::now();
        self.submit_from(clients, each, 1).await?;
        let rate = per_second(each * clients, start);
        self.purge().await?;
        Ok(rate)
    }

    /// Fills the queue in batches, to [`Self::drain`] it later.
    pub(super) async fn fill(&self) -> Result<Fill> {
        let (size, client) = (self.store.size().await?, CpuTime::own()?);
        let store = self.store.cpu(&[client]).await?;
        let start = Instant::now();
        let count = self.submit_all().await?;
        let rate = per_second(count, start);
        let after = CpuTime::own()?;
        #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
        let per_task = |value: f64| value / count as f64;
        Ok(Fill {
            rate,
            bytes_per_task: per_task(self.store.size().await? - size),
            client_us: per_task(after.since(client).program),
            store_us: per_task(self.store.cpu(&[after]).await? - store),
        })
    }

    /// Lets a worker loose on the full queue.
    pub(super) async fn drain(&self) -> Result<Drain> {
        let mut worker = self.worker.lock().await;
        let worker = worker.insert(Child::start(self.store, self.concurrency, &Post::unwatched()?).await?);
        let count = self.stats().await?.values().sum::<u64>();
        let before = [CpuTime::own()?, worker.cpu()?];
        let store = self.store.cpu(&before).await?;
        let start = Instant::now();
        self.pause(false).await?;
        self.await_drained().await?;
        let count = usize::try_from(count)?;
        let rate = per_second(count, start);
        let after = [CpuTime::own()?, worker.cpu()?];
        #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
        let per_task = |value: f64| value / count as f64;
        Ok(Drain {
            rate,
            worker_us: per_task(after[1].since(before[1]).program),
            store_us: per_task(self.store.cpu(&after).await? - store),
        })
    }

    /// Submits while the worker drains; tasks per second from the first submission to the last completion.
    pub(super) async fn both(&self) -> Result<f64> {
        let start = Instant::now();
        let count = self.submit_all().await?;
        self.await_drained().await?;
        Ok(per_second(count, start))
    }

    pub(super) async fn idle_latency(&self, busy_round_trip_ms: f64, samples: usize) -> Result<IdleLatency> {
        latency::measure(self.store, busy_round_trip_ms, samples).await
    }

    pub(super) async fn http(&self) -> Result<super::http::Http> {
        self.pause(true).await?;
        let http = super::http::measure(Arc::clone(&self.store.scratch.engine), self.tasks).await?;
        self.purge().await?;
        Ok(http)
    }

    /// Stops the worker in good order.
    pub(super) async fn stop(&self) -> Result<()> {
        match self.worker.lock().await.take() {
            Some(worker) => worker.stop().await,
            None => Ok(()),
        }
    }

    async fn submit_all(&self) -> Result<usize> {
        let calls = self.tasks / BATCH / CALLERS;
        self.submit_from(CALLERS, calls, BATCH).await?;
        Ok(calls * CALLERS * BATCH)
    }

    async fn submit_from(&self, clients: usize, calls: usize, batch: usize) -> Result<()> {
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                let (engine, ids) = (Arc::clone(&self.store.scratch.engine), Arc::clone(&self.ids));
                tokio::spawn(async move {
                    for _ in 0..calls {
                        engine.submit(new_batch(&ids, batch)?).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for client in clients {
            client.await??;
        }
        Ok(())
    }

    /// Tasks of the queue by live status.
    async fn stats(&self) -> Result<BTreeMap<Status, u64>> {
        let stats = self.store.scratch.engine.queue_stats(Some(&queue()?)).await?;
        let live = stats.into_iter().flat_map(|stats| stats.tasks).filter(|(status, _)| !status.is_finished());
        Ok(live.collect())
    }

    /// Asks the counts until the queue is empty and nothing runs: often enough for the figure, seldom enough not to
    /// weigh on the store.
    async fn await_drained(&self) -> Result<()> {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        let start = Instant::now();
        loop {
            ticks.tick().await;
            if self.stats().await?.is_empty() {
                return Ok(());
            }
            ensure!(start.elapsed() < Duration::from_secs(300), "the worker does not empty the queue");
        }
    }
}

fn new_batch(ids: &parking_lot::Mutex<Generator>, size: usize) -> Result<Submit> {
    let (name, queue) = (TaskName::new(NOOP)?, queue()?);
    let parameters = Payload::json(PAYLOAD);
    let mut ids = ids.lock();
    let tasks = (0..size)
        .map(|_| {
            let id = TaskId::new(ids.generate().map_err(|error| anyhow!("{error}"))?.to_string())?;
            Ok(NewTask::new(id, name.clone(), queue.clone(), parameters.clone()))
        })
        .collect::<Result<Vec<NewTask>>>()?;
    Ok(Submit { tasks, on_conflict: OnConflict::Fail })
}

/// Submits one task of the bench's queue with an id of its own and waits for its end.
pub(super) async fn run_one(engine: &dyn Engine, name: &str, parameters: String) -> Result<Option<Payload>> {
    let id = TaskId::new(ulid::Ulid::generate().to_string())?;
    let task = NewTask::new(id.clone(), TaskName::new(name)?, queue()?, Payload::json(parameters));
    engine.submit(Submit { tasks: vec![task], on_conflict: OnConflict::Fail }).await?;
    let task = engine.await_finished(&id, Duration::from_secs(30)).await?;
    Ok(task.and_then(|task| task.result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_a_hundred_bytes_of_json() {
        assert_eq!(PAYLOAD.len(), 100);
        assert!(serde_json::from_str::<serde_json::Value>(PAYLOAD).is_ok());
    }
}
