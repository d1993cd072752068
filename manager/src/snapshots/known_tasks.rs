//! What live workers can run, as this manager knows it: at most a second old by default.
//!
//! Built from the workers' reports and their catalogues, which are read once each. It gives advice at submission: a
//! warning, a refusal for a strict queue, and a check of the parameters if a task has a schema. Only the workers decide
//! what runs where, so an old snapshot costs a warning too many or too few, never a task.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use jobbers_api::{task::view::PolicyView, worker::registry::RegisteredTaskView};
use jobbers_common::{
    engine::{Engine, Error, Outcome, Refusal, Result},
    limits::MAX_REFUSALS_PER_CLAIM,
    name::{QueueName, RoleName, TaskName},
    payload::Payload,
    task::{ClaimedTask, Task},
    worker::{
        RegisteredWorker, WorkerState,
        registry::{Catalogue, CatalogueId, TaskSpec},
        task_kind::TaskKind,
    },
};
use tokio_util::sync::CancellationToken;

use crate::{
    background::{
        long::{LongWork, is_long},
        ticker,
    },
    submissions::parameter_schema::{Allowance, ParameterSchema, SchemaCheck},
};

/// A snapshot of this age is read again before a submission gets a warning, because its worker may have started since.
/// This limits how often submissions without an able worker cause a read of the workers.
const RECENT: Duration = Duration::from_millis(10);
/// A check of so many steps takes a few milliseconds at most.
const QUICK_STEPS: u64 = 2_000;

/// A task's description, ready to check parameters.
pub(crate) struct Described {
    pub(crate) spec: TaskSpec,
    /// `None` without a schema, or with one of which nothing is to be checked.
    schema: Option<ParameterSchema>,
    /// What of the schema is not checked, and why.
    pub(crate) unchecked: Vec<String>,
}

/// One version of a task that live workers can run.
#[derive(Clone)]
pub(crate) struct KnownTask {
    pub(crate) version: u32,
    /// Workers that can run it, including draining ones.
    pub(crate) workers: u32,
    /// Queues from which workers claim that can run it.
    pub(crate) queues: BTreeSet<QueueName>,
    /// The roles of the workers that can run it.
    pub(crate) roles: BTreeSet<RoleName>,
    /// Its description by the worker that started last.
    pub(crate) described: Option<Arc<Described>>,
}

impl KnownTask {
    fn view(&self, name: &TaskName) -> RegisteredTaskView {
        let spec = self.described.as_ref().map(|described| &described.spec);
        RegisteredTaskView {
            name: name.clone(),
            version: self.version,
            description: spec.map(|spec| spec.description.clone()).unwrap_or_default(),
            parameters: spec.and_then(|spec| spec.parameters.clone()),
            unchecked: self.described.as_ref().map(|described| described.unchecked.clone()).unwrap_or_default(),
            max_crashes: spec.and_then(|spec| spec.on_crash.max_crashes),
            dead_letter: spec.and_then(|spec| spec.on_crash.dead_letter),
            sensitive: spec.is_some_and(|spec| spec.sensitive),
            policy: spec.map(|spec| &spec.policy).filter(|policy| !policy.is_empty()).map(PolicyView::from),
            workers: self.workers,
            queues: self.queues.iter().cloned().collect(),
            roles: self.roles.iter().cloned().collect(),
        }
    }
}

/// All tasks that live workers can run.
#[derive(Default)]
pub(crate) struct Known {
    /// Those that workers name.
    named: BTreeMap<TaskName, Vec<KnownTask>>,
    /// Queues from which workers claim that take any task.
    any_from: BTreeSet<QueueName>,
    /// When the workers were asked for.
    asked_at: Option<Instant>,
}

/// The snapshot, and the catalogues behind it.
pub(crate) struct KnownTasks {
    engine: Arc<dyn Engine>,
    snapshot: ArcSwapOption<Known>,
    /// Held while the workers are read, so that many who want to know at once ask once.
    reading: tokio::sync::Mutex<Catalogues>,
}

