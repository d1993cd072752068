//! A submission as JSON: a task or a batch, with all that it may set.

use std::time::Duration;

use bytes::Bytes;
use jobbers_common::{
    dependency::{Dependency, signal::AwaitedSignal},
    engine::OnConflict,
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_DELAY, MAX_JSON_DEPTH},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    policy::{DeadLetter, Exhausted, OnShutdown, OnStall, PolicyOverrides, backoff::Backoff, error_kind::ErrorKind},
    queue::gate::ConcurrencyKey,
    submission::template::{Document, TaskTemplate},
    task::{
        Priority, Start,
        label::Labels,
        metadata::Metadata,
        unique::{OnDuplicate, Unique, UniqueKey},
    },
    time::Timestamp,
    values::duration,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{dependency::DependencyRequest, signal::SignalRequest};
use crate::{
    openapi::ToSchema,
    problem::{Code, Problem, Result, invalid},
    value::{
        AnyJsonDoc, BackoffDoc, DeadLetterDoc, DurationDoc, ExhaustedDoc, NameDoc, OnDuplicateDoc, OnShutdownDoc,
        OnStallDoc, Rfc3339, StatusDoc, TaskIdDoc,
    },
    wire::{json, payload::Sent},
};

/// A task to run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest<'a> {
    /// The task's id. Submitting the same id with the same body again changes nothing. Default: a new ULID. Not `registry`,
    /// `stats`, `resubmit` or `operations`, which are words of the API's paths, nor `.` or `..`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TaskIdDoc>)]
    pub id: Option<TaskId>,
    /// What to run: the name a worker has registered a function under.
    #[schema(value_type = NameDoc, example = "text.wordcount")]
    pub name: TaskName,
    /// Its version.
    #[serde(default = "first_version", deserialize_with = "crate::value::version")]
    #[schema(default = 1)]
    pub version: u32,
    /// The queue it goes to. Default: what the routing rules say, else `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// The queue it goes to if no routing rule applies, in place of `default`. For clients that know the task's code: a rule
    /// wins, and does not forbid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub default_queue: Option<QueueName>,
    /// 0 to 9; higher is claimed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9, default = 5)]
    pub priority: Option<u8>,
    /// What the function is given: any JSON, nested at most 64 deep, or base64 text if `parameters_content_type` names
    /// another type. Default: `{}`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        borrow,
        deserialize_with = "crate::wire::payload::present"
    )]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<&'a RawValue>,
    /// The type of parameters that are not JSON, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub parameters_content_type: Option<String>,
    /// Not before this long after it is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub delay: Option<Duration>,
    /// Not before this point in time; one that has passed means at once. Not beside `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Rfc3339>,
    /// How late its first attempt may begin, counted from when it is due: a task that no worker has leased by then never
    /// runs and ends as `dropped`. Above 0, at most 366d.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub expires_in: Option<Duration>,
    /// What to do when the id is taken by another submission. Not in a batch, where it is next to `tasks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<ConflictRule>,
    /// Its concurrency key, for the limits by key of its queue. 1 to 256 bytes of text. Default: what the queue's `key_parameter`
    /// finds in the parameters, else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256, example = "customer:42")]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Labels to find it by, at most 16: names of at most 128 characters, values of at most 256 bytes of text.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>, example = json!({"team": "billing"}))]
    pub labels: Labels,
    /// Whether its parameters, result, checkpoint, and the messages of its progress and errors are hidden from readers; `POST
    /// /tasks/{id}/reveal` shows them. A task whose author calls it sensitive is so in any case: `false` is then refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<bool>,
    /// Tasks whose ends it waits for, at most 10,000: stored ones, or tasks of the same batch, in any order. Until all of
    /// them have ended it is `waiting`. Not in a batch with unique keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10000)]
    pub depends_on: Vec<DependencyRequest>,
    /// Tasks of the same batch that wait for this one, however it ends, as if each had it in its `depends_on` with the policy
    /// `run_with_failures`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<TaskIdDoc>, max_items = 1000)]
    pub to_signal: Vec<TaskId>,
    /// How many tasks it waits for: those in its `depends_on`, and those of the batch that have it in `to_signal`. Another
    /// number is refused. Default: not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_dependencies: Option<u32>,
    /// Signals from outside that it waits for, at most 16: each a name, or an object that also says how long it may take.
    /// They are sent with `POST /tasks/{id}/signal`. Not in a batch with unique keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 16)]
    pub signals: Vec<SignalRequest>,
    /// Whether it ends by itself, as `completed` without a result, once all that it waits for has come: no worker runs it. A
    /// task that others wait for in place of many. Without `delay`, `run_at` and a unique key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spontaneous: bool,
    /// Its unique key: at most one task per key, among tasks of this name. 1 to 256 bytes of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256, example = "customer:42")]
    pub unique_key: Option<UniqueKey>,
    /// For how long at most it holds the key, from its submission on. Default: without end.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub unique_for: Option<Duration>,
    /// In which statuses it holds the key. Default: until it is over; with `keep_last`, until it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<StatusDoc>>, min_items = 1)]
    pub unique_while: Option<Vec<Status>>,
    /// What is done when another task holds the key. Default: `reject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnDuplicateDoc>)]
    pub on_duplicate: Option<OnDuplicate>,
    /// Retries after the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1000)]
    pub max_retries: Option<u32>,
    /// Base delay before a retry; the default is one second, 0 retries at once.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub retry_delay: Option<Duration>,
    /// How that delay grows; `exponential_jitter` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BackoffDoc>)]
    pub backoff: Option<Backoff>,
    /// Upper bound of a computed delay.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub max_retry_delay: Option<Duration>,
    /// No attempt begins later than this after the submission. Without `max_retries`, it replaces that limit.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub retry_for: Option<Duration>,
    /// The only kinds of errors that are retried: as the task names them (`rate_limited`), an error type or its path, or
    /// how the attempt failed (`error`, `timeout`, `panic`). Time limits are not asked for here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, max_items = 64)]
    pub retry_on: Option<Vec<ErrorKind>>,
    /// Kinds of errors that are never retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, max_items = 64)]
    pub fatal_on: Option<Vec<ErrorKind>>,
    /// Longest one attempt may run.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub timeout: Option<Duration>,
    /// Longest silence between two heartbeats of the running task.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub max_heartbeat_interval: Option<Duration>,
    /// What a longer silence means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnStallDoc>)]
    pub on_stall: Option<OnStall>,
    /// What a stopping worker does with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnShutdownDoc>)]
    pub on_shutdown: Option<OnShutdown>,
    /// Whether it is kept in the dead-letter store when it fails for good; it is, by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DeadLetterDoc>)]
    pub dead_letter: Option<DeadLetter>,
    /// Lost leases until it counts as poison and is failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_crashes: Option<u32>,
    /// How many leases may be taken on it: each counts as an attempt, also one that expires or is given back. Without
    /// `max_retries` and `max_crashes`, it replaces those limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_tries: Option<u32>,
    /// How it ends when its tries are used up: `failed`, the default, or `aborted`. Only beside `max_tries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExhaustedDoc>)]
    pub exhausted: Option<Exhausted>,
}

