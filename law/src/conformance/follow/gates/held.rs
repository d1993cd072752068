//! What waits for its key or its task: it keeps its place, and can be cancelled, moved and purged like any other.

use jobbers_common::{
    engine::{Error, OnConflict, Outcome, QueuePlace, Resubmit, SubmittedHow, TaskFilter},
    lifecycle::Status,
    policy::{DeadLetter, PolicyOverrides},
    queue::{
        QueueConfig,
        gate::{Gate, GateLimits, ShutGate},
    },
    task::{
        NewTask, Priority, Start,
        unique::{OnDuplicate, Unique, UniqueKey},
    },
    time::Clock,
};

use crate::conformance::{DONE, Fixture, RELEASED, audit::assert_sound, failure, id, ids, queue, retry, seconds, task};

use super::{claim_all, key, name, of, per_key, per_task, put, rate, submit_many};

pub async fn what_waits_for_its_key_keeps_its_place(f: Fixture) {
    put(&f, per_key(1)).await;
    f.submit(vec![of("acme", "a1"), of("acme", "a2")]).await;
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..of("acme", "urgent") }]).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["urgent"]);
    f.submit(vec![of("bolt", "b1"), of("acme", "a3"), task("c")]).await;
    let listed = f.list(TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() }, 2).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["a1", "a2", "b1", "a3", "c"]);
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["a1", "b1", "c"], "as they became ready");
    let place = async |name: &str| f.engine.place(&id(name)).await.unwrap().unwrap().ahead;
    assert_eq!((place("a2").await, place("a3").await), (0, 1));
}

pub async fn a_release_at_once_goes_first_again(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 3).await;
    let held = f.claim(5).await;
    assert!(f.claim(5).await.is_empty());
    f.settle(&held[0], RELEASED).await;
    assert_eq!(ids(&f.claim(5).await), ["acme0000"], "it kept its place before those that wait");
}

pub async fn when_the_next_of_a_key_is_cancelled_the_one_after_it_is_next(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 5).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.engine.cancel(&[id("acme0001")]).await.unwrap();
    f.settle(&held, DONE).await;
    f.engine.cancel(&[id("acme0002")]).await.unwrap();
    // Empty calls and others in between must not use the turn up.
    assert!(f.claim_from(&["default"], 0).await.is_empty());
    let held = f.claim(5).await;
    assert_eq!(ids(&held), ["acme0003"]);
    put(&f, QueueConfig { paused: true, ..per_key(1) }).await;
    f.settle(&held[0], DONE).await;
    assert!(f.claim(5).await.is_empty());
    put(&f, per_key(1)).await;
    assert_eq!(ids(&f.claim(5).await), ["acme0004"]);
}

pub async fn what_is_held_back_is_submitted_like_any_other(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, QueueConfig { max_length: Some(5), ..per_key(1) }).await;
    let start = f.clock.now();
    submit_many(&f, "acme", 4).await;
    f.advance(seconds(1));
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.submit(vec![task("x"), task("y")]).await;
    let refused = f.try_submit(vec![task("z")], OnConflict::Fail).await;
    assert!(matches!(refused, Err(Error::QueueFull { .. })), "it takes room: {refused:?}");
    let stats = f.stats("default").await;
    assert_eq!((stats.tasks.get(&Status::Submitted), stats.oldest_ready_at), (Some(&5), Some(start)));
    assert!(f.engine.delete_queue(&queue("default"), None).await.is_err());
    assert_eq!(f.engine.cancel(&[id("acme0001")]).await.unwrap(), [jobbers_common::engine::Cancelled::Done]);
    let other = NewTask { version: 2, ..of("acme", "acme0002") };
    let replaced = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!((replaced[0].how, f.get("acme0002").await.version), (SubmittedHow::Replaced, 2));
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(1).await), ["acme0003"], "the replaced one went to the end");
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_held_back_can_be_purged(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 6).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    assert_eq!(f.engine.purge_queue(&queue("default"), 3).await, Ok(3));
    assert_eq!(f.engine.purge_queue(&queue("default"), 100).await, Ok(2));
    f.settle(&held, DONE).await;
    assert!(f.claim(5).await.is_empty());
    submit_many(&f, "bolt", 1).await;
    assert_eq!(ids(&f.claim(5).await), ["bolt0000"]);
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_held_back_moves_to_another_queue(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 4).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..task("first") }]).await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 3).await, Ok(3));
    assert_eq!(ids(&f.claim_from(&["mail"], 10).await), ["first", "acme0001", "acme0002"], "there nothing holds them");
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["acme0003"]);
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_later_word_for_what_is_held_back_is_kept(f: Fixture) {
    put(&f, per_key(1)).await;
    let last = |name: &str| NewTask {
        unique: Some(Box::new(Unique::new(UniqueKey::new("u").unwrap()).on_duplicate(OnDuplicate::KeepLast))),
        ..of("acme", name)
    };
    f.submit(vec![of("acme", "running")]).await;
    let held = f.claim_one().await;
    f.submit(vec![last("first"), of("acme", "second")]).await;
    assert!(f.claim(5).await.is_empty());
    let kept = f.submit(vec![NewTask { version: 3, ..last("third") }]).await;
    assert_eq!((kept[0].how, kept[0].id.as_str()), (SubmittedHow::Updated, "first"));
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(5).await), ["second"], "what was said anew went to the end");
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_retry_waits_for_its_key_like_any_other(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    let held = f.claim_one().await;
    f.settle(&held, retry(seconds(5))).await;
    let other = f.claim_one().await;
    f.advance(seconds(5));
    assert!(f.claim(5).await.is_empty());
    f.engine.promote_due(10).await.unwrap();
    f.settle(&other, DONE).await;
    assert_eq!(f.claim_one().await.attempt, 2);
    f.submit(vec![NewTask { start: Start::After(seconds(1)), ..of("acme", "later") }]).await;
    f.advance(seconds(2));
    assert!(f.claim(5).await.is_empty());
}

