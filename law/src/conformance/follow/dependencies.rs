//! Tasks that wait for others.

use std::{collections::BTreeSet, time::Duration};

use jobbers_common::{
    dependency::{Dependencies, Dependency, DependencyPolicy, EndedPredecessor},
    engine::{
        Error, OnConflict, Outcome, PruneRequest, PruneScope, Resubmit, Resubmitted, SettleAnswer, SubmittedHow,
        TaskFilter,
    },
    lifecycle::Status,
    limits::{MAX_DEPENDENCIES, MAX_DEPENDENCIES_SHOWN, SIGNALS_A_STEP},
    policy::PolicyOverrides,
    task::{ClaimedTask, NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture, LEASE, audit::assert_sound, failed, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};

use DependencyPolicy::{AbortSuccessors, RunOnError, RunWithFailures};

/// An edge.
#[must_use]
pub fn edge(on: &str, policy: DependencyPolicy) -> Dependency {
    Dependency { on: id(on), policy }
}

/// A task that waits for others by the default policy.
#[must_use]
pub fn after(text: &str, on: &[&str]) -> NewTask {
    NewTask { depends_on: on.iter().map(|on| edge(on, AbortSuccessors)).collect(), ..task(text) }
}

fn by(text: &str, on: &str, policy: DependencyPolicy) -> NewTask {
    NewTask { depends_on: vec![edge(on, policy)], ..task(text) }
}

impl Fixture {
    /// Total and signals of a task.
    async fn signals(&self, text: &str) -> (u32, u32) {
        let Dependencies { total, signals, .. } = *self.get(text).await.dependencies.unwrap();
        (total, signals)
    }

    async fn aborted_by(&self, text: &str) -> Option<EndedPredecessor> {
        self.get(text).await.dependencies.unwrap().aborted_by
    }

    async fn waits_for(&self, text: &str) -> Vec<String> {
        let edges = self.get(text).await.dependencies.unwrap().waits_for;
        edges.into_iter().map(|edge| edge.on.to_string()).collect()
    }

    /// Claims the next task, which must be this one.
    async fn claim_this(&self, text: &str) -> ClaimedTask {
        let claimed = self.claim_one().await;
        assert_eq!(claimed.id, id(text));
        claimed
    }

    pub(super) async fn run_one(&self, text: &str, outcome: Outcome) {
        let claimed = self.claim_this(text).await;
        assert!(matches!(self.settle(&claimed, outcome).await, SettleAnswer::Accepted(_)));
    }
}

pub async fn a_task_waits_for_all_its_predecessors_and_is_released_once(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let submitted = f.submit(vec![after("c", &["a", "b"])]).await;
    assert_eq!((submitted[0].status, submitted[0].how), (Status::Waiting, SubmittedHow::Created));
    assert_eq!((f.signals("c").await, f.waits_for("c").await), ((2, 0), vec!["a".to_owned(), "b".to_owned()]));
    let claimed = f.claim(10).await;
    assert_eq!(ids(&claimed), ["a", "b"]);
    f.settle(&claimed[0], DONE).await;
    assert_eq!((f.status("c").await, f.signals("c").await), (Status::Waiting, (2, 1)));
    assert_eq!(f.waits_for("c").await, ["b"]);
    f.settle(&claimed[0], DONE).await;
    assert_eq!(f.signals("c").await, (2, 1), "a settlement that is repeated signals nothing");
    f.advance(seconds(3));
    f.settle(&claimed[1], DONE).await;
    let released = f.get("c").await;
    assert_eq!((released.status, f.signals("c").await), (Status::Submitted, (2, 2)));
    assert_eq!(released.ready_at, released.submitted_at.after(seconds(3)), "ready since its last predecessor ended");
    assert_eq!(f.waits_for("c").await, [""; 0]);
    f.run_one("c", DONE).await;
    assert_eq!(f.claim(10).await, []);
    assert_eq!((f.status("c").await, f.signals("c").await), (Status::Completed, (2, 2)));
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn tasks_of_one_batch_may_wait_for_each_other_in_any_order(f: Fixture) {
    f.create_queue("mail").await;
    let b = NewTask { depends_on: vec![edge("a", AbortSuccessors)], ..task_in("b", "mail") };
    let submitted = f.submit(vec![after("d", &["b", "c"]), b, task("a"), after("c", &["a"])]).await;
    let expected = [Status::Waiting, Status::Waiting, Status::Submitted, Status::Waiting];
    assert_eq!(submitted.iter().map(|it| it.status).collect::<Vec<_>>(), expected);
    f.run_one("a", DONE).await;
    let both = f.claim_from(&["mail", "default"], 10).await;
    assert_eq!(ids(&both), ["b", "c"]);
    f.settle(&both[1], DONE).await;
    assert_eq!(f.status("d").await, Status::Waiting);
    f.settle(&both[0], DONE).await;
    f.run_one("d", DONE).await;
    assert_sound(&f, 7, false).await;
}

pub async fn an_abort_goes_from_successor_to_successor(f: Fixture) {
    let tasks =
        vec![task("a"), after("b", &["a"]), after("c", &["b"]), after("d", &["c"]), by("e", "c", RunWithFailures)];
    f.submit(tasks).await;
    f.run_one("a", failed(false)).await;
    for aborted in ["b", "c", "d"] {
        let task = f.get(aborted).await;
        assert_eq!((task.status, task.attempt, task.worker), (Status::Aborted, 0, None), "{aborted}");
        assert!(task.completed_at.is_some() && task.parameters.is_some() && task.errors.is_empty());
        assert_eq!(f.signals(aborted).await, (1, 1));
    }
    f.submit(vec![after("f", &["e", "d", "a"])]).await;
    for (aborted, by, end) in [
        ("b", "a", Status::Failed),
        ("c", "b", Status::Aborted),
        ("d", "c", Status::Aborted),
        ("f", "d", Status::Aborted),
    ] {
        assert_eq!(f.aborted_by(aborted).await, Some(EndedPredecessor { id: id(by), status: end }), "{aborted}");
    }
    let listed = f.list(Default::default(), 10).await;
    let listed = listed.into_iter().find(|task| task.id == id("b")).and_then(|task| task.dependencies);
    assert_eq!(listed.and_then(|it| it.aborted_by), f.aborted_by("b").await);
    f.run_one("e", DONE).await;
    assert_eq!(f.aborted_by("e").await, None);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

/// Ends a task in this status.
async fn end_as(f: &Fixture, text: &str, status: Status) {
    let failure = || failure("no");
    match status {
        Status::Aborted => {
            // By a predecessor of its own.
            f.engine.cancel(&[id("before")]).await.unwrap();
        }
        Status::Completed => f.run_one(text, DONE).await,
        Status::Failed => f.run_one(text, failed(true)).await,
        Status::Cancelled => f.run_one(text, Outcome::Cancelled).await,
        Status::Stalled => f.run_one(text, Outcome::Stalled { failure: failure(), dead_letter: true }).await,
        _ => {
            let (delay, patience) = (Duration::ZERO, Duration::ZERO);
            let dropped = Outcome::Unknown { delay, patience, failure: failure(), dead_letter: false };
            f.run_one(text, dropped).await;
        }
    }
    assert_eq!(f.status(text).await, status);
}

pub async fn each_policy_goes_by_how_the_predecessor_ended(f: Fixture) {
    for end in Status::ALL.into_iter().filter(|status| status.is_finished()) {
        let name = format!("{end}");
        let first = if end == Status::Aborted {
            f.submit(vec![NewTask { start: Start::After(seconds(900)), ..task("before") }]).await;
            after(&name, &["before"])
        } else {
            task(&name)
        };
        let named = DependencyPolicy::ALL.map(|policy| (format!("{end}-{}", policy.code()), policy));
        let mut tasks = vec![first];
        tasks.extend(named.iter().map(|(successor, policy)| by(successor, &name, *policy)));
        f.submit(tasks).await;
        end_as(&f, &name, end).await;
        for (successor, policy) in &named {
            let expected = if policy.aborts(end) { Status::Aborted } else { Status::Submitted };
            assert_eq!(f.status(successor).await, expected, "{policy:?} after {end}");
            // The same of one that comes after the end.
            let late = f.submit(vec![by(&format!("late-{successor}"), &name, *policy)]).await;
            assert_eq!((late[0].status, late[0].how), (expected, SubmittedHow::Created), "{policy:?} after {end}");
            assert_eq!(f.signals(late[0].id.as_str()).await, (1, 1));
        }
        f.engine.purge_queue(&queue("default"), 1_000).await.unwrap();
        f.assert_conserved().await;
        assert_sound(&f, 7, false).await;
    }
}

pub async fn a_predecessor_that_is_over_is_not_waited_for(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    f.run_one("a", DONE).await;
    let submitted = f.submit(vec![after("c", &["a", "b"]), after("d", &["a"])]).await;
    assert_eq!([submitted[0].status, submitted[1].status], [Status::Waiting, Status::Submitted]);
    assert_eq!((f.signals("c").await, f.waits_for("c").await), ((2, 1), vec!["b".to_owned()]));
    f.run_one("b", failed(false)).await;
    assert_eq!(f.status("c").await, Status::Aborted);
    let later = NewTask { start: Start::After(seconds(60)), ..after("e", &["a"]) };
    assert_eq!(f.submit(vec![later]).await[0].status, Status::Scheduled);
    assert_eq!(ids(&f.claim(10).await), ["d"]);
    assert_sound(&f, 7, false).await;
}

pub async fn a_pruned_predecessor_that_is_remembered_signals_by_its_end(f: Fixture) {
    let chosen = |text| NewTask { id_is_chosen: true, ..task(text) };
    f.submit(vec![chosen("good"), chosen("bad"), task("made")]).await;
    f.run_one("good", DONE).await;
    f.run_one("bad", failed(false)).await;
    f.run_one("made", DONE).await;
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    let submitted = f.submit(vec![after("a", &["good"]), after("b", &["bad"]), by("c", "bad", RunOnError)]).await;
    let expected = [Status::Submitted, Status::Aborted, Status::Submitted];
    assert_eq!(submitted.iter().map(|it| it.status).collect::<Vec<_>>(), expected);
    let refused = f.try_submit(vec![after("d", &["made"])], OnConflict::Fail).await;
    assert_eq!(refused, Err(Error::UnknownPredecessor { id: id("d"), predecessor: id("made") }));
    assert_sound(&f, 7, false).await;
}

pub async fn an_unknown_predecessor_refuses_the_whole_batch(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let batch = vec![task("x"), after("b", &["a"]), after("c", &["a", "ghost", "other"])];
    let refused = f.try_submit(batch, OnConflict::Fail).await;
    assert_eq!(refused, Err(Error::UnknownPredecessor { id: id("c"), predecessor: id("ghost") }));
    for none in ["x", "b", "c"] {
        assert_eq!(f.engine.get(&id(none)).await.unwrap(), None);
    }
    f.run_one("a", DONE).await;
    f.submit(vec![after("b", &["a"])]).await;
    f.run_one("b", DONE).await;
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn dependencies_that_make_no_sense_are_refused(f: Fixture) {
    f.submit_ids(&["s"]).await;
    let many: Vec<String> = (0..=MAX_DEPENDENCIES).map(|n| format!("p{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for batch in [
        vec![after("a", &["a"])],
        vec![after("a", &["s", "s"])],
        vec![after("a", &["b"]), after("b", &["c"]), after("c", &["a"])],
        vec![after("a", &many)],
    ] {
        let refused = f.try_submit(batch, OnConflict::Fail).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
}

pub async fn a_submission_sent_twice_has_its_edges_once(f: Fixture) {
    let batch = || vec![task("a"), task("b"), after("c", &["a", "b"])];
    f.submit(batch()).await;
    f.run_one("a", DONE).await;
    let again = f.submit(batch()).await;
    let expected = [Status::Completed, Status::Submitted, Status::Waiting];
    assert_eq!(again.iter().map(|it| it.status).collect::<Vec<_>>(), expected);
    assert!(again.iter().all(|it| it.how == SubmittedHow::Existing));
    assert_eq!(f.signals("c").await, (2, 1));
    let other = f.try_submit(vec![after("c", &["b"])], OnConflict::Fail).await;
    assert!(matches!(other, Err(Error::Conflict { .. })), "other dependencies are another body: {other:?}");
    f.run_one("b", DONE).await;
    f.run_one("c", DONE).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_retry_and_a_lost_lease_signal_nothing(f: Fixture) {
    let once = PolicyOverrides { max_crashes: Some(1), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides: once, ..task("a") }, after("b", &["a"]), by("c", "a", RunOnError)]).await;
    f.run_one("a", retry(Duration::ZERO)).await;
    f.run_one("a", crate::conformance::RELEASED).await;
    assert_eq!((f.status("b").await, f.signals("b").await), (Status::Waiting, (1, 0)));
    f.claim_this("a").await;
    f.advance(LEASE + seconds(1));
    let reclaimed = f.engine.reclaim_expired(1_000).await.unwrap();
    assert_eq!(reclaimed.ended.len(), 1, "it died alone, and its crashes are used up");
    assert_eq!((f.status("a").await, f.status("b").await), (Status::Failed, Status::Aborted));
    f.run_one("c", DONE).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_delayed_task_is_scheduled_when_its_last_predecessor_ends(f: Fixture) {
    let delayed = NewTask { start: Start::After(seconds(10)), ..after("b", &["a"]) };
    f.submit(vec![task("a"), delayed]).await;
    assert_eq!(f.status("b").await, Status::Waiting);
    f.run_one("a", DONE).await;
    assert_eq!(f.status("b").await, Status::Scheduled);
    f.advance(seconds(11));
    f.run_one("b", DONE).await;
    // One whose time is over when it is released goes in at once.
    let delayed = NewTask { start: Start::After(seconds(10)), ..after("d", &["c"]) };
    f.submit(vec![task("c"), delayed]).await;
    f.advance(seconds(11));
    f.run_one("c", DONE).await;
    assert_eq!(f.status("d").await, Status::Submitted);
    assert_sound(&f, 7, false).await;
}

pub async fn a_waiting_task_that_ends_is_waited_for_no_more(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["b"]), by("d", "b", RunWithFailures)]).await;
    f.engine.cancel(&[id("b")]).await.unwrap();
    let statuses = [f.status("b").await, f.status("c").await, f.status("d").await];
    assert_eq!(statuses, [Status::Cancelled, Status::Aborted, Status::Submitted]);
    assert_eq!((f.signals("b").await, f.waits_for("b").await), ((1, 0), vec![]));
    assert_sound(&f, 7, false).await;
    f.run_one("a", DONE).await;
    assert_eq!(f.status("b").await, Status::Cancelled);
    // Moved to another queue, it waits on.
    f.submit(vec![NewTask { start: Start::After(seconds(5)), ..task("e") }, after("f", &["e"])]).await;
    f.run_one("d", DONE).await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 10).await, Ok(2));
    assert_eq!((f.status("f").await, f.waits_for("f").await), (Status::Waiting, vec!["e".to_owned()]));
    assert_sound(&f, 1, false).await;
    f.advance(seconds(6));
    let claimed = f.claim_from(&["mail"], 1).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!(ids(&f.claim_from(&["mail"], 1).await), ["f"]);
    assert_sound(&f, 7, false).await;
}

pub async fn a_purged_predecessor_counts_as_cancelled(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task_in("a", "mail")]).await;
    f.submit(vec![after("b", &["a"]), by("c", "a", RunWithFailures), by("d", "a", RunOnError)]).await;
    assert_eq!(f.engine.purge_queue(&queue("mail"), 1_000).await, Ok(1));
    let statuses = [f.status("b").await, f.status("c").await, f.status("d").await];
    assert_eq!(statuses, [Status::Aborted, Status::Submitted, Status::Aborted]);
    // A task that waits and is purged takes its edges along.
    f.submit(vec![task_in("e", "mail")]).await;
    f.submit(vec![after("f", &["e"])]).await;
    assert_eq!(f.engine.purge_queue(&queue("default"), 1_000).await, Ok(2));
    assert_eq!(f.engine.get(&id("f")).await.unwrap(), None);
    assert_sound(&f, 7, false).await;
    f.submit(vec![task("f")]).await;
    let claimed = f.claim_from(&["mail"], 1).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!(f.get("f").await.dependencies, None);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_replaced_predecessor_counts_as_aborted(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"]), by("c", "a", RunOnError), after("w", &["a"])]).await;
    let anew = NewTask { version: 2, ..task("a") };
    let with_successor = vec![NewTask { version: 2, ..after("w", &["a"]) }, anew];
    let answers = f.try_submit(with_successor, OnConflict::Replace).await.unwrap();
    assert!(answers.iter().all(|it| it.how == SubmittedHow::Replaced), "{answers:?}");
    let statuses = [f.status("a").await, f.status("b").await, f.status("c").await, f.status("w").await];
    assert_eq!(statuses, [Status::Submitted, Status::Aborted, Status::Submitted, Status::Waiting]);
    assert_sound(&f, 7, false).await;
    f.run_one("a", DONE).await;
    let rest = f.claim(10).await;
    assert_eq!(ids(&rest), ["c", "w"]);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_predecessor_sent_again_revives_no_successor(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    f.run_one("a", failed(false)).await;
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap(), [Resubmitted::Done]);
    f.submit(vec![after("c", &["a"])]).await;
    f.run_one("a", DONE).await;
    assert_eq!((f.status("b").await, f.status("c").await), (Status::Aborted, Status::Submitted));
    // An aborted task that is sent again runs, whatever it waited for.
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("b"))]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(f.aborted_by("b").await, None);
    assert_eq!(ids(&f.claim(10).await), ["c", "b"]);
    assert_sound(&f, 7, false).await;
}

