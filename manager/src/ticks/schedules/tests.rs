//! Schedules on the model, with a clock that is moved by hand.

use jobbers_common::{
    dependency::DependencyPolicy,
    engine::{
        ClaimRequest, Claims, Cycle, Outcome, PutMode, PutSchedule, QueueClaim, Queues, Schedules, Settlement, Tasks,
        Workflows,
    },
    lifecycle::Status,
    name::{NodeName, QueueName, TaskName, WorkerId},
    policy::PolicyOverrides,
    queue::QueueConfig,
    schedule::{CatchUp, Timing, WorkflowTemplate},
    submission::template::TaskTemplate,
    task::ClaimedTask,
    time::ManualClock,
    workflow::{NewNode, RunState, Workflow},
};
use jobbers_law::model::ModelEngine;
use jobbers_process::shutdown::Shutdown;
use serde_json::value::RawValue;

use super::*;

struct Bench {
    app: App,
    engine: Arc<ModelEngine>,
    clock: Arc<ManualClock>,
}

fn echo(queue: Option<&str>) -> TaskTemplate {
    TaskTemplate {
        queue: queue.map(|queue| QueueName::new(queue).unwrap()),
        ..TaskTemplate::new(TaskName::new("echo").unwrap(), RawValue::from_string("{}".to_owned()).unwrap())
    }
}

/// Two tasks, one after the other.
fn pair(overlap: Overlap) -> Schedule {
    let node = |name: &str, on: &[&str]| NewNode {
        name: NodeName::new(name).unwrap(),
        task: echo(None),
        depends_on: on.iter().map(|on| (NodeName::new(on).unwrap(), DependencyPolicy::default())).collect(),
    };
    let graph = Workflow::new(vec![node("a", &[]), node("b", &["a"])]).unwrap();
    let target = Target::Workflow(WorkflowTemplate { name: None, graph });
    Schedule { target, ..schedule(overlap, CatchUp::All(9)) }
}

fn slot(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn schedule(overlap: Overlap, catch_up: CatchUp) -> Schedule {
    Schedule {
        name: ScheduleName::new("s").unwrap(),
        timing: Timing::Every(Duration::from_secs(60)),
        target: Target::Task(echo(None)),
        overlap,
        catch_up,
        jitter: Duration::ZERO,
        paused: false,
    }
}

impl Bench {
    /// A store whose clock is at the epoch, with one schedule, and a manager that does nothing by itself.
    async fn with(schedule: Schedule) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let engine = Arc::new(ModelEngine::new(clock.clone()));
        let entry = ScheduleEntry::new(schedule, Timestamp::from_micros(0)).unwrap();
        engine.put_schedule(entry, PutSchedule::Create).await.unwrap();
        let app = App::new(&crate::Config::default(), engine.clone(), String::new(), &Shutdown::new());
        Self { app, engine, clock }
    }

    async fn after(&self, seconds: u64) -> ScheduleEntry {
        self.clock.advance(Duration::from_secs(seconds));
        fire_due(&self.app).await.unwrap();
        self.engine.schedule(&ScheduleName::new("s").unwrap()).await.unwrap().unwrap().entry
    }

    /// The id of the task of a slot, or of a node of its workflow.
    fn task(second: i64, node: &str) -> TaskId {
        TaskId::new(format!("{}{node}", schedule(Overlap::Allow, CatchUp::Latest).slot_id(slot(second)))).unwrap()
    }

    async fn status(&self, second: i64) -> Option<Status> {
        self.status_of(second, "").await
    }

    async fn status_of(&self, second: i64, node: &str) -> Option<Status> {
        self.engine.get(&Self::task(second, node)).await.unwrap().map(|task| task.status)
    }

    async fn cancel(&self, second: i64) {
        self.engine.cancel(&[Self::task(second, "")]).await.unwrap();
    }

    /// The run of a slot, after everything due was done about workflows.
    async fn run(&self, second: i64) -> Option<Run> {
        workflows::attend_to_due(&self.app).await.unwrap();
        let id = WorkflowId::new(Self::task(second, "").as_str()).unwrap();
        self.engine.workflow(&id).await.unwrap().map(|stored| stored.run)
    }

    /// Runs all that can be run.
    async fn work(&self) {
        let worker = WorkerId::new("w").unwrap();
        loop {
            let queue = QueueClaim { queue: QueueName::new("default").unwrap(), limit: 100 };
            let lease = Duration::from_secs(60);
            let claim = ClaimRequest { queues: vec![queue], limit: 100, refused: Vec::new(), lease };
            let cycle = Cycle { worker: worker.clone(), settlements: Vec::new(), claim: Some(claim) };
            let claimed = self.engine.cycle(cycle).await.unwrap().claimed;
            if claimed.is_empty() {
                return;
            }
            let done = |task: ClaimedTask| Settlement::new(task.id, task.fence, Outcome::Completed { result: None });
            let settlements = claimed.into_iter().map(done).collect();
            let cycle = Cycle { worker: worker.clone(), settlements, claim: None };
            self.engine.cycle(cycle).await.unwrap();
        }
    }
}