/// Several tasks, accepted all together or not at all.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskBatch<'a> {
    /// 1 to 1,000 tasks, to at most 100 different queues.
    #[serde(borrow, deserialize_with = "json::few_objects::<_, _, MAX_BATCH>")]
    #[schema(min_items = 1, max_items = 1000)]
    pub tasks: Vec<TaskRequest<'a>>,
    /// What to do about ids that are taken by other submissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<ConflictRule>,
}

/// One task, or a batch.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "only described, never made: the handler reads the one or the other")]
pub enum SubmitRequest<'a> {
    /// One.
    One(TaskRequest<'a>),
    /// Several.
    Many(TaskBatch<'a>),
}

/// What to do about an id that is taken by a submission with another body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = OnConflict)]
pub enum ConflictRule {
    /// Refuse the request; the default.
    Fail,
    /// Leave the stored task as it is.
    Skip,
    /// Put the new task in its place, unless it is running.
    Replace,
}

impl From<OnConflict> for ConflictRule {
    fn from(rule: OnConflict) -> Self {
        match rule {
            OnConflict::Fail => Self::Fail,
            OnConflict::Skip => Self::Skip,
            OnConflict::Replace => Self::Replace,
        }
    }
}

impl From<ConflictRule> for OnConflict {
    fn from(rule: ConflictRule) -> Self {
        match rule {
            ConflictRule::Fail => Self::Fail,
            ConflictRule::Skip => Self::Skip,
            ConflictRule::Replace => Self::Replace,
        }
    }
}

const fn first_version() -> u32 {
    1
}

/// Ids of tasks that could not be looked up, because their paths mean something else: `/tasks/registry`,
/// `/dead-letter-queue/stats` and the like.
const RESERVED_IDS: [&str; 4] = ["registry", "stats", "resubmit", "operations"];

impl<'a> TaskRequest<'a> {
    /// A request for version 1 of a task, with defaults for all else.
    #[must_use]
    pub fn new(name: TaskName) -> Self {
        Self {
            id: None,
            name,
            version: first_version(),
            queue: None,
            default_queue: None,
            priority: None,
            parameters: None,
            parameters_content_type: None,
            delay: None,
            run_at: None,
            expires_in: None,
            on_conflict: None,
            concurrency_key: None,
            labels: Labels::default(),
            sensitive: None,
            depends_on: Vec::new(),
            to_signal: Vec::new(),
            total_dependencies: None,
            signals: Vec::new(),
            spontaneous: false,
            unique_key: None,
            unique_for: None,
            unique_while: None,
            on_duplicate: None,
            max_retries: None,
            retry_delay: None,
            backoff: None,
            max_retry_delay: None,
            retry_for: None,
            retry_on: None,
            fatal_on: None,
            timeout: None,
            max_heartbeat_interval: None,
            on_stall: None,
            on_shutdown: None,
            dead_letter: None,
            max_crashes: None,
            max_tries: None,
            exhausted: None,
        }
    }

    /// The same with this metadata.
    #[must_use]
    pub fn with_metadata(self, Metadata { labels, sensitive, sensitive_in_code }: Metadata) -> Self {
        Self { labels, sensitive: (sensitive || sensitive_in_code).then_some(true), ..self }
    }

    /// The same with these changes of the task's policy.
    #[must_use]
    pub fn with_overrides(self, overrides: PolicyOverrides) -> Self {
        // Without `..`, so that a new field can't be forgotten.
        let PolicyOverrides {
            expires_in,
            max_retries,
            retry_delay,
            backoff,
            max_retry_delay,
            retry_for,
            retry_on,
            fatal_on,
            timeout,
            max_heartbeat_interval,
            on_stall,
            on_shutdown,
            dead_letter,
            max_crashes,
            max_tries,
            exhausted,
        } = overrides;
        Self {
            expires_in,
            max_retries,
            retry_delay,
            backoff,
            max_retry_delay,
            retry_for,
            retry_on,
            fatal_on,
            timeout,
            max_heartbeat_interval,
            on_stall,
            on_shutdown,
            dead_letter,
            max_crashes,
            max_tries,
            exhausted,
            ..self
        }
    }
}

impl TaskRequest<'_> {
    /// Checks that the task could be asked for by its id.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for one of a few reserved words, and for `.` and `..`.
    pub fn check_id(&self) -> Result<()> {
        match &self.id {
            Some(id) if RESERVED_IDS.contains(&id.as_str()) => {
                Err(invalid("id", format!("{id} is a word of the API's paths; choose another")))
            }
            Some(id) => crate::check_reachable(id.as_str(), "id"),
            None => Ok(()),
        }
    }

    /// Its priority.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over 9.
    pub fn priority(&self) -> Result<Priority> {
        let value = self.priority.unwrap_or(Priority::DEFAULT.get());
        Priority::new(value).ok_or_else(|| invalid("priority", format!("is 0 to 9, not {value}")))
    }

    /// When it may start. `now` is the manager's, good enough to keep a mistyped year out.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for both `delay` and `run_at`, and for more than 366 days ahead.
    pub fn start(&self, now: impl FnOnce() -> Timestamp) -> Result<Start> {
        start(self.delay, self.run_at, now)
    }

    /// What it changes of the task's policy.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a value out of its bounds.
    pub fn overrides(&mut self) -> Result<PolicyOverrides> {
        let overrides = PolicyOverrides {
            expires_in: self.expires_in,
            max_retries: self.max_retries,
            retry_delay: self.retry_delay,
            backoff: self.backoff,
            max_retry_delay: self.max_retry_delay,
            retry_for: self.retry_for,
            retry_on: self.retry_on.take(),
            fatal_on: self.fatal_on.take(),
            timeout: self.timeout,
            max_heartbeat_interval: self.max_heartbeat_interval,
            on_stall: self.on_stall,
            on_shutdown: self.on_shutdown,
            dead_letter: self.dead_letter,
            max_crashes: self.max_crashes,
            max_tries: self.max_tries,
            exhausted: self.exhausted,
        };
        overrides.validate().map_err(|error| invalid(error.field, error.rule))?;
        Ok(overrides)
    }

    /// What it waits for.
    pub fn depends_on(&mut self) -> Vec<Dependency> {
        std::mem::take(&mut self.depends_on).into_iter().map(|DependencyRequest(edge)| edge).collect()
    }

    /// Its metadata.
    pub fn metadata(&mut self) -> Metadata {
        let sensitive = self.sensitive.unwrap_or_default();
        Metadata { labels: std::mem::take(&mut self.labels), sensitive, sensitive_in_code: false }
    }

    /// The signals that it waits for.
    pub fn signals(&mut self) -> Vec<AwaitedSignal> {
        std::mem::take(&mut self.signals).into_iter().map(|SignalRequest(signal)| signal).collect()
    }

    /// Its uniqueness constraint.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a value out of its bounds, and for what says more of a key that is not there.
    pub fn unique(&mut self) -> Result<Option<Unique>> {
        let Some(key) = self.unique_key.take() else {
            let said = [
                ("unique_for", self.unique_for.is_some()),
                ("unique_while", self.unique_while.is_some()),
                ("on_duplicate", self.on_duplicate.is_some()),
            ];
            return match said.into_iter().find(|(_, is_said)| *is_said) {
                Some((field, _)) => Err(invalid(field, "needs a unique_key")),
                None => Ok(None),
            };
        };
        let mut unique = Unique::new(key).on_duplicate(self.on_duplicate.unwrap_or_default());
        unique.span = self.unique_for;
        if let Some(statuses) = self.unique_while.take() {
            unique.statuses = statuses.into();
        }
        unique.validate().map_err(|error| invalid(error.field, error.rule))?;
        Ok(Some(unique))
    }

    /// Its parameters; JSON as the part of `body` it is.
    ///
    /// # Errors
    /// Those of [`Sent::payload_in`].
    pub fn payload(&self, body: &Bytes, max_bytes: usize) -> Result<Payload> {
        let content_type = self.parameters_content_type.as_deref();
        let sent = Sent { field: "parameters", text: self.parameters, content_type, max_bytes };
        Ok(sent.payload_in(body)?.unwrap_or_else(|| Payload::json(Bytes::from_static(b"{}"))))
    }

    /// The template it describes, where tasks are made later.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] with the first of the `refused` fields that is said, and for one that makes no sense;
    /// [`Code::JsonTooDeep`].
    pub fn template(mut self, refused: &[(&str, bool, &str)]) -> Result<TaskTemplate> {
        if let Some((field, _, rule)) = refused.iter().find(|(_, is_said, _)| *is_said) {
            return Err(invalid(field, rule));
        }
        self.unique()?;
        match (self.sensitive, self.parameters) {
            (Some(false), _) => return Err(invalid("sensitive", "is true or is not said here")),
            // No reader is shown those that are stored, so what was read must not be sent back without them.
            (Some(true), None) => return Err(invalid("parameters", "of a sensitive task are always said, also {}")),
            _ => {}
        }
        if self.parameters.is_some_and(|raw| json::is_deeper_than(raw.get(), MAX_JSON_DEPTH)) {
            let detail = format!("parameters are nested at most {MAX_JSON_DEPTH} deep");
            return Err(Problem::new(Code::JsonTooDeep, detail).at("/parameters"));
        }
        let is_spontaneous = self.spontaneous;
        let (priority, overrides) = (self.priority()?, self.overrides()?);
        let (signals, metadata) = (self.signals(), self.metadata());
        let parameters = serde_json::from_str::<Document>(self.parameters.map_or("{}", RawValue::get))
            .map_err(|error| invalid("parameters", error))?;
        Ok(TaskTemplate {
            name: self.name,
            version: self.version,
            queue: self.queue,
            default_queue: self.default_queue,
            priority,
            parameters,
            concurrency_key: self.concurrency_key,
            metadata,
            signals,
            is_spontaneous,
            overrides,
        })
    }
}

