//! Gauges of workflows and schedules: runs and nodes by state, and by how much the managers are late with them.
//!
//! Nodes are counted from the records of runs, which say how each node ended, and not from the tasks.

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::{
    engine::{DueRuns, DueSchedules, Engine, Result, RunCounts, RunQuery},
    lifecycle::Status,
    metrics::catalogue::{SCHEDULES_OVERDUE, WORKFLOW_NODES, WORKFLOWS, WORKFLOWS_OLDEST_AGE, WORKFLOWS_OVERDUE},
    time::Timestamp,
    workflow::{Run, RunState},
};
use opentelemetry::{KeyValue, metrics::Meter};

use super::latest::LatestLook;

/// Runs of a state that are read, the oldest by their creation.
const MOST_RUNS: usize = 100;
/// The states of runs that are not over.
const LIVE: [RunState; 2] = [RunState::Submitting, RunState::Running];

/// One reading of the runs and the schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WorkflowReading {
    runs: RunCounts,
    /// How long ago the oldest attempt began, in the order of [`LIVE`].
    oldest: [Duration; LIVE.len()],
    nodes: BTreeMap<&'static str, u64>,
    runs_overdue: Duration,
    schedules_overdue: Duration,
}

impl WorkflowReading {
    /// Reads the runs that are not over, and what is due.
    pub(super) async fn read(engine: &dyn Engine) -> Result<Self> {
        let DueSchedules { now, due, .. } = engine.due_schedules(1).await?;
        let schedule_at = due.first().and_then(|stored| stored.entry.next_at);
        let DueRuns { due, .. } = engine.due_workflows(1).await?;
        let run_at = due.first().and_then(|stored| stored.run.next_at);
        let overdue = |at: Option<Timestamp>| at.map_or(Duration::ZERO, |at| now.since(at));
        let mut reading = Self {
            runs: engine.count_workflows().await?,
            nodes: no_nodes(),
            runs_overdue: overdue(run_at),
            schedules_overdue: overdue(schedule_at),
            ..Self::default()
        };
        for (place, state) in LIVE.into_iter().enumerate() {
            let query = RunQuery { state: Some(state), after: None, oldest_first: true, limit: MOST_RUNS };
            for stored in engine.list_workflows(query).await? {
                reading.oldest[place] = reading.oldest[place].max(now.since(stored.run.started_at));
                reading.count_nodes(&stored.run);
            }
        }
        Ok(reading)
    }

    fn count_nodes(&mut self, run: &Run) {
        let mut add = |state, nodes| *self.nodes.entry(state).or_default() += nodes;
        let unsubmitted = run.ends.open_from(run.submitted as usize).count() as u64;
        let not_over = run.ends.open_from(0).count() as u64;
        add(UNSUBMITTED, unsubmitted);
        add(OPEN, not_over - unsubmitted);
        run.ends.counts().for_each(|(status, nodes)| add(status.as_str(), nodes));
    }
}

/// A node that is not stored as a task yet.
const UNSUBMITTED: &str = "unsubmitted";
/// A node whose task is not over.
const OPEN: &str = "open";

/// No node in each state.
fn no_nodes() -> BTreeMap<&'static str, u64> {
    let finished = Status::ALL.into_iter().filter(|status| status.is_finished());
    [UNSUBMITTED, OPEN].into_iter().chain(finished.map(Status::as_str)).map(|state| (state, 0)).collect()
}

fn state_of(state: &'static str) -> KeyValue {
    KeyValue::new("state", state)
}

