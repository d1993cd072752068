//! `POST /tasks`: the path that must be fast.
//!
//! The body is parsed once, into borrowed text; parameters are a slice of it. Queues and rules come from the snapshot
//! ([`crate::live_config`]). Batches form in the engine, which shares one round trip or commit among all calls that
//! arrive while the last one is under way.

use std::{collections::HashSet, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{self, InvalidHeaderValue},
    },
    response::{IntoResponse, Response},
};
use jobbers_api::{
    json,
    problem::{Code, Problem, Result, WITH_BODY},
    successors::link_successors,
    task_request::{ConflictRule, SubmitRequest, TaskBatch, TaskRequest},
    task_view::{SubmitAnswer, SubmittedList, SubmittedView},
    warning::WarningView,
};
use jobbers_common::{
    dependency::Dependency,
    engine::{Error, OnConflict, Submit, Submitted, SubmittedHow},
    limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    queue::Config,
    routing::field_text,
    task::NewTask,
    template::TaskTemplate,
    time::Timestamp,
    trace::is_traceparent,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    app::App,
    doors::Reach,
    extract::JsonBytes,
    ids,
    known_tasks::{Described, Known},
    long_work::Breaks,
    meters::Sent,
    problem::problems,
    sends::Sends,
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
    let read = |body| Ok::<_, Problem>((Envelope::read(&request.headers, body)?, read_tasks(body)?));
    let (envelope, (requests, on_conflict, is_batch)) = request.read(&app, read).await?;
    let on_conflict = on_conflict.map_or(OnConflict::Fail, OnConflict::from);
    check_batch(&requests, is_batch, on_conflict, &envelope)?;
    let config = app.live.current().await?;
    let known = app.known.current();
    let mut reader = RequestReader { app: &app, config, known, body, envelope: &envelope, on_conflict };
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
        reach.check_submission(&app, &tasks).await?;
    }
    let sent: Vec<Sent> = tasks.iter().map(Sent::from).collect();
    let queues: Vec<QueueName> = tasks.iter().filter(|_| is_batch).map(|task| task.queue.clone()).collect();
    check_queues(&queues)?;
    let edges = Edges::of(&tasks, is_batch);
    let sends = Sends::begin(&mut tasks, envelope.trace);
    let submitted = app.engine.submit(Submit { tasks, on_conflict }).await;
    sends.end(submitted.as_ref().err().map(Error::kind));
    let submitted = submitted.map_err(|error| refusal(error, &envelope, &queues, &edges))?;
    app.meters.submitted(&sent, &submitted);
    Ok(answer(&submitted, warnings, is_batch))
}

/// The tasks of a body, the rule for ids that are taken, and whether it is a batch.
fn read_tasks(body: &[u8]) -> Result<(Vec<TaskRequest<'_>>, Option<ConflictRule>, bool)> {
    let may_be_single = !begins_as_batch(body);
    // A single task has no `tasks` field, so a body that parses as one is one.
    if may_be_single && let Some(task) = json::decode_if_valid::<TaskRequest<'_>>(body) {
        return read_one(task);
    }
    if may_be_single && json::decode::<Shape>(body)?.tasks.is_none() {
        return read_one(json::decode(body)?);
    }
    let mut batch: TaskBatch<'_> = json::decode(body)?;
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
struct Shape {
    #[serde(default)]
    tasks: Option<IgnoredAny>,
}

/// The headers' settings for all tasks of a request.
struct Envelope<'a> {
    key: Option<&'a str>,
    request_digest: Option<u64>,
    trace: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    fn read(headers: &'a HeaderMap, body: &[u8]) -> Result<Self> {
        let key = headers.get("idempotency-key").map(idempotency_key).transpose()?;
        // Anything else is ignored, as the W3C asks.
        let trace = headers.get("traceparent").and_then(|value| value.to_str().ok()).filter(|it| is_traceparent(it));
        Ok(Self { key, request_digest: key.map(|_| ids::request_digest(body)), trace })
    }

    /// Whether `id` was derived from the key of this request.
    fn derived(&self, id: &TaskId) -> bool {
        self.key.is_some_and(|key| (0..MAX_BATCH).any(|index| ids::derived(key, index) == *id))
    }
}

