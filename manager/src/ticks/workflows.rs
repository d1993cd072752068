//! Moves runs of workflows on: submits what is left of them, notes how their tasks ended, and deletes them past their
//! retention.
//!
//! Every manager does so, and none is special. A run's tasks have fixed ids, so submitting a piece twice changes nothing, and
//! its record is changed by compare-and-set: of two managers at one step, one goes on. Nothing here decides when a task runs:
//! that is the store's, by the tasks' dependencies.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jobbers_common::{
    dependency::Dependency,
    engine::{
        Error, OnConflict, PutRun, Result, RunQuery, StoredRun, Submit, SubmittedHow, workflows::decode_workflow,
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{TaskId, WorkflowId},
    submission::draft::TaskDraft,
    task::{NewTask, Start},
    time::Timestamp,
    workflow::{Edge, Node, Piece, Run, RunState, Workflow, node_task_id},
};

use crate::{
    app::App,
    background::{
        long::is_long,
        ticker::{self, READ_AT_ONCE, is_trouble},
    },
    submissions::sends::Sends,
    telemetry::meters::Sent,
};

/// Runs that are attended to at a time.
const AT_A_TIME: usize = 8;

/// The definition of a run; `None` if the run is gone.
pub(crate) async fn definition(app: &App, run: &Run) -> Result<Option<Arc<Workflow>>> {
    if let Some(workflow) = app.definitions.find(run) {
        return Ok(Some(workflow));
    }
    let Some(text) = app.engine.workflow_definition(&run.id).await? else { return Ok(None) };
    let decoded = app.long_work.run(is_long(text.len()), || decode_workflow(&text)).await;
    let workflow = Arc::new(decoded?);
    app.definitions.keep(run, &workflow);
    Ok(Some(workflow))
}

/// Attends to runs until the manager stops.
pub(crate) async fn run(app: Arc<App>, every: Duration) {
    let moving = ticker::repeat(("workflows", "moved on"), every, &app.workflows_changed, || attend_to_due(&app));
    app.drain.run_until_cancelled(moving).await;
}

/// Attends to all runs that are due. Answers how long it is until the next one is.
pub(crate) async fn attend_to_due(app: &App) -> Result<Option<Duration>> {
    let look = || app.engine.due_workflows(READ_AT_ONCE);
    ticker::carry_out(look, AT_A_TIME, |stored, now| attend(app, stored, now)).await
}