/// Registers the gauges.
pub(super) fn observe(workflows: &LatestLook<WorkflowReading>, meter: &Meter) {
    WORKFLOWS.gauge(
        meter,
        workflows.observer(|workflows, gauge| {
            for state in RunState::ALL {
                let runs = workflows.runs[usize::from(state.code())];
                gauge.observe(runs as f64, &[state_of(state.as_str())]);
            }
        }),
    );
    WORKFLOWS_OLDEST_AGE.gauge(
        meter,
        workflows.observer(|workflows, gauge| {
            for (state, age) in LIVE.iter().zip(workflows.oldest) {
                gauge.observe(age.as_secs_f64(), &[state_of(state.as_str())]);
            }
        }),
    );
    WORKFLOW_NODES.gauge(
        meter,
        workflows.observer(|workflows, gauge| {
            for (state, nodes) in &workflows.nodes {
                gauge.observe(*nodes as f64, &[state_of(state)]);
            }
        }),
    );
    WORKFLOWS_OVERDUE
        .gauge(meter, workflows.observer(|workflows, gauge| gauge.observe(workflows.runs_overdue.as_secs_f64(), &[])));
    SCHEDULES_OVERDUE.gauge(
        meter,
        workflows.observer(|workflows, gauge| gauge.observe(workflows.schedules_overdue.as_secs_f64(), &[])),
    );
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::{Schedules, Upkeep, Workflows};
    use std::sync::Arc;

    use jobbers_common::{
        engine::{PutRun, PutSchedule, workflows::encode_workflow},
        name::{NodeName, ScheduleName, TaskName, WorkflowId},
        schedule::{CatchUp, Overlap, Schedule, Target, Timing, entry::ScheduleEntry},
        submission::template::TaskTemplate,
        time::ManualClock,
        workflow::{NewNode, PAUSES, Workflow},
    };
    use jobbers_law::model::ModelEngine;
    use serde_json::value::RawValue;

    use super::*;

    fn template() -> TaskTemplate {
        TaskTemplate::new(TaskName::new("echo").unwrap(), RawValue::from_string("{}".to_owned()).unwrap())
    }

    /// A workflow of so many nodes without edges.
    fn workflow(nodes: usize) -> Workflow {
        let node = |n| NewNode { name: NodeName::new(format!("n{n}")).unwrap(), task: template(), depends_on: vec![] };
        Workflow::new((0..nodes).map(node).collect()).unwrap()
    }

    struct Bench {
        engine: ModelEngine,
        clock: Arc<ManualClock>,
    }

    impl Bench {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000)));
            Self { engine: ModelEngine::new(clock.clone()), clock }
        }

        async fn now(&self) -> Timestamp {
            self.engine.health().await.unwrap().now
        }

        async fn put(&self, id: &str, nodes: usize, become_this: impl FnOnce(Run, Timestamp) -> Run) {
            let (workflow, now) = (workflow(nodes), self.now().await);
            let run = Run::new(WorkflowId::new(id).unwrap(), None, &workflow, 0, now);
            let create = PutRun::Create(encode_workflow(&workflow).unwrap());
            self.engine.put_workflow(become_this(run, now), create).await.unwrap();
        }

        async fn read(&self) -> WorkflowReading {
            WorkflowReading::read(&self.engine).await.unwrap()
        }
    }

    #[tokio::test]
    async fn nodes_are_counted_by_where_they_are() {
        let bench = Bench::new();
        let first = bench.read().await;
        assert_eq!(first, WorkflowReading { nodes: no_nodes(), ..WorkflowReading::default() });
        bench.put("half", 10, |run, now| run.with_submitted(4, now)).await;
        bench.clock.advance(Duration::from_secs(60));
        bench
            .put("runs", 5, |mut run, now| {
                run.ends.set(0, Some(Status::Completed));
                run.ends.set(1, Some(Status::Failed));
                run.ends.set(3, Some(Status::Aborted));
                run.with_submitted(5, now)
            })
            .await;
        bench.put("over", 3, |run, now| run.ended(RunState::Completed, now, Duration::from_secs(60))).await;
        let reading = bench.read().await;
        assert_eq!(reading.runs, [1, 1, 1, 0, 0]);
        assert_eq!(reading.oldest, [Duration::from_secs(60), Duration::ZERO]);
        let nodes: Vec<_> = reading.nodes.into_iter().filter(|(_, nodes)| *nodes > 0).collect();
        let expected = [("aborted", 1), ("completed", 1), ("failed", 1), ("open", 6), ("unsubmitted", 6)];
        assert_eq!(nodes, expected, "4 and 2 tasks are not over");
    }

    #[tokio::test]
    async fn only_the_oldest_runs_are_read_and_all_are_counted() {
        let bench = Bench::new();
        for run in 0..MOST_RUNS + 5 {
            bench.put(&format!("run{run}"), 1, |run, now| run.with_submitted(1, now)).await;
        }
        let reading = bench.read().await;
        assert_eq!((reading.runs[1], reading.nodes[OPEN]), (MOST_RUNS as u64 + 5, MOST_RUNS as u64));
    }

    #[tokio::test]
    async fn what_is_due_grows_older_until_a_manager_attends_to_it() {
        let bench = Bench::new();
        bench.put("runs", 1, |run, now| run.with_submitted(1, now)).await;
        let schedule = Schedule {
            name: ScheduleName::new("s").unwrap(),
            timing: Timing::Every(Duration::from_secs(60)),
            target: Target::Task(template()),
            overlap: Overlap::Allow,
            catch_up: CatchUp::Latest,
            jitter: Duration::ZERO,
            paused: false,
        };
        let entry = ScheduleEntry::new(schedule, bench.now().await).unwrap();
        bench.engine.put_schedule(entry, PutSchedule::Create).await.unwrap();
        let reading = bench.read().await;
        assert_eq!((reading.runs_overdue, reading.schedules_overdue), (Duration::ZERO, Duration::ZERO));
        bench.clock.advance(Duration::from_secs(64));
        let reading = bench.read().await;
        assert_eq!(reading.runs_overdue, Duration::from_secs(64) - PAUSES.0);
        assert_eq!(reading.schedules_overdue, Duration::from_secs(5), "since the whole minute");
    }
}
