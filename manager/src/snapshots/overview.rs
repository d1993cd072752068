//! The overview of all queues and workers, and what needs an operator.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_api::{
    overview::{BusyQueueView, NeedCode, NeedView, OverviewView},
    value::Rfc3339,
};
use jobbers_common::{
    engine::{Engine, QueueListRequest, QueueStats, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::QueueName,
    queue::{Config, QueueConfig},
    time::Timestamp,
    values::duration,
    worker::RegisteredWorker,
};

pub(crate) use super::shared_reading::KEPT as EVERY;
use super::{live_config::LiveConfig, shared_reading::SharedReading};

/// From which age on tasks that wait are worth a word.
const LATE: Duration = Duration::from_secs(60);
/// The same for a queue whose limit is reached, which may be as it should be.
const LATE_AT_LIMIT: Duration = Duration::from_secs(30);
/// Most needs that are said one by one.
const MOST: usize = 100;

/// The last overview that was read.
#[derive(Debug, Default)]
pub(crate) struct Overview(SharedReading<OverviewReading>);

/// What is read of the queues and the workers.
#[derive(Debug, Clone)]
struct OverviewReading {
    view: OverviewView,
    queues: Arc<[QueueName]>,
}

impl Overview {
    /// The overview, at most 3 seconds old.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn read(&self, engine: &dyn Engine, live: &LiveConfig) -> Result<OverviewView> {
        Ok(self.0.get(read(engine, live)).await?.view)
    }

    /// The names of all queues, which are read with it.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn queues(&self, engine: &dyn Engine, live: &LiveConfig) -> Result<Arc<[QueueName]>> {
        Ok(self.0.get(read(engine, live)).await?.queues)
    }
}

/// Reads in pieces, and adds up.
async fn read(engine: &dyn Engine, live: &LiveConfig) -> Result<OverviewReading> {
    let (workers, config, now) = (engine.workers().await?, live.fresh().await?, engine.health().await?.now);
    let mut sum = Sum::new(&config, now);
    let mut after = None;
    loop {
        let page = engine.list_queues(QueueListRequest { after, limit: MAX_BATCH }).await?;
        page.queues.iter().for_each(|queue| sum.add(queue));
        BusyQueueView::keep_busiest(&mut sum.busiest);
        after = page.next;
        if after.is_none() {
            let queues = sum.queues.as_slice().into();
            return Ok(OverviewReading { queues, view: sum.view(&workers) });
        }
    }
}

/// What was read of the queues so far.
struct Sum<'a> {
    config: &'a Config,
    now: Timestamp,
    queues: Vec<QueueName>,
    tasks: BTreeMap<Status, u64>,
    oldest_ready_at: Option<Timestamp>,
    /// The needs of queues, with the age of their oldest ready tasks.
    late: Vec<(Duration, NeedView)>,
    busiest: Vec<BusyQueueView>,
}

impl<'a> Sum<'a> {
    fn new(config: &'a Config, now: Timestamp) -> Self {
        let tasks = BTreeMap::new();
        let (queues, late, busiest) = (Vec::new(), Vec::new(), Vec::new());
        Self { config, now, queues, tasks, oldest_ready_at: None, late, busiest }
    }

    fn add(&mut self, queue: &QueueStats) {
        self.queues.push(queue.queue.clone());
        let settings = self.config.settings_of(&queue.queue);
        self.busiest.push(BusyQueueView::new(&settings, queue));
        for (status, count) in &queue.tasks {
            *self.tasks.entry(*status).or_default() += count;
        }
        self.oldest_ready_at = self.oldest_ready_at.into_iter().chain(queue.oldest_ready_at).min();
        self.late.extend(need_of(&settings, queue, self.now));
    }

    fn view(mut self, workers: &[RegisteredWorker]) -> OverviewView {
        self.late.sort_by_key(|(age, need)| (need.code, Reverse(*age)));
        let ready = self.tasks.get(&Status::Submitted).copied().unwrap_or_default();
        let needs = needs_of_workers(workers, ready).chain(self.late.into_iter().map(|(_, need)| need));
        let mut needs: Vec<NeedView> = needs.collect();
        let more_needs = needs.len().saturating_sub(MOST) as u64;
        needs.truncate(MOST);
        OverviewView {
            now: Rfc3339(self.now),
            queues: self.queues.len() as u64,
            tasks: self.tasks,
            oldest_ready_at: self.oldest_ready_at.map(Rfc3339),
            workers: workers.len() as u64,
            slots: workers.iter().map(|worker| u64::from(worker.report.slots)).sum(),
            needs,
            more_needs,
            busiest: self.busiest,
        }
    }
}

/// What a queue needs, with the age of its oldest ready task.
fn need_of(config: &QueueConfig, stats: &QueueStats, now: Timestamp) -> Option<(Duration, NeedView)> {
    let count = |status| stats.tasks.get(&status).copied().unwrap_or_default();
    let (name, ready, running) = (&config.name, count(Status::Submitted), count(Status::Started));
    let age = now.since(stats.oldest_ready_at.filter(|_| ready > 0)?);
    let wait = format!("{}, the oldest for {}", wait(ready), duration::format(Duration::from_secs(age.as_secs())));
    let limit = config.max_concurrent.filter(|most| running >= u64::from(*most) && age > LATE_AT_LIMIT);
    let (code, detail, verb, rest) = if config.paused {
        (NeedCode::QueuePaused, format!("queue {name} is paused: {wait}"), "resume", "")
    } else if let Some(most) = limit {
        let detail = format!("queue {name} is at its limit, {running} of {most} running: {wait}");
        (NeedCode::QueueAtLimit, detail, "set", " --max-concurrent N")
    } else if stats.suspects > 0 {
        let suspects = many(stats.suspects, "suspect");
        let detail = format!("queue {name} has {suspects}, lost with their workers before: {wait}");
        (NeedCode::Suspects, detail, "show", "")
    } else if age > LATE {
        (NeedCode::QueueLate, format!("queue {name} falls behind: {wait}"), "show", "")
    } else {
        return None;
    };
    let command = format!("jobbers queues {verb} {name}{rest}");
    Some((age, NeedView { code, detail, queue: Some(name.clone()), command }))
}

fn needs_of_workers(workers: &[RegisteredWorker], ready: u64) -> impl Iterator<Item = NeedView> {
    let need = |code, detail, command: &str| NeedView { code, detail, queue: None, command: command.to_owned() };
    let no_worker = (workers.is_empty() && ready > 0).then(|| {
        need(NeedCode::NoWorker, format!("no worker is alive: {} until one starts", wait(ready)), "jobbers worker")
    });
    let hung: usize = workers.iter().map(|worker| worker.report.hung_threads.len()).sum();
    let hung = (hung > 0).then(|| {
        let threads = many(hung as u64, "thread");
        let detail = format!("blocking tasks whose attempts are over hold {threads} of workers");
        need(NeedCode::HungThreads, detail, "jobbers workers")
    });
    no_worker.into_iter().chain(hung)
}

fn many(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn wait(tasks: u64) -> String {
    format!("{} {}", many(tasks, "task"), if tasks == 1 { "waits" } else { "wait" })
}
