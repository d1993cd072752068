//! Whole tasks out of a store and back into it: what they were, in their order, without anything made or lost.

use std::sync::Arc;

use jobbers_common::{
    dependency::{
        Dependency, DependencyPolicy,
        signal::{AwaitedSignal, OnTimeout, Signalled},
    },
    engine::{
        Error, Extension, Heartbeat, OnConflict, ParentsRequest, PruneRequest, PruneScope, PutMode, SettleAnswer,
        TaskFilter,
        backup::{Backup, Edges, Restored, StoredTask},
    },
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH, MAX_RESTORED_REVISION, SIGNALS_A_STEP},
    name::{SignalName, TaskId},
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides, error_kind::ErrorKind},
    queue::{QueueConfig, Retention, gate::ConcurrencyKey},
    task::{
        AttemptFailure, FailureKind, NewTask, Priority, Progress, Start,
        suspicion::Suspicion,
        unique::{Unique, UniqueKey},
    },
    time::{Clock, Timestamp},
};

use super::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, dependencies::edge, failed, id, ids, queue, retry, seconds,
    task, task_in,
};

fn backup(f: &Fixture) -> Arc<dyn Backup> {
    Arc::clone(&f.engine).backup()
}

/// Everything the store holds of all its tasks, in the order of their ids.
async fn dump_all(f: &Fixture) -> Vec<StoredTask> {
    let mut names: Vec<_> = f.list(TaskFilter::default(), 1_000).await.into_iter().map(|task| task.id).collect();
    names.sort();
    let dumped = backup(f).dump(&names).await.unwrap();
    dumped.into_iter().map(|stored| stored.expect("it is listed")).collect()
}

/// Deletes all tasks but those that run.
async fn empty(f: &Fixture) {
    for stats in f.all_stats().await {
        f.engine.purge_queue(&stats.queue, 1_000).await.unwrap();
    }
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
}

/// Restores tasks, and links those that wait. Returns the answers, and how many were linked.
async fn restore(f: &Fixture, tasks: &[StoredTask]) -> (Vec<Restored>, u64) {
    let restored = backup(f).restore(tasks.to_vec()).await.unwrap();
    let edges: Vec<Edges> = tasks.iter().filter_map(StoredTask::edges).collect();
    (restored, backup(f).link(edges).await.unwrap())
}

/// Takes all tasks out, deletes them, and puts them back in the opposite order.
async fn move_all(f: &Fixture) -> Vec<StoredTask> {
    let mut dumped = dump_all(f).await;
    empty(f).await;
    dumped.reverse();
    let (restored, _) = restore(f, &dumped).await;
    assert_eq!(restored, vec![Restored::Done; dumped.len()]);
    dumped.reverse();
    dumped
}

async fn sound(f: &Fixture) {
    f.assert_conserved().await;
    assert_sound(f, 7, false).await;
}

fn waits_for(text: &str, on: &[&str]) -> NewTask {
    let edge = |on: &&str| Dependency { on: id(on), policy: DependencyPolicy::AbortSuccessors };
    NewTask { depends_on: on.iter().map(edge).collect(), ..task(text) }
}

fn unique(text: &str, key: &str) -> NewTask {
    NewTask { unique: Some(Box::new(Unique::new(UniqueKey::new(key).unwrap()))), ..task(text) }
}

