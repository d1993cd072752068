//! The client's connection over HTTP, to a manager: when a request is sent again, and what a failure means to the caller.

use std::{fmt::Display, time::Duration};

use http::{HeaderName, StatusCode};
use jobbers_api::{
    client::{self, Call, ClientKey, path},
    problem::Code,
    task::{
        dependency::DependencyRequest,
        request::{ConflictRule, TaskBatch, TaskRequest},
        signal::SignalRequest,
        view::{SubmittedList, SubmittedView, TaskView},
    },
    value::Rfc3339,
    wire::payload::payload_of,
    workflow::{WorkflowRequest, WorkflowView},
};
use jobbers_common::{
    engine::{Error, OnConflict, Submitted, SubmittedHow},
    name::{TaskId, WorkflowId},
    payload::Payload,
    submission::draft::TaskDraft,
    task::{Priority, Progress, Start},
    workflow::RunState,
};
use jobbers_process::{client_key, telemetry::traces};
use opentelemetry::trace::TraceContextExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    answers::{SubmitResult, TaskStanding},
    error::SubmitError,
    named_workflow::NamedWorkflow,
};

/// How often an unanswered request is sent.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two attempts, whatever a manager asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const AGENT: &str = concat!("jobbers-worker/", env!("CARGO_PKG_VERSION"));
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

#[derive(Debug)]
pub(super) struct Http {
    client: client::Client,
}

impl Http {
    pub(super) fn new(url: &str) -> Result<Self, Error> {
        if !url.contains("://") {
            return Err(Error::Config(format!("{url:?} is not a manager's address: write http://HOST:PORT")));
        }
        let client = client::Client::new(url, AGENT).map_err(|error| Error::Config(error.to_string()))?;
        let http = Self { client };
        match client_key::of_environment().map_err(Error::Config)? {
            Some(key) => http.with_key(&key),
            None => Ok(http),
        }
    }

    /// The same, which signs in with this key.
    pub(super) fn with_key(self, key: &str) -> Result<Self, Error> {
        let key = ClientKey::new(key).map_err(|error| Error::Config(error.to_string()))?;
        Ok(Self { client: self.client.with_key(Some(key)) })
    }

