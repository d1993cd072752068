//! What is answered about schedules.

use jobbers_common::{
    duration,
    engine::{ScheduleEntry, StoredSchedule, Submitted},
    gate::ConcurrencyKey,
    label::Labels,
    name::{NodeName, QueueName, ScheduleName, TaskId, TaskName, WorkflowId, WorkflowName},
    schedule::{CatchUp, LastRun, RunId, SlotRefusal, Slots, Target, Timing, WorkflowTemplate},
    template::TaskTemplate,
    time::Timestamp,
    workflow::{Run, Workflow},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{CatchUpRule, OverlapRule};
use crate::wire::{
    task_view::{PolicyView, SubmittedView},
    value::{AnyJsonDoc, DurationDoc, NameDoc, Rfc3339},
    workflow::{EdgeView, WorkflowView},
};

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
    /// The task that it submits; absent if it starts a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<ScheduledTaskView<'a>>,
    /// The workflow that it starts; absent if it submits a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<ScheduledWorkflowView<'a>>,
    /// What is done about a slot while the latest run is not over.
    overlap: OverlapRule,
    /// What is done about late slots.
    catch_up: CatchUpRule,
    /// At most how many of them are fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up_limit: Option<u32>,
    /// Each task or workflow starts up to this long after its slot.
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
    /// Slots whose task or workflow was started.
    fired: u64,
    /// Slots that no manager fired in time, or that were refused. A long outage counts as at most 1,000.
    missed: u64,
    /// Slots left out by `overlap`.
    skipped: u64,
    /// The latest slot that was refused, until one is fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<SlotRefusalView<'a>>,
}

/// The task that a schedule submits, as it was given.
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
    /// Its labels.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    labels: &'a Labels,
    /// What it changes of the task's policy.
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// The workflow that a schedule starts, as it was given.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleWorkflow)]
struct ScheduledWorkflowView<'a> {
    /// What its runs are runs of; absent if that is the schedule's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    name: Option<&'a WorkflowName>,
    /// Its nodes, each after those that it depends on.
    nodes: Vec<ScheduledNodeView<'a>>,
}

/// A node of that workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleNode)]
struct ScheduledNodeView<'a> {
    /// Its name within the workflow.
    #[schema(value_type = NameDoc)]
    id: &'a NodeName,
    /// What it runs.
    #[serde(flatten)]
    task: ScheduledTaskView<'a>,
    /// The nodes it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<EdgeView<'a>>,
}

/// What a schedule started: a task or a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleRun)]
struct RunView<'a> {
    /// The task's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    task: Option<&'a TaskId>,
    /// The workflow's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    workflow: Option<&'a WorkflowId>,
    /// When it was started.
    at: Rfc3339,
}

impl<'a> From<&'a LastRun> for RunView<'a> {
    fn from(run: &'a LastRun) -> Self {
        let (task, workflow) = match &run.id {
            RunId::Task(id) => (Some(id), None),
            RunId::Workflow(id) => (None, Some(id)),
        };
        Self { task, workflow, at: Rfc3339(run.at) }
    }
}

/// What was started on request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StartedRun)]
#[serde(untagged)]
pub enum StartedView<'a> {
    /// The task of a schedule.
    Task(SubmittedView<'a>),
    /// The run of its workflow.
    Workflow(Box<WorkflowView<'a>>),
}

impl<'a> StartedView<'a> {
    pub(crate) fn task(submitted: &'a Submitted) -> Self {
        Self::Task(SubmittedView::new(submitted, &[]))
    }

    pub(crate) fn workflow(run: &'a Run) -> Self {
        Self::Workflow(Box::new(WorkflowView::new(run, &[])))
    }
}

/// A slot that was refused.
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
            labels: &task.labels,
            policy: (&task.overrides).into(),
        }
    }
}

impl<'a> From<&'a WorkflowTemplate> for ScheduledWorkflowView<'a> {
    fn from(WorkflowTemplate { name, graph }: &'a WorkflowTemplate) -> Self {
        Self { name: name.as_ref(), nodes: nodes_of(graph) }
    }
}

fn nodes_of(graph: &Workflow) -> Vec<ScheduledNodeView<'_>> {
    let name_of = |place: u32| graph.nodes().get(place as usize).map(|node| &node.name);
    let nodes = graph.nodes().iter().map(|node| {
        let edges = node.depends_on.iter().filter_map(|edge| Some(EdgeView::new(name_of(edge.on)?, edge.policy)));
        ScheduledNodeView { id: &node.name, task: (&node.task).into(), depends_on: edges.collect() }
    });
    nodes.collect()
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
        let (task, workflow) = match &schedule.target {
            Target::Task(task) => (Some(task.into()), None),
            Target::Workflow(workflow) => (None, Some(workflow.into())),
        };
        Self {
            name: &schedule.name,
            cron,
            time_zone,
            every,
            task,
            workflow,
            overlap: schedule.overlap.into(),
            catch_up,
            catch_up_limit,
            jitter: duration::format(schedule.jitter),
            paused: schedule.paused,
            created_at: Rfc3339(state.created_at),
            next_slot: next_slots(&stored.entry, state.after, 1).pop().map(Rfc3339),
            last_slot: state.last_slot.map(Rfc3339),
            last_run: state.last_run.as_ref().map(RunView::from),
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

/// The next slots of a schedule.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NextSlots)]
pub struct NextSlotsView {
    /// From now on; none while it is paused.
    pub(crate) slots: Vec<Rfc3339>,
}
