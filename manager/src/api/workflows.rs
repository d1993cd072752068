//! `/workflows`: graphs of tasks, submitted, watched and kept as one run.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, TEMPLATES, WITH_BODY},
    task::warning::WarningView,
    value::NameDoc,
    workflow::{
        FlowchartParams, Format, Nodes, WorkflowGraphView, WorkflowListParams, WorkflowListView, WorkflowParams,
        WorkflowRequest, WorkflowView, at_node, check_id, cursor_of, place_of, problem_of,
    },
};
use jobbers_common::{
    engine::{Error, PutRun, RunQuery, StoredRun, TaskTimes, reads::validate_limit, workflows::encode_workflow},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{TaskId, TaskName, WorkflowId},
    workflow::{NewNode, Run, RunState, Workflow, mermaid, node_task_id},
};

use crate::{
    api::tasks::submit::check_templates,
    app::App,
    background::long::is_long,
    handlers::{
        extract::{JsonOrMermaid, MERMAID, Path, Query},
        problem::problems,
    },
    listening::idempotency::idempotency_key,
    submissions::ids,
    ticks::workflows::{self, Which},
};

/// From how many nodes on a graph may take some milliseconds.
const MANY_NODES: usize = 500;
/// How often a change is made again because another came between.
const ATTEMPTS: usize = 100;
/// Pages of runs that one request looks through for a name.
const PAGES: usize = 10;

problems!(ListProblems: [Code::InvalidParameter]);
problems!(SubmitProblems: WITH_BODY, TEMPLATES, [Code::WorkflowExists, Code::TaskExists]);
problems!(GetProblems: [Code::UnknownWorkflow]);
problems!(EndedProblems: [Code::UnknownWorkflow, Code::WorkflowOver]);
problems!(LiveProblems: [Code::UnknownWorkflow, Code::WorkflowNotOver]);