    /// Posts a body to a verb that is safe to repeat, and that may take `wait` to answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, SubmitError> {
        send(self.client.post(path).waiting(wait).json(body)).await
    }

    pub(super) async fn submit(
        &self,
        batch: &[TaskDraft],
        on_conflict: OnConflict,
    ) -> Result<Vec<SubmitResult>, SubmitError> {
        let tasks = batch.iter().map(request_of).collect::<Result<_, _>>()?;
        let on_conflict = match on_conflict {
            OnConflict::Fail => None,
            OnConflict::Skip => Some(ConflictRule::Skip),
            OnConflict::Replace => Some(ConflictRule::Replace),
        };
        let mut call = self.client.post("/tasks").json(&TaskBatch { tasks, on_conflict });
        let span = opentelemetry::Context::current().span().span_context().clone();
        if span.is_valid() {
            call = call.header(TRACEPARENT, &traces::write(&span));
        }
        let answer: SubmittedList = send(call).await?;
        Ok(answer.tasks.into_iter().map(SubmitResult::from).collect())
    }

    pub(super) async fn submit_workflow(&self, named: &NamedWorkflow) -> Result<(), SubmitError> {
        let nodes = named.nodes.iter().map(request_of).collect::<Result<_, _>>()?;
        let body = WorkflowRequest { id: Some(named.id.clone()), name: named.name.clone(), nodes, mermaid: None };
        self.post::<WorkflowView>("/workflows", &body, Duration::ZERO).await.map(drop)
    }

    pub(super) async fn workflow_state(&self, id: &WorkflowId) -> Result<Option<RunState>, SubmitError> {
        match send::<WorkflowView>(self.client.get(&path(["workflows", id.as_str()]))).await {
            Ok(run) => Ok(Some(run.state)),
            Err(error) if is_refusal(&error, &[Code::UnknownWorkflow]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn await_finished(
        &self,
        id: &TaskId,
        wait: Duration,
    ) -> Result<Option<TaskStanding>, SubmitError> {
        let call = self.client.get(&path(["tasks", id.as_str()])).waiting(wait);
        match send::<TaskView>(call.query(&[("wait", format!("{}ms", wait.as_millis()))])).await {
            Ok(task) if task.sensitive && task.is_over() => self.reveal(id).await.map(Some),
            Ok(task) => self.standing(task).map(Some),
            Err(error) if is_refusal(&error, &[Code::UnknownTask, Code::Gone]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A sensitive task that is over, with its result or its error.
    async fn reveal(&self, id: &TaskId) -> Result<TaskStanding, SubmitError> {
        self.standing(send(self.client.post(&path(["tasks", id.as_str(), "reveal"]))).await?)
    }

    fn standing(&self, mut task: TaskView) -> Result<TaskStanding, SubmitError> {
        Ok(TaskStanding {
            status: task.status,
            result: self.payload(task.result.as_deref(), task.result_content_type.as_deref())?,
            progress: task.progress.map(Progress::from),
            error: task.errors.pop().map(|error| (error.message, error.error_kind)),
        })
    }

    /// A payload of an answer. JSON's `null` is read as no payload.
    pub(super) fn payload(
        &self,
        raw: Option<&RawValue>,
        content_type: Option<&str>,
    ) -> Result<Option<Payload>, SubmitError> {
        raw.map(|raw| payload_of(raw, content_type)).transpose().map_err(|error| self.foreign(error))
    }

    /// The error of an answer that no manager gives.
    pub(super) fn foreign(&self, reason: impl Display) -> SubmitError {
        failure(client::Error::Foreign { url: self.client.base().to_owned(), status: None, reason: reason.to_string() })
    }
}

/// Sends a request that is safe to repeat, and repeats it while the manager does not answer or asks to retry later.
async fn send<T: DeserializeOwned>(call: Call<'_>) -> Result<T, SubmitError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        let Some(attempt) = call.again() else { break };
        let asked = match attempt.send().await {
            Ok(answer) => return answer.read().map_err(failure),
            Err(client::Error::Refused { status: StatusCode::SERVICE_UNAVAILABLE, retry_after, .. }) => retry_after,
            Err(error @ client::Error::Refused { .. }) => return Err(failure(error)),
            Err(error @ client::Error::Foreign { status: Some(status), .. }) if status.is_client_error() => {
                return Err(failure(error));
            }
            // No answer, or one of a proxy in front of a manager that restarts.
            Err(_) => None,
        };
        let next = pause.max(asked.unwrap_or_default()).min(LONGEST_PAUSE);
        tokio::time::sleep(next.mul_f64(rand::random_range(0.75..1.25))).await;
        pause *= 2;
    }
    call.send().await.and_then(|answer| answer.read()).map_err(failure)
}

fn failure(error: client::Error) -> SubmitError {
    match error {
        client::Error::Refused { status, code, detail, holder, .. } => {
            SubmitError::Refused { status: status.as_u16(), code, detail, holder }
        }
        client::Error::Foreign { status: Some(status), reason, .. } => {
            SubmitError::Refused { status: status.as_u16(), code: String::new(), detail: reason, holder: None }
        }
        error => SubmitError::Unreachable(error.to_string()),
    }
}

/// Whether the manager refused for one of these reasons.
fn is_refusal(error: &SubmitError, codes: &[Code]) -> bool {
    matches!(error, SubmitError::Refused { code, .. } if codes.iter().any(|known| known.as_str() == code))
}

fn request_of(draft: &TaskDraft) -> Result<TaskRequest<'_>, SubmitError> {
    if !draft.parameters.is_json() {
        let found = draft.parameters.content_type();
        return Err(SubmitError::Invalid(format!("the parameters are {found}; over HTTP they are JSON")));
    }
    let parameters = serde_json::from_slice(&draft.parameters.bytes)
        .map_err(|error| SubmitError::Invalid(format!("the parameters are no JSON: {error}")))?;
    let (delay, run_at) = match draft.start {
        Start::Now => (None, None),
        Start::After(delay) => (Some(delay), None),
        Start::At(at) => (None, Some(Rfc3339(at))),
    };
    // A year that RFC 3339 can't write is the caller's mistake; as a part of the body, it would be an unsent request.
    serde_json::to_value(run_at).map_err(|error| SubmitError::Invalid(format!("the time: {error}")))?;
    let unique = draft.unique.as_ref();
    Ok(TaskRequest {
        id: Some(draft.id.clone()),
        version: draft.version,
        queue: draft.queue.clone(),
        default_queue: draft.default_queue.clone(),
        priority: (draft.priority != Priority::DEFAULT).then_some(draft.priority.get()),
        parameters: Some(parameters),
        delay,
        run_at,
        unique_key: unique.map(|unique| unique.key.clone()),
        unique_for: unique.and_then(|unique| unique.span),
        unique_while: unique.map(|unique| unique.statuses.into()),
        on_duplicate: unique.map(|unique| unique.on_duplicate),
        concurrency_key: draft.concurrency_key.clone(),
        depends_on: draft.depends_on.iter().cloned().map(DependencyRequest).collect(),
        signals: draft.signals.iter().cloned().map(SignalRequest).collect(),
        spontaneous: draft.is_spontaneous,
        ..TaskRequest::new(draft.name.clone())
            .with_overrides(draft.overrides.clone())
            .with_metadata(draft.metadata.clone())
    })
}

impl From<SubmittedView> for SubmitResult {
    fn from(view: SubmittedView) -> Self {
        let SubmittedView { id, queue, status, created, replaced, updated, warnings } = view;
        let how = match (created, replaced, updated) {
            (_, _, true) => SubmittedHow::Updated,
            (_, true, _) => SubmittedHow::Replaced,
            (true, false, _) => SubmittedHow::Created,
            (false, false, _) => SubmittedHow::Existing,
        };
        let submitted = Submitted { id, queue, status, how };
        Self { submitted, warnings: warnings.into_iter().map(|warning| warning.detail).collect() }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        dependency::{Dependency, DependencyPolicy},
        policy::PolicyOverrides,
        task::{
            label::{Label, Labels},
            unique::{Unique, UniqueKey},
        },
        time::Timestamp,
    };
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    fn minimal() -> TaskDraft {
        TaskDraft::new("a".parse().unwrap(), "resize".parse().unwrap(), Payload::json(&b"null"[..]))
    }

    fn written(draft: &TaskDraft) -> String {
        serde_json::to_string(&request_of(draft).unwrap()).unwrap()
    }

    #[test]
    fn only_what_is_set_is_sent() {
        assert_eq!(written(&minimal()), r#"{"id":"a","name":"resize","version":1,"parameters":null}"#);
        let mut labels = Labels::default();
        labels.add(Label::new("team", "billing".to_owned()).unwrap()).unwrap();
        let full = TaskDraft {
            queue: Some("images".parse().unwrap()),
            default_queue: Some("pictures".parse().unwrap()),
            priority: Priority::new(7).unwrap(),
            parameters: Payload::json(&b"{\"n\": 1.0}"[..]),
            start: Start::After(Duration::from_secs(2)),
            overrides: PolicyOverrides { max_retries: Some(3), ..PolicyOverrides::default() },
            unique: Some(Box::new(Unique::new(UniqueKey::new("k").unwrap()))),
            metadata: labels.into(),
            depends_on: vec![Dependency { on: "b".parse().unwrap(), policy: DependencyPolicy::RunOnError }],
            ..minimal()
        };
        let text = written(&full);
        assert!(text.contains(r#""parameters":{"n": 1.0}"#), "as it was given: {text}");
        let expected = json!({
            "id": "a", "name": "resize", "version": 1, "queue": "images", "default_queue": "pictures", "priority": 7,
            "parameters": {"n": 1.0},
            "delay": "2s", "max_retries": 3, "unique_key": "k",
            "unique_while": ["waiting", "scheduled", "submitted", "started"], "on_duplicate": "reject",
            "labels": {"team": "billing"}, "depends_on": [{"id": "b", "policy": "run_on_error"}],
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    }

    #[test]
    fn a_time_that_can_t_be_written_is_invalid() {
        let far = TaskDraft { start: Start::At(Timestamp::from_micros(i64::MAX)), ..minimal() };
        assert!(matches!(request_of(&far), Err(SubmitError::Invalid(_))));
    }

    #[tokio::test]
    async fn a_request_is_repeated_until_it_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = Http::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let problem = |status: u16, code: &str| {
            let body = json!({"code": code, "detail": "no"}).to_string();
            format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        };
        let answers = [String::new(), problem(503, "store_unavailable"), problem(404, "unknown_queue")];
        let server = tokio::spawn(async move {
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n[]") {
                    request.push(connection.read_u8().await.unwrap());
                }
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let nothing: [u8; 0] = [];
        let refused = http.post::<()>("/tasks", &nothing, Duration::ZERO).await.unwrap_err();
        assert!(
            matches!(&refused, SubmitError::Refused { status: 404, code, .. } if code == "unknown_queue"),
            "{refused}"
        );
        server.await.unwrap();
    }
}
