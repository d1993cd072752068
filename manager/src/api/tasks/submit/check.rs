//! Whether a task may be submitted: may it name its queue, could the queue hold it, could a worker run it, and do its
//! parameters fit.

use std::{collections::HashSet, sync::Arc};

use jobbers_api::{
    problem::{Code, Problem, Result},
    task::warning::WarningView,
};
use jobbers_common::{
    name::{QueueName, TaskName},
    queue::Config,
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::{NewTask, Start},
};

use crate::{
    app::App,
    background::long::Breaks,
    snapshots::known_tasks::{Described, Known},
};

/// Makes tasks and checks them, by the configuration and the workers as one request sees them.
pub(super) struct Checker<'a> {
    app: &'a App,
    config: Arc<Config>,
    known: Option<Arc<Known>>,
}

impl<'a> Checker<'a> {
    pub(super) async fn new(app: &'a App) -> Result<Self> {
        Ok(Self { app, config: app.live.current().await?, known: app.known.current_or_first().await })
    }

    pub(super) const fn app(&self) -> &'a App {
        self.app
    }

    pub(super) fn make_task(&self, draft: TaskDraft) -> NewTask {
        self.app.make_task_by(&self.config, self.known.as_deref(), draft)
    }

    /// Refuses to call a task open that its author calls sensitive.
    pub(super) fn check_sensitive(&self, name: &TaskName, version: u32, said: Option<bool>) -> Result<()> {
        if said != Some(false) || !self.is_sensitive(name, version) {
            return Ok(());
        }
        let detail = format!("the author of {name}@{version} calls it sensitive; a submission can't change that");
        Err(Problem::new(Code::InvalidRequest, detail).at("/sensitive"))
    }

    /// Makes a task sensitive if its author calls it so. To be called after the check, which may have read the workers again: the
    /// first worker that knows the task may have started just now.
    pub(super) fn hide_if_sensitive(&self, task: &mut NewTask) {
        task.metadata.sensitive_in_code |= self.is_sensitive(&task.name, task.version);
    }

    fn is_sensitive(&self, name: &TaskName, version: u32) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_sensitive(name, version))
    }

    /// Checks a task. Answers what may be wrong with it.
    pub(super) async fn check(&mut self, task: &NewTask) -> Result<Vec<WarningView>> {
        self.app
            .live
            .check_named_queue(&self.config, task)
            .await?
            .map_err(|forbidden| Problem::new(Code::QueueForbidden, forbidden.to_string()).at("/queue"))?;
        self.check_size(task).await?;
        // No worker has to know one that ends by itself.
        if task.is_spontaneous { Ok(Vec::new()) } else { self.judge(task).await }
    }

    /// Whether the queue could ever hold the parameters. Before refusing, it asks the store, because the limit may have
    /// changed.
    async fn check_size(&self, task: &NewTask) -> Result<()> {
        if task.exceeded_bytes(&self.config).is_none() {
            return Ok(());
        }
        let Some(most) = task.exceeded_bytes(&*self.app.live.fresh().await?) else { return Ok(()) };
        let (queue, bytes) = (&task.queue, task.parameters.len());
        let detail = format!("queue {queue} holds at most {most} bytes, and the parameters are {bytes}");
        Err(Problem::new(Code::PayloadTooLarge, detail).at("/parameters"))
    }

    /// What live workers registered about a task.
    fn described(&self, name: &TaskName, version: u32) -> Option<&Described> {
        self.known.as_ref()?.find(name, version)?.described.as_deref()
    }

    /// Whether a worker could run it, and whether its parameters fit. Gives no warning while the
    /// store can't list the workers; a strict queue refuses then.
    async fn judge(&mut self, task: &NewTask) -> Result<Vec<WarningView>> {
        let NewTask { name, version, queue, parameters, .. } = task;
        let served = |known: &Known| known.is_served(name, *version, queue);
        let mut is_served = self.known.as_deref().is_none_or(served);
        let strict = self.config.queues.get(queue).is_some_and(|queue| queue.strict);
        // The snapshot may be older than the worker.
        let newer = match (strict, is_served) {
            (true, _) if !is_served || self.known.is_none() => Some(self.app.known.fresh().await?),
            // A warning is advice: a store that can't list the workers must not cause a refusal of the task.
            (false, false) => self.app.known.recent().await.ok(),
            _ => None,
        };
        if let Some(known) = newer {
            is_served = served(&known);
            self.known = Some(known);
        }
        let mut warnings = Vec::new();
        if let Some(described) = self.described(name, *version) {
            if let Some(first) = described.unchecked.first() {
                let detail = format!("the schema of {name}@{version} holds in part: {first}");
                warnings.push(WarningView { code: "schema_unchecked".into(), detail });
            }
            let checked = described.check(parameters, &self.app.long_work).await;
            let is_unchecked = checked.map_err(|mismatch| {
                let pointer = format!("/parameters{}", mismatch.pointer);
                Problem::new(Code::SchemaMismatch, mismatch.detail_with_place()).at(pointer)
            })?;
            if is_unchecked {
                let detail = format!(
                    "the schema of {name}@{version} takes too long with these parameters; they are not checked"
                );
                warnings.push(WarningView { code: "schema_unchecked".into(), detail });
            }
        }
        if is_served {
            return Ok(warnings);
        }
        let detail = format!("no live worker that claims from queue {queue} can run {name}@{version}");
        if strict {
            return Err(Problem::new(Code::NoWorker, format!("{detail}, and the queue is strict")).at("/name"));
        }
        warnings.push(WarningView { code: "no_worker".into(), detail });
        Ok(warnings)
    }
}

/// Checks tasks that are submitted later as a submission is: their sizes, queues and parameters, and whether a worker could
/// run them. Answers what may be wrong with them.
///
/// # Errors
/// The first problem, with the place of its task.
pub(crate) async fn check_templates(
    app: &App,
    templates: impl Iterator<Item = &TaskTemplate>,
) -> Result<Vec<WarningView>, (usize, Problem)> {
    let mut checker = Checker::new(app).await.map_err(|problem| (0, problem))?;
    let (mut warnings, mut queues) = (Vec::new(), HashSet::new());
    let (mut details, mut breaks) = (HashSet::new(), Breaks::begin());
    for (index, template) in templates.enumerate() {
        let checked = checker.check_template(template, &mut queues).await.map_err(|problem| (index, problem))?;
        warnings.extend(checked.into_iter().filter(|warning: &WarningView| details.insert(warning.detail.clone())));
        breaks.take_if_due().await;
    }
    Ok(warnings)
}

impl Checker<'_> {
    /// Checks what a template makes. `queues` are those that are known to exist.
    async fn check_template(
        &mut self,
        template: &TaskTemplate,
        queues: &mut HashSet<QueueName>,
    ) -> Result<Vec<WarningView>> {
        let task = self.make_task(TaskDraft::of_template(template, self.app.ids.next(), Start::Now));
        if task.parameters.len() > self.app.max_payload_bytes {
            let (most, bytes) = (self.app.max_payload_bytes, task.parameters.len());
            let detail = format!("parameters: at most {most} bytes, not {bytes}");
            return Err(Problem::new(Code::PayloadTooLarge, detail).at("/parameters"));
        }
        if !queues.contains(&task.queue) {
            self.app.live.check_queue(&task.queue).await.map_err(|error| Problem::from(error).at("/queue"))?;
            queues.insert(task.queue.clone());
        }
        self.check(&task).await
    }
}
