//! Graphs run by a worker with the settings it ships with, beside an idle manager and cleaner.
//!
//! A graph is submitted while its queue is paused. What is measured begins with the first claim and ends with the last
//! settlement, by the store's own times, which are read back afterwards: they also show that no task ran before one it
//! waits for.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jobbers_common::{
    engine::{ListRequest, PutMode, TaskFilter},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, RoleName, TaskName},
    queue::{
        RoleConfig,
        routing::{Route, RouteKey, Versions},
    },
    time::Timestamp,
};
use jobbers_worker::Config;

use super::graph::{self, BenchGraph};
use crate::bench::{
    cpu::CpuTime,
    figures::as_f64,
    latency,
    load::{BENCH, LATENCY, queue, unlimited},
    services::Services,
    store::BenchStore,
    turns::is_drained,
    worker::{self, Child, Post},
};

/// The queue of successors that no worker claims.
pub(super) const IDLE: &str = "bench.idle";

/// The processes.
pub(super) struct Stage<'a> {
    store: &'a BenchStore,
    queue: QueueName,
    idle: QueueName,
    services: Services,
    worker: Child,
}

/// When the tasks of a graph that ran were claimed and were over, by their places.
pub(super) struct Ran {
    started: Vec<Timestamp>,
    ended: Vec<Timestamp>,
    /// The store's processor time per task, in microseconds.
    pub(super) store_us: f64,
}

impl<'a> Stage<'a> {
    pub(super) async fn start(store: &'a BenchStore) -> Result<Self> {
        let (bench, idle) = (QueueName::new(BENCH)?, QueueName::new(IDLE)?);
        let engine = &store.scratch.engine;
        engine.put_queue(queue(IDLE, false, unlimited())?, PutMode::Upsert).await?;
        engine.put_queue(queue(BENCH, false, unlimited())?, PutMode::Upsert).await?;
        engine.put_role(RoleConfig::new(RoleName::new(BENCH)?, vec![bench.clone()]), PutMode::Upsert).await?;
        let key = RouteKey { name: TaskName::new(LATENCY)?, versions: Versions::ALL };
        engine.put_route(key, Route::Single { queue: bench.clone() }.into()).await?;
        let services = Services::start(store).await?;
        let worker = Child::start(store, &Post::shipped(BENCH, Config::default().concurrency)?).await?;
        Ok(Self { store, queue: bench, idle, services, worker })
    }

    /// Runs a graph to its end. Its ids begin with `tag`.
    pub(super) async fn run(&self, graph: &BenchGraph, tag: &str) -> Result<Ran> {
        let engine = &self.store.scratch.engine;
        self.set_paused(true).await?;
        for batch in graph.batches(tag, &self.queue, &self.idle)? {
            engine.submit(batch).await?;
        }
        let before = self.store.cpu(&self.inside()?).await?;
        self.set_paused(false).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        let begun = tokio::time::Instant::now();
        while !is_drained(self.store, &self.queue).await? {
            ticks.tick().await;
            ensure!(begun.elapsed() < Duration::from_secs(300), "the graph {tag} does not come to its end");
        }
        let store_us = (self.store.cpu(&self.inside()?).await? - before) / as_f64(graph.len());
        let ran = self.read_back(graph, tag, store_us).await?;
        ran.verify(graph, tag)?;
        release_all(self.store, &self.idle, graph.idle()).await?;
        Ok(ran)
    }

    /// Half of the tasks that come alone start within this time, in milliseconds.
    pub(super) async fn idle_latency_ms(&self, samples: usize) -> Result<f64> {
        Ok(latency::measure(self.store, &worker::latency, samples).await?.named_p50)
    }

    /// Ends the processes in good order.
    pub(super) async fn stop(self) -> Result<()> {
        self.worker.stop().await?;
        self.services.stop().await
    }

    fn inside(&self) -> Result<[CpuTime; 3]> {
        Ok([CpuTime::own()?, self.worker.cpu()?, self.services.cpu()?])
    }

    async fn set_paused(&self, paused: bool) -> Result<()> {
        self.store.scratch.engine.put_queue(queue(BENCH, paused, unlimited())?, PutMode::Upsert).await?;
        Ok(())
    }

    /// The times of a graph's tasks. They ended last, so a list of finished tasks begins with them.
    async fn read_back(&self, graph: &BenchGraph, tag: &str, store_us: f64) -> Result<Ran> {
        let filter =
            TaskFilter { statuses: vec![Status::Completed], queue: Some(self.queue.clone()), ..TaskFilter::default() };
        let mut times = vec![None; graph.len()];
        let (mut found, mut cursor) = (0, None);
        while found < graph.len() {
            let request = ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor };
            let page = self.store.scratch.engine.list(request).await?;
            for task in &page.tasks {
                let Some(place) = graph::place(tag, &task.id) else { continue };
                let time = times.get_mut(place).with_context(|| format!("{} is not of this graph", task.id))?;
                ensure!(time.is_none() && task.attempt == 1, "{} ran twice", task.id);
                *time = task.started_at.zip(task.completed_at);
                found += 1;
            }
            cursor = page.next;
            ensure!(cursor.is_some() || found == graph.len(), "{found} tasks of the graph {tag} completed");
        }
        let times: Option<Vec<_>> = times.into_iter().collect();
        let (started, ended) = times.context("a completed task has no times")?.into_iter().unzip();
        Ok(Ran { started, ended, store_us })
    }
}

/// Waits until so many successors that no worker claims are released, verifies that, and takes them away.
pub(super) async fn release_all(store: &BenchStore, idle: &QueueName, expected: usize) -> Result<()> {
    let engine = &store.scratch.engine;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let begun = tokio::time::Instant::now();
    loop {
        let tasks = engine.queue_stats(idle).await?.tasks;
        let of = |status: Status| usize::try_from(tasks.get(&status).copied().unwrap_or(0)).unwrap_or(usize::MAX);
        if of(Status::Submitted) == expected && of(Status::Waiting) == 0 {
            break;
        }
        ticks.tick().await;
        ensure!(begun.elapsed() < Duration::from_secs(60), "not every successor was released");
    }
    while engine.purge_queue(idle, MAX_BATCH).await? > 0 {}
    Ok(())
}

impl Ran {
    /// No task was claimed before one that it waits for was over.
    fn verify(&self, graph: &BenchGraph, tag: &str) -> Result<()> {
        for place in 0..graph.len() {
            let is_early = |on: &&usize| self.ended[**on] > self.started[place];
            if let Some(on) = graph.after(place).iter().find(is_early) {
                anyhow::bail!("{tag}.{place} was claimed before {tag}.{on} was over");
            }
        }
        Ok(())
    }

    fn last_end_before(&self, place: usize) -> Timestamp {
        self.ended[..place].iter().copied().max().unwrap_or_default()
    }

    /// From the first claim to the last settlement, in milliseconds.
    pub(super) fn whole_ms(&self) -> f64 {
        let first = self.started.iter().copied().min().unwrap_or_default();
        millis(self.last_end_before(self.ended.len()).since(first))
    }

    /// Tasks per second.
    pub(super) fn rate(&self) -> f64 {
        as_f64(self.ended.len()) * 1e3 / self.whole_ms()
    }

    /// From the end of the last of the first `members` tasks to the claim of the last task, in milliseconds.
    pub(super) fn collected_ms(&self, members: usize) -> f64 {
        let collector = self.started.last().copied().unwrap_or_default();
        millis(collector.since(self.last_end_before(members)))
    }
}

pub(super) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