/// The catalogues of the workers.
type Catalogues = HashMap<CatalogueId, Arc<Vec<Arc<Described>>>>;

/// Where parameters do not fit their schema.
pub(crate) struct Mismatch {
    /// A JSON pointer into the parameters.
    pub(crate) pointer: String,
    /// The problem, there and elsewhere.
    pub(crate) detail: String,
}

impl Mismatch {
    /// In one sentence.
    pub(crate) fn detail_with_place(self) -> String {
        if self.pointer.is_empty() { self.detail } else { format!("at {}: {}", self.pointer, self.detail) }
    }
}

impl std::fmt::Debug for KnownTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KnownTasks")
    }
}

impl KnownTasks {
    pub(crate) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, snapshot: ArcSwapOption::empty(), reading: tokio::sync::Mutex::default() }
    }

    /// The snapshot; `None` before the first.
    pub(crate) fn current(&self) -> Option<Arc<Known>> {
        self.snapshot.load_full()
    }

    /// The snapshot; before the first, the workers are read, so that no request depends on how soon it follows the start.
    /// `None` if the store can't list them.
    pub(crate) async fn current_or_first(&self) -> Option<Arc<Known>> {
        match self.current() {
            Some(known) => Some(known),
            None => self.recent().await.ok(),
        }
    }

    /// Reads the workers again at intervals of `every`, until the manager stops.
    pub(crate) async fn keep_fresh(&self, stop: &CancellationToken, every: Duration) {
        ticker::every(stop, every, || async {
            if let Err(error) = self.fresh().await {
                tracing::debug!(%error, "the workers could not be read");
            }
        })
        .await;
    }

    /// Reads the workers; the result becomes the snapshot.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn fresh(&self) -> Result<Arc<Known>> {
        self.asked_after(Instant::now()).await
    }

    /// The same, or the snapshot if it is younger than [`RECENT`].
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn recent(&self) -> Result<Arc<Known>> {
        let now = Instant::now();
        self.asked_after(now.checked_sub(RECENT).unwrap_or(now)).await
    }

    /// The policy that holds for a task, if a live worker describes it. Workers that may have started since the snapshot
    /// are asked about only for a task that it does not have.
    pub(crate) async fn policy_of(&self, task: &Task) -> Option<PolicyView> {
        if let Some(policy) = self.current().and_then(|known| known.policy_of(task)) {
            return Some(policy);
        }
        self.recent().await.ok()?.policy_of(task)
    }

    /// The snapshot if it was requested after `earliest`, else a new one.
    async fn asked_after(&self, earliest: Instant) -> Result<Arc<Known>> {
        let young = || self.current().filter(|known| known.asked_at.is_some_and(|asked_at| asked_at > earliest));
        if let Some(known) = young() {
            return Ok(known);
        }
        let mut catalogues = self.reading.lock().await;
        // Another caller may have read them while this call waited.
        if let Some(known) = young() {
            return Ok(known);
        }
        let now = Instant::now();
        let mut workers = self.engine.workers().await?;
        workers.sort_by_key(|worker| worker.started_at);
        catalogues.retain(|id, _| workers.iter().any(|worker| worker.report.catalogue == Some(*id)));
        for id in workers.iter().filter_map(|worker| worker.report.catalogue) {
            if !catalogues.contains_key(&id)
                && let Some(catalogue) = self.engine.catalogue(id).await?
            {
                // Off the threads that serve requests: a catalogue is up to 4 MiB.
                let described = tokio::task::spawn_blocking(|| describe(catalogue)).await;
                catalogues.insert(id, Arc::new(described.map_err(|error| Error::Defect(error.to_string()))?));
            }
        }
        let mut known = Known { asked_at: Some(now), ..Known::default() };
        for worker in &workers {
            let described = worker.report.catalogue.and_then(|id| catalogues.get(&id));
            known.add(worker, described.map_or(&[][..], |described| described.as_slice()));
        }
        let known = Arc::new(known);
        self.snapshot.store(Some(Arc::clone(&known)));
        Ok(known)
    }
}