pub async fn a_running_task_may_get_successors(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_this("a").await;
    f.submit(vec![after("b", &["a"])]).await;
    assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Completed));
    f.run_one("b", DONE).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_cancelled_running_predecessor_signals_when_it_has_ended(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    let claimed = f.claim_this("a").await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!(f.status("b").await, Status::Waiting);
    assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Cancelled));
    assert_eq!(f.status("b").await, Status::Aborted);
    assert_sound(&f, 7, false).await;
}

pub async fn a_released_task_wakes_a_waiting_worker(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task("a")]).await;
    let b = NewTask { depends_on: vec![edge("a", AbortSuccessors)], ..task_in("b", "mail") };
    f.submit(vec![b]).await;
    let claimed = f.claim_this("a").await;
    assert_eq!(f.cycle_as("sleeper", &["mail"], 1, Vec::new()).await.claimed, []);
    let sleeper = worker("sleeper");
    let wait = f.engine.wait(&sleeper, seconds(20));
    let settle = f.settle(&claimed, DONE);
    let (woken, _) = tokio::join!(tokio::time::timeout(seconds(10), wait), settle);
    assert!(woken.is_ok(), "the release wakes it");
    assert_eq!(f.cycle_as("sleeper", &["mail"], 1, Vec::new()).await.claimed.len(), 1);
}