/// One task in every situation but running.
async fn tasks_of_all_sorts(f: &Fixture) {
    f.create_queue("mail").await;
    let full = NewTask {
        version: 7,
        priority: Priority::new(9).unwrap(),
        overrides: PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() },
        concurrency_key: Some(ConcurrencyKey::new("acme").unwrap()),
        metadata: serde_json::from_str(r#"{"labels": {"team": "core"}}"#).unwrap(),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        parameters: Payload { content_type: Some("text/plain".into()), bytes: (0..=255).collect::<Vec<_>>().into() },
        ..unique("full", "k")
    };
    let large = Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]);
    f.submit(vec![full]).await;
    for text in ["done", "failed", "cancelled", "released", "retried", "empty"] {
        f.submit(vec![NewTask { parameters: large.clone(), ..task(text) }]).await;
    }
    let kind = Some(ErrorKind::new("Broken").unwrap());
    for claimed in f.claim(100).await {
        let heartbeat = Heartbeat {
            progress: Some(Progress::new(0.5, "half")),
            checkpoint: Some(Payload { content_type: Some("x/y".into()), bytes: b"so far"[..].into() }),
        };
        let extension = Extension { id: claimed.id.clone(), fence: claimed.fence, heartbeat: Some(heartbeat) };
        f.engine.extend(&super::worker("w1"), LEASE, vec![extension]).await.unwrap();
        f.advance(seconds(1));
        let outcome = match claimed.id.as_str() {
            "done" => super::Outcome::Completed { result: Some(Payload::json(&b"[1, 2]"[..])) },
            "empty" => DONE,
            "failed" => failed(true),
            "cancelled" => super::Outcome::Cancelled,
            "retried" => {
                let failure =
                    AttemptFailure { error_kind: kind.clone(), ..AttemptFailure::new(FailureKind::Panic, "x") };
                super::Outcome::Retry { delay: seconds(60), failure }
            }
            _ => RELEASED,
        };
        f.settle(&claimed, outcome).await;
    }
    f.submit(vec![NewTask { start: Start::After(seconds(90)), ..task("later") }, task_in("mailed", "mail")]).await;
    f.submit(vec![waits_for("next", &["released", "later"]), waits_for("last", &["next", "done"])]).await;
    f.submit(vec![waits_for("given-up", &["failed"])]).await;
}

pub async fn a_restored_task_is_what_it_was(f: Fixture) {
    tasks_of_all_sorts(&f).await;
    let before = f.list(TaskFilter::default(), 1_000).await;
    let dumped = move_all(&f).await;
    assert_eq!(dumped.len(), 12);
    assert_eq!(dump_all(&f).await, dumped);
    assert_eq!(f.list(TaskFilter::default(), 1_000).await, before, "lists have their order");
    sound(&f).await;
    let waiting = f.get("last").await.dependencies.unwrap();
    assert_eq!((waiting.total, waiting.signals), (2, 1));
    f.advance(seconds(90));
    let claimed = f.claim_from(&["default", "mail"], 100).await;
    assert_eq!(ids(&claimed), ["full", "released", "retried", "later", "mailed"]);
    for claimed in &claimed {
        assert_eq!(f.settle(claimed, DONE).await, SettleAnswer::Accepted(Status::Completed), "{}", claimed.id);
    }
    for text in ["next", "last"] {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.id, id(text));
        f.settle(&claimed, DONE).await;
    }
    sound(&f).await;
}

pub async fn a_restored_task_waits_for_its_signals(f: Fixture) {
    let awaited = |name: &str, after: Option<u64>| AwaitedSignal {
        name: SignalName::new(name).unwrap(),
        timeout: after.map(seconds),
        on_timeout: OnTimeout::Run,
    };
    let signals = vec![awaited("came", None), awaited("late", Some(60)), awaited("open", None)];
    f.submit(vec![
        task("a"),
        NewTask { signals: signals.clone(), ..waits_for("both", &["a"]) },
        NewTask { signals: vec![awaited("late", Some(60))], ..task("alone") },
        NewTask { signals, ..task("over") },
    ])
    .await;
    let came = SignalName::new("came").unwrap();
    f.engine.signal(&id("both"), &came, None).await.unwrap();
    f.engine.cancel(&[id("over")]).await.unwrap();
    let dumped = move_all(&f).await;
    assert_eq!(dump_all(&f).await, dumped);
    sound(&f).await;
    assert_eq!(f.engine.signal(&id("both"), &came, None).await, Ok(Signalled::Already));
    f.advance(seconds(61));
    f.engine.promote_due(100).await.unwrap();
    assert_eq!((f.status("alone").await, f.status("both").await), (Status::Submitted, Status::Waiting));
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    f.advance(seconds(60));
    f.engine.promote_due(100).await.unwrap();
    let open = SignalName::new("open").unwrap();
    assert_eq!(f.engine.signal(&id("both"), &open, None).await, Ok(Signalled::Done(Status::Submitted)));
    sound(&f).await;
}

