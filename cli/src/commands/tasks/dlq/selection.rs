//! The dead letters that a command is about: by the ids of their tasks, or by a filter.

use std::fmt::Display;

use clap::builder::NonEmptyStringValueParser;
use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName},
};
use jobbers_process::when;
use serde::Serialize;

use crate::{client::ClientArgs, failure::Failure};

/// Which dead letters; what is not given does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args, Serialize)]
pub(super) struct FilterArgs {
    /// Only those of this queue
    #[arg(long, value_name = "QUEUE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue: Option<QueueName>,
    /// Only those of tasks of this name
    #[arg(long, value_name = "TASK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<TaskName>,
    /// Only those of this version of the task
    #[arg(long = "task-version", visible_alias = "version", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<u32>,
    /// Only those that ended as failed, stalled or dropped
    #[arg(long, value_name = "STATUS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
    /// Only those whose last error holds this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Only those of this cause, as `stats` tells it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<String>,
    /// Only those that failed at or after this time, e.g. 2026-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed_after: Option<jiff::Timestamp>,
    /// Only those that failed before this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed_before: Option<jiff::Timestamp>,
}

impl FilterArgs {
    /// The API's query.
    pub(super) fn query(&self) -> Vec<(&'static str, String)> {
        fn pair(name: &'static str, value: Option<impl Display>) -> Option<(&'static str, String)> {
            value.map(|value| (name, value.to_string()))
        }
        let restricted = [
            pair("queue", self.queue.as_ref()),
            pair("name", self.name.as_ref()),
            pair("version", self.version),
            pair("status", self.status),
            pair("error", self.error.as_ref()),
            pair("fingerprint", self.fingerprint.as_ref()),
            pair("failed_after", self.failed_after),
            pair("failed_before", self.failed_before),
        ];
        restricted.into_iter().flatten().collect()
    }
}

/// Which dead letters are changed: by ids, or by a filter.
#[derive(Debug, clap::Args)]
pub(super) struct SelectionArgs {
    /// The tasks' ids
    pub(super) ids: Vec<TaskId>,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    /// With a filter: at most this many, the oldest first [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(super) limit: Option<u64>,
    /// However many match; without a filter, every dead letter
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,
    /// Only tell how many they are
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask first
    #[arg(long, short)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// A selection as the API takes it.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct SelectionBody<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) ids: &'a [TaskId],
    #[serde(flatten)]
    pub(super) filter: &'a FilterArgs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) all: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) dry_run: bool,
}

impl SelectionArgs {
    /// Checks that it says what is meant, once.
    pub(super) fn checked(&self) -> Result<SelectionBody<'_>, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        let is_filtered = self.filter != FilterArgs::default() || self.all;
        match (self.ids.is_empty(), is_filtered) {
            (true, false) => usage("name dead letters by their tasks' ids, by a filter such as --queue, or by --all"),
            (false, true) => usage("name dead letters by their tasks' ids or by a filter, not by both"),
            _ => Ok(SelectionBody {
                ids: &self.ids,
                filter: &self.filter,
                limit: self.limit,
                all: self.all,
                dry_run: false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_reaches_the_query() {
        let filter = FilterArgs {
            queue: Some(QueueName::new("q").unwrap()),
            name: Some(TaskName::new("t").unwrap()),
            version: Some(2),
            status: Some(Status::Stalled),
            error: Some("boom".to_owned()),
            fingerprint: Some("no #".to_owned()),
            failed_after: Some(jiff::Timestamp::UNIX_EPOCH),
            failed_before: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        };
        let query: Vec<String> = filter.query().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            query,
            [
                "queue=q",
                "name=t",
                "version=2",
                "status=stalled",
                "error=boom",
                "fingerprint=no #",
                "failed_after=1970-01-01T00:00:00Z",
                "failed_before=2026-01-02T03:04:05Z"
            ]
        );
    }
}