/// Submit a workflow
///
/// A graph of up to 10,000 tasks: each runs when those before it have ended. All of it is checked before anything is stored.
/// Then its tasks are submitted in pieces; if this manager dies meanwhile, another one goes on. Sending the same id, or the
/// same `Idempotency-Key`, with the same body again changes nothing.
///
/// The body may also be a Mermaid flowchart, with `content-type: text/vnd.mermaid`; then the query has the run's `id` and `name`.
#[utoipa::path(
    post, path = "/workflows", tag = "workflows", operation_id = "submit_workflow",
    security(("key" = ["workflows:submit", "tasks:submit"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters, new for each \
        request and the same for its repetitions"), FlowchartParams),
    request_body(content((WorkflowRequest = "application/json"), (String = "text/vnd.mermaid"))),
    responses(
        (status = 201, description = "The new run", body = WorkflowView),
        (status = 200, description = "The run was there already", body = WorkflowView),
        SubmitProblems,
    )
)]
pub(crate) async fn submit(
    State(app): State<Arc<App>>,
    Query(params): Query<FlowchartParams>,
    JsonOrMermaid { body: request, is_mermaid }: JsonOrMermaid,
) -> Result<Response> {
    let key = idempotency_key(&request.headers)?;
    let mut wanted = match is_mermaid {
        true => params.request(&request.bytes)?,
        false if params.is_empty() => request.decode::<WorkflowRequest<'_>>(&app).await?,
        false => {
            let rule = format!("`id` and `name` are fields of a JSON body; in the query they are for {MERMAID}");
            return Err(Problem::new(Code::InvalidParameter, rule));
        }
    };
    let chosen = wanted.id.take();
    if let Some(id) = &chosen {
        check_id(id)?;
    }
    let digest = match &wanted.name {
        Some(name) if is_mermaid => {
            let prefixed = |bytes: &[u8]| ids::request_digest(&[name.as_str().as_bytes(), b"\n", bytes].concat());
            request.read(&app, prefixed).await
        }
        _ => request.read(&app, ids::request_digest).await,
    };
    let chosen = chosen.or_else(|| key.map(|key| legal(&ids::derived(key, 0))));
    if let Some(id) = &chosen
        && let Some(stored) = app.engine.workflow(id).await?
    {
        return repeated(&stored, digest);
    }
    let name = wanted.name.take();
    let (workflow, warnings) = read_graph(&app, wanted).await?;
    if let Some(id) = &chosen {
        check_ids(&app, id, &workflow).await?;
    }
    let id = chosen.unwrap_or_else(|| legal(&app.ids.next()));
    let run = Run::new(id, name, &workflow, digest, app.now().await?);
    let definition = app.long_work.run(workflow.len() > MANY_NODES, || encode_workflow(&workflow)).await?;
    let revision = match app.engine.put_workflow(run.clone(), PutRun::Create(definition)).await {
        Ok(revision) => revision,
        Err(Error::Exists(_)) => {
            let stored = find(&app, &run.id).await?;
            return repeated(&stored, digest);
        }
        Err(error) => return Err(error.into()),
    };
    // From here on any manager goes on with it. A store that can't answer now is no reason to refuse what it has.
    let stored = StoredRun { run, revision };
    let stored = match workflows::submit_rest(&app, stored.clone(), &workflow).await {
        Ok(submitted) => submitted.unwrap_or(stored),
        Err(error) => {
            tracing::warn!(workflow = %stored.run.id, %error, "a workflow is submitted further later");
            stored
        }
    };
    app.workflows_changed.notify_one();
    Ok(answer(StatusCode::CREATED, &stored.run, warnings))
}

/// An id of a task that was made here, as one of a run.
fn legal(id: &TaskId) -> WorkflowId {
    #[expect(clippy::expect_used, reason = "both take the same characters, and it is short")]
    WorkflowId::new(id.as_str()).expect("a legal workflow id")
}

/// What is answered to a submission whose id is taken.
fn repeated(stored: &StoredRun, digest: u64) -> Result<Response> {
    if stored.run.digest == digest {
        return Ok(answer(StatusCode::OK, &stored.run, Vec::new()));
    }
    let detail = format!("workflow {} exists and was submitted with another body", stored.run.id);
    Err(Problem::new(Code::WorkflowExists, detail).at("/id"))
}

/// The graph of a request, all of it checked, and what may be wrong with its tasks.
///
/// # Errors
/// The first problem, with its place in the request.
pub(crate) async fn read_graph(app: &App, wanted: WorkflowRequest<'_>) -> Result<(Workflow, Vec<WarningView>)> {
    let text_bytes = wanted.mermaid.as_ref().map_or(0, String::len);
    let is_long = is_long(text_bytes) || wanted.nodes.len() > MANY_NODES;
    let nodes = app.long_work.run(is_long, || wanted.nodes()).await?;
    let places = nodes.places();
    let warnings = check_nodes(app, &nodes.nodes).await.map_err(|problem| Nodes::locate(&places, problem))?;
    let workflow = app.long_work.run(is_long, || Workflow::new(nodes.nodes)).await;
    let workflow = workflow.map_err(|error| Nodes::locate(&places, problem_of(&error)))?;
    Ok((workflow, warnings))
}

async fn check_nodes(app: &App, nodes: &[NewNode]) -> Result<Vec<WarningView>> {
    let templates = nodes.iter().map(|node| &node.task);
    check_templates(app, templates).await.map_err(|(place, problem)| at_node(problem, place))
}

/// Whether the ids of its tasks are free: the client chose how they begin.
async fn check_ids(app: &App, id: &WorkflowId, workflow: &Workflow) -> Result<()> {
    for nodes in workflow.nodes().chunks(MAX_BATCH) {
        let ids: Vec<TaskId> = nodes.iter().map(|node| node_task_id(id, &node.name)).collect();
        let found = app.engine.statuses(&ids).await?;
        if let Some(place) = found.iter().position(Option::is_some) {
            let detail = format!("task {} exists, and would be a node of this workflow; choose another id", ids[place]);
            return Err(Problem::new(Code::TaskExists, detail).at("/id"));
        }
    }
    Ok(())
}

fn answer(status: StatusCode, run: &Run, warnings: Vec<WarningView>) -> Response {
    (status, axum::Json(WorkflowView::new(run, warnings))).into_response()
}

async fn find(app: &App, id: &WorkflowId) -> Result<StoredRun> {
    app.engine.workflow(id).await?.ok_or_else(|| Error::UnknownWorkflow(id.clone()).into())
}

async fn definition(app: &App, run: &Run) -> Result<Arc<Workflow>> {
    workflows::definition(app, run).await?.ok_or_else(|| Error::UnknownWorkflow(run.id.clone()).into())
}

/// The workflows, a page at a time
#[utoipa::path(
    get, path = "/workflows", tag = "workflows", operation_id = "list_workflows",
    security(("key" = ["workflows:read"])),
    params(WorkflowListParams),
    responses((status = 200, description = "A page of the runs, the latest first", body = WorkflowListView), ListProblems)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(WorkflowListParams { state, name, limit, cursor }): Query<WorkflowListParams>,
) -> Result<Response> {
    validate_limit(limit).map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()))?;
    let mut after = cursor.as_deref().map(place_of).transpose()?;
    let (mut found, mut next_cursor) = (Vec::new(), None);
    for _ in 0..PAGES {
        let wanted = limit - found.len();
        let query = RunQuery { state, after: after.take(), oldest_first: false, limit: wanted };
        let page = app.engine.list_workflows(query).await?;
        let last = page.last().filter(|_| page.len() == wanted).map(|stored| stored.run.clone());
        next_cursor = last.as_ref().map(cursor_of);
        after = last.map(|run| (run.created_at, run.id));
        found.extend(page.into_iter().filter(|stored| name.is_none() || stored.run.name == name));
        if after.is_none() || found.len() == limit {
            break;
        }
    }
    let workflows = found.iter().map(|stored| WorkflowView::new(&stored.run, Vec::new())).collect();
    Ok(axum::Json(WorkflowListView { workflows, next_cursor }).into_response())
}