pub async fn a_restored_queue_keeps_its_order(f: Fixture) {
    let high = |text| NewTask { priority: Priority::new(7).unwrap(), ..task(text) };
    f.submit_ids(&["a", "b", "c"]).await;
    f.submit(vec![high("d"), high("e")]).await;
    // It goes to the end of its priority.
    let first = f.claim(3).await;
    assert_eq!(ids(&first), ["d", "e", "a"]);
    for claimed in &first {
        let outcome = if claimed.id == id("a") { retry(seconds(0)) } else { RELEASED };
        f.settle(claimed, outcome).await;
    }
    move_all(&f).await;
    f.submit_ids(&["f"]).await;
    assert_eq!(ids(&f.claim(100).await), ["d", "e", "b", "c", "a", "f"]);
    sound(&f).await;
}

pub async fn a_task_that_ran_is_ready_at_its_old_place(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let claimed = f.claim(2).await;
    f.engine.cancel(&[id("b")]).await.unwrap();
    let dumped = dump_all(&f).await;
    assert!(dumped[0].task.lease.is_some() && dumped[1].task.cancel_requested);
    for claimed in &claimed {
        f.settle(claimed, DONE).await;
    }
    empty(&f).await;
    let (restored, _) = restore(&f, &dumped).await;
    assert_eq!(restored, vec![Restored::Done; 3]);
    assert_eq!(f.settle(&claimed[0], DONE).await, SettleAnswer::LeaseLost);
    let task = f.get("a").await;
    assert_eq!((task.status, task.attempt, task.crashes, task.blames), (Status::Submitted, 0, 1, 0));
    assert_eq!((task.suspicion, task.lease, task.submitted_at), (Suspicion::NONE, None, dumped[0].task.submitted_at));
    assert_eq!(f.status("b").await, Status::Cancelled, "a cancel wins");
    let again = f.claim(100).await;
    assert_eq!((ids(&again), again[0].attempt), (vec!["a", "c"], 1));
    sound(&f).await;
}

pub async fn a_suspect_stays_one(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    for _ in 0..2 {
        f.claim(2).await;
        f.advance(LEASE);
        f.engine.reclaim_expired(10).await.unwrap();
    }
    let dumped = move_all(&f).await;
    assert!(dumped.iter().all(|stored| stored.task.suspicion.is_suspect()));
    assert_eq!(dump_all(&f).await, dumped);
    sound(&f).await;
    assert_eq!(ids(&f.claim(100).await), ["a", "b"]);
}

pub async fn edges_to_tasks_that_are_over_signal_when_they_are_linked(f: Fixture) {
    f.submit_ids(&["good", "bad", "open"]).await;
    f.submit(vec![waits_for("x", &["good"]), waits_for("y", &["bad"]), waits_for("z", &["good", "open"])]).await;
    f.submit(vec![waits_for("after-y", &["y"]), waits_for("stranded", &["open"])]).await;
    let dumped = dump_all(&f).await;
    let of = |text: &str| dumped.iter().find(|stored| stored.task.id == id(text)).unwrap().clone();
    for claimed in f.claim(2).await {
        f.settle(&claimed, if claimed.id == id("good") { DONE } else { failed(false) }).await;
    }
    let ended = [dump(&f, "good").await, dump(&f, "bad").await];
    empty(&f).await;
    let waiting: Vec<StoredTask> = ["after-y", "y", "x", "stranded"].into_iter().map(of).collect();
    let (restored, linked) = restore(&f, &[&ended[..], &waiting].concat()).await;
    assert_eq!((restored, linked), (vec![Restored::Done; 6], 4));
    assert_eq!(f.status("x").await, Status::Submitted);
    for text in ["y", "after-y", "stranded"] {
        assert_eq!(f.status(text).await, Status::Aborted, "{text}");
    }
    let cause = f.get("stranded").await.dependencies.unwrap().aborted_by.unwrap();
    assert_eq!((cause.id, cause.status), (id("open"), Status::Cancelled), "it is nowhere to be found");
    restore(&f, &[of("open"), of("z")]).await;
    let waiting = f.get("z").await.dependencies.unwrap();
    assert_eq!((waiting.signals, waiting.waits_for.len()), (1, 1));
    sound(&f).await;
}

