//! The phases of a round: submit singly, fill, drain, both at once, idle latency, HTTP.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jobbers_common::{
    engine::PutMode,
    name::{QueueName, RoleName, TaskName},
    queue::{
        RoleConfig,
        routing::{Route, RouteKey, Versions},
    },
};

use super::{
    cpu::CpuTime,
    figures::{as_f64, per_second},
    http::{self, HttpFigures},
    latency::{self, Idle},
    limits::BareRates,
    load::{self, BATCH, BENCH, CALLERS, Ids, LATENCY, PAYLOAD, queue, unlimited},
    services::Services,
    store::BenchStore,
    turns::is_drained,
    worker::{Child, Post},
};

/// A queue that no other worker serves, and a worker with default settings, idle while the queue is paused.
pub(super) struct Bench<'a> {
    store: &'a BenchStore,
    tasks: usize,
    ids: Ids,
    queue: QueueName,
    worker: Child,
}

/// The figures of one round, per second unless noted otherwise.
pub(super) struct Round {
    pub(super) limits: BareRates,
    pub(super) submit_one: f64,
    pub(super) submit_16: f64,
    pub(super) fill: Fill,
    pub(super) drain: Drain,
    pub(super) both: f64,
    pub(super) idle: Idle,
    pub(super) http: HttpFigures,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    pub(super) rate: f64,
    pub(super) bytes_per_task: f64,
    pub(super) client_us: f64,
    pub(super) store_us: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    pub(super) rate: f64,
    pub(super) tasks_per_call: f64,
    pub(super) worker_us: f64,
    pub(super) store_us: f64,
}

impl<'a> Bench<'a> {
    pub(super) async fn start(store: &'a BenchStore, tasks: usize, concurrency: u32) -> Result<Self> {
        let queue = QueueName::new(BENCH)?;
        set_paused(store, true).await?;
        let role = RoleConfig::new(RoleName::new(BENCH)?, vec![queue.clone()]);
        let engine = &store.scratch.engine;
        engine.put_role(role, PutMode::Upsert).await?;
        let key = RouteKey { name: TaskName::new(LATENCY)?, versions: Versions::ALL };
        engine.put_route(key, Route::Single { queue: queue.clone() }.into()).await?;
        let worker = Child::start(store, &Post::shipped(BENCH, concurrency)?).await?;
        Ok(Self { store, tasks, ids: Ids::default(), queue, worker })
    }

    /// Runs all phases once, `samples` times for each latency.
    pub(super) async fn round(&mut self, samples: usize) -> Result<Round> {
        let limits = self.store.limits(PAYLOAD, self.tasks).await?;
        let submit_one = self.submit_one(1).await?;
        let submit_16 = self.submit_one(16).await?;
        let fill = self.fill().await?;
        let drain = self.drain().await?;
        let both = self.both().await?;
        let idle = latency::measure(self.store, &super::worker::latency, samples).await?;
        let http = self.http().await?;
        Ok(Round { limits, submit_one, submit_16, fill, drain, both, idle, http })
    }

    /// Stops the worker in good order.
    pub(super) async fn stop(self) -> Result<()> {
        self.worker.stop().await
    }

    /// Submits from `clients` clients at once, each awaiting every call.
    async fn submit_one(&self, clients: usize) -> Result<f64> {
        let each = (self.tasks / 20).clamp(clients, 20_000) / clients;
        let start = Instant::now();
        let count = self.submit(clients, each, 1).await?;
        let rate = per_second(count, start);
        self.purge().await?;
        Ok(rate)
    }

    /// Fills the queue in batches, to [`Self::drain`] it later.
    async fn fill(&self) -> Result<Fill> {
        let (size, client) = (self.store.size().await?, CpuTime::own()?);
        let store = self.store.cpu(&[client]).await?;
        let start = Instant::now();
        let count = self.submit_all().await?;
        let rate = per_second(count, start);
        let after = CpuTime::own()?;
        let per_task = |value: f64| value / as_f64(count);
        Ok(Fill {
            rate,
            bytes_per_task: per_task(self.store.size().await? - size),
            client_us: per_task(after.since(client).program),
            store_us: per_task(self.store.cpu(&[after]).await? - store),
        })
    }

    /// Lets the worker drain the full queue.
    async fn drain(&mut self) -> Result<Drain> {
        let count = self.tasks / BATCH / CALLERS * BATCH * CALLERS;
        let (before, claimed) = ([CpuTime::own()?, self.worker.cpu()?], self.worker.claims().await?);
        let store = self.store.cpu(&before).await?;
        let start = Instant::now();
        set_paused(self.store, false).await?;
        self.await_drained().await?;
        let rate = per_second(count, start);
        let (after, now_claimed) = ([CpuTime::own()?, self.worker.cpu()?], self.worker.claims().await?);
        let per_task = |value: f64| value / as_f64(count);
        Ok(Drain {
            rate,
            tasks_per_call: (now_claimed.tasks - claimed.tasks) / (now_claimed.calls - claimed.calls),
            worker_us: per_task(after[1].since(before[1]).program),
            store_us: per_task(self.store.cpu(&after).await? - store),
        })
    }

    /// Submits while the worker drains, from the first submission to the last completion.
    async fn both(&self) -> Result<f64> {
        let start = Instant::now();
        let count = self.submit_all().await?;
        self.await_drained().await?;
        Ok(per_second(count, start))
    }

    async fn http(&self) -> Result<HttpFigures> {
        set_paused(self.store, true).await?;
        let services = Services::start(self.store).await?;
        let http = http::measure(services.address, self.tasks).await?;
        services.stop().await?;
        self.purge().await?;
        Ok(http)
    }

    async fn submit_all(&self) -> Result<usize> {
        self.submit(CALLERS, self.tasks / BATCH / CALLERS, BATCH).await
    }

    async fn submit(&self, clients: usize, calls: usize, size: usize) -> Result<usize> {
        load::submit(&self.store.scratch.engine, &self.ids, &self.queue, clients, calls, size).await
    }

    async fn purge(&self) -> Result<()> {
        while self.store.scratch.engine.purge_queue(&self.queue, 1_000).await? > 0 {}
        Ok(())
    }

    /// Polls the counts until the queue is empty and nothing runs: often enough for the figure, rarely enough not to
    /// load the store.
    async fn await_drained(&self) -> Result<()> {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        let start = Instant::now();
        while !is_drained(self.store, &self.queue).await? {
            ticks.tick().await;
            ensure!(start.elapsed() < Duration::from_secs(300), "the worker does not empty the queue");
        }
        Ok(())
    }
}

async fn set_paused(store: &BenchStore, paused: bool) -> Result<()> {
    // Nothing is pruned in mid-round; `steady.rs` measures what pruning takes.
    store.scratch.engine.put_queue(queue(BENCH, paused, unlimited())?, PutMode::Upsert).await?;
    Ok(())
}
