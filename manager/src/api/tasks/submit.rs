//! `POST /tasks`: the path that must be fast.
//!
//! The body is parsed once, into borrowed text; parameters are a slice of it. Queues and rules come from the snapshot
//! ([`crate::snapshots::live_config`]). Batches form in the engine, which shares one round trip or commit among all calls that
//! arrive while the last one is under way. What a task must be, [`check`] says.

use std::{collections::HashSet, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{self, InvalidHeaderValue},
    },
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::{
        request::{ConflictRule, SubmitRequest, TaskBatch, TaskRequest},
        successors::link_successors,
        view::{SubmitAnswer, SubmittedList, SubmittedView},
        warning::WarningView,
    },
    wire::json,
};
use jobbers_common::{
    dependency::Dependency,
    engine::{Error, OnConflict, Submit, Submitted, SubmittedHow},
    limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH},
    name::{QueueName, TaskId},
    submission::draft::TaskDraft,
    task::{NewTask, trace::is_traceparent},
    time::Timestamp,
    values::counted::Counter,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize, de::IgnoredAny};

mod check;

use self::check::Checker;
pub(crate) use self::check::check_templates;
use crate::{
    app::App,
    background::long::Breaks,
    doors::Reach,
    handlers::{extract::JsonBytes, problem::problems},
    listening::idempotency::idempotency_key,
    submissions::{ids, sends::Sends},
    telemetry::meters::Sent,
};

problems!(SubmitProblems: WITH_BODY, [
    Code::UnknownQueue,
    Code::TaskExists,
    Code::TaskStarted,
    Code::Duplicate,
    Code::IdempotencyKeyReused,
    Code::PayloadTooLarge,
    Code::BatchTooLarge,
    Code::JsonTooDeep,
    Code::QueueFull,
    Code::RateLimited,
    Code::SchemaMismatch,
    Code::NoWorker,
    Code::QueueForbidden,
    Code::UnknownPredecessor,
]);

/// Submit one task or a batch
///
/// A batch is accepted as a whole or not at all. Sending the same task (the same id and body) again changes nothing and
/// is answered with its present state, so a request whose answer was lost may be repeated; set your own ids, or an
/// `Idempotency-Key`, from which ids are derived. Both are honoured while the tasks are kept, and for at least a day
/// after they ended.
#[utoipa::path(
    post, path = "/tasks", tag = "tasks", operation_id = "submit_tasks",
    security(("key" = ["tasks:submit"])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters, new for each \
            request and the same for its repetitions"),
        ("traceparent" = Option<String>, Header, description = "W3C trace context, carried along with the tasks"),
    ),
    request_body = SubmitRequest,
    responses(
        (status = 201, description = "Taken in: the task, or for a batch `{\"tasks\": […]}`. Durable as \
            /health/ready says.", body = SubmitAnswer),
        (status = 200, description = "Nothing was created: everything was there already, or the tasks that hold the \
            unique keys are answered, as they are or updated.", body = SubmitAnswer),
        SubmitProblems,
    )
)]
pub(crate) async fn submit(
    State(app): State<Arc<App>>,
    reach: Option<Extension<Reach>>,
    request: JsonBytes,
) -> Result<Response> {
    let body = &request.bytes;
    let read = request.read_counted(&app, |body, counter| {
        Ok((HeaderSettings::read(&request.headers, body)?, read_tasks(body, counter)?))
    });
    let (envelope, (requests, on_conflict, is_batch)) = read.await?;
    let on_conflict = on_conflict.map_or(OnConflict::Fail, OnConflict::from);
    check_batch(&requests, is_batch, on_conflict, &envelope)?;
    let mut reader = RequestReader { checker: Checker::new(&app).await?, body, envelope: &envelope, on_conflict };
    let mut breaks = Breaks::begin();
    let mut tasks = Vec::with_capacity(requests.len());
    let mut warnings = Vec::with_capacity(requests.len());
    for (index, request) in requests.into_iter().enumerate() {
        let task = reader.task(index, request).await;
        let (task, warned) = if is_batch { task.map_err(|problem| within(problem, index))? } else { task? };
        tasks.push(task);
        warnings.push(warned);
        breaks.take_if_due().await;
    }
    if let Some(Extension(reach)) = &reach {
        reach.check_submission(&*app.engine, &tasks).await?;
    }
    let sent: Vec<Sent> = tasks.iter().map(Sent::from).collect();
    let queues: Vec<QueueName> = tasks.iter().filter(|_| is_batch).map(|task| task.queue.clone()).collect();
    check_queues(&queues)?;
    let edges = RequestEdges::of(&tasks, is_batch);
    let sends = Sends::begin(&mut tasks, envelope.trace);
    let submitted = app.engine.submit(Submit { tasks, on_conflict }).await;
    sends.end(submitted.as_ref().err().map(Error::kind));
    let submitted = submitted.map_err(|error| refusal(error, &envelope, &queues, &edges))?;
    app.meters.submitted(&sent, &submitted);
    Ok(answer(&submitted, warnings, is_batch))
}