/// One workflow with its graph
///
/// The statuses of its nodes are read from its tasks; a task that was pruned keeps the status it ended with. `started_at` and
/// `finished_at` of a node are those of its task, as far as they are known.
#[utoipa::path(
    get, path = "/workflows/{workflow}", tag = "workflows", operation_id = "get_workflow",
    security(("key" = ["workflows:read"])),
    params(("workflow" = NameDoc, Path, description = "The run's id"), WorkflowParams),
    responses((status = 200, description = "The run", body = WorkflowGraphView), GetProblems)
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<WorkflowId>,
    Query(WorkflowParams { format }): Query<WorkflowParams>,
) -> Result<Response> {
    let stored = find(&app, &id).await?;
    let workflow = definition(&app, &stored.run).await?;
    let (stored, statuses) = statuses(&app, stored, &workflow).await?;
    let known = app.known.current_or_first().await;
    let is_sensitive = |name: &TaskName, version| known.as_ref().is_some_and(|known| known.is_sensitive(name, version));
    let times = if format == Format::Json { times(&app, &stored.run, &workflow).await? } else { Vec::new() };
    let write = || match format {
        Format::Mermaid => {
            let content_type = [(header::CONTENT_TYPE, "text/vnd.mermaid; charset=utf-8")];
            (content_type, mermaid::write_hiding(&workflow, &statuses, |task| is_sensitive(&task.name, task.version)))
                .into_response()
        }
        Format::Json => {
            let view = WorkflowGraphView::new(&stored.run, &workflow, &statuses, &times);
            axum::Json(view.hiding_where(is_sensitive)).into_response()
        }
    };
    Ok(app.long_work.run(workflow.len() > MANY_NODES, write).await)
}

/// Where all nodes of a run stand, and the run, which may be over by that.
async fn statuses(app: &App, stored: StoredRun, workflow: &Workflow) -> Result<(StoredRun, Vec<Status>)> {
    let (stored, live) = match stored.run.state {
        RunState::Running => {
            let now = app.now().await?;
            workflows::look(app, stored, workflow, now, Which::Open(workflow.len())).await?
        }
        RunState::Submitting => {
            let live = workflows::read_live(app, &stored.run, workflow).await?;
            (stored, live)
        }
        _ => (stored, Vec::new()),
    };
    let mut statuses: Vec<Status> =
        (0..workflow.len()).map(|place| stored.run.ends.get(place).unwrap_or(Status::Waiting)).collect();
    live.into_iter().for_each(|(place, status)| statuses[place] = status);
    Ok((stored, statuses))
}

/// When the tasks of all nodes started and ended.
async fn times(app: &App, run: &Run, workflow: &Workflow) -> Result<Vec<TaskTimes>> {
    let ids: Vec<TaskId> = workflow.nodes().iter().map(|node| node_task_id(&run.id, &node.name)).collect();
    let mut times = Vec::with_capacity(ids.len());
    for ids in ids.chunks(MAX_BATCH) {
        times.extend(app.engine.times(ids).await?);
    }
    Ok(times)
}