pub async fn an_aborted_task_ends_its_awaiting(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    let claimed = f.claim_this("a").await;
    let b = id("b");
    let (awaited, _) =
        tokio::join!(f.engine.await_finished(&b, seconds(20)), async { f.settle(&claimed, failed(false)).await });
    assert_eq!(awaited.unwrap().unwrap().status, Status::Aborted);
}

/// Ticks until as many edges are signalled as any case here has.
async fn tick(f: &Fixture) {
    for _ in 0..2_000 / SIGNALS_A_STEP {
        f.engine.promote_due(1_000).await.unwrap();
    }
}

pub async fn a_wide_fan_out_is_worked_off_by_the_calls_that_follow(f: Fixture) {
    const WIDTH: usize = 1_500;
    f.submit_ids(&["a"]).await;
    let names: Vec<String> = (0..WIDTH).map(|n| format!("s{n:04}")).collect();
    for names in names.chunks(500) {
        f.submit(names.iter().map(|name| after(name, &["a"])).collect()).await;
    }
    f.submit(vec![after("last", &names.iter().take(900).map(String::as_str).collect::<Vec<_>>())]).await;
    f.run_one("a", DONE).await;
    assert_sound(&f, 500, false).await;
    // What the step left is not lost when the predecessor is sent on its way again, or gone.
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    f.submit(vec![task("a"), after("new", &["a"])]).await;
    tick(&f).await;
    assert_eq!((f.count(Status::Submitted).await, f.status("new").await), (WIDTH as u64 + 1, Status::Waiting));
    let settled: Vec<ClaimedTask> = f.claim(1_000).await;
    let released: Vec<&str> = ids(&settled).into_iter().filter(|id| *id != "a").collect();
    assert!(released.is_sorted(), "in the order they were submitted, but for the new one");
    f.cycle_as("w1", &["default"], 0, settled.iter().map(done).collect()).await;
    tick(&f).await;
    assert_eq!((f.status("last").await, f.signals("last").await), (Status::Submitted, (900, 900)));
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

fn done(task: &ClaimedTask) -> crate::conformance::Settlement {
    crate::conformance::Settlement::new(task.id.clone(), task.fence, DONE)
}

pub async fn a_wide_abort_reaches_all(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let wide: Vec<NewTask> = (0..500).map(|n| after(&format!("s{n:03}"), &["a"])).collect();
    let deep: Vec<NewTask> = (0..500).map(|n| after(&format!("t{n:03}"), &[&format!("s{n:03}")])).collect();
    f.submit(wide.into_iter().chain(deep).collect()).await;
    f.run_one("a", failed(false)).await;
    tick(&f).await;
    assert_eq!((f.count(Status::Aborted).await, f.count(Status::Waiting).await), (1_000, 0));
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

/// How a task gets a second life while its first end is still to be signalled.
#[derive(Debug, Clone, Copy)]
enum SecondLife {
    SentAgain,
    Replaced,
    PrunedAndStoredAgain,
}

async fn live_again(f: &Fixture, text: &str, how: SecondLife) {
    match how {
        SecondLife::SentAgain => {
            let again = f.engine.resubmit(vec![Resubmit::of_store(id(text))]).await.unwrap();
            assert_eq!(again, [Resubmitted::Done]);
        }
        SecondLife::Replaced => {
            let answers = f.try_submit(vec![NewTask { version: 2, ..task(text) }], OnConflict::Replace).await;
            assert_eq!(answers.unwrap()[0].how, SubmittedHow::Replaced);
        }
        SecondLife::PrunedAndStoredAgain => {
            let filter = TaskFilter { statuses: vec![Status::Failed], ..TaskFilter::default() };
            let scope = PruneScope::Matching { filter, finished_before: None, larger_than: None };
            f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
            f.submit(vec![task(text)]).await;
        }
    }
}

pub async fn a_second_end_signals_nothing_of_the_first(f: Fixture) {
    use SecondLife::{PrunedAndStoredAgain, Replaced, SentAgain};
    const WIDTH: usize = 5 * SIGNALS_A_STEP;
    f.create_queue("mail").await;
    for (n, how) in [SentAgain, Replaced, PrunedAndStoredAgain].into_iter().enumerate() {
        let (a, late) = (format!("a{n}"), format!("late{n}"));
        f.submit_ids(&[&a]).await;
        let wide = |k: usize| {
            let policy = if k.is_multiple_of(2) { AbortSuccessors } else { RunOnError };
            NewTask { depends_on: vec![edge(&a, policy)], ..task_in(&format!("s{n}-{k:04}"), "mail") }
        };
        f.submit((0..WIDTH).map(wide).collect()).await;
        // An engine's step signals a fifth of them.
        f.run_one(&a, failed(false)).await;
        live_again(&f, &a, how).await;
        let latest = NewTask { depends_on: vec![edge(&a, AbortSuccessors)], ..task_in(&late, "mail") };
        f.submit(vec![latest]).await;
        assert_sound(&f, 500, false).await;
        f.run_one(&a, DONE).await;
        tick(&f).await;
        for k in 0..WIDTH {
            let expected = if k % 2 == 0 { Status::Aborted } else { Status::Submitted };
            assert_eq!(f.status(&format!("s{n}-{k:04}")).await, expected, "{how:?}: s{n}-{k:04}, by the first end");
        }
        assert_eq!(f.status(&late).await, Status::Submitted, "{how:?}: by the second end");
    }
    f.assert_conserved().await;
    assert_sound(&f, 500, false).await;
}

pub async fn who_a_task_waits_for_is_shown_up_to_a_bound(f: Fixture) {
    let names: Vec<String> = (0..150).map(|n| format!("p{n:03}")).collect();
    f.submit(names.iter().map(|name| task(name)).collect()).await;
    f.submit(vec![after("z", &names.iter().rev().map(String::as_str).collect::<Vec<_>>())]).await;
    assert_eq!(f.signals("z").await, (150, 0));
    assert_eq!(f.waits_for("z").await, names[..MAX_DEPENDENCIES_SHOWN]);
    let listed = f.list(TaskFilter { statuses: vec![Status::Waiting], ..TaskFilter::default() }, 10).await;
    let expected = Dependencies { total: 150, ..Dependencies::default() };
    assert_eq!(listed[0].dependencies.as_deref(), Some(&expected), "a list has the counts alone");
}

pub async fn a_full_queue_counts_what_waits_for_others(f: Fixture) {
    let limited = jobbers_common::queue::QueueConfig {
        max_length: Some(2),
        ..jobbers_common::queue::QueueConfig::new(queue("default"))
    };
    f.engine.put_queue(limited, jobbers_common::engine::PutMode::Upsert).await.unwrap();
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    let full = f.try_submit(vec![after("c", &["b"])], OnConflict::Fail).await;
    assert!(matches!(full, Err(Error::QueueFull { .. })), "{full:?}");
    let unknown = f.try_submit(vec![after("c", &["ghost"])], OnConflict::Fail).await;
    assert!(matches!(unknown, Err(Error::UnknownPredecessor { .. })), "what asking again can't cure goes first");
    f.run_one("a", DONE).await;
    f.run_one("b", DONE).await;
    assert_sound(&f, 7, false).await;
}

/// The lakeFS task management tests run this graph: a task per divisor, after those of its own divisors.
pub async fn a_graph_of_divisors_in_pieces_runs_in_order(f: Fixture) {
    const N: u64 = 3 * 5 * 7 * 11 * 13 * 17;
    let divisors: Vec<u64> = (2..=N).filter(|n| N.is_multiple_of(*n)).collect();
    let of = |n: u64| divisors.iter().copied().filter(move |d| *d < n && n.is_multiple_of(*d));
    let tasks: Vec<NewTask> = divisors
        .iter()
        .map(|n| NewTask {
            depends_on: of(*n).map(|d| edge(&d.to_string(), RunWithFailures)).collect(),
            ..task(&n.to_string())
        })
        .collect();
    for piece in tasks.chunks(17) {
        f.submit(piece.to_vec()).await;
    }
    let mut done_before = BTreeSet::new();
    loop {
        let claimed = f.claim(17).await;
        if claimed.is_empty() {
            break;
        }
        for task in &claimed {
            let n: u64 = task.id.as_str().parse().unwrap();
            assert!(of(n).all(|d| done_before.contains(&d)), "{n} ran before its divisors");
        }
        f.cycle_as("w1", &["default"], 0, claimed.iter().map(done).collect()).await;
        done_before.extend(claimed.iter().map(|task| task.id.as_str().parse::<u64>().unwrap()));
    }
    assert_eq!(done_before.len(), divisors.len());
    assert_sound(&f, 50, false).await;
}