/// The tasks of a body, the rule for ids that are taken, and whether it is a batch.
fn read_tasks<'a>(body: &'a [u8], counter: &Counter<'_>) -> Result<(Vec<TaskRequest<'a>>, Option<ConflictRule>, bool)> {
    if !begins_as_batch(body) {
        // A single task has no `tasks` field, so a body that parses as one is one.
        let problem = match json::decode_counted(body, counter) {
            Ok(task) => return read_one(task),
            Err(problem) => problem,
        };
        let is_batch = counter.refused().is_none() && json::decode::<BatchProbe>(body)?.tasks.is_some();
        if !is_batch {
            return Err(problem);
        }
    }
    let mut batch: TaskBatch<'_> = json::decode_counted(body, counter)?;
    link_successors(&mut batch.tasks).map_err(|(index, problem)| within(problem, index))?;
    Ok((batch.tasks, batch.on_conflict, true))
}

fn read_one(task: TaskRequest<'_>) -> Result<(Vec<TaskRequest<'_>>, Option<ConflictRule>, bool)> {
    let (on_conflict, mut tasks) = (task.on_conflict, vec![task]);
    link_successors(&mut tasks).map_err(|(_, problem)| problem)?;
    Ok((tasks, on_conflict, false))
}

/// Whether the body can only be a batch, by its beginning: most name their tasks first.
fn begins_as_batch(body: &[u8]) -> bool {
    let fields = body.trim_ascii_start().strip_prefix(b"{");
    fields.is_some_and(|fields| fields.trim_ascii_start().starts_with(b"\"tasks\""))
}

/// Reads only whether the body is a batch.
#[derive(Deserialize)]
struct BatchProbe {
    #[serde(default)]
    tasks: Option<IgnoredAny>,
}

/// The header with the span that a client's submission belongs to.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The headers' settings for all tasks of a request.
struct HeaderSettings<'a> {
    key: Option<&'a str>,
    request_digest: Option<u64>,
    trace: Option<&'a str>,
}

impl<'a> HeaderSettings<'a> {
    fn read(headers: &'a HeaderMap, body: &[u8]) -> Result<Self> {
        let key = idempotency_key(headers)?;
        // Anything else is ignored, as the W3C asks.
        let trace = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok()).filter(|it| is_traceparent(it));
        Ok(Self { key, request_digest: key.map(|_| ids::request_digest(body)), trace })
    }

    /// Whether `id` was derived from the key of this request.
    fn derived(&self, id: &TaskId) -> bool {
        self.key.is_some_and(|key| (0..MAX_BATCH).any(|index| ids::derived(key, index) == *id))
    }
}

fn check_batch(
    requests: &[TaskRequest<'_>],
    is_batch: bool,
    on_conflict: OnConflict,
    envelope: &HeaderSettings<'_>,
) -> Result<()> {
    if requests.len() > MAX_BATCH {
        let detail = format!("a batch holds at most {MAX_BATCH} tasks; send several");
        return Err(Problem::new(Code::BatchTooLarge, detail).at("/tasks"));
    }
    if is_batch && let Some(index) = requests.iter().position(|request| request.on_conflict.is_some()) {
        let detail = "on_conflict belongs next to tasks and applies to all of them";
        return Err(Problem::new(Code::InvalidRequest, detail).at(format!("/tasks/{index}/on_conflict")));
    }
    let derives = envelope.key.is_some() && requests.iter().any(|request| request.id.is_none());
    if derives && on_conflict != OnConflict::Fail {
        let detail = "with an Idempotency-Key, on_conflict needs tasks with ids of their own: another request under \
                      the same key would be skipped or replace the first one";
        return Err(Problem::new(Code::InvalidRequest, detail).at("/on_conflict"));
    }
    Ok(())
}

/// Whether a batch goes to no more queues than a store takes at once.
fn check_queues(queues: &[QueueName]) -> Result<()> {
    let different = queues.iter().collect::<HashSet<_>>().len();
    if different > MAX_QUEUES_PER_BATCH {
        let detail = format!("a batch goes to at most {MAX_QUEUES_PER_BATCH} different queues, not {different}");
        return Err(Problem::new(Code::BatchTooLarge, detail).at("/tasks"));
    }
    Ok(())
}

/// Turns each request of a submission into a task.
struct RequestReader<'a> {
    checker: Checker<'a>,
    body: &'a Bytes,
    envelope: &'a HeaderSettings<'a>,
    on_conflict: OnConflict,
}

