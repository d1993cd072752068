//! What a submission says beside its parameters. The manager checks the bounds, so that there is one list of them.

use std::{str::FromStr, time::Duration};

use jobbers_common::{
    dependency::{DependencyPolicy, signal::AwaitedSignal},
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName},
    policy::{backoff::Backoff, error_kind::ErrorKind},
    queue::gate::ConcurrencyKey,
    task::{
        label::{Label, Labels},
        unique::UniqueKey,
    },
    values::duration,
};
use serde::{Serialize, Serializer, ser};
use serde_json::value::RawValue;

/// The flags, under the names they have on the wire.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub(super) struct TaskFlags {
    /// The task's id [default: a new one]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<TaskId>,
    /// What to do when the id is taken by another submission
    #[arg(long, value_name = "RULE", value_parser = ["fail", "skip", "replace"])]
    #[serde(skip)]
    on_conflict: Option<String>,
    /// Which version of the task
    #[arg(long = "task-version", visible_alias = "version", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The queue [default: what the routing rules say]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<QueueName>,
    /// 0 to 9; higher is claimed first [default: 5]
    #[arg(long, value_name = "0-9")]
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    /// Not before this long from now
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "run_at")]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    delay: Option<Duration>,
    /// Not before this point in time, e.g. 2026-11-21T08:30:00Z
    #[arg(long, value_name = "TIME", value_parser = jobbers_process::when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    run_at: Option<jiff::Timestamp>,
    /// How late its first attempt may begin: after that it is dropped instead of run
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    expires_in: Option<Duration>,
    /// Whose it is, for the limits by key of its queue (customer:42)
    #[arg(long, value_name = "KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency_key: Option<ConcurrencyKey>,
    /// A label to find it by (team=billing); several times for several
    #[arg(long = "label", value_name = "NAME=VALUE")]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_labels")]
    labels: Vec<Label>,
    /// Hide its parameters, result and messages from readers; with the scope tasks:reveal, `jobbers status --reveal` shows them
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
    /// A task to wait for, and what its end means: ID, or ID=POLICY with abort_successors (the default),
    /// run_with_failures or run_on_error; several times for several
    #[arg(long, value_name = "ID[=POLICY]")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<Predecessor>,
    /// A signal from outside to wait for, perhaps at most a time: then the task is aborted, or with `,run` runs without it.
    /// Several times for several
    #[arg(long = "signal", value_name = "NAME[=TIMEOUT[,run]]")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signals: Vec<AwaitedSignal>,
    /// No worker runs it: it ends by itself, as completed, once all that it waits for has come
    #[arg(long, conflicts_with_all = ["delay", "run_at", "unique_key"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    spontaneous: bool,
    /// There is to be one such task at a time: of what, among tasks of this name (customer:42)
    #[arg(long, value_name = "KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<UniqueKey>,
    /// For how long at most it holds the key [default: without end]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, requires = "unique_key")]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    unique_for: Option<Duration>,
    /// In which statuses it holds the key [default: until it is over; with keep_last, until it starts]
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', requires = "unique_key")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unique_while: Vec<Status>,
    /// What to do when another task holds the key [default: reject]
    #[arg(long, value_name = "RULE", value_parser = ["reject", "return", "replace", "keep_last"], requires = "unique_key")]
    #[serde(skip_serializing_if = "Option::is_none")]
    on_duplicate: Option<String>,
    /// Retries after the first attempt
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retries: Option<u32>,
    /// Base delay before a retry; the task's own is 1s unless its code says otherwise
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    retry_delay: Option<Duration>,
    /// How that delay grows: constant, linear, exponential, exponential_jitter (the default)
    #[arg(long, value_name = "STRATEGY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<Backoff>,
    /// Upper bound of a computed delay
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    max_retry_delay: Option<Duration>,
    /// No attempt begins later than this after the submission; without --max-retries, in place of a count
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    retry_for: Option<Duration>,
    /// The only kinds of errors that are retried: rate_limited,ParseIntError
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retry_on: Vec<ErrorKind>,
    /// Kinds of errors that are never retried
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fatal_on: Vec<ErrorKind>,
    /// Longest one attempt may run
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    timeout: Option<Duration>,
    /// Longest silence between two heartbeats of the running task
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    max_heartbeat_interval: Option<Duration>,
    /// What a stopping worker does with it
    #[arg(long, value_name = "POLICY", value_parser = ["finish", "requeue", "fail"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    on_shutdown: Option<String>,
    /// What a longer silence than --max-heartbeat-interval means
    #[arg(long, value_name = "POLICY", value_parser = ["stall", "retry", "fail"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    on_stall: Option<String>,
    /// Whether it is kept in the dead-letter store when it fails for good: save (the default) or none
    #[arg(long, value_name = "POLICY", value_parser = ["none", "save"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter: Option<String>,
    /// Lost leases until it counts as poison and is failed
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_crashes: Option<u32>,
    /// How many leases may be taken on it, also ones that expire or are given back
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tries: Option<u32>,
    /// How it ends when its tries are used up
    #[arg(long, value_name = "STATUS", value_parser = ["failed", "aborted"], requires = "max_tries")]
    #[serde(skip_serializing_if = "Option::is_none")]
    exhausted: Option<String>,
}

