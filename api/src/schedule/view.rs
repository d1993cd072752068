//! What is answered about schedules.

use jobbers_common::{
    engine::{StoredSchedule, Submitted},
    name::{NodeName, QueueName, ScheduleName, TaskId, TaskName, WorkflowId, WorkflowName},
    queue::gate::ConcurrencyKey,
    schedule::{CatchUp, LastRun, RunId, SlotRefusal, Slots, Target, Timing, WorkflowTemplate, entry::ScheduleEntry},
    submission::template::TaskTemplate,
    task::label::Labels,
    time::Timestamp,
    values::duration,
    workflow::{Run, Workflow},
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::{CatchUpRule, OverlapRule};
use crate::{
    openapi::ToSchema,
    task::{
        sensitive::shown_of,
        view::{PolicyView, SubmittedView},
    },
    value::{AnyJsonDoc, DurationDoc, NameDoc, Rfc3339, TaskIdDoc},
    workflow::{EdgeView, WorkflowView},
};

/// A schedule: its settings, and the outcomes of its slots.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Schedule)]
pub struct ScheduleView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: ScheduleName,
    /// Its cron expression; absent for an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// The time zone of that expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Its interval; absent for a cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub every: Option<String>,
    /// The task that it submits; absent if it starts a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<ScheduledTaskView>,
    /// The workflow that it starts; absent if it submits a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<ScheduledWorkflowView>,
    /// What is done about a slot while the latest run is not over.
    pub overlap: OverlapRule,
    /// What is done about late slots.
    pub catch_up: CatchUpRule,
    /// At most how many of them are fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up_limit: Option<u32>,
    /// Each task or workflow starts up to this long after its slot.
    #[schema(value_type = DurationDoc)]
    pub jitter: String,
    /// Whether it is paused.
    pub paused: bool,
    /// When it was created.
    pub created_at: Rfc3339,
    /// Its next slot that is not decided yet; absent while it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_slot: Option<Rfc3339>,
    /// The latest slot that was fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_slot: Option<Rfc3339>,
    /// The latest run, one asked for by hand too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunView>,
    /// The runs before that one, the latest first: at most nine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub earlier_runs: Vec<RunView>,
    /// The slot that waits for the end of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffered_slot: Option<Rfc3339>,
    /// Slots whose task or workflow was started.
    pub fired: u64,
    /// Slots that no manager fired in time, or that were refused.
    pub missed: u64,
    /// Slots left out by `overlap`.
    pub skipped: u64,
    /// The latest slot that was refused, until one is fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<SlotRefusalView>,
}

/// The task that a schedule submits, as it was given.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleTask)]
pub struct ScheduledTaskView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// The queue it goes to; absent where the routing rules decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// The queue it goes to if they have none for it; absent for `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub default_queue: Option<QueueName>,
    /// 0 to 9; higher is claimed first.
    pub priority: u8,
    /// Its parameters. Left out if it is sensitive: then no operation shows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<Box<RawValue>>,
    /// Present and true for a sensitive task. To change the schedule, say its parameters again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
    /// Its concurrency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    pub labels: Labels,
    /// What it changes of the task's policy.
    #[serde(flatten)]
    pub policy: PolicyView,
}

/// The workflow that a schedule starts, as it was given.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleWorkflow)]
pub struct ScheduledWorkflowView {
    /// What its runs are runs of; absent if that is the schedule's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<WorkflowName>,
    /// Its nodes, each after those that it depends on.
    pub nodes: Vec<ScheduledNodeView>,
}

/// A node of that workflow.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ScheduleNode)]
pub struct ScheduledNodeView {
    /// Its name within the workflow.
    #[schema(value_type = NameDoc)]
    pub id: NodeName,
    /// What it runs.
    #[serde(flatten)]
    pub task: ScheduledTaskView,
    /// The nodes it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<EdgeView>,
}

impl<'de> Deserialize<'de> for ScheduledNodeView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct NodeEdges {
            id: NodeName,
            #[serde(default)]
            depends_on: Vec<EdgeView>,
        }
        // In two passes: raw JSON can't be read through a flattened field.
        let node = Box::<RawValue>::deserialize(deserializer)?;
        let NodeEdges { id, depends_on } = serde_json::from_str(node.get()).map_err(de::Error::custom)?;
        let task = serde_json::from_str(node.get()).map_err(de::Error::custom)?;
        Ok(Self { id, task, depends_on })
    }
}

/// What a schedule started: a task or a workflow.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleRun)]
pub struct RunView {
    /// The task's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TaskIdDoc>)]
    pub task: Option<TaskId>,
    /// The workflow's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub workflow: Option<WorkflowId>,
    /// When it was started.
    pub at: Rfc3339,
}

impl From<&LastRun> for RunView {
    fn from(run: &LastRun) -> Self {
        let (task, workflow) = match &run.id {
            RunId::Task(id) => (Some(id.clone()), None),
            RunId::Workflow(id) => (None, Some(id.clone())),
        };
        Self { task, workflow, at: Rfc3339(run.at) }
    }
}

