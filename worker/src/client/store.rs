//! The client's direct connection to a store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Submit, Submitted},
    name::{QueueName, TaskId},
    policy::CrashPolicy,
    queue::Config,
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::{NewTask, Start},
};
use jobbers_engines::config_cache::ConfigCache;
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};

use super::{
    answers::{SubmitResult, TaskStanding},
    error::SubmitError,
};

#[derive(Debug)]
pub(super) struct DirectStore {
    cache: Arc<ConfigCache>,
}

impl DirectStore {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { cache: Arc::new(ConfigCache::new(engine)) }
    }

    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        self.cache.engine()
    }

    pub(super) async fn submit(
        &self,
        batch: Vec<TaskDraft>,
        on_conflict: OnConflict,
    ) -> Result<Vec<SubmitResult>, SubmitError> {
        let config = self.cache.recent().await?;
        let mut tasks = Vec::with_capacity(batch.len());
        for draft in batch {
            let task = self.cache.make_task(&config, draft);
            self.check_queue(&config, &task).await?;
            tasks.push(task);
        }
        let spans = begin_sends(&mut tasks);
        let submitted = self.send(&config, tasks, on_conflict).await;
        let failure = submitted.as_ref().err().map(Error::kind);
        spans.values().for_each(|span| traces::end(span, failure));
        Ok(submitted?.into_iter().map(SubmitResult::from).collect())
    }

    /// Checks whether a submission may name its queue. Before refusing, it asks the store: the rule may be gone, and a
    /// repeated submission may have been accepted before, which only the store knows.
    async fn check_queue(&self, config: &Config, task: &NewTask) -> Result<(), SubmitError> {
        match self.cache.check_queue(config, task).await? {
            Err(forbidden) if self.engine().get(&task.id).await?.is_none() => Err(forbidden.into()),
            _ => Ok(()),
        }
    }

    /// The task of a workflow's node, as a manager makes it.
    pub(super) async fn node_task(
        &self,
        template: &TaskTemplate,
        id: TaskId,
        on_crash: CrashPolicy,
    ) -> Result<NewTask, SubmitError> {
        let config = self.cache.recent().await?;
        let draft = TaskDraft { on_crash, ..TaskDraft::of_template(template, id, Start::Now) };
        let task = self.cache.make_task(&config, draft);
        self.cache.check_queue(&config, &task).await??;
        Ok(task)
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
        tasks.iter_mut().for_each(|task| self.cache.route_again(&config, task));
        Ok(tasks)
    }

    pub(super) async fn await_finished(
        &self,
        id: &TaskId,
        wait: Duration,
    ) -> Result<Option<TaskStanding>, SubmitError> {
        let task = self.engine().await_finished(id, wait).await?;
        Ok(task.map(|mut task| TaskStanding {
            status: task.status,
            result: task.result,
            progress: task.progress,
            error: task.errors.pop().map(|error| (error.message, error.error_kind)),
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
