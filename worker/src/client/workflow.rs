//! Submitting a canvas as a workflow, straight to a store or over HTTP.

use std::{
    collections::{BTreeSet, HashMap},
    marker::PhantomData,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{
        Engine, Error, OnConflict, PutRun, Submit,
        workflows::{encode_workflow, validate_ids},
    },
    limits::{MAX_BATCH, MAX_WORKFLOW_ID_BYTES},
    name::{NodeName, TaskId, WorkflowId, WorkflowName},
    policy::CrashPolicy,
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::NewTask,
    workflow::{NewNode, Piece, Run, RunState, Workflow, node_task_id},
};
use sha2::{Digest, Sha256};

use super::{
    connection::{Client, ClientTransport},
    error::{ResultError, SubmitError},
    handle::PendingResult,
    named_workflow::NamedWorkflow,
    store::DirectStore,
};
use crate::{
    client::graph::{CanvasNode, Graph, NodeMark},
    payload::encoding::Decode,
};

/// Bytes of parameters from which on a workflow is left to the managers.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How long to wait before a run is looked at again that is still being submitted.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A canvas on its way to become a workflow, whose last task has a result of type `R`.
///
/// ```no_run
/// use jobbers_worker::{canvas::{ResultOf, chain}, prelude::*, testing::TestBench};
///
/// #[task]
/// async fn count(text: String) -> Result<usize, TaskError> { Ok(text.len()) }
///
/// #[task]
/// async fn double(ctx: Context, n: ResultOf<usize>) -> Result<usize, TaskError> { Ok(2 * n.read(&ctx).await?) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// let flow = chain![count.with("abc".to_owned()), &double].workflow();
/// let run = flow.id("words-7").name("words").submit(bench.client()).await?;
/// bench.drain().await?;
/// assert_eq!(run.result(Duration::from_secs(5)).await?, 6);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is submitted before `.submit(&client)`"]
pub struct Flow<R> {
    graph: Graph,
    last: NodeMark,
    id: Option<String>,
    name: Option<String>,
    output: PhantomData<fn() -> R>,
}

/// A submitted workflow.
///
/// ```no_run
/// use jobbers_worker::{RunHandle, RunState, prelude::*};
///
/// async fn report(run: &RunHandle<u64>) -> Result<(), Box<dyn std::error::Error>> {
///     if run.state().await? == Some(RunState::Running) {
///         println!("{} still runs", run.id);
///     }
///     println!("{}", run.result(Duration::from_secs(60)).await?);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct RunHandle<R> {
    /// Its id: its tasks are `ID/NODE`.
    pub id: WorkflowId,
    client: Client,
    result: PendingResult<R>,
}

impl<R> Flow<R> {
    pub(crate) const fn new(graph: Graph, last: NodeMark) -> Self {
        Self { graph, last, id: None, name: None, output: PhantomData }
    }

    /// Sets the run's id, at most 64 characters: submitting the same canvas under it again, in the same way, is safe.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Says what it is a run of. Many runs may have one name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Submits the workflow. Over HTTP the manager submits its tasks. Straight to a store, this client submits those of a
    /// workflow of up to 1,000 nodes; what is left, by its size or because this process dies, a manager submits within seconds.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then, unless the answer was lost.
    pub async fn submit(self, client: &Client) -> Result<RunHandle<R>, SubmitError> {
        let (nodes, last) = self.graph.name_all(self.last)?;
        let id = WorkflowId::new(self.id.unwrap_or_else(|| client.next_id()))?;
        if id.as_str().len() > MAX_WORKFLOW_ID_BYTES {
            return Err(SubmitError::Invalid(format!(
                "a workflow's id has at most {MAX_WORKFLOW_ID_BYTES} characters"
            )));
        }
        let last = node_task_id(&id, &node_name(&last)?);
        let name = self.name.map(WorkflowName::new).transpose()?;
        let prefix = format!("{id}/");
        let check = |CanvasNode { name, submission, depends_on }| {
            node_name(&name)?;
            depends_on
                .into_iter()
                .fold(submission.id(name), |it, (on, policy)| it.depends_on_by(on, policy))
                .check_node(client, &prefix)
        };
        let nodes = nodes.into_iter().map(check).collect::<Result<_, _>>()?;
        let named = NamedWorkflow { id: id.clone(), name, nodes };
        match client.transport() {
            ClientTransport::Store(store) => submit(store, named).await?,
            ClientTransport::Http(http) => http.submit_workflow(&named).await?,
        }
        Ok(RunHandle { id, client: client.clone(), result: client.task(last) })
    }
}

fn node_name(name: &str) -> Result<NodeName, SubmitError> {
    if name.contains('/') {
        return Err(SubmitError::Invalid(format!("a node's name has no `/`: {name}")));
    }
    Ok(NodeName::new(name)?)
}

impl<R: Decode> RunHandle<R> {
    /// Waits for the end of the last task, no longer than `timeout`, and returns its result.
    ///
    /// # Errors
    /// [`ResultError`].
    pub async fn result(&self, timeout: Duration) -> Result<R, ResultError> {
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            let found = self.result.wait(left).await;
            // The last task is not stored before all others are.
            let may_come = matches!(found, Err(ResultError::Unknown)) && !left.is_zero();
            if !may_come || self.state().await? != Some(RunState::Submitting) {
                return found;
            }
            tokio::time::sleep(LOOK_AGAIN.min(left)).await;
        }
    }
}

