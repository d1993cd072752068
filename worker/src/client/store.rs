//! The client's direct connection to a store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Submit, Submitted},
    name::{QueueName, TaskId},
    queue::Config,
    routing::field_text,
    task::{NewTask, Start},
    template::TaskTemplate,
};
use jobbers_engines::config_cache::ConfigCache;
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};

use super::{
    answers::{Standing, Taken},
    checked::Checked,
    error::SubmitError,
};

#[derive(Debug)]
pub(super) struct Store {
    cache: Arc<ConfigCache>,
}

impl Store {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { cache: Arc::new(ConfigCache::new(engine)) }
    }

    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        self.cache.engine()
    }

    pub(super) async fn submit(&self, batch: Vec<Checked>, on_conflict: OnConflict) -> Result<Vec<Taken>, SubmitError> {
        let config = self.cache.recent().await?;
        let mut tasks = Vec::with_capacity(batch.len());
        for checked in batch {
            tasks.push(self.task(&config, checked).await?);
        }
        let spans = begin_sends(&mut tasks);
        let submitted = self.send(&config, tasks, on_conflict).await;
        let failure = submitted.as_ref().err().map(Error::kind);
        spans.values().for_each(|span| traces::end(span, failure));
        Ok(submitted?.into_iter().map(Taken::from).collect())
    }

    async fn task(&self, config: &Config, mut checked: Checked) -> Result<NewTask, SubmitError> {
        let named = checked.queue.take();
        let queue_is_explicit = named.is_some();
        let queue = match named {
            Some(queue) => {
                self.check_explicit(config, &checked, &queue).await?;
                queue
            }
            None => {
                let parameter = |field: &str| field_text(&checked.parameters, field);
                self.cache.route(config, &checked.name, checked.version, parameter)
            }
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
            depends_on: checked.depends_on,
            signals: checked.signals,
            is_spontaneous: checked.is_spontaneous,
            metadata: checked.metadata,
            ..NewTask::new(checked.id, checked.name, queue, checked.parameters)
        };
        task.fill(checked.on_crash);
        Ok(task)
    }

    /// The task of a workflow's node, as a manager makes it.
    pub(super) async fn node_task(&self, template: &TaskTemplate, id: TaskId) -> Result<NewTask, SubmitError> {
        let config = self.cache.recent().await?;
        let (parameters, TaskTemplate { name, version, .. }) = (template.payload(), template);
        let parameter = |field: &str| field_text(&parameters, field);
        let queue = match &template.queue {
            Some(queue) => {
                self.cache.check_explicit(&config, name, *version, queue, parameter).await??;
                queue.clone()
            }
            None => self.cache.route(&config, name, *version, parameter),
        };
        let key = template.concurrency_key.clone().or_else(|| config.key_of(&queue, &parameters));
        Ok(template.new_task(id, queue, key, Start::Now))
    }

    /// Submits the tasks. If a rule chose a queue that has been deleted since the configuration was read, the rule is
    /// gone too; then the tasks are routed again, once.
    async fn send(
        &self,
        config: &Config,
        tasks: Vec<NewTask>,
        on_conflict: OnConflict,
    ) -> Result<Vec<Submitted>, Error> {
        let submit = |tasks| self.engine().submit(Submit { tasks, on_conflict });
        let is_routed = !config.routes.is_empty() && tasks.iter().any(|task| !task.queue_is_explicit);
        if !is_routed {
            return submit(tasks).await;
        }
        match submit(tasks.clone()).await {
            Err(Error::UnknownQueue(_)) => submit(self.route_again(tasks).await?).await,
            answer => answer,
        }
    }

    async fn route_again(&self, mut tasks: Vec<NewTask>) -> Result<Vec<NewTask>, Error> {
        let config = self.cache.fresh().await?;
        for task in tasks.iter_mut().filter(|task| !task.queue_is_explicit) {
            let parameter = |field: &str| field_text(&task.parameters, field);
            task.queue = self.cache.route(&config, &task.name, task.version, parameter);
            if !task.key_is_explicit {
                task.concurrency_key = config.key_of(&task.queue, &task.parameters);
            }
        }
        Ok(tasks)
    }

    /// Checks whether a submission may name this queue. Before refusing, it asks the store: the rule may be gone, and a
    /// repeated submission may have been accepted before, which only the store knows.
    async fn check_explicit(&self, config: &Config, checked: &Checked, queue: &QueueName) -> Result<(), SubmitError> {
        let parameter = |field: &str| field_text(&checked.parameters, field);
        match self.cache.check_explicit(config, &checked.name, checked.version, queue, parameter).await? {
            Err(forbidden) if self.engine().get(&checked.id).await?.is_none() => Err(forbidden.into()),
            _ => Ok(()),
        }
    }

    pub(super) async fn await_finished(&self, id: &TaskId, wait: Duration) -> Result<Option<Standing>, SubmitError> {
        let task = self.engine().await_finished(id, wait).await?;
        Ok(task.map(|mut task| Standing {
            status: task.status,
            result: task.result,
            error: task.errors.pop().map(|error| error.message),
        }))
    }
}

/// Begins the span of a submission, one for each of its queues, below the caller's span, and sets its context on each
/// task. None while this process traces nothing.
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
