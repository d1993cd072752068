//! Tasks that wait for more others than the step that stores them links.

use std::{future::poll_fn, pin::pin, task::Poll};

use jobbers_common::{
    dependency::{
        Dependencies, DependencyPolicy, EndedPredecessor,
        signal::{AwaitedSignal, OnTimeout},
    },
    engine::{
        Cancelled, Error, OnConflict, Outcome, ParentsRequest, PruneRequest, PruneScope, Resubmit, Resubmitted, Submit,
        SubmittedHow, TaskDeletion, TaskFilter,
        dependencies::{AddRefusal, NewDependency},
    },
    lifecycle::Status,
    limits::{DEPENDENCIES_A_PIECE, DEPENDENCIES_A_STEP, MAX_BATCH, SIGNALS_A_STEP},
    name::{SignalName, TaskId},
    payload::Payload,
    task::{ClaimedTask, NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture, Settlement, audit::assert_sound, dependencies::edge, failed, id, queue, seconds, task, task_in,
};

/// More than a step links, in a number of pieces of which the last is not full.
const WIDE: usize = DEPENDENCIES_A_STEP + 2 * DEPENDENCIES_A_PIECE + 30;
/// The queue of the predecessors.
const MANY: &str = "mail";

fn names() -> Vec<String> {
    (0..WIDE).map(|n| format!("p{n:05}")).collect()
}

/// A task that waits for all of them.
fn waits(text: &str, policy: DependencyPolicy) -> NewTask {
    NewTask { depends_on: names().iter().map(|name| edge(name, policy)).collect(), ..task(text) }
}

impl Fixture {
    async fn submit_many(&self) {
        self.create_queue(MANY).await;
        for names in names().chunks(MAX_BATCH) {
            self.submit(names.iter().map(|name| task_in(name, MANY)).collect()).await;
        }
    }

    /// Runs up to so many predecessors; the one named fails.
    async fn run_many(&self, most: usize, fails: Option<&str>) {
        let mut left = most;
        while left > 0 {
            let claimed = self.claim_from(&[MANY], left.min(MAX_BATCH)).await;
            if claimed.is_empty() {
                return;
            }
            left -= claimed.len();
            let end = |task: &ClaimedTask| {
                let result = Payload::json(format!("\"{}\"", task.id));
                let is_done = fails != Some(task.id.as_str());
                let outcome = if is_done { Outcome::Completed { result: Some(result) } } else { failed(false) };
                Settlement::new(task.id.clone(), task.fence, outcome)
            };
            self.cycle_as("w1", &[MANY], 0, claimed.iter().map(end).collect()).await;
        }
    }

    /// Submits a task, and drops the call once the store has the task: as if the caller was killed then.
    async fn submit_and_die(&self, new: NewTask) {
        let id = new.id.clone();
        let mut call = pin!(self.engine.submit(Submit { tasks: vec![new], on_conflict: OnConflict::Fail }));
        let mut is_over = false;
        while self.engine.get(&id).await.unwrap().is_none() {
            assert!(!is_over, "{id} was accepted, and is not there");
            is_over = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
        }
    }

    /// Ticks until all of their ends are signalled.
    async fn tick_many(&self) {
        for _ in 0..=4 * WIDE / SIGNALS_A_STEP {
            self.engine.promote_due(1_000).await.unwrap();
        }
    }

    async fn counts_of(&self, text: &str) -> (u32, u32) {
        let Dependencies { total, signals, .. } = *self.get(text).await.dependencies.unwrap();
        (total, signals)
    }
}

pub async fn a_task_waits_for_all_of_many(f: Fixture) {
    f.submit_many().await;
    // Some are over by then.
    f.run_many(700, None).await;
    let submitted = f.submit(vec![waits("all", DependencyPolicy::AbortSuccessors)]).await;
    assert_eq!((submitted[0].status, submitted[0].how), (Status::Waiting, SubmittedHow::Created));
    let total = u32::try_from(WIDE).unwrap();
    assert_eq!(f.counts_of("all").await, (total, 700));
    assert_sound(&f, 500, false).await;
    let again = f.submit(vec![waits("all", DependencyPolicy::AbortSuccessors)]).await;
    assert_eq!((again[0].status, again[0].how), (Status::Waiting, SubmittedHow::Existing));
    f.run_many(WIDE - 701, None).await;
    f.tick_many().await;
    assert_eq!((f.status("all").await, f.counts_of("all").await), (Status::Waiting, (total, total - 1)));
    f.run_many(1, None).await;
    assert_eq!((f.status("all").await, f.counts_of("all").await), (Status::Submitted, (total, total)));
    let names = names();
    let page = f.engine.parents(ParentsRequest::all(id("all"), MAX_BATCH, 1 << 20)).await.unwrap();
    assert_eq!(page.total, WIDE);
    let read: Vec<&str> = page.parents.iter().map(|parent| parent.id.as_str()).collect();
    assert_eq!(read, names[..MAX_BATCH], "in the order of the submission");
    assert!(page.parents.iter().all(|parent| parent.result.is_some()));
    f.run_one("all", DONE).await;
    f.tick_many().await;
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn a_task_that_waits_for_many_that_are_over_goes_by_their_ends(f: Fixture) {
    let fails = names()[WIDE - 10].clone();
    f.submit_many().await;
    f.run_many(WIDE, Some(&fails)).await;
    let submitted = f
        .submit(vec![waits("runs", DependencyPolicy::RunWithFailures), waits("not", DependencyPolicy::AbortSuccessors)])
        .await;
    assert_eq!(submitted.iter().map(|it| it.status).collect::<Vec<_>>(), [Status::Submitted, Status::Aborted]);
    let cause = EndedPredecessor { id: id(&fails), status: Status::Failed };
    assert_eq!(f.get("not").await.dependencies.unwrap().aborted_by, Some(cause));
    let unknown = NewTask {
        depends_on: [&names()[..], &["ghost".to_owned()]]
            .concat()
            .iter()
            .map(|on| edge(on, DependencyPolicy::RunWithFailures))
            .collect(),
        ..task("no")
    };
    let refused = f.try_submit(vec![task("beside"), unknown], OnConflict::Fail).await;
    let expected = Error::UnknownPredecessor { id: id("no"), predecessor: id("ghost") };
    assert_eq!(refused, Err(expected));
    assert_eq!(f.engine.get(&id("beside")).await.unwrap(), None);
    f.run_one("runs", DONE).await;
    f.tick_many().await;
    assert_sound(&f, 500, false).await;
}

pub async fn a_task_that_waited_for_many_and_ended_is_waited_with_no_more(f: Fixture) {
    f.submit_many().await;
    f.submit(vec![waits("a", DependencyPolicy::AbortSuccessors), waits("b", DependencyPolicy::RunOnError)]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_sound(&f, 500, false).await;
    // In its next life it waits for one alone, while edges of the first may still be there.
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap(), [Resubmitted::Done]);
    f.submit(vec![NewTask { start: Start::After(seconds(60)), ..task("late") }]).await;
    let added = NewDependency { run: id("a"), after: id("late"), policy: DependencyPolicy::AbortSuccessors };
    assert_eq!(f.engine.add_dependencies(&[added]).await, Ok(vec![true]));
    assert_sound(&f, 500, false).await;
    f.run_many(WIDE, None).await;
    f.tick_many().await;
    assert_eq!((f.status("a").await, f.counts_of("a").await), (Status::Waiting, (1, 0)));
    assert_eq!(f.status("b").await, Status::Aborted, "the first that completed aborted it");
    f.advance(seconds(61));
    f.run_one("late", DONE).await;
    f.run_one("a", DONE).await;
    f.tick_many().await;
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn a_task_whose_caller_died_waits_for_all_of_many(f: Fixture) {
    f.submit_many().await;
    f.submit_and_die(waits("all", DependencyPolicy::AbortSuccessors)).await;
    let total = u32::try_from(WIDE).unwrap();
    assert_eq!((f.status("all").await, f.counts_of("all").await.0), (Status::Waiting, total));
    assert_sound(&f, 500, false).await;
    f.run_many(WIDE - 1, None).await;
    f.tick_many().await;
    assert_eq!((f.status("all").await, f.counts_of("all").await), (Status::Waiting, (total, total - 1)));
    let page = f.engine.parents(ParentsRequest::all(id("all"), 1, 1 << 20)).await.unwrap();
    assert_eq!(page.total, WIDE);
    f.run_many(1, None).await;
    f.tick_many().await;
    assert_eq!(f.status("all").await, Status::Submitted);
    f.run_one("all", DONE).await;
    f.tick_many().await;
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn no_circle_is_closed_through_edges_that_are_still_to_be_stored(f: Fixture) {
    let last = names()[WIDE - 1].clone();
    f.submit_many().await;
    f.submit_and_die(waits("all", DependencyPolicy::RunWithFailures)).await;
    let added = NewDependency { run: id(&last), after: id("all"), policy: DependencyPolicy::AbortSuccessors };
    match f.engine.add_dependencies(&[added]).await {
        Err(Error::DependencyRefused(refused)) => assert!(matches!(refused.why, AddRefusal::Circle(_)), "{refused:?}"),
        other => panic!("{other:?}"),
    }
    assert_sound(&f, 500, false).await;
}

pub async fn a_predecessor_that_is_replaced_before_its_edge_is_stored_counts_as_aborted(f: Fixture) {
    let last = names()[WIDE - 1].clone();
    f.submit_many().await;
    f.submit_and_die(waits("all", DependencyPolicy::RunWithFailures)).await;
    f.advance(seconds(1));
    // The one that takes its place waits for the task that waited for it.
    let other = NewTask { depends_on: vec![edge("all", DependencyPolicy::AbortSuccessors)], ..task_in(&last, MANY) };
    let replaced = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!((replaced[0].status, replaced[0].how), (Status::Waiting, SubmittedHow::Replaced));
    f.run_many(WIDE - 1, None).await;
    f.tick_many().await;
    let total = u32::try_from(WIDE).unwrap();
    assert_eq!((f.status("all").await, f.counts_of("all").await), (Status::Submitted, (total, total)));
    f.run_one("all", DONE).await;
    assert_eq!(f.status(&last).await, Status::Submitted);
    f.run_many(1, None).await;
    f.tick_many().await;
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn tasks_that_wait_for_many_are_cancelled_purged_deleted_and_pruned(f: Fixture) {
    // Together they have more dependencies than a step deletes.
    const COUNT: usize = 12;
    f.submit_many().await;
    let submit = async |prefix: &str| {
        let ids: Vec<TaskId> = (0..COUNT).map(|n| id(&format!("{prefix}{n:02}"))).collect();
        for id in &ids {
            f.submit(vec![waits(id.as_str(), DependencyPolicy::AbortSuccessors)]).await;
        }
        ids
    };
    let ids = submit("cancelled").await;
    assert_eq!(f.engine.cancel(&ids).await.unwrap(), vec![Cancelled::Done; COUNT]);
    f.tick_many().await;
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let (mut pruned, mut cursor) = (0, None);
    loop {
        let request = PruneRequest { scope: scope.clone(), limit: 1_000, dry_run: false, cursor };
        let answer = f.engine.prune(request).await.unwrap();
        pruned += answer.removed;
        cursor = answer.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pruned, COUNT as u64);
    submit("purged").await;
    let mut purged = 0;
    loop {
        match f.engine.purge_queue(&queue("default"), 1_000).await.unwrap() {
            0 => break,
            count => purged += count,
        }
    }
    assert_eq!(purged, COUNT as u64);
    let ids = submit("deleted").await;
    assert_eq!(f.engine.delete_tasks(&ids, true).await.unwrap(), vec![TaskDeletion::Deleted; COUNT]);
    f.tick_many().await;
    assert_eq!(f.engine.statuses(&ids).await.unwrap(), vec![None; COUNT]);
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn tasks_of_a_batch_wait_for_many_of_it(f: Fixture) {
    // A batch with more dependencies than a step links, in which later tasks wait for earlier ones.
    let names: Vec<String> = (0..200).map(|n| format!("t{n:03}")).collect();
    let on = |n: usize| names[n.saturating_sub(20)..n].iter().map(|name| edge(name, DependencyPolicy::AbortSuccessors));
    let tasks = (0..200).map(|n| NewTask { depends_on: on(n).collect(), ..task(&names[n]) }).collect();
    f.submit(tasks).await;
    assert_sound(&f, 500, false).await;
    for name in &names {
        f.run_one(name, DONE).await;
    }
    assert_eq!(f.count(Status::Completed).await, 200);
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn signals_from_outside_time_out_after_the_last_of_many(f: Fixture) {
    f.submit_many().await;
    let signal = AwaitedSignal {
        name: SignalName::new("approved").unwrap(),
        timeout: Some(seconds(5)),
        on_timeout: OnTimeout::Abort,
    };
    f.submit(vec![NewTask { signals: vec![signal], ..waits("a", DependencyPolicy::AbortSuccessors) }]).await;
    f.advance(seconds(10));
    f.tick_many().await;
    assert_eq!(f.status("a").await, Status::Waiting, "its time has not begun");
    f.run_many(WIDE, None).await;
    f.tick_many().await;
    assert_eq!(f.status("a").await, Status::Waiting);
    f.advance(seconds(6));
    f.tick_many().await;
    assert_eq!(f.status("a").await, Status::Aborted);
    assert_sound(&f, 500, false).await;
}