/// What was started on request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = StartedRun)]
#[serde(untagged)]
pub enum StartedView {
    /// The task of a schedule.
    Task(SubmittedView),
    /// The run of its workflow.
    Workflow(Box<WorkflowView>),
}

impl StartedView {
    /// The task of a schedule.
    pub fn task(submitted: &Submitted) -> Self {
        Self::Task(SubmittedView::new(submitted, Vec::new()))
    }

    /// The run of its workflow.
    pub fn workflow(run: &Run) -> Self {
        Self::Workflow(Box::new(WorkflowView::new(run, Vec::new())))
    }
}

/// A slot that was refused.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SlotRefusal)]
pub struct SlotRefusalView {
    /// When that was.
    pub at: Rfc3339,
    /// Which slot.
    pub slot: Rfc3339,
    /// Why.
    pub reason: String,
}

impl From<&TaskTemplate> for ScheduledTaskView {
    fn from(task: &TaskTemplate) -> Self {
        Self {
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            default_queue: task.default_queue.clone(),
            priority: task.priority.get(),
            parameters: shown_of(task),
            sensitive: task.metadata.is_sensitive(),
            concurrency_key: task.concurrency_key.clone(),
            labels: task.metadata.labels.clone(),
            policy: (&task.overrides).into(),
        }
    }
}

impl ScheduleView {
    /// Whether it has a sensitive task, whose parameters are left out.
    #[must_use]
    pub fn hides_parameters(&self) -> bool {
        let of_workflow = self.workflow.iter().flat_map(|workflow| &workflow.nodes).map(|node| &node.task);
        self.task.iter().chain(of_workflow).any(|task| task.sensitive)
    }

    /// Hides what tasks are given whose authors call them sensitive.
    pub fn hide_where(&mut self, is_sensitive: impl Fn(&TaskName, u32) -> bool) {
        let of_workflow = self.workflow.iter_mut().flat_map(|workflow| &mut workflow.nodes).map(|node| &mut node.task);
        for task in self.task.iter_mut().chain(of_workflow).filter(|task| is_sensitive(&task.name, task.version)) {
            (task.parameters, task.sensitive) = (None, true);
        }
    }
}

impl From<&WorkflowTemplate> for ScheduledWorkflowView {
    fn from(WorkflowTemplate { name, graph }: &WorkflowTemplate) -> Self {
        Self { name: name.clone(), nodes: nodes_of(graph) }
    }
}

fn nodes_of(graph: &Workflow) -> Vec<ScheduledNodeView> {
    let name_of = |place: u32| graph.nodes().get(place as usize).map(|node| &node.name);
    let nodes = graph.nodes().iter().map(|node| {
        let edges =
            node.depends_on.iter().filter_map(|edge| Some(EdgeView::new(name_of(edge.on)?.clone(), edge.policy)));
        ScheduledNodeView { id: node.name.clone(), task: (&node.task).into(), depends_on: edges.collect() }
    });
    nodes.collect()
}

impl From<&SlotRefusal> for SlotRefusalView {
    fn from(SlotRefusal { at, slot, reason }: &SlotRefusal) -> Self {
        Self { at: Rfc3339(*at), slot: Rfc3339(*slot), reason: reason.clone() }
    }
}

impl From<&StoredSchedule> for ScheduleView {
    fn from(stored: &StoredSchedule) -> Self {
        let ScheduleEntry { schedule, state, .. } = &stored.entry;
        let (cron, time_zone, every) = match &schedule.timing {
            Timing::Cron { expression, time_zone } => (Some(expression.clone()), Some(time_zone.clone()), None),
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
            name: schedule.name.clone(),
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
            earlier_runs: state.earlier_runs.iter().map(RunView::from).collect(),
            buffered_slot: state.buffered.map(Rfc3339),
            fired: state.fired,
            missed: state.missed,
            skipped: state.skipped,
            refusal: state.refusal.as_ref().map(SlotRefusalView::from),
        }
    }
}

/// The next slots after a point in time; none while it is paused.
fn next_slots(entry: &ScheduleEntry, after: Timestamp, count: usize) -> Vec<Timestamp> {
    match Slots::of(&entry.schedule.timing) {
        Ok(slots) if !entry.schedule.paused => slots.preview(after, count).collect(),
        _ => Vec::new(),
    }
}

/// A page of the schedules.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Schedules)]
pub struct ScheduleListView {
    /// In the order of their names.
    pub schedules: Vec<ScheduleView>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The next slots of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = NextSlots)]
pub struct NextSlotsView {
    /// From now on; none while it is paused.
    pub slots: Vec<Rfc3339>,
    /// Whether it is paused.
    pub paused: bool,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl NextSlotsView {
    /// The next slots of a schedule after a point in time, at most `count`.
    pub fn of(entry: &ScheduleEntry, after: Timestamp, count: usize) -> Self {
        let paused = entry.schedule.paused;
        let slots = next_slots(entry, after, count).into_iter().map(Rfc3339).collect();
        let note = paused.then(|| "the schedule is paused: it has no slots until it is resumed".to_owned());
        Self { slots, paused, note }
    }
}

/// The slots that a schedule would have.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = PreviewedSlots)]
pub struct PreviewView {
    /// From now on.
    pub slots: Vec<Rfc3339>,
}