pub async fn ends_that_were_still_to_be_signalled_are_signalled_before_a_backup(f: Fixture) {
    // More successors than a step signals; the predecessor is deleted, so nothing but the list of due ends has its end.
    let names: Vec<String> = (0..2 * SIGNALS_A_STEP + 50).map(|n| format!("z{n:04}")).collect();
    f.submit_ids(&["a", "b"]).await;
    let by = |name: &String| NewTask { depends_on: vec![edge("a", DependencyPolicy::RunOnError)], ..task(name) };
    f.submit(names.iter().map(by).collect()).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, failed(false)).await;
    let filter = TaskFilter { statuses: vec![Status::Failed], ..TaskFilter::default() };
    let scope = PruneScope::Matching { filter, finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
    backup(&f).settle_edges().await.unwrap();
    move_all(&f).await;
    for names in names.chunks(MAX_BATCH) {
        let ids: Vec<TaskId> = names.iter().map(|name| id(name)).collect();
        assert_eq!(f.engine.statuses(&ids).await.unwrap(), vec![Some(Status::Submitted); ids.len()]);
    }
    sound(&f).await;
}

pub async fn a_restored_task_holds_its_predecessors(f: Fixture) {
    f.submit_ids(&["good", "open"]).await;
    f.submit(vec![waits_for("z", &["open", "good"])]).await;
    let claimed = f.claim(1).await;
    f.settle(&claimed[0], DONE).await;
    let dumped = move_all(&f).await;
    assert_eq!(dumped.iter().map(|it| it.parents.len()).sum::<usize>(), 2);
    assert_eq!(dump_all(&f).await, dumped);
    let parents = f.engine.parents(ParentsRequest::all(id("z"), 10, 10)).await.unwrap().parents;
    let parents: Vec<_> = parents.iter().map(|parent| (parent.id.as_str(), parent.status)).collect();
    assert_eq!(parents, [("open", Some(Status::Submitted)), ("good", Some(Status::Completed))]);
    for text in ["open", "z"] {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.id, id(text));
        f.settle(&claimed, DONE).await;
    }
    assert!(dump(&f, "z").await.parents.is_empty());
    sound(&f).await;
}

async fn dump(f: &Fixture, text: &str) -> StoredTask {
    backup(f).dump(&[id(text)]).await.unwrap().remove(0).unwrap()
}

pub async fn restoring_again_changes_nothing(f: Fixture) {
    tasks_of_all_sorts(&f).await;
    let dumped = move_all(&f).await;
    for _ in 0..2 {
        let (restored, linked) = restore(&f, &dumped).await;
        assert_eq!((restored, linked), (vec![Restored::Already; dumped.len()], 0));
        assert_eq!(dump_all(&f).await, dumped);
    }
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    restore(&f, &dumped).await;
    assert_eq!(f.status(claimed.id.as_str()).await, Status::Completed, "whatever became of it");
    sound(&f).await;
}

