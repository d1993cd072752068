//! Schedules, in and out.

use std::time::Duration;

use jobbers_common::{
    duration,
    engine::{ScheduleEntry, StoredSchedule},
    gate::ConcurrencyKey,
    limits::MAX_CATCH_UP,
    name::{QueueName, ScheduleName, TaskId, TaskName},
    schedule::{CatchUp, Overlap, Schedule, ScheduleError, SlotRefusal, Slots, Timing},
    template::TaskTemplate,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::{
    task_request::{TaskRequest, invalid},
    task_view::PolicyView,
    value::{AnyJsonDoc, DurationDoc, NameDoc, Rfc3339},
};
use crate::problem::{Code, Problem, Result};

/// A schedule's settings. Absent fields have their defaults, also when a schedule is replaced.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleSettings)]
pub struct ScheduleRequest<'a> {
    /// Its name, at most 80 characters. Optional with PUT; the path contains it.
    #[serde(default)]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<ScheduleName>,
    /// When it fires, as a cron expression: five fields, or six with seconds in front. This or `every`.
    #[serde(default)]
    #[schema(example = "0 2 * * *")]
    pub cron: Option<String>,
    /// The time zone of `cron`: a name of the IANA database.
    #[serde(default)]
    #[schema(default = "UTC", example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// How often it fires: whole seconds, 1 s to 366 d. It fires at the multiples of this since 1970-01-01T00:00:00Z.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub every: Option<Duration>,
    /// What it submits: as for `POST /tasks`, with JSON parameters, and without `id`, `delay`, `run_at`,
    /// `on_conflict` and unique keys.
    #[serde(borrow)]
    pub task: TaskRequest<'a>,
    /// What is done about a slot while the task of the latest run is not over.
    #[serde(default)]
    pub overlap: OverlapRule,
    /// What is done about slots that no manager fired within 10 seconds.
    #[serde(default)]
    pub catch_up: CatchUpRule,
    /// With `catch_up: all`, at most how many late slots are fired, the latest ones.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    pub catch_up_limit: Option<u32>,
    /// Each task starts up to this long after its slot, at most a day.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>, default = "0s")]
    pub jitter: Option<Duration>,
    /// A paused schedule does not fire; what would have been its slots are not missed.
    #[serde(default)]
    pub paused: bool,
}

/// What is done about a slot while the task of the latest run is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Overlap)]
pub enum OverlapRule {
    /// It is fired all the same.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// One slot waits for the end of that task, later ones are skipped.
    BufferOne,
    /// It is fired, and that task is cancelled.
    CancelPrevious,
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

/// Late slots that are fired with `catch_up: all` where the request names no limit.
const DEFAULT_CATCH_UP: u32 = 100;

/// The problem of an invalid setting.
pub(crate) fn problem_of(error: &ScheduleError) -> Problem {
    invalid(error.field, &error.rule)
}

impl ScheduleRequest<'_> {
    /// The schedule they describe. `path` is the name in the path, if there is one.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] with the invalid field.
    pub(crate) fn schedule(mut self, path: Option<ScheduleName>) -> Result<Schedule> {
        let name = super::one_name(path, self.name.take())?;
        let timing = self.timing()?;
        let catch_up = match (self.catch_up, self.catch_up_limit) {
            (CatchUpRule::All, limit) => CatchUp::All(limit.unwrap_or(DEFAULT_CATCH_UP)),
            (_, Some(_)) => return Err(invalid("catch_up_limit", "needs catch_up: all")),
            (CatchUpRule::None, None) => CatchUp::None,
            (CatchUpRule::Latest, None) => CatchUp::Latest,
        };
        let (overlap, jitter, paused) = (self.overlap.into(), self.jitter.unwrap_or_default(), self.paused);
        let task = template(self.task).map_err(|problem| {
            let pointer = format!("/task{}", problem.pointer().unwrap_or_default());
            problem.at(pointer)
        })?;
        let schedule = Schedule { name, timing, task, overlap, catch_up, jitter, paused };
        schedule.validate().map_err(|error| problem_of(&error))?;
        Ok(schedule)
    }

    fn timing(&mut self) -> Result<Timing> {
        match (self.cron.take(), self.every, self.time_zone.take()) {
            (Some(_), Some(_), _) => Err(invalid("every", "can't stand beside cron: say one of them")),
            (None, None, _) => Err(invalid("cron", "or every says when the schedule fires: say one of them")),
            (None, Some(_), Some(_)) => Err(invalid("time_zone", "needs cron: an interval has none")),
            (None, Some(every), None) => Ok(Timing::Every(every)),
            (Some(expression), None, time_zone) => {
                Ok(Timing::Cron { expression, time_zone: time_zone.unwrap_or_else(|| "UTC".to_owned()) })
            }
        }
    }
}

/// The template of a schedule's tasks.
fn template(task: TaskRequest<'_>) -> Result<TaskTemplate> {
    let refused = [
        ("id", task.id.is_some(), "is made of the schedule's name and the slot"),
        ("delay", task.delay.is_some(), "is not for schedules: see jitter"),
        ("run_at", task.run_at.is_some(), "is not for schedules: see cron and every"),
        ("on_conflict", task.on_conflict.is_some(), "is not for schedules"),
        ("parameters_content_type", task.parameters_content_type.is_some(), "is not for schedules: send JSON"),
        ("depends_on", !task.depends_on.is_empty(), "is not for schedules: a run waits for no other task"),
        ("unique_key", task.unique_key.is_some(), "is not for schedules: see overlap"),
    ];
    task.template(&refused)
}

