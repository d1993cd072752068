//! Spontaneous tasks, which end by themselves once they wait for nothing.

use jobbers_common::{
    dependency::{
        DependencyPolicy, EndedPredecessor,
        signal::{AwaitedSignal, OnTimeout, Signalled},
    },
    engine::{
        Error, OnConflict, Resubmit, Resubmitted, SubmittedHow,
        backup::{Edges, Restored, StoredTask},
        dependencies::NewDependency,
    },
    lifecycle::Status,
    limits::SIGNALS_A_STEP,
    name::SignalName,
    task::{NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture,
    audit::assert_sound,
    dependencies::{after, edge},
    failed, id, queue, seconds, task,
};

/// A spontaneous task that waits for others by a policy.
fn join(text: &str, on: &[&str], policy: DependencyPolicy) -> NewTask {
    let depends_on = on.iter().map(|on| edge(on, policy)).collect();
    NewTask { is_spontaneous: true, depends_on, ..task(text) }
}

fn plain(text: &str, on: &[&str]) -> NewTask {
    join(text, on, DependencyPolicy::AbortSuccessors)
}

pub async fn a_spontaneous_task_ends_once_its_predecessors_have(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let submitted = f.submit(vec![plain("j", &["a", "b"]), after("z", &["j"])]).await;
    assert_eq!((submitted[0].status, submitted[0].how), (Status::Waiting, SubmittedHow::Created));
    assert!(f.get("j").await.dependencies.unwrap().is_spontaneous);
    f.run_one("a", DONE).await;
    assert_eq!(f.status("j").await, Status::Waiting);
    f.advance(seconds(1));
    f.run_one("b", DONE).await;
    let ended = f.get("j").await;
    assert_eq!((ended.status, ended.attempt, ended.worker, ended.started_at), (Status::Completed, 0, None, None));
    assert_eq!((ended.parameters, ended.result), (Some(plain("j", &[]).parameters), None));
    assert_eq!(ended.completed_at, Some(f.get("b").await.completed_at.unwrap()));
    let dependencies = ended.dependencies.unwrap();
    assert_eq!((dependencies.total, dependencies.signals, dependencies.is_spontaneous), (2, 2, true));
    // What waited for it runs, and nothing else is claimed.
    f.run_one("z", DONE).await;
    assert_eq!(f.claim(10).await, []);
    assert!(!f.get("z").await.dependencies.unwrap().is_spontaneous);
    f.assert_conserved().await;
    assert_sound(&f, 50, false).await;
}

pub async fn one_that_waits_for_nothing_ends_at_once(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.run_one("a", DONE).await;
    let submitted = f.submit(vec![plain("alone", &[]), plain("late", &["a"]), after("z", &["alone", "late"])]).await;
    let statuses: Vec<Status> = submitted.iter().map(|task| task.status).collect();
    assert_eq!(statuses, [Status::Completed, Status::Completed, Status::Submitted]);
    let again = f.submit(vec![plain("alone", &[])]).await;
    assert_eq!((again[0].status, again[0].how), (Status::Completed, SubmittedHow::Existing));
    let other = f.try_submit(vec![NewTask { is_spontaneous: false, ..plain("alone", &[]) }], OnConflict::Fail).await;
    assert!(matches!(other, Err(Error::Conflict { .. })), "{other:?}");
    f.run_one("z", DONE).await;
    f.assert_conserved().await;
    assert_sound(&f, 50, false).await;
}

pub async fn one_goes_by_the_policies_of_its_edges(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.submit(vec![plain("strict", &["a"]), join("any", &["a"], DependencyPolicy::RunWithFailures)]).await;
    f.submit(vec![join("alarm", &["a"], DependencyPolicy::RunOnError), after("z", &["strict"])]).await;
    f.run_one("a", failed(false)).await;
    let expected = [("strict", Status::Aborted), ("any", Status::Completed), ("alarm", Status::Completed)];
    for (text, status) in expected {
        assert_eq!(f.status(text).await, status, "{text}");
    }
    assert_eq!(f.status("z").await, Status::Aborted);
    let cause = EndedPredecessor { id: id("a"), status: Status::Failed };
    assert_eq!(f.get("strict").await.dependencies.unwrap().aborted_by, Some(cause));
    // No worker could run it, so it is not sent again.
    let again = f.engine.resubmit(vec![Resubmit::of_store(id("strict"))]).await.unwrap();
    assert_eq!(again, [Resubmitted::Moved(Status::Aborted)]);
    assert_eq!(f.claim(10).await, []);
    assert_sound(&f, 50, false).await;
}

pub async fn many_that_follow_each_other_all_end(f: Fixture) {
    // More than one step signals: the ticks that follow do the rest.
    let count = 2 * SIGNALS_A_STEP + 50;
    f.submit_ids(&["first"]).await;
    let names: Vec<String> = (0..count).map(|n| format!("j{n:04}")).collect();
    let on = |n: usize| if n == 0 { "first" } else { names[n - 1].as_str() };
    f.submit((0..count).map(|n| plain(&names[n], &[on(n)])).collect()).await;
    f.submit(vec![after("last", &[&names[count - 1]])]).await;
    f.run_one("first", DONE).await;
    for _ in 0..8 {
        f.engine.promote_due(1_000).await.unwrap();
    }
    assert_eq!(f.count(Status::Completed).await, count as u64 + 1);
    f.run_one("last", DONE).await;
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn one_waits_for_signals_and_for_tasks_that_are_added(f: Fixture) {
    let name = SignalName::new("approved").unwrap();
    let signal = AwaitedSignal { name: name.clone(), timeout: None, on_timeout: OnTimeout::Abort };
    f.submit_ids(&["a", "b"]).await;
    f.submit(vec![NewTask { signals: vec![signal.clone()], ..plain("j", &["a"]) }]).await;
    let added = NewDependency { run: id("j"), after: id("b"), policy: DependencyPolicy::AbortSuccessors };
    assert_eq!(f.engine.add_dependencies(&[added]).await, Ok(vec![true]));
    // Others that depend on it must not turn it into an ordinary task.
    f.submit(vec![after("z", &["j"])]).await;
    f.run_one("a", DONE).await;
    f.run_one("b", DONE).await;
    assert_eq!(f.status("j").await, Status::Waiting);
    let signalled = f.engine.signal(&id("j"), &name, None).await.unwrap();
    assert_eq!(signalled, Signalled::Done(Status::Completed));
    let late = AwaitedSignal { timeout: Some(seconds(5)), on_timeout: OnTimeout::Run, ..signal };
    f.submit(vec![NewTask { signals: vec![late], ..plain("timed", &[]) }]).await;
    f.advance(seconds(6));
    f.engine.promote_due(1_000).await.unwrap();
    assert_eq!(f.status("timed").await, Status::Completed);
    f.run_one("z", DONE).await;
    assert_sound(&f, 50, false).await;
}

pub async fn one_is_cancelled_deleted_around_and_restored(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    f.submit(vec![plain("cancelled", &["a"]), plain("kept", &["b"]), plain("released", &["c"])]).await;
    f.engine.cancel(&[id("cancelled")]).await.unwrap();
    assert_eq!(f.status("cancelled").await, Status::Cancelled);
    f.engine.delete_tasks(&[id("c")], false).await.unwrap();
    assert_eq!(f.status("released").await, Status::Completed, "it waits for nothing any more");
    let backup = std::sync::Arc::clone(&f.engine).backup();
    let dumped: Vec<StoredTask> = backup.dump(&[id("b"), id("kept")]).await.unwrap().into_iter().flatten().collect();
    f.engine.purge_queue(&queue("default"), 1_000).await.unwrap();
    assert_eq!(backup.restore(dumped.clone()).await.unwrap(), [Restored::Done, Restored::Done]);
    let edges: Vec<Edges> = dumped.iter().filter_map(StoredTask::edges).collect();
    assert_eq!(backup.link(edges).await, Ok(1));
    assert_sound(&f, 50, false).await;
    f.run_one("b", DONE).await;
    assert_eq!(f.status("kept").await, Status::Completed);
    assert_sound(&f, 50, false).await;
}

pub async fn one_with_a_time_of_its_own_is_refused(f: Fixture) {
    let late = NewTask { start: Start::After(seconds(5)), ..plain("j", &[]) };
    let refused = f.try_submit(vec![late], OnConflict::Fail).await;
    assert!(matches!(refused, Err(Error::Invalid(ref why)) if why.contains("no time of its own")), "{refused:?}");
}