pub async fn a_restore_cut_short_is_finished_by_the_next(f: Fixture) {
    tasks_of_all_sorts(&f).await;
    let dumped = dump_all(&f).await;
    empty(&f).await;
    // Without the second round, and not all of the first.
    backup(&f).restore(dumped[..7].to_vec()).await.unwrap();
    let (restored, linked) = restore(&f, &dumped).await;
    let answers = [vec![Restored::Already; 7], vec![Restored::Done; dumped.len() - 7]].concat();
    assert_eq!((restored, linked), (answers, 2));
    assert_eq!(dump_all(&f).await, dumped);
    sound(&f).await;
}

pub async fn another_submission_of_an_id_is_left_alone(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let dumped = dump_all(&f).await;
    f.try_submit(vec![NewTask { version: 2, ..task("a") }], OnConflict::Replace).await.unwrap();
    f.engine.cancel(&[id("b")]).await.unwrap();
    let (restored, _) = restore(&f, &dumped).await;
    assert_eq!(restored, [Restored::Conflict, Restored::Already]);
    assert_eq!((f.get("a").await.version, f.status("b").await), (2, Status::Cancelled));
    sound(&f).await;
}

pub async fn a_pruned_task_that_is_remembered_is_not_restored(f: Fixture) {
    f.submit(vec![NewTask { id_is_chosen: true, ..task("a") }]).await;
    let dumped = dump_all(&f).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    f.advance(seconds(1));
    empty(&f).await;
    let other = StoredTask { fingerprint: 1, ..dumped[0].clone() };
    assert_eq!(restore(&f, &dumped).await.0, [Restored::Already]);
    assert_eq!(restore(&f, &[other]).await.0, [Restored::Conflict]);
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
}

pub async fn a_restored_task_holds_its_unique_key(f: Fixture) {
    let new = NewTask {
        unique: Some(Box::new(Unique { span: Some(seconds(60)), ..*unique("a", "k").unique.unwrap() })),
        ..task("a")
    };
    f.submit(vec![new]).await;
    let dumped = move_all(&f).await;
    assert_eq!(dumped[0].key.as_ref().unwrap().until, Some(f.clock.now().after(seconds(60))));
    let refused = f.try_submit(vec![unique("b", "k")], OnConflict::Fail).await;
    assert!(matches!(refused, Err(Error::Duplicate { holder, .. }) if holder == id("a")));
    empty(&f).await;
    f.submit(vec![unique("b", "k")]).await;
    assert_eq!(restore(&f, &dumped).await.0, [Restored::Held(id("b"))]);
    f.advance(seconds(60));
    assert_eq!(restore(&f, &dumped).await.0, [Restored::Done], "its span is over");
    assert!(f.try_submit(vec![unique("c", "k")], OnConflict::Fail).await.is_err(), "b holds the key still");
    sound(&f).await;
}

pub async fn limits_do_not_refuse_a_restore(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let dumped = dump_all(&f).await;
    empty(&f).await;
    let limits = QueueConfig { max_length: Some(1), max_bytes: Some(8), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limits, PutMode::Upsert).await.unwrap();
    assert_eq!(restore(&f, &dumped).await.0, vec![Restored::Done; 3]);
    assert_eq!(f.stats("default").await.waiting_bytes, Some(21));
    assert!(f.try_submit(vec![task("d")], OnConflict::Fail).await.is_err());
    sound(&f).await;
}

pub async fn a_queue_that_does_not_exist_takes_nothing(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task("a"), task_in("b", "mail")]).await;
    let dumped = dump_all(&f).await;
    empty(&f).await;
    f.engine.delete_queue(&queue("mail"), None).await.unwrap();
    assert_eq!(restore(&f, &dumped).await.0, [Restored::Done, Restored::UnknownQueue(queue("mail"))]);
    sound(&f).await;
}

