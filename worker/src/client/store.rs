//! The way straight to a store.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Submit},
    name::{NameError, QueueName, TaskId, TaskName},
    payload::Payload,
    queue::{Config, DEFAULT},
    routing::{Draw, choose, field_text, find_rule},
    task::NewTask,
};
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};

use super::{
    SubmitError,
    handle::{Standing, Taken},
    submission::Checked,
};

#[derive(Debug)]
pub(super) struct Store {
    engine: Arc<dyn Engine>,
    routed: AtomicU64,
}

impl Store {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, routed: AtomicU64::new(0) }
    }

    pub(super) const fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(super) async fn submit(&self, batch: Vec<Checked>) -> Result<Vec<Taken>, SubmitError> {
        // Read once, and only if there is something to route.
        let config = match batch.iter().any(|checked| checked.queue.is_none()) {
            true => Some(self.engine.config().await?),
            false => None,
        };
        let mut tasks = Vec::with_capacity(batch.len());
        for checked in batch {
            let queue_is_explicit = checked.queue.is_some();
            let queue = match (checked.queue, &config) {
                (Some(queue), _) => queue,
                (None, Some(config)) => self.route(config, &checked.name, checked.version, &checked.parameters)?,
                (None, None) => QueueName::new(DEFAULT)?,
            };
            let mut task = NewTask {
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

    /// The queue of a task whose submitter named none.
    fn route(
        &self,
        config: &Config,
        name: &TaskName,
        version: u32,
        parameters: &Payload,
    ) -> Result<QueueName, NameError> {
        let chosen = find_rule(&config.routes, name, version).and_then(|(_, rule)| {
            let draw = Draw { random: rand::random(), count: self.routed.fetch_add(1, Ordering::Relaxed) };
            choose(rule, draw, |field| field_text(parameters, field))
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