impl RequestReader<'_> {
    async fn task(&mut self, index: usize, request: TaskRequest<'_>) -> Result<(NewTask, Vec<WarningView>)> {
        let mut task = self.checker.make_task(self.draft(index, request)?);
        match self.checker.check(&task).await {
            Ok(warnings) => {
                self.checker.hide_if_sensitive(&mut task);
                Ok((task, warnings))
            }
            Err(_) if self.is_taken(&task).await? => Ok((task, Vec::new())),
            Err(problem) => {
                // A queue that does not exist is the better reason; otherwise the store finds it.
                self.checker.app().live.check_queue(&task.queue).await?;
                Err(problem)
            }
        }
    }

    fn draft(&self, index: usize, mut request: TaskRequest<'_>) -> Result<TaskDraft> {
        request.check_id()?;
        self.checker.check_sensitive(&request.name, request.version, request.sensitive)?;
        let app = self.checker.app();
        let parameters = request.payload(self.body, app.max_payload_bytes)?;
        let (priority, start, overrides) = (request.priority()?, request.start(present)?, request.overrides()?);
        let unique = request.unique()?.map(Box::new);
        let (depends_on, signals, metadata) = (request.depends_on(), request.signals(), request.metadata());
        // A key distinguishes requests without ids: a task with its own id is the same under every key.
        let request_digest = if request.id.is_some() { None } else { self.envelope.request_digest };
        let given = request.id.or_else(|| self.envelope.key.map(|key| ids::derived(key, index)));
        Ok(TaskDraft {
            id_is_chosen: given.is_some(),
            version: request.version,
            queue: request.queue,
            default_queue: request.default_queue,
            priority,
            start,
            overrides,
            unique,
            concurrency_key: request.concurrency_key,
            depends_on,
            signals,
            is_spontaneous: request.spontaneous,
            metadata,
            trace: self.envelope.trace.map(Box::from),
            request_digest,
            ..TaskDraft::new(given.unwrap_or_else(|| app.ids.next()), request.name, parameters)
        })
    }

    /// Whether a task with this id exists, so that a task refused today may have been accepted before: then the store
    /// decides whether it is the same submission, and answers as it did.
    async fn is_taken(&self, task: &NewTask) -> Result<bool> {
        // A task that replaces another must fit like any other.
        if !task.id_is_chosen || self.on_conflict == OnConflict::Replace {
            return Ok(false);
        }
        let engine = &self.checker.app().engine;
        Ok(engine.get(&task.id).await?.is_some() || engine.tombstone(&task.id).await?.is_some())
    }
}

/// The present by this machine's clock.
pub(super) fn present() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// The same problem, seen from the whole batch.
fn within(problem: Problem, index: usize) -> Problem {
    let pointer = format!("/tasks/{index}{}", problem.pointer().unwrap_or_default());
    problem.at(pointer)
}

/// The dependencies of a request by their places, of those tasks that have any.
struct RequestEdges {
    tasks: Vec<(usize, TaskId, Vec<Dependency>)>,
    is_batch: bool,
}

impl RequestEdges {
    fn of(tasks: &[NewTask], is_batch: bool) -> Self {
        let linked = tasks.iter().enumerate().filter(|(_, task)| !task.depends_on.is_empty());
        Self {
            tasks: linked.map(|(index, task)| (index, task.id.clone(), task.depends_on.clone())).collect(),
            is_batch,
        }
    }

    /// Where the request says that one task depends on another.
    fn pointer(&self, id: &TaskId, predecessor: &TaskId) -> String {
        let Some((index, _, edges)) = self.tasks.iter().find(|(_, task, _)| task == id) else { return String::new() };
        let place = edges.iter().position(|edge| edge.on == *predecessor).unwrap_or_default();
        let within = format!("/depends_on/{place}");
        if self.is_batch { format!("/tasks/{index}{within}") } else { within }
    }
}