/// A client's key, if it is one.
pub(in crate::api) fn idempotency_key(value: &HeaderValue) -> Result<&str> {
    let visible = value.to_str().ok().filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    visible.filter(|key| (1..=255).contains(&key.len())).ok_or_else(|| {
        Problem::new(Code::InvalidParameter, "Idempotency-Key must be 1 to 255 visible ASCII characters")
    })
}

fn check_batch(
    requests: &[TaskRequest<'_>],
    is_batch: bool,
    on_conflict: OnConflict,
    envelope: &Envelope<'_>,
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
    app: &'a App,
    config: Arc<Config>,
    known: Option<Arc<Known>>,
    body: &'a Bytes,
    envelope: &'a Envelope<'a>,
    on_conflict: OnConflict,
}

impl RequestReader<'_> {
    async fn task(&mut self, index: usize, mut request: TaskRequest<'_>) -> Result<(NewTask, Vec<WarningView>)> {
        request.check_id()?;
        let parameters = request.payload(self.body, self.app.max_payload_bytes)?;
        let (priority, start, overrides) = (request.priority()?, request.start(present)?, request.overrides()?);
        let unique = request.unique()?.map(Box::new);
        let (depends_on, signals, metadata) = (request.depends_on(), request.signals(), request.metadata());
        let is_spontaneous = request.spontaneous;
        let queue_is_explicit = request.queue.is_some();
        let queue = match request.queue {
            Some(queue) => queue,
            None => self
                .app
                .live
                .route(&self.config, &request.name, request.version, |field| field_text(&parameters, field)),
        };
        let key_is_explicit = request.concurrency_key.is_some();
        let concurrency_key = request.concurrency_key.or_else(|| self.config.key_of(&queue, &parameters));
        // A key distinguishes requests without ids: a task with its own id is the same under every key.
        let request_digest = if request.id.is_some() { None } else { self.envelope.request_digest };
        let given = request.id.or_else(|| self.envelope.key.map(|key| ids::derived(key, index)));
        let judged = match queue_is_explicit {
            true => self.check_explicit(&request.name, request.version, &queue, &parameters).await,
            false => Ok(()),
        };
        let judged = match judged {
            Ok(()) => self.check_size(&queue, &parameters).await,
            Err(problem) => Err(problem),
        };
        let judged = match judged {
            // No worker has to know it.
            Ok(()) if is_spontaneous => Ok(Vec::new()),
            Ok(()) => self.judge(&request.name, request.version, &queue, &parameters).await,
            Err(problem) => Err(problem),
        };
        let warnings = match judged {
            Ok(warnings) => warnings,
            Err(_) if self.is_taken(given.as_ref()).await? => Vec::new(),
            Err(problem) => {
                // A queue that does not exist is the better reason; otherwise the store finds it.
                self.app.live.check_queue(&queue).await?;
                return Err(problem);
            }
        };
        let mut task = NewTask {
            id_is_chosen: given.is_some(),
            id: given.unwrap_or_else(|| self.app.ids.next()),
            name: request.name,
            version: request.version,
            queue,
            queue_is_explicit,
            priority,
            parameters,
            start,
            overrides,
            said: None,
            unique,
            concurrency_key,
            key_is_explicit,
            depends_on,
            signals,
            is_spontaneous,
            metadata,
            trace: self.envelope.trace.map(Box::from),
            request_digest,
        };
        if let Some(described) = self.described(&task.name, task.version) {
            task.fill(described.spec.on_crash);
        }
        Ok((task, warnings))
    }

    /// Whether a task with this id exists, so that a task refused today may have been accepted before: then the store
    /// decides whether it is the same submission, and answers as it did.
    async fn is_taken(&self, id: Option<&TaskId>) -> Result<bool> {
        match id {
            // A task that replaces another must fit like any other.
            Some(id) if self.on_conflict != OnConflict::Replace => {
                Ok(self.app.engine.get(id).await?.is_some() || self.app.engine.tombstone(id).await?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Whether the queue could ever hold the parameters. Before refusing, it asks the store, because the limit may have
    /// changed.
    async fn check_size(&self, queue: &QueueName, parameters: &Payload) -> Result<()> {
        let exceeded =
            |config: &Config| config.queues.get(queue)?.max_bytes.filter(|most| parameters.len() as u64 > *most);
        if exceeded(&self.config).is_none() {
            return Ok(());
        }
        match exceeded(&*self.app.live.fresh().await?) {
            Some(most) => {
                let detail =
                    format!("queue {queue} holds at most {most} bytes, and the parameters are {}", parameters.len());
                Err(Problem::new(Code::PayloadTooLarge, detail).at("/parameters"))
            }
            None => Ok(()),
        }
    }

    /// Whether the routing rules let this task name this queue.
    async fn check_explicit(
        &self,
        name: &TaskName,
        version: u32,
        queue: &QueueName,
        parameters: &Payload,
    ) -> Result<()> {
        let parameter = |field: &str| field_text(parameters, field);
        let checked = self.app.live.check_explicit(&self.config, name, version, queue, parameter).await?;
        checked.map_err(|forbidden| Problem::new(Code::QueueForbidden, forbidden.to_string()).at("/queue"))
    }

    /// What live workers registered about a task.
    fn described(&self, name: &TaskName, version: u32) -> Option<&Described> {
        self.known.as_ref()?.find(name, version)?.described.as_deref()
    }

    /// Whether a worker could run it, and whether its parameters fit. Gives no warning before this manager has read the
    /// workers, unless the queue is strict.
    async fn judge(
        &mut self,
        name: &TaskName,
        version: u32,
        queue: &QueueName,
        parameters: &Payload,
    ) -> Result<Vec<WarningView>> {
        let served = |known: &Known| known.is_served(name, version, queue);
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
        if let Some(described) = self.described(name, version) {
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
    let config = app.live.current().await.map_err(|error| (0, error.into()))?;
    let (body, envelope) = (Bytes::new(), Envelope { key: None, request_digest: None, trace: None });
    let on_conflict = OnConflict::Fail;
    let mut reader =
        RequestReader { app, config, known: app.known.current(), body: &body, envelope: &envelope, on_conflict };
    let (mut warnings, mut queues) = (Vec::new(), HashSet::new());
    let (mut details, mut breaks) = (HashSet::new(), Breaks::begin());
    for (index, template) in templates.enumerate() {
        let checked = reader.check_template(template, &mut queues).await.map_err(|problem| (index, problem))?;
        warnings.extend(checked.into_iter().filter(|warning: &WarningView| details.insert(warning.detail.clone())));
        breaks.take_if_due().await;
    }
    Ok(warnings)
}

impl RequestReader<'_> {
    async fn check_template(
        &mut self,
        template: &TaskTemplate,
        queues: &mut HashSet<QueueName>,
    ) -> Result<Vec<WarningView>> {
        let parameters = template.payload();
        if parameters.len() > self.app.max_payload_bytes {
            let detail = format!("parameters: at most {} bytes, not {}", self.app.max_payload_bytes, parameters.len());
            return Err(Problem::new(Code::PayloadTooLarge, detail).at("/parameters"));
        }
        let (name, version) = (&template.name, template.version);
        let queue = match &template.queue {
            Some(queue) => queue.clone(),
            None => self.app.live.route(&self.config, name, version, |field| field_text(&parameters, field)),
        };
        if !queues.contains(&queue) {
            self.app.live.check_queue(&queue).await.map_err(|error| Problem::from(error).at("/queue"))?;
            queues.insert(queue.clone());
        }
        if template.queue.is_some() {
            self.check_explicit(name, version, &queue, &parameters).await?;
        }
        self.check_size(&queue, &parameters).await?;
        if template.is_spontaneous {
            return Ok(Vec::new());
        }
        self.judge(name, version, &queue, &parameters).await
    }
}

fn present() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// The same problem, seen from the whole batch.
fn within(problem: Problem, index: usize) -> Problem {
    let pointer = format!("/tasks/{index}{}", problem.pointer().unwrap_or_default());
    problem.at(pointer)
}

/// The dependencies of a request by their places, of those tasks that have any.
struct Edges {
    tasks: Vec<(usize, TaskId, Vec<Dependency>)>,
    is_batch: bool,
}

impl Edges {
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
fn refusal(error: Error, envelope: &Envelope<'_>, queues: &[QueueName], edges: &Edges) -> Problem {
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
        let read = |body: &'static str| read_tasks(body.as_bytes()).map(|(tasks, _, is_batch)| (tasks.len(), is_batch));
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
