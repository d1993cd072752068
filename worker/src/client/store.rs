//! The way straight to a store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Submit},
    name::{NameError, QueueName, TaskId, TaskName},
    payload::Payload,
    queue::{Config, DEFAULT},
    routing::{Turns, check_explicit, choose, field_text, find_rule},
    task::NewTask,
};
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    SubmitError,
    handle::{Standing, Taken},
    submission::Checked,
};

/// How old the rules may be by which a submission that names its queue is judged; what a manager takes for itself too.
const MAX_AGE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Store {
    engine: Arc<dyn Engine>,
    turns: Turns,
    /// What was read last, and when.
    config: Mutex<Option<(Instant, Arc<Config>)>>,
}

impl Store {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, turns: Turns::default(), config: Mutex::new(None) }
    }

    pub(super) const fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(super) async fn submit(&self, batch: Vec<Checked>) -> Result<Vec<Taken>, SubmitError> {
        // Read once; where every queue is named, what was read a moment ago will do.
        let config = match batch.iter().any(|checked| checked.queue.is_none()) {
            true => self.fresh().await?,
            false => self.recent().await?,
        };
        let mut tasks = Vec::with_capacity(batch.len());
        for mut checked in batch {
            let named = checked.queue.take();
            let queue_is_explicit = named.is_some();
            let queue = match named {
                Some(queue) => {
                    self.check_explicit(&config, &checked, &queue).await?;
                    queue
                }
                None => self.route(&config, &checked.name, checked.version, &checked.parameters)?,
            };
            let key_is_explicit = checked.concurrency_key.is_some();
            let found = || config.key_of(&queue, &checked.parameters);
            let concurrency_key = checked.concurrency_key.clone().or_else(found);
            let mut task = NewTask {
                concurrency_key,
                key_is_explicit,
                version: checked.version,
                queue_is_explicit,
                priority: checked.priority,
                start: checked.start,
                overrides: checked.overrides,
                unique: checked.unique.map(Box::new),
                ..NewTask::new(checked.id, checked.name, queue, checked.parameters)
            };
            task.fill(checked.on_crash);
            tasks.push(task);
        }
        let spans = begin_sends(&mut tasks);
        let submitted = self.engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await;
        let failure = submitted.as_ref().err().map(Error::kind);
        spans.values().for_each(|span| traces::end(span, failure));
        Ok(submitted?.into_iter().map(Taken::from).collect())
    }

    async fn fresh(&self) -> Result<Arc<Config>, Error> {
        let config = self.engine.config().await?;
        *self.config.lock() = Some((Instant::now(), Arc::clone(&config)));
        Ok(config)
    }

    async fn recent(&self) -> Result<Arc<Config>, Error> {
        let known = self.config.lock().clone().filter(|(read_at, _)| read_at.elapsed() < MAX_AGE);
        match known {
            Some((_, config)) => Ok(config),
            None => self.fresh().await,
        }
    }

    /// Checks whether a submission may name this queue. Before it is refused the store is asked: the rule may be gone, and
    /// what is sent again was taken in before; there the store knows whether it is the same.
    async fn check_explicit(&self, config: &Config, checked: &Checked, queue: &QueueName) -> Result<(), SubmitError> {
        let check = |config: &Config| {
            let parameter = |field: &str| field_text(&checked.parameters, field);
            check_explicit(&config.routes, &checked.name, checked.version, queue, parameter)
        };
        if check(config).is_ok() {
            return Ok(());
        }
        match check(&*self.fresh().await?) {
            Err(forbidden) if self.engine.get(&checked.id).await?.is_none() => Err(forbidden.into()),
            _ => Ok(()),
        }
    }

    /// The queue of a task whose submitter named none.
    fn route(
        &self,
        config: &Config,
        name: &TaskName,
        version: u32,
        parameters: &Payload,
    ) -> Result<QueueName, NameError> {
        let chosen = find_rule(&config.routes, name, version).and_then(|(key, rule)| {
            let draw = self.turns.draw(key, &rule.route, rand::random);
            choose(&rule.route, draw, |field| field_text(parameters, field))
        });
        chosen.cloned().map_or_else(|| QueueName::new(DEFAULT), Ok)
    }

    pub(super) async fn await_finished(&self, id: &TaskId, wait: Duration) -> Result<Option<Standing>, SubmitError> {
        let task = self.engine.await_finished(id, wait).await?;
        Ok(task.map(|mut task| Standing {
            status: task.status,
            result: task.result,
            error: task.errors.pop().map(|error| error.message),
        }))
    }
}

/// Begins the span of a submission, one for each of its queues, below the caller's own, and has each task carry its
/// context. None while this process traces nothing.
fn begin_sends(tasks: &mut [NewTask]) -> BTreeMap<QueueName, Context> {
    let Some(tracing) = traces::current() else { return BTreeMap::new() };
    let mut sizes: BTreeMap<QueueName, usize> = BTreeMap::new();
    for task in &*tasks {
        *sizes.entry(task.queue.clone()).or_default() += 1;
    }
    let parent = Context::current();
    let spans = sizes.into_iter().map(|(queue, size)| {
        let span = tracing.send(queue.as_str(), size, &parent);
        (queue, span)
    });
    let spans: BTreeMap<QueueName, Context> = spans.collect();
    for task in tasks {
        if let Some(span) = spans.get(&task.queue) {
            task.trace = Some(traces::write(span.span().span_context()).into_boxed_str());
        }
    }
    spans
}
