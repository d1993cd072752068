//! Runs of workflows: compare-and-set on a revision, and how runs and their tasks are found.

use jobbers_common::{
    dependency::DependencyPolicy,
    engine::{
        Error, OnConflict, PruneRequest, PruneScope, PutMode, PutRun, Resubmit, Resubmitted, RunQuery, StoredRun,
        TaskFilter, TaskTimes, workflows::encode_workflow,
    },
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_WORKFLOW_BYTES, MAX_WORKFLOW_ID_BYTES},
    name::{NodeName, TaskName, WorkflowId, WorkflowName},
    queue::{QueueConfig, Retention},
    submission::template::TaskTemplate,
    task::NewTask,
    time::{Clock, Timestamp},
    workflow::{NewNode, Run, RunState, Workflow},
};

use crate::conformance::{DONE, Fixture, audit::assert_sound, id, queue, retry, seconds, task};

/// Two tasks, one after the other.
pub(super) fn graph() -> Workflow {
    let node = |name: &str, on: &[&str]| NewNode {
        name: NodeName::new(name).unwrap(),
        task: TaskTemplate::new(
            TaskName::new("echo").unwrap(),
            serde_json::value::RawValue::from_string(r#"{"n": 1.0}"#.to_owned()).unwrap(),
        ),
        depends_on: on.iter().map(|on| (NodeName::new(on).unwrap(), DependencyPolicy::default())).collect(),
    };
    Workflow::new(vec![node("a", &[]), node("b", &["a"])]).unwrap()
}

pub(super) fn workflow_id(text: &str) -> WorkflowId {
    WorkflowId::new(text).unwrap()
}

/// A run of that graph.
pub(super) fn run_at(text: &str, at: i64) -> Run {
    Run::new(workflow_id(text), Some(WorkflowName::new("nightly").unwrap()), &graph(), 7, Timestamp::from_micros(at))
}

async fn create(f: &Fixture, run: Run) -> StoredRun {
    let definition = encode_workflow(&graph()).unwrap();
    let revision = f.engine.put_workflow(run.clone(), PutRun::Create(definition)).await.unwrap();
    StoredRun { run, revision }
}

async fn stored(f: &Fixture, text: &str) -> StoredRun {
    f.engine.workflow(&workflow_id(text)).await.unwrap().unwrap()
}

pub async fn a_run_is_kept_as_it_was_put(f: Fixture) {
    let created = create(&f, run_at("w", 1_000)).await;
    assert_eq!(stored(&f, "w").await, created);
    let definition = f.engine.workflow_definition(&workflow_id("w")).await.unwrap();
    assert_eq!(definition, Some(encode_workflow(&graph()).unwrap()), "as it was given");
    let mut running = created.run.clone().with_submitted(2, Timestamp::from_micros(2_000));
    running.ends.set(0, Some(Status::Completed));
    let revision = f.engine.put_workflow(running.clone(), PutRun::Replace(created.revision)).await.unwrap();
    assert!(revision > created.revision);
    assert_eq!(stored(&f, "w").await, StoredRun { run: running, revision });
    assert_eq!(f.engine.workflow_definition(&workflow_id("w")).await.unwrap(), definition, "it stays");
    assert_eq!(f.engine.workflow(&workflow_id("x")).await.unwrap(), None);
    assert_eq!(f.engine.workflow_definition(&workflow_id("x")).await.unwrap(), None);
}

pub async fn a_run_that_changed_meanwhile_stays(f: Fixture) {
    let created = create(&f, run_at("w", 1_000)).await;
    let again = f.engine.put_workflow(created.run.clone(), PutRun::Create("{}".to_owned())).await;
    assert!(matches!(again, Err(Error::Exists(_))), "{again:?}");
    let cancelled = created.run.clone().with_cancel(Timestamp::from_micros(2_000));
    let revision = f.engine.put_workflow(cancelled.clone(), PutRun::Replace(created.revision)).await.unwrap();
    let late = f.engine.put_workflow(created.run.clone(), PutRun::Replace(created.revision)).await;
    assert!(matches!(late, Err(Error::Changed(_))), "{late:?}");
    let late = f.engine.delete_workflow(&workflow_id("w"), created.revision).await;
    assert!(matches!(late, Err(Error::Changed(_))), "{late:?}");
    assert_eq!(stored(&f, "w").await, StoredRun { run: cancelled, revision });
    let unknown = f.engine.put_workflow(run_at("x", 1), PutRun::Replace(revision)).await;
    assert_eq!(unknown, Err(Error::UnknownWorkflow(workflow_id("x"))));
}

pub async fn runs_are_listed_by_age_and_state_page_by_page(f: Fixture) {
    // Two of one moment, and names whose order is not that of their ages.
    for (name, at) in [("m", 3_000), ("z", 1_000), ("a", 2_000), ("b", 2_000), ("k", 4_000)] {
        let created = create(&f, run_at(name, at)).await;
        if matches!(name, "a" | "k") {
            let over = created.run.with_submitted(2, Timestamp::from_micros(at)).ended(
                RunState::Failed,
                Timestamp::from_micros(at),
                seconds(60),
            );
            f.engine.put_workflow(over, PutRun::Replace(created.revision)).await.unwrap();
        }
    }
    for (state, oldest_first, expected) in [
        (None, false, "k m b a z"),
        (None, true, "z a b m k"),
        (Some(RunState::Failed), false, "k a"),
        (Some(RunState::Submitting), true, "z b m"),
        (Some(RunState::Running), false, ""),
    ] {
        for limit in [1, 2, 5] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = f.engine.list_workflows(RunQuery { state, after, oldest_first, limit }).await.unwrap();
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                after = Some((last.run.created_at, last.run.id.clone()));
                seen.extend(page.into_iter().map(|stored| stored.run.id.to_string()));
            }
            assert_eq!(seen.join(" "), expected, "{state:?} {oldest_first} {limit}");
        }
    }
}

