//! Giving scheduled tasks another time: requests and answers as JSON.

use std::time::Duration;

use jobbers_common::{
    engine::Rescheduled, lifecycle::Status, name::TaskId, task::Start, time::Timestamp, values::duration,
};
use serde::{Deserialize, Serialize};

use super::{
    list::FilterRequest,
    request::start,
    selection::{TaskAct, TaskSelection},
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{Asked, DurationDoc, Rfc3339, StatusDoc, TaskIdDoc},
    wire::json,
};

/// When the task may start; in the query or in the body. Without either: at once.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = RescheduleTask)]
pub struct RescheduleParams {
    /// This long from now.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[param(value_type = Option<DurationDoc>)]
    #[schema(value_type = Option<DurationDoc>)]
    pub delay: Option<Duration>,
    /// At this point in time; one that has passed means at once. Not beside `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Rfc3339>,
}

impl RescheduleParams {
    /// When the query or the body says.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] when both say something, for both `delay` and `run_at`, and for more than 366 days ahead.
    pub fn start(self, body: Self, now: impl FnOnce() -> Timestamp) -> Result<Start> {
        let said = match (self == Self::default(), body == Self::default()) {
            (true, _) => body,
            (_, true) => self,
            _ => return Err(Problem::new(Code::InvalidRequest, "say when in the query or in the body, not in both")),
        };
        start(said.delay, said.run_at, now)
    }
}

/// Which tasks get another time, `ids` or `filter`, and which; without `delay` and `run_at`, they may start at once.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RescheduleRequest {
    /// These, at most 1,000. One that can't be an id is answered as unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TaskIdDoc>>, max_items = 1000)]
    pub ids: Option<Vec<Asked<TaskId>>>,
    /// Those that match and are scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub filter: Option<FilterRequest>,
    /// With a filter, at most this many in this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: Option<usize>,
    /// With a filter, the `next_cursor` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// This long from now; with `ids`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub delay: Option<Duration>,
    /// At this point in time; one that has passed means at once. Not beside `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Rfc3339>,
}

impl RescheduleRequest {
    /// The tasks that are meant.
    ///
    /// # Errors
    /// Those of [`FilterRequest::for_act`]; [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
    pub fn selection(self) -> Result<TaskSelection> {
        let filter = self.filter.as_ref().map(|filter| filter.for_act(TaskAct::Reschedule)).transpose()?;
        TaskSelection::of(self.ids, filter, self.limit, self.cursor)
    }

    /// When they may start.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for both `delay` and `run_at`, for `delay` with a filter, and for more than 366 days ahead.
    pub fn start(&self, now: impl FnOnce() -> Timestamp) -> Result<Start> {
        if self.delay.is_some() && self.filter.is_some() {
            // Calls that go on by a cursor would meet the same tasks for ever.
            let detail = "goes with ids; with a filter say run_at, which is the same time in each call";
            return Err(Problem::new(Code::InvalidRequest, format!("delay {detail}")).at("/delay"));
        }
        start(self.delay, self.run_at, now)
    }
}

/// The outcome for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RescheduleOutcome {
    /// It may start at that time; `status` says whether that has come.
    Rescheduled,
    /// It waits for no time: `status` says what it does.
    NotScheduled,
    /// The task does not exist.
    Unknown,
}

/// The result for one task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RescheduledTask)]
pub struct RescheduledView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// The outcome.
    pub outcome: RescheduleOutcome,
    /// Its status now, if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
}

impl RescheduledView {
    /// The outcome for this task.
    pub fn new(id: Asked<TaskId>, answer: Rescheduled) -> Self {
        let (outcome, status) = match answer {
            Rescheduled::Done(status) => (RescheduleOutcome::Rescheduled, Some(status)),
            Rescheduled::NotScheduled(status) => (RescheduleOutcome::NotScheduled, Some(status)),
            Rescheduled::Unknown => (RescheduleOutcome::Unknown, None),
        };
        Self { id, outcome, status }
    }
}

/// The total result.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RescheduleAnswer)]
pub struct RescheduleReport {
    /// How many may start at that time.
    pub rescheduled: u64,
    /// How many waited for no time.
    pub not_scheduled: u64,
    /// How many do not exist.
    pub unknown: u64,
    /// Where the next call goes on, if more tasks may match the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// One by one, in the order given.
    pub tasks: Vec<RescheduledView>,
}

impl RescheduleReport {
    /// The outcome for those of these tasks whose ids are legal; `next_cursor` as in
    /// [`RescheduleReport::next_cursor`].
    pub fn new(ids: &[Asked<TaskId>], answers: &[Rescheduled], next_cursor: Option<String>) -> Self {
        let answered = Asked::with_answers(ids, answers, &Rescheduled::Unknown);
        let tasks: Vec<_> = answered.map(|(id, answer)| RescheduledView::new(id, answer)).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count() as u64;
        Self {
            rescheduled: count(RescheduleOutcome::Rescheduled),
            not_scheduled: count(RescheduleOutcome::NotScheduled),
            unknown: count(RescheduleOutcome::Unknown),
            next_cursor,
            tasks,
        }
    }
}