impl<R> RunHandle<R> {
    /// Where the workflow is. `None` if it was deleted. It is over some time after its last task, once a manager saw that.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn state(&self) -> Result<Option<RunState>, SubmitError> {
        match self.client.transport() {
            ClientTransport::Store(store) => {
                Ok(store.engine().workflow(&self.id).await?.map(|stored| stored.run.state))
            }
            ClientTransport::Http(http) => http.workflow_state(&self.id).await,
        }
    }
}

/// Stores the run, and its tasks unless they are many.
async fn submit(store: &DirectStore, named: NamedWorkflow) -> Result<(), SubmitError> {
    let NamedWorkflow { id, name, nodes } = named;
    let on_crash: HashMap<String, CrashPolicy> =
        nodes.iter().map(|node| (node.id.to_string(), node.on_crash)).collect();
    let workflow = nodes.into_iter().map(new_node).collect::<Result<_, _>>()?;
    let workflow = Workflow::new(workflow)
        .map_err(|error| SubmitError::Invalid(format!("{} (at {})", error.rule, error.pointer)))?;
    let definition = encode_workflow(&workflow)?;
    let digest = Sha256::digest(&definition).iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte));
    let engine = store.engine();
    if is_repeated(&**engine, &id, digest).await? {
        return Ok(());
    }
    let mut tasks = Vec::with_capacity(workflow.len());
    for node in workflow.nodes() {
        let author = on_crash.get(node.name.as_str()).copied().unwrap_or_default();
        let mut task = store.node_task(&node.task, node_task_id(&id, &node.name), author).await?;
        task.depends_on = workflow.dependencies(&id, node);
        tasks.push(task);
    }
    for queue in tasks.iter().map(|task| &task.queue).collect::<BTreeSet<_>>() {
        engine.queue_stats(queue).await?;
    }
    check_ids(&**engine, &tasks).await?;
    let now = engine.health().await?.now;
    let mut run = Run::new(id.clone(), name, &workflow, digest, now);
    let is_small = is_small(&tasks);
    if !is_small {
        run.next_at = Some(now);
    }
    let revision = match engine.put_workflow(run.clone(), PutRun::Create(definition)).await {
        Ok(revision) => revision,
        Err(Error::Exists(_)) if is_repeated(&**engine, &id, digest).await? => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // From here on managers go on with it, whatever happens to this process, and note why a store refuses it.
    let stored = if is_small { store_tasks(&**engine, tasks).await } else { 0 };
    let mut next = run.with_submitted(stored, now);
    if next.state == RunState::Submitting {
        next.next_at = Some(now);
    }
    engine.put_workflow(next, PutRun::Replace(revision)).await.ok();
    Ok(())
}

/// Stores the tasks of a workflow, up to the first piece that the store does not take. Returns how many.
async fn store_tasks(engine: &dyn Engine, tasks: Vec<NewTask>) -> u32 {
    let mut stored = 0;
    for tasks in Piece::split(tasks) {
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        if engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.is_err() {
            break;
        }
        stored += count;
    }
    stored
}

/// Whether this workflow was submitted before.
async fn is_repeated(engine: &dyn Engine, id: &WorkflowId, digest: u64) -> Result<bool, SubmitError> {
    match engine.workflow(id).await? {
        Some(stored) if stored.run.digest == digest => Ok(true),
        Some(_) => Err(Error::Exists(format!("workflow {id}, of another submission,")).into()),
        None => Ok(false),
    }
}

/// Checks that the ids of the tasks are free.
async fn check_ids(engine: &dyn Engine, tasks: &[NewTask]) -> Result<(), SubmitError> {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    for ids in ids.chunks(MAX_BATCH) {
        validate_ids(ids)?;
        let found = engine.statuses(ids).await?;
        if let Some(place) = found.iter().position(Option::is_some) {
            return Err(Error::Exists(format!("task {}", ids[place])).into());
        }
    }
    Ok(())
}

/// Whether this process stores the tasks itself.
fn is_small(tasks: &[NewTask]) -> bool {
    tasks.len() <= MAX_BATCH && tasks.iter().map(|task| task.parameters.len()).sum::<usize>() <= MOST_BYTES
}

fn new_node(draft: TaskDraft) -> Result<NewNode, SubmitError> {
    let invalid = |rule: String| SubmitError::Invalid(format!("node {}: {rule}", draft.id));
    if !draft.parameters.is_json() {
        return Err(invalid(format!("parameters of a node are JSON, not {}", draft.parameters.content_type())));
    }
    let parameters: Box<serde_json::value::RawValue> =
        serde_json::from_slice(&draft.parameters.bytes).map_err(|error| invalid(error.to_string()))?;
    let edge = |on: &TaskId| node_name(on.as_str());
    let depends_on =
        draft.depends_on.iter().map(|it| Ok((edge(&it.on)?, it.policy))).collect::<Result<_, SubmitError>>()?;
    Ok(NewNode {
        name: node_name(draft.id.as_str())?,
        task: TaskTemplate {
            name: draft.name,
            version: draft.version,
            queue: draft.queue,
            default_queue: draft.default_queue,
            priority: draft.priority,
            parameters: parameters.into(),
            concurrency_key: draft.concurrency_key,
            metadata: draft.metadata,
            signals: draft.signals,
            is_spontaneous: draft.is_spontaneous,
            overrides: draft.overrides,
        },
        depends_on,
    })
}