pub async fn due_runs_come_in_their_order_and_the_next_one_is_told(f: Fixture) {
    let now = f.engine.health().await.unwrap().now;
    let at = |after: u64| Some(now.after(seconds(after)));
    for (name, next_at) in [("late", at(30)), ("first", at(10)), ("never", None), ("second", at(20))] {
        create(&f, Run { next_at, ..run_at(name, 1_000) }).await;
    }
    let none = f.engine.due_workflows(10).await.unwrap();
    assert!(none.due.is_empty());
    assert_eq!((none.now, none.next_at), (now, at(10)));
    f.clock.advance(seconds(25));
    let due = f.engine.due_workflows(10).await.unwrap();
    let names: Vec<&str> = due.due.iter().map(|stored| stored.run.id.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(due.next_at, at(30));
    let some = f.engine.due_workflows(1).await.unwrap();
    assert_eq!((some.due.len(), some.next_at), (1, at(20)), "there is more");
    let first = stored(&f, "first").await;
    f.engine.put_workflow(Run { next_at: None, ..first.run }, PutRun::Replace(first.revision)).await.unwrap();
    let due = f.engine.due_workflows(10).await.unwrap();
    assert_eq!(due.due.len(), 1, "what has nothing more to do is not due");
}

pub async fn runs_are_counted_by_state(f: Fixture) {
    assert_eq!(f.engine.count_workflows().await.unwrap(), [0; 5]);
    for (name, at) in [("a", 1_000), ("b", 2_000), ("c", 3_000)] {
        create(&f, run_at(name, at)).await;
    }
    let b = stored(&f, "b").await;
    let running = b.run.with_submitted(2, Timestamp::from_micros(4_000));
    f.engine.put_workflow(running, PutRun::Replace(b.revision)).await.unwrap();
    assert_eq!(f.engine.count_workflows().await.unwrap(), [2, 1, 0, 0, 0]);
}

pub async fn a_deleted_run_is_gone_with_its_definition(f: Fixture) {
    let created = create(&f, run_at("w", 1_000)).await;
    f.engine.delete_workflow(&workflow_id("w"), created.revision).await.unwrap();
    assert_eq!(f.engine.workflow(&workflow_id("w")).await.unwrap(), None);
    assert_eq!(f.engine.workflow_definition(&workflow_id("w")).await.unwrap(), None);
    let query = RunQuery { state: None, after: None, oldest_first: false, limit: 10 };
    assert_eq!(f.engine.list_workflows(query).await.unwrap(), []);
    assert_eq!(f.engine.count_workflows().await.unwrap(), [0; 5]);
    f.clock.advance(seconds(60));
    assert!(f.engine.due_workflows(10).await.unwrap().due.is_empty());
    let again = f.engine.delete_workflow(&workflow_id("w"), created.revision).await;
    assert_eq!(again, Err(Error::UnknownWorkflow(workflow_id("w"))));
    create(&f, run_at("w", 1_000)).await;
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_run_past_its_bounds_is_refused(f: Fixture) {
    let large = "x".repeat(MAX_WORKFLOW_BYTES + 1);
    let refused = f.engine.put_workflow(run_at("w", 1_000), PutRun::Create(large)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let long = run_at(&"w".repeat(MAX_WORKFLOW_ID_BYTES + 1), 1_000);
    let refused = f.engine.put_workflow(long, PutRun::Create("{}".to_owned())).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert_eq!(f.engine.workflow(&workflow_id("w")).await.unwrap(), None);
    for limit in [0, MAX_BATCH + 1] {
        let query = RunQuery { state: None, after: None, oldest_first: false, limit };
        assert!(matches!(f.engine.list_workflows(query).await, Err(Error::Invalid(_))));
        assert!(matches!(f.engine.due_workflows(limit).await, Err(Error::Invalid(_))));
    }
    let many = vec![id("t"); MAX_BATCH + 1];
    assert!(matches!(f.engine.statuses(&many).await, Err(Error::Invalid(_))));
    assert!(matches!(f.engine.times(&many).await, Err(Error::Invalid(_))));
}

/// The revision of a run, and whether it is due.
async fn revision_and_due(f: &Fixture, text: &str) -> (u64, bool) {
    let due = f.engine.due_workflows(10).await.unwrap().due;
    (stored(f, text).await.revision, due.iter().any(|stored| stored.run.id == workflow_id(text)))
}

pub async fn a_run_is_due_when_a_task_of_it_is_sent_again_or_replaced(f: Fixture) {
    let later = |f: &Fixture| f.clock.now().after(seconds(3_600));
    let mut node = task("w/a");
    node.id_is_chosen = true;
    f.submit(vec![node.clone(), task("w/b"), task("v/a")]).await;
    let created = create(&f, Run { next_at: Some(later(&f)), ..run_at("w", 1_000) }).await;
    f.engine.cancel(&[id("w/a"), id("w/b"), id("v/a")]).await.unwrap();
    // While its tasks are being submitted, its manager replaces them itself.
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("w/b"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(revision_and_due(&f, "w").await, (created.revision, false));
    for state in [RunState::Running, RunState::Failed] {
        f.engine.cancel(&[id("w/a"), id("w/b")]).await.unwrap();
        for way in ["sent again", "replaced", "stored again"] {
            let before = stored(&f, "w").await;
            let put = Run { state, next_at: Some(later(&f)), ..before.run.clone() };
            let revision = f.engine.put_workflow(put.clone(), PutRun::Replace(before.revision)).await.unwrap();
            assert_eq!(revision_and_due(&f, "w").await, (revision, false));
            match way {
                "sent again" => {
                    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("v/a"))]).await.unwrap().len(), 1);
                    assert_eq!(revision_and_due(&f, "w").await, (revision, false), "another run's");
                    let again = f.engine.resubmit(vec![Resubmit::of_store(id("w/a"))]).await.unwrap();
                    assert_eq!(again, [Resubmitted::Done]);
                }
                "replaced" => {
                    let other = NewTask { version: 3, ..node.clone() };
                    f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
                }
                _ => {
                    f.engine.cancel(&[id("w/a")]).await.unwrap();
                    let scope = PruneScope::Matching {
                        filter: TaskFilter::default(),
                        finished_before: None,
                        larger_than: None,
                    };
                    let request = PruneRequest { scope, limit: 100, dry_run: false, cursor: None };
                    f.engine.prune(request).await.unwrap();
                    let second = NewTask { version: 2, ..node.clone() };
                    f.try_submit(vec![second], OnConflict::Replace).await.unwrap();
                }
            }
            let (touched, is_due) = revision_and_due(&f, "w").await;
            assert!(touched > revision && is_due, "{way}, {state}");
            let late = f.engine.put_workflow(put.clone(), PutRun::Replace(revision)).await;
            assert!(matches!(late, Err(Error::Changed(_))), "what was decided before is not stored: {late:?}");
            assert_eq!(stored(&f, "w").await.run, put, "what is stored is as it was put");
        }
    }
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn the_statuses_of_many_tasks_are_answered_in_their_order(f: Fixture) {
    assert_eq!(f.engine.statuses(&[]).await.unwrap(), []);
    let mut chosen = task("pruned");
    chosen.id_is_chosen = true;
    f.submit(vec![chosen, task("done")]).await;
    for _ in 0..2 {
        let task = f.claim_one().await;
        f.settle(&task, DONE).await;
    }
    f.submit(vec![task("runs"), task("waits"), task("cancelled")]).await;
    f.engine.cancel(&[id("cancelled")]).await.unwrap();
    let retention = Retention { count: 2, ..Retention::default() };
    let config = QueueConfig { retention, ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    let request = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(request).await.unwrap().removed, 1);
    let runs = f.claim_one().await;
    assert_eq!(runs.id, id("runs"));
    let asked = ["waits", "nobody", "pruned", "cancelled", "runs", "done", "waits"].map(id);
    let expected = [
        Some(Status::Submitted),
        None,
        Some(Status::Completed),
        Some(Status::Cancelled),
        Some(Status::Started),
        Some(Status::Completed),
        Some(Status::Submitted),
    ];
    assert_eq!(f.engine.statuses(&asked).await.unwrap(), expected);
}

pub async fn the_times_of_many_tasks_are_answered_in_their_order(f: Fixture) {
    assert_eq!(f.engine.times(&[]).await.unwrap(), []);
    let mut chosen = task("pruned");
    chosen.id_is_chosen = true;
    f.submit(vec![chosen, task("forgotten"), task("done")]).await;
    let mut done = Vec::new();
    for _ in 0..3 {
        let claimed = f.claim_one().await;
        f.clock.advance(seconds(2));
        f.settle(&claimed, DONE).await;
        done.push((claimed.started_at, f.engine.get(&claimed.id).await.unwrap().unwrap().completed_at));
    }
    f.submit(vec![task("again")]).await;
    let failed = f.claim_one().await;
    f.clock.advance(seconds(1));
    f.settle(&failed, retry(seconds(60))).await;
    f.submit(vec![task("runs")]).await;
    let retention = Retention { count: 1, ..Retention::default() };
    let config = QueueConfig { retention, ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    let request = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(request).await.unwrap().removed, 2);
    let runs = f.claim_one().await;
    assert_eq!(runs.id, id("runs"));
    f.submit(vec![task("waits")]).await;
    let asked = ["waits", "nobody", "pruned", "forgotten", "again", "runs", "done", "waits"].map(id);
    let times = |started_at, finished_at| TaskTimes { started_at, finished_at };
    let expected = [
        times(None, None),
        times(None, None),
        times(None, done[0].1),
        times(None, None),
        times(Some(failed.started_at), None),
        times(Some(runs.started_at), None),
        times(Some(done[2].0), done[2].1),
        times(None, None),
    ];
    assert_eq!(f.engine.times(&asked).await.unwrap(), expected);
    assert!(done[2].1 > Some(done[2].0), "it took two seconds: {done:?}");
}
