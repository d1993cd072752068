//! What a request says about schedules. What is answered is in [`view`].

use std::{fmt, time::Duration};

use jobbers_common::{
    name::ScheduleName,
    schedule::{CatchUp, Overlap, Schedule, ScheduleError, Slots, Target, Timing},
    submission::template::TaskTemplate,
    time::Timestamp,
    values::duration,
};
use serde::{Deserialize, Serialize};

use super::{
    task::request::TaskRequest,
    value::{DurationDoc, NameDoc},
    workflow::WorkflowRequest,
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result, invalid},
};

pub mod view;

/// Most slots in one answer.
pub const MAX_SLOTS_SHOWN: usize = 1_000;
/// The fields of a [`view::ScheduleView`] that are settings, by which a schedule can be made again; the others say what it did.
pub const SETTINGS: [&str; 11] = [
    "name",
    "cron",
    "time_zone",
    "every",
    "task",
    "workflow",
    "overlap",
    "catch_up",
    "catch_up_limit",
    "jitter",
    "paused",
];

/// A schedule's settings. Absent fields have their defaults, also when a schedule is replaced.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleSettings)]
pub struct ScheduleRequest<'a> {
    /// Its name, at most 80 characters, or 34 if it starts a workflow. Optional with PUT; the path contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<ScheduleName>,
    /// When it fires, as a cron expression: five fields, six with seconds in front, or a name such as `@daily`; up to five
    /// of them, separated by `|`. This or `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0 2 * * *")]
    pub cron: Option<String>,
    /// The time zone of `cron`: a name of the IANA database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = "UTC", example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// How often it fires: whole seconds, 1 s to 366 d. It fires at the multiples of this since 1970-01-01T00:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub every: Option<Duration>,
    /// The task that it submits: as for `POST /tasks`, with JSON parameters, and without `id`, `delay`, `run_at`,
    /// `on_conflict` and unique keys. This or `workflow`.
    #[serde(borrow, default)]
    pub task: Option<TaskRequest<'a>>,
    /// The workflow that it starts: as for `POST /workflows`, without `id`. The default of its `name` is the schedule's.
    #[serde(borrow, default)]
    pub workflow: Option<WorkflowRequest<'a>>,
    /// What is done about a slot while the latest run is not over.
    #[serde(default)]
    pub overlap: OverlapRule,
    /// What is done about slots that no manager fired within 10 seconds.
    #[serde(default)]
    pub catch_up: CatchUpRule,
    /// With `catch_up: all`, at most how many late slots are fired, the latest ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    pub catch_up_limit: Option<u32>,
    /// Each task or workflow starts up to this long after its slot, at most a day.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>, default = "0s")]
    pub jitter: Option<Duration>,
    /// A paused schedule does not fire; what would have been its slots are not missed.
    #[serde(default)]
    pub paused: bool,
}

/// What is done about a slot while the latest run, a task or a workflow, is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Overlap)]
pub enum OverlapRule {
    /// It is fired all the same.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// One slot waits for the end of that run, later ones are skipped.
    BufferOne,
    /// It is fired, and that run is cancelled.
    CancelPrevious,
}

impl fmt::Display for OverlapRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<OverlapRule> for Overlap {
    fn from(rule: OverlapRule) -> Self {
        match rule {
            OverlapRule::Allow => Self::Allow,
            OverlapRule::Skip => Self::Skip,
            OverlapRule::BufferOne => Self::BufferOne,
            OverlapRule::CancelPrevious => Self::CancelPrevious,
        }
    }
}

impl From<Overlap> for OverlapRule {
    fn from(overlap: Overlap) -> Self {
        match overlap {
            Overlap::Allow => Self::Allow,
            Overlap::Skip => Self::Skip,
            Overlap::BufferOne => Self::BufferOne,
            Overlap::CancelPrevious => Self::CancelPrevious,
        }
    }
}

/// What is done about slots that no manager fired within 10 seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CatchUp)]
pub enum CatchUpRule {
    /// They are missed.
    None,
    /// The latest of them is fired, unless a later slot is on time.
    #[default]
    Latest,
    /// The latest `catch_up_limit` of them are fired, the oldest first.
    All,
}

impl fmt::Display for CatchUpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Late slots that are fired with `catch_up: all` where the request names no limit.
const DEFAULT_CATCH_UP: u32 = 100;

/// The problem of an invalid setting.
pub fn problem_of(error: &ScheduleError) -> Problem {
    invalid(error.field, &error.rule)
}