fn describe(catalogue: Catalogue) -> Vec<Arc<Described>> {
    let mut allowance = Allowance::of_a_catalogue();
    let describe = |spec: TaskSpec| {
        let compiled = spec.parameters.as_ref().map(|schema| ParameterSchema::compile_rest(schema, &mut allowance));
        let (schema, unchecked) = compiled.unwrap_or_default();
        for problem in &unchecked {
            tracing::warn!(name = %spec.name, version = spec.version, %problem, "a part of a task's schema is not checked");
        }
        Arc::new(Described { spec, schema: schema.filter(|schema| !schema.takes_anything()), unchecked })
    };
    catalogue.tasks.into_iter().map(describe).collect()
}

/// What of the schemas of a catalogue can't be checked, and why; each begins with its task and place.
#[must_use]
pub fn unchecked_parts(catalogue: Catalogue) -> Vec<String> {
    let name = |task: &Described, part: &String| format!("{}@{}: {part}", task.spec.name, task.spec.version);
    let parts = |task: &Arc<Described>| task.unchecked.iter().map(|part| name(task, part)).collect::<Vec<_>>();
    describe(catalogue).iter().flat_map(parts).collect()
}

impl Known {
    /// The names and versions of all tasks, in order.
    pub(crate) fn places(&self) -> Vec<(TaskName, u32)> {
        let versions = self.named.iter().flat_map(|(name, tasks)| tasks.iter().map(move |task| (name, task.version)));
        versions.map(|(name, version)| (name.clone(), version)).collect()
    }

    /// One of them as the API shows it.
    pub(crate) fn view(&self, (name, version): &(TaskName, u32)) -> Option<RegisteredTaskView> {
        Some(self.find(name, *version)?.view(name))
    }

    /// How many versions of tasks have a schema of which a part is not checked.
    pub(crate) fn unchecked(&self) -> usize {
        let described = self.named.values().flatten().filter_map(|task| task.described.as_ref());
        described.filter(|described| !described.unchecked.is_empty()).count()
    }

    /// A version of a task, if a live worker can run it.
    pub(crate) fn find(&self, name: &TaskName, version: u32) -> Option<&KnownTask> {
        self.named.get(name)?.iter().find(|task| task.version == version)
    }

    /// Whether its author calls a version of a task sensitive.
    pub(crate) fn is_sensitive(&self, name: &TaskName, version: u32) -> bool {
        let described = self.find(name, version).and_then(|task| task.described.as_ref());
        described.is_some_and(|described| described.spec.sensitive)
    }

    /// Whether a live worker that claims from a queue can run a version of a task.
    pub(crate) fn is_served(&self, name: &TaskName, version: u32, queue: &QueueName) -> bool {
        self.any_from.contains(queue) || self.find(name, version).is_some_and(|task| task.queues.contains(queue))
    }

    /// The policy that holds for a task, if a live worker describes it.
    fn policy_of(&self, task: &Task) -> Option<PolicyView> {
        let described = self.find(&task.name, task.version)?.described.as_ref()?;
        Some(PolicyView::in_force(&described.spec.policy, &task.overrides))
    }

    /// The kinds that a claim from these queues leaves to other workers that know them: all but its own, as many as a
    /// claim may refuse.
    pub(crate) fn refusals(&self, queues: &[QueueName], own: &BTreeSet<TaskKind>) -> Vec<Refusal> {
        let kinds = self.named.iter().flat_map(|(name, versions)| versions.iter().map(move |task| (name, task)));
        let others = kinds.filter_map(|(name, task)| {
            let kind = TaskKind { name: name.clone(), version: task.version };
            (!own.contains(&kind)).then_some((kind, task))
        });
        let refusals = others.flat_map(|(kind, task)| {
            let served = queues.iter().filter(|queue| task.queues.contains(*queue));
            served.map(move |queue| Refusal { queue: queue.clone(), kind: kind.clone() })
        });
        refusals.take(MAX_REFUSALS_PER_CLAIM).collect()
    }

