//! Which tasks: the flags that `list`, `cancel`, `resubmit` and `delete` share, and the API's query they make.

use std::fmt::Display;

use clap::{
    Args,
    builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser},
};
use jobbers_api::task::selection::TaskAct;
use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskName, WorkerId},
    task::label::Label,
};
use jobbers_process::when;

use crate::failure::Failure;

/// All statuses by name, so that a shell can offer them.
fn statuses() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(Status::ALL.map(Status::as_str)).try_map(|name| name.parse::<Status>())
}

/// Which tasks; what is not given does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct FilterArgs {
    /// Only tasks standing at this; may be given several times, or as a list with commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = statuses())]
    pub(crate) status: Vec<Status>,
    /// Only tasks in this queue
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<QueueName>,
    /// Only tasks of this name
    #[arg(long, value_name = "TASK")]
    pub(crate) name: Option<TaskName>,
    /// Only tasks of this version
    #[arg(long = "task-version", visible_alias = "version", value_name = "N")]
    pub(crate) version: Option<u32>,
    /// Only tasks with this label, e.g. team=billing; of several, all have to be there
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Only tasks run, now or last, by this worker
    #[arg(long, value_name = "WORKER")]
    pub(crate) worker: Option<WorkerId>,
    /// Only tasks submitted at or after this time, e.g. 2026-01-01T00:00:00Z; a date is its midnight in UTC
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) submitted_after: Option<jiff::Timestamp>,
    /// Only tasks submitted before this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) submitted_before: Option<jiff::Timestamp>,
    /// Only tasks that finished at or after this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) finished_after: Option<jiff::Timestamp>,
    /// Only tasks that finished before this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    pub(crate) finished_before: Option<jiff::Timestamp>,
    /// Only tasks whose latest error contains this text; A to Z match in upper or lower case
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) error: Option<String>,
    /// Only tasks with this value in their parameters, e.g. customer=42; of several, all have to hold
    #[arg(long = "where", value_name = "PATH=VALUE")]
    pub(crate) conditions: Vec<String>,
}

impl FilterArgs {
    /// Whether it restricts anything.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for tasks to which this can be done.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it asks for others.
    pub(crate) fn for_act(mut self, act: TaskAct) -> Result<Self, Failure> {
        let has_end = self.finished_after.is_some() || self.finished_before.is_some();
        act.restrict(&mut self.status, has_end).map_err(Failure::Usage)?;
        Ok(self)
    }

    /// The API's query.
    #[must_use]
    pub(crate) fn query(&self) -> Vec<(&'static str, String)> {
        fn pair(name: &'static str, value: Option<impl Display>) -> Option<(&'static str, String)> {
            value.map(|value| (name, value.to_string()))
        }
        let statuses: Vec<&str> = self.status.iter().map(|status| status.as_str()).collect();
        let restricted = [
            pair("status", (!statuses.is_empty()).then(|| statuses.join(","))),
            pair("queue", self.queue.as_ref()),
            pair("name", self.name.as_ref()),
            pair("version", self.version),
            pair("worker", self.worker.as_ref()),
            pair("submitted_after", self.submitted_after),
            pair("submitted_before", self.submitted_before),
            pair("finished_after", self.finished_after),
            pair("finished_before", self.finished_before),
            pair("error", self.error.as_ref()),
        ];
        let conditions = self.conditions.iter().map(|condition| ("where", condition.clone()));
        let labels = self.labels.iter().map(|label| ("label", label.to_string()));
        restricted.into_iter().flatten().chain(labels).chain(conditions).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_does_not_restrict() {
        assert!(FilterArgs::default().is_empty() && FilterArgs::default().query().is_empty());
    }

    #[test]
    fn every_flag_reaches_the_query() {
        let filter = FilterArgs {
            status: vec![Status::Failed, Status::Stalled],
            queue: Some(QueueName::new("q").unwrap()),
            name: Some(TaskName::new("t").unwrap()),
            version: Some(2),
            labels: vec!["team=a=b".parse().unwrap()],
            worker: Some(WorkerId::new("w").unwrap()),
            submitted_after: Some(jiff::Timestamp::UNIX_EPOCH),
            submitted_before: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            finished_after: Some(jiff::Timestamp::UNIX_EPOCH),
            finished_before: Some("2026-01-03T00:00:00Z".parse().unwrap()),
            error: Some("no such host".to_owned()),
            conditions: vec!["customer=42".to_owned(), "vip=true".to_owned()],
        };
        let query: Vec<String> = filter.query().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            query,
            [
                "status=failed,stalled",
                "queue=q",
                "name=t",
                "version=2",
                "worker=w",
                "submitted_after=1970-01-01T00:00:00Z",
                "submitted_before=2026-01-02T03:04:05Z",
                "finished_after=1970-01-01T00:00:00Z",
                "finished_before=2026-01-03T00:00:00Z",
                "error=no such host",
                "label=team=a=b",
                "where=customer=42",
                "where=vip=true"
            ]
        );
    }
}