/// Cancel a workflow
///
/// Its tasks that do not run are cancelled at once, those that run are marked, and their workers told. The workflow is over
/// once they are.
#[utoipa::path(
    post, path = "/workflows/{workflow}/cancel", tag = "workflows", operation_id = "cancel_workflow",
    security(("key" = ["workflows:control"])),
    params(("workflow" = NameDoc, Path, description = "The run's id")),
    responses((status = 200, description = "The run", body = WorkflowView), EndedProblems)
)]
pub(crate) async fn cancel(State(app): State<Arc<App>>, Path(id): Path<WorkflowId>) -> Result<Response> {
    let now = app.now().await?;
    let stored = alter(&app, &id, |run| {
        if run.state.is_over() {
            return Err(Problem::new(Code::WorkflowOver, format!("workflow {id} is over: {}", run.state)));
        }
        Ok(run.with_cancel(now))
    })
    .await?;
    let workflow = definition(&app, &stored.run).await?;
    workflows::cancel_all(&app, &stored.run, &workflow).await?;
    let stored = workflows::submit_rest(&app, stored.clone(), &workflow).await?.unwrap_or(stored);
    app.workflows_changed.notify_one();
    Ok(answer(StatusCode::OK, &stored.run, Vec::new()))
}

/// Run the rest of a workflow that failed or was cancelled
///
/// The nodes that completed stay, unless a node before them runs again. The others are submitted again, with their dependencies
/// among each other.
#[utoipa::path(
    post, path = "/workflows/{workflow}/retry", tag = "workflows", operation_id = "retry_workflow",
    security(("key" = ["workflows:control"])),
    params(("workflow" = NameDoc, Path, description = "The run's id")),
    responses((status = 200, description = "The run", body = WorkflowView), LiveProblems)
)]
pub(crate) async fn retry(State(app): State<Arc<App>>, Path(id): Path<WorkflowId>) -> Result<Response> {
    let now = app.now().await?;
    let workflow = definition(&app, &find(&app, &id).await?.run).await?;
    let stored = alter(&app, &id, |run| {
        if !run.state.is_over() {
            return Err(not_over(&run, "is not over"));
        }
        let again = workflow.to_retry(&run.ends);
        if !again.contains(&true) {
            return Err(not_over(&run, "has nothing left to run"));
        }
        Ok(run.retried(&again, now))
    })
    .await?;
    let stored = workflows::submit_rest(&app, stored.clone(), &workflow).await?.unwrap_or(stored);
    app.workflows_changed.notify_one();
    Ok(answer(StatusCode::OK, &stored.run, Vec::new()))
}

fn not_over(run: &Run, why: &str) -> Problem {
    Problem::new(Code::WorkflowNotOver, format!("workflow {} {why}: it is {}", run.id, run.state))
}

/// Delete a workflow that is over
///
/// Its tasks stay, by the retention of their queues.
#[utoipa::path(
    delete, path = "/workflows/{workflow}", tag = "workflows", operation_id = "delete_workflow",
    security(("key" = ["workflows:delete"])),
    params(("workflow" = NameDoc, Path, description = "The run's id")),
    responses((status = 204, description = "It is gone"), LiveProblems)
)]
pub(crate) async fn delete(State(app): State<Arc<App>>, Path(id): Path<WorkflowId>) -> Result<StatusCode> {
    for _ in 0..ATTEMPTS {
        let stored = find(&app, &id).await?;
        if !stored.run.state.is_over() {
            return Err(not_over(&stored.run, "is not over; cancel it first"));
        }
        match app.engine.delete_workflow(&id, stored.revision).await {
            Err(Error::Changed(_)) => {}
            done => return done.map(|()| StatusCode::NO_CONTENT).map_err(Problem::from),
        }
    }
    Err(too_busy())
}

/// Changes a run from what it is, whatever else changes it at the same time.
async fn alter(app: &App, id: &WorkflowId, change: impl Fn(Run) -> Result<Run>) -> Result<StoredRun> {
    for _ in 0..ATTEMPTS {
        let StoredRun { run, revision } = find(app, id).await?;
        let run = change(run)?;
        match app.engine.put_workflow(run.clone(), PutRun::Replace(revision)).await {
            Ok(revision) => return Ok(StoredRun { run, revision }),
            Err(Error::Changed(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(too_busy())
}

fn too_busy() -> Problem {
    Error::unavailable("the workflow is being changed all the time").into()
}