/// The problem for a refusal of the store; `queues` are those of the tasks of a batch.
fn refusal(error: Error, envelope: &HeaderSettings<'_>, queues: &[QueueName], edges: &RequestEdges) -> Problem {
    match &error {
        Error::UnknownQueue(unknown) => {
            let index = queues.iter().position(|queue| queue == unknown);
            let problem = Problem::from(error);
            if let Some(index) = index { within(problem, index) } else { problem }
        }
        Error::UnknownPredecessor { id, predecessor } => {
            let pointer = edges.pointer(id, predecessor);
            Problem::from(error).at(pointer)
        }
        Error::Conflict { id, .. } if envelope.derived(id) => Problem::new(
            Code::IdempotencyKeyReused,
            format!("this Idempotency-Key came with another body before, which made task {id}; use a new key"),
        ),
        _ => error.into(),
    }
}

fn answer(submitted: &[Submitted], warnings: Vec<Vec<WarningView>>, is_batch: bool) -> Response {
    let created = submitted.iter().any(|task| matches!(task.how, SubmittedHow::Created | SubmittedHow::Replaced));
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let views: Vec<SubmittedView> =
        submitted.iter().zip(warnings).map(|(task, warnings)| SubmittedView::new(task, warnings)).collect();
    match (submitted, views.as_slice()) {
        ([task], [view]) if !is_batch => {
            let mut response = json_answer(status, view, 1);
            if let Ok(location) = location(&task.id) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        (tasks, _) => json_answer(status, &SubmittedList { tasks: views }, tasks.len()),
    }
}

/// The URL of a task. Most ids need no escaping.
fn location(id: &TaskId) -> Result<HeaderValue, InvalidHeaderValue> {
    let id = id.as_str();
    let mut location = String::with_capacity("/tasks/".len() + id.len());
    location.push_str("/tasks/");
    location.extend(utf8_percent_encode(id, IN_A_PATH));
    HeaderValue::try_from(location)
}

/// An answer about this number of tasks, in one allocation that is large enough from the beginning.
fn json_answer(status: StatusCode, value: &impl Serialize, tasks: usize) -> Response {
    let mut text = Vec::with_capacity(tasks * ANSWER_BYTES);
    if let Err(error) = serde_json::to_writer(&mut text, value) {
        return Problem::new(Code::Internal, error.to_string()).into_response();
    }
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// About as many bytes as the answer has per task.
const ANSWER_BYTES: usize = 256;

/// Of the characters of an id or a name, only `/` means something else in a path.
const IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b':').remove(b'-');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_as_what_it_is_and_refused_as_what_it_would_be() {
        let read = |body: &'static str| {
            read_tasks(body.as_bytes(), &Counter::new(&|_| true)).map(|(tasks, _, is_batch)| (tasks.len(), is_batch))
        };
        assert_eq!(read(r#"{"name":"t"}"#), Ok((1, false)));
        assert_eq!(read(r#"{"tasks":[{"name":"t"},{"name":"u"}]}"#), Ok((2, true)));
        assert_eq!(read(r#"{"on_conflict":"skip","tasks":[]}"#), Ok((0, true)));
        assert_eq!(
            read(r#"{"on_conflict":"skip","tasks":[{"name":7}]}"#).unwrap_err().pointer(),
            Some("/tasks/0/name")
        );
        assert_eq!(read(r#"{"name":7}"#).unwrap_err().pointer(), Some("/name"));
        assert!(read(r#"{"name":"t","more":1}"#).unwrap_err().detail().contains("more"));
        assert_eq!(read("{").unwrap_err().code(), Code::MalformedJson);
    }

    #[test]
    fn a_batch_is_seen_at_a_glance_and_nothing_else_is_taken_for_one() {
        for body in [r#"{"tasks":[]}"#, " {\n\t\"tasks\" : 7}", r#"{"tasks""#] {
            assert!(begins_as_batch(body.as_bytes()), "{body}");
        }
        for body in ["", "{}", "[]", r#"{"task":1}"#, r#"{"tasks2":[]}"#, r#"{"name":"tasks"}"#, r#""tasks""#] {
            assert!(!begins_as_batch(body.as_bytes()), "{body}");
        }
    }
}