/// A schedule: its settings, and the outcomes of its slots.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub struct ScheduleView<'a> {
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a ScheduleName,
    /// Its cron expression; absent for an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<&'a str>,
    /// The time zone of that expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<&'a str>,
    /// Its interval; absent for a cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    every: Option<String>,
    /// What it submits.
    task: ScheduledTaskView<'a>,
    /// What is done about a slot while the task of the latest run is not over.
    overlap: OverlapRule,
    /// What is done about late slots.
    catch_up: CatchUpRule,
    /// At most how many of them are fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up_limit: Option<u32>,
    /// Each task starts up to this long after its slot.
    #[schema(value_type = DurationDoc)]
    jitter: String,
    /// Whether it is paused.
    paused: bool,
    /// When it was created.
    created_at: Rfc3339,
    /// Its next slot that is not decided yet; absent while it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_slot: Option<Rfc3339>,
    /// The latest slot that was fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_slot: Option<Rfc3339>,
    /// The latest run, one asked for by hand too.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<RunView<'a>>,
    /// The slot that waits for the end of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered_slot: Option<Rfc3339>,
    /// Slots whose task was submitted.
    fired: u64,
    /// Slots that no manager fired in time, or whose task was refused. A long outage counts as at most 1,000.
    missed: u64,
    /// Slots left out by `overlap`.
    skipped: u64,
    /// The latest slot that was refused, until one is fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<SlotRefusalView<'a>>,
}

/// What a schedule submits, as it was given.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleTask)]
struct ScheduledTaskView<'a> {
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// The queue it goes to; absent where the routing rules decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    queue: Option<&'a QueueName>,
    /// 0 to 9; higher is claimed first.
    priority: u8,
    /// Its parameters.
    #[schema(value_type = AnyJsonDoc)]
    parameters: Option<&'a RawValue>,
    /// Its concurrency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    concurrency_key: Option<&'a ConcurrencyKey>,
    /// What it changes of the task's policy.
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// A task that a schedule submitted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleRun)]
struct RunView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    task: &'a TaskId,
    /// When it was submitted.
    at: Rfc3339,
}

/// A slot whose task was refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SlotRefusal)]
struct SlotRefusalView<'a> {
    /// When that was.
    at: Rfc3339,
    /// Which slot.
    slot: Rfc3339,
    /// Why.
    reason: &'a str,
}

impl<'a> From<&'a TaskTemplate> for ScheduledTaskView<'a> {
    fn from(task: &'a TaskTemplate) -> Self {
        Self {
            name: &task.name,
            version: task.version,
            queue: task.queue.as_ref(),
            priority: task.priority.get(),
            parameters: serde_json::from_str(task.parameters.as_str()).ok(),
            concurrency_key: task.concurrency_key.as_ref(),
            policy: (&task.overrides).into(),
        }
    }
}

impl<'a> From<&'a SlotRefusal> for SlotRefusalView<'a> {
    fn from(SlotRefusal { at, slot, reason }: &'a SlotRefusal) -> Self {
        Self { at: Rfc3339(*at), slot: Rfc3339(*slot), reason }
    }
}

impl<'a> From<&'a StoredSchedule> for ScheduleView<'a> {
    fn from(stored: &'a StoredSchedule) -> Self {
        let ScheduleEntry { schedule, state, .. } = &stored.entry;
        let (cron, time_zone, every) = match &schedule.timing {
            Timing::Cron { expression, time_zone } => (Some(expression.as_str()), Some(time_zone.as_str()), None),
            Timing::Every(every) => (None, None, Some(duration::format(*every))),
        };
        let (catch_up, catch_up_limit) = match schedule.catch_up {
            CatchUp::None => (CatchUpRule::None, None),
            CatchUp::Latest => (CatchUpRule::Latest, None),
            CatchUp::All(limit) => (CatchUpRule::All, Some(limit)),
        };
        Self {
            name: &schedule.name,
            cron,
            time_zone,
            every,
            task: (&schedule.task).into(),
            overlap: schedule.overlap.into(),
            catch_up,
            catch_up_limit,
            jitter: duration::format(schedule.jitter),
            paused: schedule.paused,
            created_at: Rfc3339(state.created_at),
            next_slot: next_slots(&stored.entry, state.after, 1).pop().map(Rfc3339),
            last_slot: state.last_slot.map(Rfc3339),
            last_run: state.last_run.as_ref().map(|run| RunView { task: &run.task, at: Rfc3339(run.at) }),
            buffered_slot: state.buffered.map(Rfc3339),
            fired: state.fired,
            missed: state.missed,
            skipped: state.skipped,
            refusal: state.refusal.as_ref().map(SlotRefusalView::from),
        }
    }
}

/// The next slots after a point in time; none while it is paused.
pub(crate) fn next_slots(entry: &ScheduleEntry, after: Timestamp, count: usize) -> Vec<Timestamp> {
    match Slots::of(&entry.schedule.timing) {
        Ok(slots) if !entry.schedule.paused => slots.preview(after, count).collect(),
        _ => Vec::new(),
    }
}

/// A page of the schedules.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedules)]
pub struct ScheduleListView<'a> {
    /// In the order of their names.
    pub(crate) schedules: Vec<ScheduleView<'a>>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<&'a str>,
}

/// Which page of the schedules.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleListParams {
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: usize,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    pub(crate) cursor: Option<ScheduleName>,
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
    pub(crate) fn count(&self) -> Result<usize> {
        if (1..=MAX_CATCH_UP as usize).contains(&self.count) {
            return Ok(self.count);
        }
        let detail = format!("the query: count: is 1 to {MAX_CATCH_UP}, not {}", self.count);
        Err(Problem::new(Code::InvalidParameter, detail))
    }
}

/// The next slots of a schedule.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NextSlots)]
pub struct NextSlotsView {
    /// From now on; none while it is paused.
    pub(crate) slots: Vec<Rfc3339>,
}