/// When tasks may start for which a request says this. `now` is the manager's, good enough to keep a mistyped year out.
pub(super) fn start(
    delay: Option<Duration>,
    run_at: Option<Rfc3339>,
    now: impl FnOnce() -> Timestamp,
) -> Result<Start> {
    match (delay, run_at) {
        (None, None) => Ok(Start::Now),
        (Some(_), Some(_)) => Err(invalid("run_at", "can't stand beside delay: say one of them")),
        (Some(delay), None) if delay > MAX_DELAY => Err(invalid("delay", "is at most 366d")),
        (Some(delay), None) => Ok(if delay.is_zero() { Start::Now } else { Start::After(delay) }),
        (None, Some(Rfc3339(at))) if at > now().after(MAX_DELAY) => Err(invalid("run_at", "is at most 366d ahead")),
        (None, Some(Rfc3339(at))) => Ok(Start::At(at)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn again(text: &str) -> Value {
        serde_json::to_value(serde_json::from_str::<TaskRequest<'_>>(text).unwrap()).unwrap()
    }

    #[test]
    fn a_request_is_written_as_it_is_read() {
        let request = json!({
            "id": "a", "name": "resize", "version": 2, "queue": "images", "default_queue": "pictures", "priority": 7, "parameters": null,
            "parameters_content_type": "image/png", "delay": "2s", "run_at": "2026-11-21T08:30:00Z", "expires_in": "1h",
            "on_conflict": "skip", "concurrency_key": "c", "labels": {"team": "billing"}, "sensitive": true,
            "depends_on": [{"id": "b", "policy": "run_on_error"}],
            "signals": [{"name": "approved", "timeout": "1h", "on_timeout": "run"}], "spontaneous": true,
            "unique_key": "k", "unique_for": "1h", "unique_while": ["submitted"], "on_duplicate": "keep_last",
            "max_retries": 3, "retry_delay": "1s", "backoff": "linear", "max_retry_delay": "1m", "retry_for": "1h",
            "retry_on": ["timeout"], "fatal_on": ["panic"], "timeout": "10s", "max_heartbeat_interval": "5s",
            "on_stall": "retry", "on_shutdown": "requeue", "dead_letter": "none", "max_crashes": 2, "max_tries": 4,
            "exhausted": "aborted",
        });
        assert_eq!(again(&request.to_string()), request);
    }

    #[test]
    fn what_is_not_said_is_not_written() {
        assert_eq!(again(r#"{"name":"resize"}"#), json!({"name": "resize", "version": 1}));
        let new = TaskRequest::new("resize".parse().unwrap());
        assert_eq!(serde_json::to_value(new).unwrap(), json!({"name": "resize", "version": 1}));
    }

    #[test]
    fn the_policy_is_read_as_it_was_set() {
        let overrides = PolicyOverrides {
            expires_in: Some(Duration::from_secs(1)),
            max_retries: Some(3),
            retry_on: Some(vec![ErrorKind::new("timeout").unwrap()]),
            timeout: Some(Duration::from_secs(10)),
            max_tries: Some(4),
            exhausted: Some(Exhausted::Aborted),
            ..PolicyOverrides::default()
        };
        let mut request = TaskRequest::new("resize".parse().unwrap()).with_overrides(overrides.clone());
        assert_eq!(request.overrides(), Ok(overrides));
    }
}