    /// How a task is given back to other workers that know it, if there are some: at once if the next claim refuses its
    /// kind, else after a delay.
    pub(crate) fn hand_on(&self, task: &ClaimedTask, refused: &[Refusal], else_after: Duration) -> Option<Outcome> {
        if !self.is_served(&task.name, task.version, &task.queue) {
            return None;
        }
        let is_meant =
            |it: &Refusal| (&it.queue, &it.kind.name, it.kind.version) == (&task.queue, &task.name, task.version);
        let delay = if refused.iter().any(is_meant) { Duration::ZERO } else { else_after };
        Some(Outcome::Unstarted { delay })
    }

    fn add(&mut self, worker: &RegisteredWorker, described: &[Arc<Described>]) {
        let report = &worker.report;
        if report.takes_any() && report.state == WorkerState::Running {
            self.any_from.extend(report.queues.iter().cloned());
        }
        for task in &report.tasks {
            let Some((name, version)) = task.rsplit_once('@') else { continue };
            let (Ok(name), Ok(version)) = (TaskName::new(name), version.parse()) else { continue };
            let described = described.iter().find(|it| it.spec.version == version && it.spec.name == name).cloned();
            let versions = self.named.entry(name).or_default();
            let at = versions.partition_point(|task| task.version < version);
            if versions.get(at).is_none_or(|task| task.version != version) {
                let (queues, roles, described) = (BTreeSet::new(), BTreeSet::new(), None);
                versions.insert(at, KnownTask { version, workers: 0, queues, roles, described });
            }
            let task = &mut versions[at];
            task.workers += 1;
            task.roles.insert(report.role.clone());
            task.described = described.or_else(|| task.described.take());
            if report.state == WorkerState::Running {
                task.queues.extend(report.queues.iter().cloned());
            }
        }
    }
}

impl Described {
    /// Checks parameters against the schema, if it restricts anything: a long check without delaying other requests. Returns
    /// whether they stay unchecked, because that would take too long.
    ///
    /// # Errors
    /// [`Mismatch`], also for parameters that can't be compared with a schema: half a surrogate pair, a number beyond
    /// an `f64`.
    pub(crate) async fn check(&self, parameters: &Payload, long_work: &LongWork) -> Result<IsTooLong, Mismatch> {
        if !is_long(parameters.len()) && !self.check_within(parameters, QUICK_STEPS)? {
            return Ok(false);
        }
        long_work.run(true, || self.check_within(parameters, ParameterSchema::MAX_STEPS)).await
    }

    /// Checks them if the check takes no more than so many steps. Returns whether it would take more.
    fn check_within(&self, parameters: &Payload, most_steps: u64) -> Result<IsTooLong, Mismatch> {
        // Only the worker can read what a codec encoded, and it refuses what does not fit.
        let Some(schema) = self.schema.as_ref().filter(|_| !parameters.is_encoded()) else { return Ok(false) };
        let value = parameters.decode::<serde_json::Value>().map_err(|error| Mismatch {
            pointer: String::new(),
            detail: format!("{}@{} does not take this: it can't be read: {error}", self.spec.name, self.spec.version),
        })?;
        let misfits = match schema.check(&value, most_steps) {
            SchemaCheck::Misfits(misfits) => misfits,
            SchemaCheck::TooCostly => return Ok(true),
        };
        let mut misfits = misfits.into_iter();
        let Some(first) = misfits.next() else { return Ok(false) };
        let mut detail = format!("{}@{} does not take this: {}", self.spec.name, self.spec.version, first.problem);
        for misfit in misfits {
            detail.push_str(&format!("; at {}: {}", misfit.pointer, misfit.problem));
        }
        Err(Mismatch { pointer: first.pointer, detail })
    }
}

/// Whether a check was left out because it would take too many steps.
pub(crate) type IsTooLong = bool;