impl ScheduleRequest<'_> {
    /// The schedule they describe, which starts `target`. `path` is the name in the path, if there is one.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] with the invalid field.
    pub fn schedule(mut self, path: Option<ScheduleName>, target: Target) -> Result<Schedule> {
        let name = super::one_name(path, self.name.take())?;
        let timing = self.timing()?;
        let catch_up = match (self.catch_up, self.catch_up_limit) {
            (CatchUpRule::All, limit) => CatchUp::All(limit.unwrap_or(DEFAULT_CATCH_UP)),
            (_, Some(_)) => return Err(invalid("catch_up_limit", "needs catch_up: all")),
            (CatchUpRule::None, None) => CatchUp::None,
            (CatchUpRule::Latest, None) => CatchUp::Latest,
        };
        let (overlap, jitter, paused) = (self.overlap.into(), self.jitter.unwrap_or_default(), self.paused);
        let schedule = Schedule { name, timing, target, overlap, catch_up, jitter, paused };
        schedule.validate().map_err(|error| problem_of(&error))?;
        Ok(schedule)
    }

    fn timing(&mut self) -> Result<Timing> {
        timing_of(self.cron.take(), self.time_zone.take(), self.every).map_err(|error| problem_of(&error))
    }
}

/// The timing of a request.
fn timing_of(
    cron: Option<String>,
    time_zone: Option<String>,
    every: Option<Duration>,
) -> std::result::Result<Timing, ScheduleError> {
    match (cron, every, time_zone) {
        (Some(_), Some(_), _) => Err(ScheduleError::new("every", "can't be given beside cron: give one of them")),
        (None, None, _) => Err(ScheduleError::new("cron", "or every says when the schedule fires: give one of them")),
        (None, Some(_), Some(_)) => Err(ScheduleError::new("time_zone", "needs cron: an interval has none")),
        (None, Some(every), None) => Ok(Timing::Every(every)),
        (Some(expression), None, time_zone) => {
            Ok(Timing::Cron { expression, time_zone: time_zone.unwrap_or_else(|| "UTC".to_owned()) })
        }
    }
}

/// The template of a schedule's tasks.
///
/// # Errors
/// [`Code::InvalidRequest`] with the invalid field of the task.
pub fn template(task: TaskRequest<'_>) -> Result<TaskTemplate> {
    let refused = [
        ("id", task.id.is_some(), "is made of the schedule's name and the slot"),
        ("delay", task.delay.is_some(), "is not for schedules: see jitter"),
        ("run_at", task.run_at.is_some(), "is not for schedules: see cron and every"),
        ("on_conflict", task.on_conflict.is_some(), "is not for schedules"),
        ("parameters_content_type", task.parameters_content_type.is_some(), "is not for schedules: send JSON"),
        ("depends_on", !task.depends_on.is_empty(), "is not for schedules: a run waits for no other task"),
        ("to_signal", !task.to_signal.is_empty(), "is not for schedules: no task waits for a run"),
        (
            "total_dependencies",
            task.total_dependencies.is_some(),
            "is not for schedules: a run waits for no other task",
        ),
        ("signals", !task.signals.is_empty(), "is not for schedules: a run waits for no signal"),
        ("spontaneous", task.spontaneous, "is not for schedules: a run waits for nothing"),
        ("unique_key", task.unique_key.is_some(), "is not for schedules: see overlap"),
    ];
    task.template(&refused)
}

/// Which page of the schedules.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleListParams {
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    pub cursor: Option<ScheduleName>,
}

const fn default_page() -> usize {
    100
}

/// How many slots.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NextParams {
    /// At most this many.
    #[serde(default = "default_slots")]
    #[param(minimum = 1, maximum = 1000, default = 10)]
    count: usize,
}

const fn default_slots() -> usize {
    10
}

impl NextParams {
    /// How many.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for 0 or over 1,000.
    pub fn count(&self) -> Result<usize> {
        checked_count(self.count)
    }
}

/// A timing whose slots are wanted, without a schedule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PreviewParams {
    /// A cron expression, as a schedule has it. This or `every`.
    #[param(value_type = Option<String>)]
    cron: Option<String>,
    /// The time zone of `cron`: a name of the IANA database.
    #[param(value_type = Option<String>, default = "UTC")]
    time_zone: Option<String>,
    /// An interval, as a schedule has it.
    #[serde(default, with = "duration::text::option")]
    #[param(value_type = Option<DurationDoc>)]
    every: Option<Duration>,
    /// At most this many.
    #[serde(default = "default_slots")]
    #[param(minimum = 1, maximum = 1000, default = 10)]
    count: usize,
}

impl PreviewParams {
    /// The slots after a point in time.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] with the first parameter that makes no sense.
    pub fn slots(self, after: Timestamp) -> Result<Vec<Timestamp>> {
        let count = checked_count(self.count)?;
        let slots = timing_of(self.cron, self.time_zone, self.every).and_then(|timing| Slots::of(&timing));
        let slots = slots.map_err(|error| Problem::new(Code::InvalidParameter, format!("the query: {error}")))?;
        Ok(slots.preview(after, count).collect())
    }
}

fn checked_count(count: usize) -> Result<usize> {
    if (1..=MAX_SLOTS_SHOWN).contains(&count) {
        return Ok(count);
    }
    let detail = format!("the query: count: is 1 to {MAX_SLOTS_SHOWN}, not {count}");
    Err(Problem::new(Code::InvalidParameter, detail))
}