#[tokio::test]
async fn all_slots_of_a_long_outage_are_fired_or_counted_as_missed() {
    let bench = Bench::with(schedule(Overlap::Allow, CatchUp::All(1_000))).await;
    let state = bench.after(24 * 3_600 + 30).await.state;
    assert_eq!((state.fired, state.missed), (1_000, 440));
    assert_eq!(state.last_slot, Some(slot(24 * 3_600)));
}

#[tokio::test]
async fn each_slot_is_fired_and_the_next_one_is_awaited() {
    let bench = Bench::with(schedule(Overlap::Allow, CatchUp::Latest)).await;
    assert_eq!(bench.after(59).await.state.fired, 0);
    let until = fire_due(&bench.app).await.unwrap().unwrap();
    assert!(until <= Duration::from_millis(1_001) && until > Duration::from_millis(500), "{until:?}");
    assert_eq!(bench.after(1).await.state.fired, 1);
    assert_eq!(bench.status(60).await, Some(Status::Submitted));
    assert_eq!(bench.after(0).await.state.fired, 1, "once");
}

#[tokio::test]
async fn late_slots_are_caught_up_with_as_the_schedule_says() {
    for (catch_up, fired, missed) in
        [(CatchUp::None, 0, 5), (CatchUp::Latest, 1, 4), (CatchUp::All(3), 3, 2), (CatchUp::All(9), 5, 0)]
    {
        let bench = Bench::with(schedule(Overlap::Allow, catch_up)).await;
        let entry = bench.after(330).await;
        assert_eq!((entry.state.fired, entry.state.missed), (fired, missed), "{catch_up:?}");
        assert_eq!(entry.next_at, Some(Timestamp::from_micros(360_000_000)), "{catch_up:?}");
    }
}

#[tokio::test]
async fn an_expiry_counts_from_the_slot_however_late_that_is_fired() {
    let late = Some(Duration::from_secs(100));
    let task =
        TaskTemplate { overrides: PolicyOverrides { expires_in: late, ..PolicyOverrides::default() }, ..echo(None) };
    let expiring = Schedule { target: Target::Task(task), ..schedule(Overlap::Allow, CatchUp::All(9)) };
    let bench = Bench::with(expiring).await;
    bench.after(190).await;
    for (second, until) in [(60, 190), (120, 220), (180, 280)] {
        let task = bench.engine.get(&Bench::task(second, "")).await.unwrap().unwrap();
        assert_eq!(task.expires_at(), Some(slot(until)), "the slot at {second} s");
    }
    bench.work().await;
    for (second, status) in [(60, Status::Dropped), (120, Status::Completed), (180, Status::Completed)] {
        assert_eq!(bench.status(second).await, Some(status), "the slot at {second} s");
    }
}

#[tokio::test]
async fn a_buffered_slot_is_fired_once_the_run_is_over() {
    let bench = Bench::with(schedule(Overlap::BufferOne, CatchUp::All(9))).await;
    let entry = bench.after(190).await;
    assert_eq!((entry.state.fired, entry.state.skipped), (1, 1));
    assert_eq!(entry.state.buffered, Some(Timestamp::from_micros(120_000_000)));
    assert_eq!(bench.after(2).await.state.fired, 1);
    bench.cancel(60).await;
    assert_eq!(bench.after(1).await.state.fired, 2);
    assert_eq!(bench.status(120).await, Some(Status::Submitted));
    assert_eq!(bench.status(180).await, None);
}

#[tokio::test]
async fn a_slot_for_a_full_queue_goes_in_later() {
    let bench = Bench::with(schedule(Overlap::Allow, CatchUp::All(9))).await;
    let queue = QueueConfig::new(QueueName::new("default").unwrap());
    bench.engine.put_queue(QueueConfig { max_length: Some(1), ..queue }, PutMode::Replace).await.unwrap();
    bench.after(60).await;
    let entry = bench.after(60).await;
    assert_eq!((entry.state.fired, entry.state.missed), (1, 0));
    assert!(entry.state.refusal.unwrap().reason.contains("max_length"));
    bench.cancel(60).await;
    let entry = bench.after(2).await;
    assert_eq!((entry.state.fired, entry.state.refusal), (2, None));
}