/// Does what is due of a run.
async fn attend(app: &App, stored: StoredRun, now: Timestamp) -> Result<()> {
    app.meters.workflows.seen(&stored.run);
    // Its own time has not come: the store made it due, because one of its tasks was sent again or replaced.
    let is_touched = stored.run.next_at.is_none_or(|at| at > now);
    if stored.run.state.is_over() && !is_touched {
        return match app.engine.delete_workflow(&stored.run.id, stored.revision).await {
            Ok(()) | Err(Error::Changed(_) | Error::UnknownWorkflow(_)) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let Some(workflow) = definition(app, &stored.run).await? else { return Ok(()) };
    if stored.run.state == RunState::Submitting {
        submit_rest(app, stored, &workflow).await.map(drop)
    } else {
        let which = if is_touched { Which::All } else { Which::Open(MAX_BATCH) };
        look(app, stored, &workflow, now, which).await.map(drop)
    }
}

/// Stores what a run becomes. Answers `None` if another manager changed it.
async fn put(app: &App, run: Run, revision: u64) -> Result<Option<StoredRun>> {
    match app.engine.put_workflow(run.clone(), PutRun::Replace(revision)).await {
        Ok(revision) => Ok(Some(StoredRun { run, revision })),
        Err(Error::Changed(_) | Error::UnknownWorkflow(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Submits what is left of a run, piece by piece. Answers the run as it then is; `None` if it is gone.
///
/// # Errors
/// Those of the store; the run then goes on later.
pub(crate) async fn submit_rest(app: &App, mut stored: StoredRun, workflow: &Workflow) -> Result<Option<StoredRun>> {
    while stored.run.state == RunState::Submitting {
        let next = match stored.run.cancel_requested {
            true => cancel_rest(app, stored.clone(), workflow).await?,
            false => submit_piece(app, stored.clone(), workflow).await?,
        };
        stored = match next {
            Some(next) if next.run.refusal.is_some() && next.run.failure.is_none() => return Ok(Some(next)),
            Some(next) => next,
            None => {
                // Another manager, or a cancel, came between.
                let Some(found) = app.engine.workflow(&stored.run.id).await? else { return Ok(None) };
                if found.run.cancel_requested {
                    // By what was known before: the cancel may have taken for never stored what was stored just now.
                    cancel_all(app, &stored.run, workflow).await?;
                }
                found
            }
        };
    }
    Ok(Some(stored))
}

/// The next tasks of a run, and up to which node they go.
async fn piece(app: &App, run: &Run, workflow: &Workflow) -> Result<(Vec<NewTask>, usize)> {
    let mut piece = Piece::default();
    for (place, node) in workflow.nodes().iter().enumerate().skip(run.submitted as usize) {
        if run.ends.get(place).is_some() {
            continue;
        }
        if piece.add(make_task(app, run, workflow, node).await?).is_err() {
            return Ok((piece.into_tasks(), place));
        }
    }
    Ok((piece.into_tasks(), workflow.len()))
}

/// The task of a node: routed and filled as a submission is. It depends on those that run in this attempt of the run, and on
/// those of earlier attempts that the store still knows, so that it can read their results.
async fn make_task(app: &App, run: &Run, workflow: &Workflow, node: &Node) -> Result<NewTask> {
    let id = node_task_id(&run.id, &node.name);
    let mut task = app.make_task(TaskDraft::of_template(&node.task, id, Start::Now)).await?;
    let dependency = |edge: &Edge| Dependency {
        on: node_task_id(&run.id, &workflow.nodes()[edge.on as usize].name),
        policy: edge.policy,
    };
    let ended = |edge: &&Edge| run.ends.get(edge.on as usize).is_some();
    let known = known_ends(app, node.depends_on.iter().filter(ended).map(dependency).collect()).await?;
    let is_open_or_known = |edge: &&Edge| !ended(edge) || known.contains(&dependency(edge));
    task.depends_on = node.depends_on.iter().filter(is_open_or_known).map(dependency).collect();
    // Another attempt is another submission, which takes the place of the one before.
    task.request_digest = (run.attempt > 1).then(|| u64::from(run.attempt));
    Ok(task)
}

/// Those of some dependencies on tasks that ended in an earlier attempt which the store still knows, and whose ends let the
/// task run.
async fn known_ends(app: &App, ended: Vec<Dependency>) -> Result<HashSet<Dependency>> {
    if ended.is_empty() {
        return Ok(HashSet::new());
    }
    let ids: Vec<TaskId> = ended.iter().map(|edge| edge.on.clone()).collect();
    let mut statuses = Vec::with_capacity(ids.len());
    for ids in ids.chunks(MAX_BATCH) {
        statuses.extend(app.engine.statuses(ids).await?);
    }
    let lets_run = |edge: &Dependency, status: Option<Status>| status.is_some_and(|end| !edge.policy.aborts(end));
    let known = ended.into_iter().zip(statuses).filter(|(edge, status)| lets_run(edge, *status));
    Ok(known.map(|(edge, _)| edge).collect())
}

/// Submits one piece of a run. Answers `None` if another manager changed it.
async fn submit_piece(app: &App, stored: StoredRun, workflow: &Workflow) -> Result<Option<StoredRun>> {
    let StoredRun { run, revision } = stored;
    let (mut tasks, next) = piece(app, &run, workflow).await?;
    if !tasks.is_empty() {
        let sent: Vec<Sent> = tasks.iter().map(Sent::from).collect();
        let sends = Sends::begin(&mut tasks, None);
        let on_conflict = if run.attempt > 1 { OnConflict::Replace } else { OnConflict::Fail };
        let answer = app.engine.submit(Submit { tasks, on_conflict }).await;
        sends.end(answer.as_ref().err().map(Error::kind));
        match answer {
            Ok(submitted) => {
                let new = |(_, task): &(_, &jobbers_common::engine::Submitted)| task.how != SubmittedHow::Existing;
                let (sent, new): (Vec<_>, Vec<_>) =
                    sent.into_iter().zip(&submitted).filter(new).map(|(sent, task)| (sent, task.clone())).unzip();
                app.meters.submitted(&sent, &new);
            }
            Err(error) if is_trouble(&error) => return Err(error),
            Err(error) => return refuse(app, run, revision, &error).await,
        }
    }
    put_submitted(app, run, u32::try_from(next).unwrap_or(u32::MAX), revision).await
}

/// Stores that the nodes of a run up to a place are submitted, and counts the run if these are all.
async fn put_submitted(app: &App, run: Run, submitted: u32, revision: u64) -> Result<Option<StoredRun>> {
    let now = app.engine.health().await?.now;
    let stored = put(app, run.with_submitted(submitted, now), revision).await?;
    if let Some(StoredRun { run, .. }) = stored.as_ref().filter(|stored| stored.run.state == RunState::Running) {
        app.meters.workflows.started(run);
    }
    Ok(stored)
}

/// Notes that the store did not take a piece in: it is tried again where it may be taken in later, else the run fails.
async fn refuse(app: &App, run: Run, revision: u64, error: &Error) -> Result<Option<StoredRun>> {
    let again_after = match error {
        Error::RateLimited { retry_after, .. } => Some(*retry_after),
        // A task of an earlier attempt was forgotten meanwhile: the next try leaves it out.
        Error::UnknownPredecessor { .. } if run.attempt > 1 => Some(Duration::from_secs(1)),
        Error::QueueFull { .. } | Error::QueueBytesFull { .. } => Some(Duration::from_secs(1)),
        _ => None,
    };
    if run.refusal.is_none() {
        tracing::warn!(workflow = %run.id, %error, again = again_after.is_some(), "a workflow's tasks were refused");
    }
    let now = app.engine.health().await?.now;
    let mut run = run.with_refusal(error.to_string(), now, again_after.unwrap_or_default());
    if again_after.is_none() {
        // What is stored of it is cancelled, and nothing more submitted.
        run.failure.clone_from(&run.refusal);
        run.cancel_requested = true;
    }
    put(app, run, revision).await
}

/// Ends the submission of a run that is cancelled: the nodes that are not stored never will be.
async fn cancel_rest(app: &App, stored: StoredRun, workflow: &Workflow) -> Result<Option<StoredRun>> {
    let StoredRun { mut run, revision } = stored;
    cancel_all(app, &run, workflow).await?;
    let places: Vec<usize> = run.ends.open_from(0).collect();
    for places in places.chunks(MAX_BATCH) {
        let found = app.engine.statuses(&ids_of(&run, workflow, places)).await?;
        let ends = places.iter().zip(found).map(|(place, status)| (*place, Some(status.unwrap_or(Status::Cancelled))));
        run.ends.set_all(ends);
    }
    let nodes = run.nodes;
    put_submitted(app, run, nodes, revision).await
}

fn ids_of(run: &Run, workflow: &Workflow, places: &[usize]) -> Vec<TaskId> {
    places.iter().map(|place| node_task_id(&run.id, &workflow.nodes()[*place].name)).collect()
}

/// Cancels all tasks of a run that are not known to be over.
///
/// # Errors
/// Those of the store. Safe to repeat.
pub(crate) async fn cancel_all(app: &App, run: &Run, workflow: &Workflow) -> Result<()> {
    let places: Vec<usize> = run.ends.open_from(0).collect();
    for places in places.chunks(MAX_BATCH) {
        app.engine.cancel(&ids_of(run, workflow, places)).await?;
    }
    Ok(())
}

/// Where tasks of a run stand that are not known to be over, by their places.
pub(crate) type Live = Vec<(usize, Status)>;

/// Which tasks of a run to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Up to so many of those that are not known to be over.
    Open(usize),
    /// All of them: some may have been sent again or replaced since they ended.
    All,
}

/// Looks at tasks of a run, and stores what it finds: how some ended, that all did, or that some of a run that was over are not
/// over. Answers the run as it then is, and those that are not over.
///
/// # Errors
/// Those of the store.
pub(crate) async fn look(
    app: &App,
    stored: StoredRun,
    workflow: &Workflow,
    now: Timestamp,
    which: Which,
) -> Result<(StoredRun, Live)> {
    let StoredRun { run: before, revision } = stored;
    let (mut run, mut live) = (before.clone(), Live::new());
    let places = match which {
        Which::Open(most) => next_open(&run, most),
        Which::All => (0..workflow.len()).collect(),
    };
    read_ends(app, &mut run, workflow, &places, &mut live).await?;
    if run.ends.are_all_known() {
        // What did not complete may have been sent again by hand since.
        let nodes = 0..workflow.len();
        let again: Vec<usize> =
            nodes.filter(|place| run.ends.get(*place).is_some_and(|end| end != Status::Completed)).collect();
        read_ends(app, &mut run, workflow, &again, &mut live).await?;
    }
    let (was_over, is_same) = (before.state.is_over(), run.ends == before.ends);
    let next = if run.ends.are_all_known() && was_over && is_same {
        run
    } else if run.ends.are_all_known() {
        let state = match &run.failure {
            Some(_) => RunState::Failed,
            None => workflow.outcome(&run.ends, run.cancel_requested),
        };
        run.ended(state, now, app.workflow_retention.age)
    } else if was_over {
        run.reopened(now)
    } else {
        if run.cancel_requested && !live.is_empty() {
            let places: Vec<usize> = live.iter().map(|(place, _)| *place).collect();
            for places in places.chunks(MAX_BATCH) {
                app.engine.cancel(&ids_of(&run, workflow, places)).await?;
            }
        }
        let looked = places.last().map_or(0, |place| place + 1);
        run.looked_at(looked, now)
    };
    // A run that is due must be stored, or it stays due.
    let is_due = which == Which::All || before.next_at.is_none_or(|at| at <= now);
    if is_same && !next.state.is_over() && !is_due {
        return Ok((StoredRun { run: before, revision }, live));
    }
    let (has_ended, is_open_again) = (next.state.is_over() && next != before, was_over && !next.state.is_over());
    match put(app, next, revision).await? {
        Some(stored) => {
            if has_ended {
                note_end(app, &stored.run).await?;
            } else if is_open_again {
                tracing::info!(workflow = %stored.run.id, "a task of a workflow that was over runs again");
                app.meters.workflows.started(&stored.run);
            }
            Ok((stored, live))
        }
        None => {
            let found = app.engine.workflow(&before.id).await?;
            Ok((found.unwrap_or(StoredRun { run: before, revision }), live))
        }
    }
}

/// The places of up to `most` nodes that are not known to be over, from where the latest look ended.
fn next_open(run: &Run, most: usize) -> Vec<usize> {
    let from = run.looked as usize;
    let before_it = run.ends.open_from(0).take_while(|place| *place < from);
    run.ends.open_from(from).chain(before_it).take(most).collect()
}

/// A run as it is now: otherwise the end of its last task is noted a while later. `None` if it is gone.
///
/// # Errors
/// Those of the store.
pub(crate) async fn current(app: &App, id: &WorkflowId, now: Timestamp) -> Result<Option<StoredRun>> {
    let Some(stored) = app.engine.workflow(id).await? else { return Ok(None) };
    if stored.run.state != RunState::Running {
        return Ok(Some(stored));
    }
    let Some(workflow) = definition(app, &stored.run).await? else { return Ok(None) };
    let (stored, _) = look(app, stored, &workflow, now, Which::Open(workflow.len())).await?;
    Ok(Some(stored))
}

/// Where the tasks of a run stand that are not known to be over, as far as they are stored.
///
/// # Errors
/// Those of the store.
pub(crate) async fn read_live(app: &App, run: &Run, workflow: &Workflow) -> Result<Live> {
    let (mut live, places) = (Live::new(), run.ends.open_from(0).collect::<Vec<_>>());
    for places in places.chunks(MAX_BATCH) {
        let found = app.engine.statuses(&ids_of(run, workflow, places)).await?;
        live.extend(places.iter().zip(found).filter_map(|(place, status)| Some((*place, status?))));
    }
    Ok(live)
}

/// Reads how the tasks at these places stand. One that is neither stored nor remembered was deleted before its end was seen,
/// and counts as cancelled, as it does for the tasks that wait for it.
async fn read_ends(app: &App, run: &mut Run, workflow: &Workflow, places: &[usize], live: &mut Live) -> Result<()> {
    for places in places.chunks(MAX_BATCH) {
        let found = app.engine.statuses(&ids_of(run, workflow, places)).await?;
        let known = run.ends.clone();
        let found: Vec<(usize, Status)> = places
            .iter()
            .zip(found)
            .map(|(place, status)| (*place, status.or_else(|| known.get(*place)).unwrap_or(Status::Cancelled)))
            .collect();
        live.extend(found.iter().filter(|(_, status)| !status.is_finished()));
        run.ends.set_all(found.into_iter().map(|(place, status)| (place, Some(status))));
    }
    Ok(())
}

/// Counts a run that has ended, and deletes the oldest ones past the number that is kept.
async fn note_end(app: &App, run: &Run) -> Result<()> {
    tracing::info!(workflow = %run.id, state = %run.state, nodes = run.nodes, "a workflow is over");
    app.meters.workflows.ended(run);
    let over = RunState::ALL.into_iter().filter(|state| state.is_over());
    let counts = app.engine.count_workflows().await?;
    let kept: u64 = over.clone().map(|state| counts[usize::from(state.code())]).sum();
    let surplus = usize::try_from(kept.saturating_sub(app.workflow_retention.count)).unwrap_or(MAX_BATCH);
    if surplus == 0 {
        return Ok(());
    }
    let mut oldest = Vec::new();
    for state in over {
        let query = RunQuery { state: Some(state), after: None, oldest_first: true, limit: surplus.min(MAX_BATCH) };
        oldest.extend(app.engine.list_workflows(query).await?);
    }
    oldest.sort_by_key(|stored| stored.run.finished_at);
    for stored in oldest.into_iter().take(surplus) {
        match app.engine.delete_workflow(&stored.run.id, stored.revision).await {
            Ok(()) | Err(Error::Changed(_) | Error::UnknownWorkflow(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