/// Labels, as a submission has them.
fn as_labels<S: Serializer>(given: &[Label], serializer: S) -> Result<S::Ok, S::Error> {
    let mut labels = Labels::default();
    for label in given {
        labels.add(label.clone()).map_err(ser::Error::custom)?;
    }
    labels.serialize(serializer)
}

/// A task to wait for.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Predecessor {
    id: TaskId,
    policy: DependencyPolicy,
}

impl FromStr for Predecessor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // An id may have a `=` as well; then its policy is named, so that no misspelt policy becomes a part of an id.
        let (id, policy) = match text.rsplit_once('=') {
            Some((id, policy)) => {
                (id, policy.parse().map_err(|error| format!("{error}; after an id with = name one"))?)
            }
            None => (text, DependencyPolicy::default()),
        };
        Ok(Self { id: TaskId::new(id).map_err(|error| error.to_string())?, policy })
    }
}

impl TaskFlags {
    /// Whether an id was chosen.
    pub(super) const fn has_id(&self) -> bool {
        self.id.is_some()
    }
}

/// One task on the wire.
#[derive(Debug, Serialize)]
pub(super) struct TaskBody<'a> {
    pub(super) name: &'a TaskName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<&'a RawValue>,
    #[serde(flatten)]
    pub(super) flags: &'a TaskFlags,
}

/// A submission: `content` is one task, or [`TasksBody`] that are accepted all together or not at all.
#[derive(Debug, Serialize)]
pub(super) struct SubmissionBody<'a, T> {
    #[serde(flatten)]
    content: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_conflict: Option<&'a str>,
}

/// Several tasks.
#[derive(Debug, Serialize)]
pub(super) struct TasksBody<'a> {
    pub(super) tasks: Vec<TaskBody<'a>>,
}

impl<'a, T> SubmissionBody<'a, T> {
    pub(super) fn new(content: T, flags: &'a TaskFlags) -> Self {
        Self { content, on_conflict: flags.on_conflict.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct FlagsLine {
        #[command(flatten)]
        flags: TaskFlags,
    }

    #[test]
    fn flags_go_out_under_their_names_on_the_wire_and_numbers_keep_their_digits() {
        let line = [
            "x",
            "--delay",
            "90",
            "--expires-in",
            "10m",
            "--priority",
            "9",
            "--concurrency-key",
            "acme",
            "--version",
            "2",
            "--on-conflict",
            "skip",
        ];
        let unique = ["--unique-key", "a b", "--unique-while", "submitted,started", "--on-duplicate", "keep_last"];
        let depends = ["--depends-on", "a", "--depends-on", "b/day=1=run_on_error"];
        let line = [&line[..], &depends, &unique].concat();
        let flags = FlagsLine::try_parse_from(line).unwrap().flags;
        let parameters = RawValue::from_string("{\"n\":9007199254740993}".to_owned()).unwrap();
        let name = TaskName::new("echo").unwrap();
        let task = || TaskBody { name: &name, parameters: Some(&parameters), flags: &flags };
        let one = serde_json::to_string(&SubmissionBody::new(task(), &flags)).unwrap();
        let content = r#""name":"echo","parameters":{"n":9007199254740993},"version":2,"priority":9,"delay":"90s","expires_in":"10m","concurrency_key":"acme","depends_on":[{"id":"a","policy":"abort_successors"},{"id":"b/day=1","policy":"run_on_error"}],"unique_key":"a b","unique_while":["submitted","started"],"on_duplicate":"keep_last""#;
        assert_eq!(one, format!(r#"{{{content},"on_conflict":"skip"}}"#));
        let many = serde_json::to_string(&SubmissionBody::new(TasksBody { tasks: vec![task()] }, &flags)).unwrap();
        assert_eq!(many, format!(r#"{{"tasks":[{{{content}}}],"on_conflict":"skip"}}"#));
    }

    #[test]
    fn a_misspelt_policy_is_no_part_of_an_id() {
        let refused = FlagsLine::try_parse_from(["submit", "--depends-on", "b/day=1"]).unwrap_err().to_string();
        assert!(refused.contains("1 is not a dependency's policy"), "{refused}");
        assert!(refused.contains("after an id with = name one"), "{refused}");
    }
}