#[tokio::test]
async fn a_slot_for_a_queue_that_does_not_exist_is_given_up() {
    let mut elsewhere = schedule(Overlap::Allow, CatchUp::All(9));
    elsewhere.target = Target::Task(echo(Some("none")));
    let bench = Bench::with(elsewhere).await;
    let entry = bench.after(120).await;
    assert_eq!((entry.state.fired, entry.state.missed), (0, 2));
    assert_eq!(entry.next_at, Some(Timestamp::from_micros(180_000_000)), "it goes on with the next slot");
    assert!(entry.state.refusal.unwrap().reason.contains("none"));
}

#[tokio::test]
async fn a_slot_starts_a_workflow_whose_tasks_follow() {
    let bench = Bench::with(pair(Overlap::Allow)).await;
    assert_eq!(bench.after(60).await.state.fired, 1);
    assert_eq!(bench.status_of(60, "/a").await, None, "its record first");
    let run = bench.run(60).await.unwrap();
    assert_eq!((run.state, run.name.as_ref().unwrap().as_str()), (RunState::Running, "s"));
    assert_eq!(bench.status_of(60, "/a").await, Some(Status::Submitted));
    assert_eq!(bench.status_of(60, "/b").await, Some(Status::Waiting));
    assert_eq!(bench.after(0).await.state.fired, 1, "once");
}

#[tokio::test]
async fn a_workflow_with_jitter_begins_later() {
    let jittered = Schedule { jitter: Duration::from_secs(50), ..pair(Overlap::Allow) };
    let Start::At(begins_at) = jittered.start_of(slot(60)) else { panic!("a time was due") };
    let bench = Bench::with(jittered).await;
    bench.after(60).await;
    assert_eq!(bench.run(60).await.unwrap().state, RunState::Submitting);
    bench.clock.set(begins_at);
    assert_eq!(bench.run(60).await.unwrap().state, RunState::Running);
}

#[tokio::test]
async fn a_slot_is_skipped_until_all_tasks_of_the_latest_workflow_are_over() {
    let bench = Bench::with(pair(Overlap::Skip)).await;
    bench.after(60).await;
    let entry = bench.after(60).await;
    assert_eq!((entry.state.fired, entry.state.skipped), (1, 1), "no manager has submitted its tasks yet");
    bench.run(60).await;
    assert_eq!(bench.after(60).await.state.skipped, 2, "they wait for a worker");
    bench.work().await;
    let entry = bench.after(60).await;
    assert_eq!((entry.state.fired, entry.state.skipped), (2, 2), "its end is seen at once");
}

#[tokio::test]
async fn a_buffered_slot_starts_its_workflow_once_the_latest_one_is_over() {
    let bench = Bench::with(pair(Overlap::BufferOne)).await;
    let entry = bench.after(190).await;
    assert_eq!((entry.state.fired, entry.state.buffered), (1, Some(slot(120))));
    bench.run(60).await;
    assert_eq!(bench.after(2).await.state.fired, 1);
    bench.work().await;
    assert_eq!(bench.after(2).await.state.fired, 2);
    assert_eq!(bench.run(120).await.unwrap().state, RunState::Running);
    assert_eq!(bench.run(180).await, None);
}

#[tokio::test]
async fn the_latest_workflow_is_cancelled_with_all_its_tasks() {
    let bench = Bench::with(pair(Overlap::CancelPrevious)).await;
    bench.after(60).await;
    bench.run(60).await;
    assert_eq!(bench.after(60).await.state.fired, 2);
    let cancelled = bench.run(60).await.unwrap();
    assert!(cancelled.cancel_requested);
    assert_eq!(bench.status_of(60, "/a").await, Some(Status::Cancelled));
    assert_eq!(bench.run(120).await.unwrap().state, RunState::Running);
    bench.clock.advance(Duration::from_secs(20));
    assert_eq!(bench.run(60).await.unwrap().state, RunState::Cancelled);
}

#[tokio::test]
async fn a_workflow_whose_queue_is_gone_fails_and_its_schedule_goes_on() {
    let mut elsewhere = pair(Overlap::Skip);
    let node = NewNode { name: NodeName::new("a").unwrap(), task: echo(Some("none")), depends_on: Vec::new() };
    let graph = Workflow::new(vec![node]).unwrap();
    elsewhere.target = Target::Workflow(WorkflowTemplate { name: None, graph });
    let bench = Bench::with(elsewhere).await;
    bench.after(60).await;
    bench.run(60).await;
    let entry = bench.after(60).await;
    assert_eq!((entry.state.fired, entry.state.missed, entry.state.skipped), (2, 0, 0));
    let failed = bench.run(60).await.unwrap();
    assert!(failed.state == RunState::Failed && failed.failure.unwrap().contains("none"));
}