pub async fn revisions_given_out_later_are_greater(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let mut stored = dump_all(&f).await.remove(0);
    empty(&f).await;
    let ahead = stored.task.revision + 5_000_000;
    (stored.task.revision, stored.position) = (ahead, ahead);
    restore(&f, &[stored]).await;
    assert_eq!(f.get("a").await.revision, ahead);
    f.submit_ids(&["b"]).await;
    assert!(f.get("b").await.revision > ahead);
    assert_eq!(ids(&f.claim(2).await), ["a", "b"]);
}

pub async fn finished_tasks_are_in_the_order_of_their_ends(f: Fixture) {
    for text in ["a", "b", "c", "d", "e", "f"] {
        f.submit_ids(&[text]).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
        f.advance(seconds(1));
    }
    let dumped = dump_all(&f).await;
    empty(&f).await;
    let some = |places: &[usize]| places.iter().map(|place| dumped[*place].clone()).collect::<Vec<_>>();
    for places in [&[2, 4][..], &[3], &[5, 0], &[1]] {
        assert_eq!(restore(&f, &some(places)).await.0, vec![Restored::Done; places.len()]);
        sound(&f).await;
    }
    let listed = f.list(TaskFilter::default(), 2).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["f", "e", "d", "c", "b", "a"]);
    let retention = Retention { count: 2, ..Retention::default() };
    f.engine.put_queue(QueueConfig { retention, ..QueueConfig::new(queue("default")) }, PutMode::Upsert).await.unwrap();
    let scope = PruneScope::Retention;
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    let listed = f.list(TaskFilter::default(), 10).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["f", "e"]);
    sound(&f).await;
}

pub async fn a_restored_task_is_promoted_in_time(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(60)), ..task("a") }]).await;
    move_all(&f).await;
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 0);
    f.advance(seconds(60));
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 1);
}

pub async fn what_no_store_holds_is_not_restored(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.submit(vec![waits_for("b", &["a"])]).await;
    let dumped = dump_all(&f).await;
    let [ready, waiting] = &dumped[..] else { panic!("two tasks") };
    let with = |change: &dyn Fn(&mut StoredTask)| {
        let mut stored = ready.clone();
        change(&mut stored);
        stored
    };
    let wrong = [
        with(&|it| it.task.revision = 0),
        with(&|it| it.position = MAX_RESTORED_REVISION + 1),
        with(&|it| it.task.parameters = None),
        with(&|it| {
            it.task.status = Status::Completed;
            it.task.completed_at = Some(it.task.submitted_at);
            it.task.parameters = Some(Payload::json(Vec::new()));
        }),
        with(&|it| it.task.status = Status::Failed),
        with(&|it| it.task.completed_at = Some(Timestamp::default())),
        with(&|it| it.task.ready_at = Timestamp::from_micros(-1)),
        with(&|it| it.task.ready_at = Timestamp::from_micros(i64::MAX)),
        with(&|it| it.task.status = Status::Waiting),
        with(&|it| it.key = Some(jobbers_common::engine::backup::TakenKey::default())),
    ];
    for stored in wrong {
        let refused = backup(&f).restore(vec![stored.clone()]).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{stored:?}: {refused:?}");
    }
    for (count, stored) in [(2, ready), (MAX_BATCH + 1, waiting)] {
        let refused = backup(&f).restore(vec![stored.clone(); count]).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    let none = Edges { id: id("b"), waits_for: Vec::new() };
    let itself = Edges { id: id("a"), ..waiting.edges().unwrap() };
    for edges in [vec![none], vec![itself], vec![waiting.edges().unwrap(); MAX_BATCH + 1]] {
        assert!(matches!(backup(&f).link(edges).await, Err(Error::Invalid(_))));
    }
    let unknown = backup(&f).dump(&[id("a"), id("nowhere")]).await.unwrap();
    assert_eq!((unknown[0].as_ref(), unknown[1].as_ref()), (Some(ready), None));
    assert!(matches!(backup(&f).dump(&vec![id("a"); MAX_BATCH + 1]).await, Err(Error::Invalid(_))));
    assert_eq!(dump_all(&f).await, dumped);
}
