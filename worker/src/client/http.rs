//! The client's connection over HTTP, to a manager.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_common::{
    dependency::DependencyPolicy,
    engine::{Error, OnConflict, Submitted, SubmittedHow},
    gate::ConcurrencyKey,
    label::Labels,
    lifecycle::Status,
    name::{QueueName, TaskId, WorkflowId, WorkflowName},
    payload::Payload,
    policy::PolicyOverrides,
    signal::AwaitedSignal,
    task::{Priority, Start},
    unique::{OnDuplicate, StatusSet, UniqueKey},
    workflow::RunState,
};
use jobbers_process::telemetry::traces;
use opentelemetry::trace::TraceContextExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{RequestBuilder, StatusCode, Url};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    SubmitError,
    handle::{Standing, Taken},
    submission::Checked,
    workflow::Named,
};

/// How often an unanswered request is sent.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two attempts, whatever a manager asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a manager may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a manager may take to answer, in addition to the requested wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// Of the characters of an id, only `/` has another meaning in a path.
const IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b':').remove(b'-');

#[derive(Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    base: Url,
}

#[derive(Serialize)]
struct Batch<'a> {
    tasks: Vec<Task<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_conflict: Option<&'static str>,
}

#[derive(Serialize)]
struct WorkflowBody<'a> {
    id: &'a WorkflowId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a WorkflowName>,
    nodes: Vec<Task<'a>>,
}

/// The field of a run that the client reads.
#[derive(Deserialize)]
struct RunAnswer {
    state: RunState,
}

#[derive(Serialize)]
struct Task<'a> {
    id: &'a TaskId,
    name: &'a str,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_at: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<&'a UniqueKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_while: Option<StatusSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_duplicate: Option<OnDuplicate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency_key: Option<&'a ConcurrencyKey>,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: &'a Labels,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<Predecessor<'a>>,
    #[serde(skip_serializing_if = "<[AwaitedSignal]>::is_empty")]
    signals: &'a [AwaitedSignal],
    #[serde(flatten)]
    overrides: &'a PolicyOverrides,
}

#[derive(Serialize)]
struct Predecessor<'a> {
    id: &'a TaskId,
    policy: DependencyPolicy,
}