pub async fn a_task_that_is_held_back_tells_by_what(f: Fixture) {
    let limits = GateLimits { rate_limit: Some(rate(2, seconds(60), 1)), max_concurrent: Some(1) };
    let config = per_task("echo", limits);
    put(&f, QueueConfig { max_concurrent_per_key: Some(2), ..config }).await;
    let other = |id: &str| NewTask { name: name("other"), ..of("acme", id) };
    f.submit(vec![other("a1"), other("a2"), of("acme", "both"), task("running")]).await;
    assert_eq!(f.engine.place(&id("both")).await.unwrap().unwrap().held_back, [], "nothing does yet");
    assert_eq!(claim_all(&f).await, ["a1", "a2", "running"]);
    f.advance(seconds(10));
    let key_gate =
        ShutGate { gate: Gate::Key(key("acme")), running: 2, holders: vec![id("a1"), id("a2")], rate_wait: None };
    let task_gate = ShutGate {
        gate: Gate::Task(name("echo")),
        running: 1,
        holders: vec![id("running")],
        rate_wait: Some(seconds(20)),
    };
    let place = QueuePlace { ahead: 0, rate_wait: None, held_back: vec![key_gate, task_gate], probations: Vec::new() };
    assert_eq!(f.engine.place(&id("both")).await, Ok(Some(place)));
}

pub async fn a_key_goes_with_its_task_wherever_it_goes(f: Fixture) {
    put(&f, per_key(1)).await;
    let kept = PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides: kept, ..of("acme", "a") }]).await;
    let held = f.claim_one().await;
    f.settle(&held, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    let copy = f.engine.dead_letters(0, 10).await.unwrap().copies.remove(0);
    assert_eq!(copy.task.concurrency_key, Some(key("acme")));
    f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap();
    f.submit(vec![of("acme", "b")]).await;
    let held = f.claim(5).await;
    assert_eq!(ids(&held), ["a"]);
    f.settle(&held[0], Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    let copy = f.engine.dead_letters(copy.task.revision, 10).await.unwrap().copies.remove(0);
    let scope = jobbers_common::engine::PruneScope::Matching {
        filter: TaskFilter::default(),
        finished_before: None,
        larger_than: None,
    };
    let prune = jobbers_common::engine::PruneRequest { scope, limit: 100, dry_run: false, cursor: None };
    f.engine.prune(prune).await.unwrap();
    f.engine.resubmit(vec![Resubmit::of_archive(copy)]).await.unwrap();
    assert_eq!(f.get("a").await.concurrency_key, Some(key("acme")));
    assert_eq!(ids(&f.claim(5).await), ["b"]);
    assert!(f.claim(5).await.is_empty());
    let again = Resubmit::of_store(id("a"));
    f.engine.cancel(&[id("a")]).await.unwrap();
    f.engine.resubmit(vec![again]).await.unwrap();
    assert!(f.claim(5).await.is_empty(), "sent again, it waits again");
    assert_sound(&f, 1_000, false).await;
}
