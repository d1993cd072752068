//! `jobbers dlq`: what failed for good, why, and sending it again.

use std::{fmt::Display, process::ExitCode};

use clap::builder::NonEmptyStringValueParser;
use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName},
};
use jobbers_process::when;
use serde::Serialize;

use crate::{client::ClientArgs, failure::Failure};

mod change;
mod look;
mod operations;

/// Flags of `jobbers dlq`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Dead letters are tasks that failed for good and were to be kept: submitted with --dead-letter save, or of a task whose code \
says so. They stay when the store forgets their tasks, with every failure, until they are deleted.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List dead letters, the latest first
    List(look::List),
    /// Show all that is known of one: its task, and every failure
    Show(look::Show),
    /// Count them by queue, task and cause
    Stats(look::Stats),
    /// Send some again, after a look at how many they are
    Resubmit(change::Resubmit),
    /// List the operations that send some again, the latest first
    Operations(operations::Operations),
    /// Stop an operation that sends some again; what it has not sent stays dead
    Cancel(change::Cancel),
    /// Delete some, after a look at how many they are
    Delete(change::Delete),
}

/// Does it.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::List(args) => look::list(&args).await,
        Action::Show(args) => look::show(&args).await,
        Action::Stats(args) => look::stats(&args).await,
        Action::Resubmit(args) => change::resubmit(&args).await,
        Action::Operations(args) => operations::list(&args).await,
        Action::Cancel(args) => change::cancel(&args).await,
        Action::Delete(args) => change::delete(&args).await,
    }
}

/// Which dead letters; what is not given does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args, Serialize)]
struct FilterArgs {
    /// Only those of this queue
    #[arg(long, value_name = "QUEUE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<QueueName>,
    /// Only those of tasks of this name
    #[arg(long, value_name = "TASK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<TaskName>,
    /// Only those of this version of the task
    #[arg(long = "task-version", visible_alias = "version", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// Only those that ended as failed, stalled or dropped
    #[arg(long, value_name = "STATUS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Only those whose last error holds this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Only those of this cause, as `stats` tells it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Only those that failed at or after this time, e.g. 2026-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_after: Option<jiff::Timestamp>,
    /// Only those that failed before this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_before: Option<jiff::Timestamp>,
}

impl FilterArgs {
    /// The API's query.
    fn query(&self) -> Vec<(&'static str, String)> {
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
struct SelectionArgs {
    /// The tasks' ids
    ids: Vec<TaskId>,
    #[command(flatten)]
    filter: FilterArgs,
    /// With a filter: at most this many, the oldest first [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    limit: Option<u64>,
    /// However many match; without a filter, every dead letter
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Only tell how many they are
    #[arg(long)]
    dry_run: bool,
    /// Do not ask first
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// A selection as the API takes it.
#[derive(Debug, Clone, Copy, Serialize)]
struct Selection<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ids: &'a [TaskId],
    #[serde(flatten)]
    filter: &'a FilterArgs,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    all: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl SelectionArgs {
    /// Checks that it says what is meant, once.
    fn checked(&self) -> Result<Selection<'_>, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        let is_filtered = self.filter != FilterArgs::default() || self.all;
        match (self.ids.is_empty(), is_filtered) {
            (true, false) => usage("name dead letters by their tasks' ids, by a filter such as --queue, or by --all"),
            (false, true) => usage("name dead letters by their tasks' ids or by a filter, not by both"),
            _ => {
                Ok(Selection { ids: &self.ids, filter: &self.filter, limit: self.limit, all: self.all, dry_run: false })
            }
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