#[derive(Deserialize)]
struct Answers {
    tasks: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    id: TaskId,
    queue: QueueName,
    status: Status,
    created: bool,
    replaced: bool,
    #[serde(default)]
    updated: bool,
    #[serde(default)]
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Warning {
    detail: String,
}

/// The fields of a task that the client reads.
#[derive(Deserialize)]
struct TaskState {
    status: Status,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    result_content_type: Option<String>,
    #[serde(default)]
    errors: Vec<TaskErrorView>,
}

#[derive(Deserialize)]
struct TaskErrorView {
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    detail: String,
}

impl Http {
    pub(super) fn new(url: &str) -> Result<Self, Error> {
        let wrong =
            |problem: &dyn std::fmt::Display| Error::Config(format!("{url:?} is no manager's address: {problem}"));
        let base = Url::parse(url).map_err(|error| wrong(&error))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(wrong(&"write http://HOST:PORT, or https:// with the address of its proxy"));
        }
        // The manager is asked directly, because a proxy of the environment is meant for other hosts.
        let client = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT_WITHIN).build();
        let client = client.map_err(|error| wrong(&error))?;
        Ok(Self { client, base })
    }

    /// The address of a collection or a verb.
    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Posts a body to a verb that is safe to repeat, and that may take `wait` to answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, SubmitError> {
        let (url, patience) = (self.at(path), PATIENCE + wait);
        let body = serde_json::to_vec(body).map_err(|error| SubmitError::Invalid(error.to_string()))?;
        let request = || {
            let request = self.client.post(url.clone()).timeout(patience);
            request.header("content-type", "application/json").body(body.clone())
        };
        self.send(request).await
    }

    pub(super) async fn submit(&self, batch: &[Checked], on_conflict: OnConflict) -> Result<Vec<Taken>, SubmitError> {
        let tasks = batch.iter().map(Task::new).collect::<Result<_, _>>()?;
        let on_conflict = match on_conflict {
            OnConflict::Fail => None,
            OnConflict::Skip => Some("skip"),
            OnConflict::Replace => Some("replace"),
        };
        let body = serde_json::to_vec(&Batch { tasks, on_conflict })
            .map_err(|error| SubmitError::Invalid(error.to_string()))?;
        let span = opentelemetry::Context::current().span().span_context().clone();
        let trace = span.is_valid().then(|| traces::write(&span));
        let url = self.at(&["tasks"]);
        let request = || {
            let mut request = self.client.post(url.clone()).timeout(PATIENCE);
            if let Some(trace) = &trace {
                request = request.header("traceparent", trace);
            }
            request.header("content-type", "application/json").body(body.clone())
        };
        let answers: Answers = self.send(request).await?;
        Ok(answers.tasks.into_iter().map(Taken::from).collect())
    }

    pub(super) async fn submit_workflow(&self, named: &Named) -> Result<(), SubmitError> {
        let nodes = named.nodes.iter().map(Task::new).collect::<Result<_, _>>()?;
        let body = WorkflowBody { id: &named.id, name: named.name.as_ref(), nodes };
        self.post::<RunAnswer>(&["workflows"], &body, Duration::ZERO).await.map(drop)
    }

    pub(super) async fn workflow_state(&self, id: &WorkflowId) -> Result<Option<RunState>, SubmitError> {
        let url = item(&self.at(&["workflows"]), id.as_str());
        match self.send(|| self.client.get(url.clone()).timeout(PATIENCE)).await {
            Ok(RunAnswer { state }) => Ok(Some(state)),
            Err(SubmitError::Refused { code, .. }) if code == "unknown_workflow" => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn await_finished(&self, id: &TaskId, wait: Duration) -> Result<Option<Standing>, SubmitError> {
        let mut url = item(&self.at(&["tasks"]), id.as_str());
        url.query_pairs_mut().append_pair("wait", &format!("{}ms", wait.as_millis()));
        let answer = self.send(|| self.client.get(url.clone()).timeout(PATIENCE + wait)).await;
        match answer {
            Ok(TaskState { status, result, result_content_type, errors }) => {
                let result = result.map(|result| payload(&result, result_content_type)).transpose()?;
                Ok(Some(Standing { status, result, error: errors.into_iter().last().map(|error| error.message) }))
            }
            Err(SubmitError::Refused { code, .. }) if matches!(code.as_str(), "unknown_task" | "gone") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request that is safe to repeat, and repeats it while the manager does not answer or asks to retry later.
    async fn send<T: DeserializeOwned>(&self, request: impl Fn() -> RequestBuilder) -> Result<T, SubmitError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let (trouble, asked) = match request().send().await {
                Ok(answer) => {
                    let status = answer.status();
                    let asked = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
                    match answer.bytes().await {
                        Ok(body) if status.is_success() => {
                            return serde_json::from_slice(&body).map_err(|error| {
                                SubmitError::Unreachable(format!("its answer makes no sense: {error}"))
                            });
                        }
                        Ok(body) => (refused(status, &body), asked),
                        Err(error) => (SubmitError::Unreachable(describe(&error)), None),
                    }
                }
                Err(error) => (SubmitError::Unreachable(describe(&error)), None),
            };
            let passes = match &trouble {
                SubmitError::Refused { status, .. } => *status == StatusCode::SERVICE_UNAVAILABLE.as_u16(),
                _ => true,
            };
            if !passes || attempt == ATTEMPTS {
                return Err(trouble);
            }
            let asked = asked.map(Duration::from_secs).unwrap_or_default();
            tokio::time::sleep(pause.max(asked).min(LONGEST_PAUSE).mul_f64(rand::random_range(0.75..1.25))).await;
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }
}

/// The address of one item of a collection.
fn item(collection: &Url, id: &str) -> Url {
    let mut url = collection.clone();
    url.set_path(&format!("{}/{}", url.path(), utf8_percent_encode(id, IN_A_PATH)));
    url
}

/// An error with its causes.
fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(because) = cause {
        text.push_str(&format!(": {because}"));
        cause = because.source();
    }
    text
}

fn refused(status: StatusCode, body: &[u8]) -> SubmitError {
    let Problem { code, detail } = serde_json::from_slice(body).unwrap_or_default();
    let detail = if detail.is_empty() { status.to_string() } else { detail };
    SubmitError::Refused { status: status.as_u16(), code, detail }
}

/// A payload as the manager writes it: JSON as it is, other bytes in base64.
pub(super) fn payload(raw: &RawValue, content_type: Option<String>) -> Result<Payload, SubmitError> {
    let Some(content_type) = content_type else { return Ok(Payload::json(raw.get().as_bytes().to_vec())) };
    let bytes = serde_json::from_str::<String>(raw.get()).ok().and_then(|text| BASE64_STANDARD.decode(text).ok());
    let bytes =
        bytes.ok_or_else(|| SubmitError::Unreachable("its answer holds bytes that are no base64".to_owned()))?;
    Ok(Payload { content_type: Some(content_type.into()), bytes: bytes.into() })
}

impl<'a> Task<'a> {
    fn new(checked: &'a Checked) -> Result<Self, SubmitError> {
        if !checked.parameters.is_json() {
            let found = checked.parameters.content_type();
            return Err(SubmitError::Invalid(format!("the parameters are {found}; over HTTP they are JSON")));
        }
        let parameters = serde_json::from_slice(&checked.parameters.bytes)
            .map_err(|error| SubmitError::Invalid(format!("the parameters are no JSON: {error}")))?;
        let (delay, run_at) = match checked.start {
            Start::Now => (None, None),
            Start::After(delay) => (Some(jobbers_common::duration::format(delay)), None),
            Start::At(at) => {
                let at = jiff::Timestamp::from_microsecond(at.as_micros());
                (None, Some(at.map_err(|error| SubmitError::Invalid(format!("the time: {error}")))?))
            }
        };
        Ok(Self {
            id: &checked.id,
            name: checked.name.as_str(),
            version: checked.version,
            queue: checked.queue.as_ref(),
            priority: (checked.priority != Priority::DEFAULT).then_some(checked.priority.get()),
            parameters,
            delay,
            run_at,
            unique_key: checked.unique.as_ref().map(|unique| &unique.key),
            unique_for: checked.unique.as_ref().and_then(|unique| unique.span).map(jobbers_common::duration::format),
            unique_while: checked.unique.as_ref().map(|unique| unique.statuses),
            on_duplicate: checked.unique.as_ref().map(|unique| unique.on_duplicate),
            concurrency_key: checked.concurrency_key.as_ref(),
            labels: &checked.labels,
            depends_on: checked
                .depends_on
                .iter()
                .map(|edge| Predecessor { id: &edge.on, policy: edge.policy })
                .collect(),
            signals: &checked.signals,
            overrides: &checked.overrides,
        })
    }
}

impl From<Answer> for Taken {
    fn from(answer: Answer) -> Self {
        let Answer { id, queue, status, created, replaced, updated, warnings } = answer;
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
