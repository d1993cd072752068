//! Promotion, reclaiming, pruning, purging.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, OnConflict, Outcome, PruneRequest, PruneScope, PutMode, SubmittedHow, TaskFilter},
    lifecycle::Status,
    name::TaskName,
    payload::Payload,
    queue::{QueueConfig, Retention},
    task::{NewTask, Start, label::Labels},
    time::{Clock, Timestamp},
};

use crate::conformance::{DONE, Fixture, LEASE, failure, id, ids, queue, retry, seconds, task, task_in};

fn later(text: &str, delay: u64) -> NewTask {
    NewTask { start: Start::After(seconds(delay)), ..task(text) }
}

/// Completes a task of this id in a queue.
async fn complete(f: &Fixture, text: &str, into: &str) {
    f.submit(vec![task_in(text, into)]).await;
    let claimed = f.claim_from(&[into], 1).await;
    f.settle(&claimed[0], DONE).await;
}

fn matching(filter: TaskFilter, finished_before: Option<Timestamp>) -> PruneRequest {
    PruneRequest {
        scope: PruneScope::Matching { filter, finished_before, larger_than: None },
        limit: 1_000,
        dry_run: false,
        cursor: None,
    }
}

/// Prunes to the end, and says how many went and in how many calls.
async fn prune(f: &Fixture, mut request: PruneRequest) -> (u64, u32) {
    let (mut removed, mut calls) = (0, 0);
    loop {
        let pruned = f.engine.prune(request.clone()).await.unwrap();
        removed += pruned.removed;
        calls += 1;
        assert!(calls < 1_000, "pruning comes to an end");
        match pruned.next {
            None => return (removed, calls),
            next => request.cursor = next,
        }
    }
}

pub async fn due_tasks_are_promoted_in_the_order_they_became_due(f: Fixture) {
    f.submit(vec![later("third", 30), later("first", 10), later("second", 20), later("never", 3_600)]).await;
    f.advance(seconds(60));
    assert_eq!(f.engine.promote_due(100).await.unwrap(), 3);
    assert_eq!(f.engine.promote_due(100).await.unwrap(), 0);
    assert_eq!(f.status("first").await, Status::Submitted);
    assert_eq!(f.status("never").await, Status::Scheduled);
    f.submit_ids(&["fourth"]).await;
    assert_eq!(ids(&f.claim(10).await), ["first", "second", "third", "fourth"]);
}

pub async fn promotion_is_bounded(f: Fixture) {
    f.submit((0..25).map(|n| later(&format!("t{n}"), 10)).collect()).await;
    f.advance(seconds(10));
    let mut promoted = Vec::new();
    for _ in 0..4 {
        promoted.push(f.engine.promote_due(10).await.unwrap());
    }
    assert_eq!(promoted, [10, 10, 5, 0]);
}

pub async fn reclaiming_is_bounded(f: Fixture) {
    f.submit((0..25).map(|n| task(&format!("t{n}"))).collect()).await;
    f.claim(25).await;
    f.advance(LEASE);
    let mut reclaimed = Vec::new();
    for _ in 0..4 {
        reclaimed.push(f.engine.reclaim_expired(10).await.unwrap().requeued);
    }
    assert_eq!(reclaimed, [10, 10, 5, 0]);
    assert_eq!(f.count(Status::Submitted).await, 25);
    f.assert_conserved().await;
}

async fn put_retention(f: &Fixture, name: &str, age: Duration, count: u64) {
    let config = QueueConfig { retention: Retention { age, count }, ..QueueConfig::new(queue(name)) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

const RETENTION: PruneRequest =
    PruneRequest { scope: PruneScope::Retention, limit: 1_000, dry_run: false, cursor: None };

pub async fn retention_by_age(f: Fixture) {
    put_retention(&f, "default", seconds(60), 100).await;
    put_retention(&f, "mail", seconds(600), 100).await;
    complete(&f, "old", "default").await;
    complete(&f, "kept", "mail").await;
    f.advance(seconds(30));
    complete(&f, "new", "default").await;
    f.submit_ids(&["live"]).await;
    assert_eq!(prune(&f, RETENTION).await.0, 0);
    f.advance(seconds(30));
    assert_eq!(prune(&f, RETENTION).await.0, 1);
    assert_eq!(f.engine.get(&id("old")).await.unwrap(), None);
    for kept in ["new", "kept", "live"] {
        assert!(f.engine.get(&id(kept)).await.unwrap().is_some(), "{kept}");
    }
    f.assert_conserved().await;
}

pub async fn retention_by_count(f: Fixture) {
    put_retention(&f, "default", seconds(3_600), 3).await;
    for n in 0..10 {
        complete(&f, &format!("t{n}"), "default").await;
    }
    assert_eq!(prune(&f, PruneRequest { dry_run: true, ..RETENTION }).await.0, 7);
    assert_eq!(prune(&f, PruneRequest { limit: 2, ..RETENTION }).await.0, 7);
    let left = f.list(TaskFilter::default(), 100).await;
    assert_eq!(left.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["t9", "t8", "t7"]);
    put_retention(&f, "default", seconds(3_600), 0).await;
    assert_eq!(prune(&f, RETENTION).await.0, 3);
    assert_eq!(f.stats("default").await.removed, 10);
    f.assert_conserved().await;
}

pub async fn pruning_by_filter(f: Fixture) {
    f.create_queue("mail").await;
    let resize = TaskName::new("resize").unwrap();
    f.submit(vec![
        task("completed"),
        task("failed"),
        NewTask { name: resize.clone(), ..task("resized") },
        task_in("mailed", "mail"),
    ])
    .await;
    for claimed in f.claim_from(&["default", "mail"], 10).await {
        let outcome = match claimed.id.as_str() {
            "failed" | "parameters" => Outcome::Failed { failure: failure("no"), dead_letter: false },
            _ => DONE,
        };
        f.settle(&claimed, outcome).await;
    }
    let none = f.clock.now();
    f.advance(seconds(10));
    let all = TaskFilter::default;
    assert_eq!(prune(&f, matching(all(), Some(none))).await.0, 0, "none was over before that");
    for (filter, gone) in [
        (TaskFilter { name: Some(resize), ..all() }, "resized"),
        (TaskFilter { statuses: vec![Status::Failed], ..all() }, "failed"),
        (TaskFilter { queue: Some(queue("mail")), ..all() }, "mailed"),
        (all(), "completed"),
    ] {
        assert!(f.engine.get(&id(gone)).await.unwrap().is_some(), "{gone}");
        assert_eq!(prune(&f, matching(filter, Some(f.clock.now()))).await.0, 1, "{gone}");
        assert_eq!(f.engine.get(&id(gone)).await.unwrap(), None, "{gone}");
    }
    f.assert_conserved().await;
}

pub async fn pruning_by_label(f: Fixture) {
    let labels = |pairs: &[&str]| {
        let mut labels = Labels::default();
        pairs.iter().for_each(|pair| labels.add(pair.parse().unwrap()).unwrap());
        labels
    };
    let tasks =
        [("both", &["team=core", "env=test"][..]), ("one", &["team=core"]), ("other", &["team=web"]), ("none", &[])];
    for (name, pairs) in tasks {
        f.submit(vec![NewTask { metadata: labels(pairs).into(), ..task(name) }]).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
    }
    let with = |pairs: &[&str]| matching(TaskFilter { labels: labels(pairs), ..TaskFilter::default() }, None);
    assert_eq!(prune(&f, PruneRequest { dry_run: true, ..with(&["team=core"]) }).await.0, 2);
    for (pairs, gone) in [(&["env=test", "team=core"][..], "both"), (&["team=core"], "one"), (&["team=web"], "other")] {
        assert!(f.engine.get(&id(gone)).await.unwrap().is_some(), "{gone}");
        assert_eq!(prune(&f, with(pairs)).await.0, 1, "{gone}");
        assert_eq!(f.engine.get(&id(gone)).await.unwrap(), None, "{gone}");
    }
    assert!(f.engine.get(&id("none")).await.unwrap().is_some());
    f.assert_conserved().await;
}

pub async fn pruning_by_size(f: Fixture) {
    let bytes = |length| Payload::json(vec![b' '; length]);
    // Parameters that are kept beside the task, in it, and let go when it completed; and a result.
    let tasks = [("failed", 5_000), ("parameters", 900), ("let-go", 5_000), ("result", 10), ("small", 10)];
    for (name, length) in tasks {
        f.submit(vec![NewTask { parameters: bytes(length), ..task(name) }]).await;
        let claimed = f.claim_one().await;
        let outcome = match name {
            "failed" | "parameters" => Outcome::Failed { failure: failure("no"), dead_letter: false },
            "result" => Outcome::Completed { result: Some(bytes(5_000)) },
            _ => DONE,
        };
        f.settle(&claimed, outcome).await;
    }
    let larger_than = |bytes, dry_run| {
        let scope =
            PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: Some(bytes) };
        PruneRequest { scope, limit: 1_000, dry_run, cursor: None }
    };
    assert_eq!(prune(&f, larger_than(10_000, true)).await.0, 0);
    assert_eq!(prune(&f, larger_than(4_000, true)).await.0, 2);
    assert_eq!(prune(&f, larger_than(4_000, false)).await.0, 2);
    assert_eq!(prune(&f, larger_than(500, false)).await.0, 1);
    let left = f.list(TaskFilter::default(), 100).await;
    assert_eq!(left.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["small", "let-go"]);
    f.assert_conserved().await;
}

pub async fn pruning_by_a_range_of_versions(f: Fixture) {
    for version in 1..=4 {
        f.submit(vec![NewTask { version, ..task(&format!("v{version}")) }]).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
    }
    let range = |least, most| TaskFilter { version_from: least, version_to: most, ..TaskFilter::default() };
    assert_eq!(f.list(range(Some(2), Some(3)), 100).await.len(), 2);
    assert_eq!(prune(&f, matching(range(None, Some(2)), None)).await.0, 2);
    assert_eq!(prune(&f, matching(range(Some(4), None), None)).await.0, 1);
    assert_eq!(f.list(TaskFilter::default(), 100).await[0].id.as_str(), "v3");
}

pub async fn pruning_is_bounded_and_goes_on(f: Fixture) {
    f.submit((0..30).map(|n| task(&format!("t{n}"))).collect()).await;
    for (n, claimed) in f.claim(30).await.iter().enumerate() {
        let outcome = if n % 2 == 0 { DONE } else { Outcome::Cancelled };
        f.settle(claimed, outcome).await;
    }
    let cancelled = TaskFilter { statuses: vec![Status::Cancelled], ..TaskFilter::default() };
    let request = PruneRequest { limit: 4, ..matching(cancelled, None) };
    let (removed, calls) = prune(&f, request).await;
    assert_eq!(removed, 15);
    assert!(calls >= 4, "at most 4 a call");
    assert_eq!((f.count(Status::Cancelled).await, f.count(Status::Completed).await), (0, 15));
    assert_eq!(f.list(TaskFilter::default(), 7).await.len(), 15);
    let bad = PruneRequest { cursor: Some("nonsense".to_owned()), ..matching(TaskFilter::default(), None) };
    assert!(matches!(f.engine.prune(bad).await, Err(Error::Invalid(_))));
}

pub async fn a_dry_run_deletes_nothing(f: Fixture) {
    for n in 0..9 {
        complete(&f, &format!("t{n}"), "default").await;
    }
    let request = PruneRequest { dry_run: true, limit: 2, ..matching(TaskFilter::default(), None) };
    assert_eq!(prune(&f, request).await.0, 9);
    assert_eq!(f.count(Status::Completed).await, 9);
}

pub async fn a_live_task_is_never_pruned(f: Fixture) {
    f.submit(vec![task("running"), later("scheduled", 10)]).await;
    f.claim(1).await;
    f.submit_ids(&["submitted"]).await;
    assert_eq!(prune(&f, matching(TaskFilter::default(), None)).await.0, 0);
    assert_eq!(f.list(TaskFilter::default(), 10).await.len(), 3);
}

pub async fn pruning_live_statuses_is_refused(f: Fixture) {
    let filter = TaskFilter { statuses: vec![Status::Completed, Status::Started], ..TaskFilter::default() };
    assert!(matches!(f.engine.prune(matching(filter, None)).await, Err(Error::Invalid(_))));
}

pub async fn a_pruned_id_can_be_used_again(f: Fixture) {
    complete(&f, "a", "default").await;
    prune(&f, matching(TaskFilter::default(), None)).await;
    let again = f.submit(vec![task("a")]).await;
    assert_eq!(again[0].how, SubmittedHow::Created);
    assert_eq!((f.claim_one().await.attempt, f.get("a").await.completed_at), (1, None));
}

pub async fn a_purge_leaves_what_runs_and_what_is_over(f: Fixture) {
    f.create_queue("mail").await;
    complete(&f, "over", "default").await;
    f.submit_ids(&["running"]).await;
    f.claim(1).await;
    f.submit(vec![task("ready"), later("later", 10), task_in("elsewhere", "mail")]).await;
    assert_eq!(f.engine.purge_queue(&queue("default"), 1_000).await.unwrap(), 2);
    assert_eq!(f.engine.purge_queue(&queue("default"), 1_000).await.unwrap(), 0);
    for gone in ["ready", "later"] {
        assert_eq!(f.engine.get(&id(gone)).await.unwrap(), None);
    }
    for kept in ["over", "running", "elsewhere"] {
        assert!(f.engine.get(&id(kept)).await.unwrap().is_some());
    }
    assert_eq!(f.stats("default").await.removed, 2);
    f.assert_conserved().await;
    assert!(matches!(f.engine.purge_queue(&queue("nowhere"), 1).await, Err(Error::UnknownQueue(_))));
}

pub async fn a_purge_is_bounded(f: Fixture) {
    f.submit((0..25).map(|n| task(&format!("t{n}"))).collect()).await;
    let mut purged = Vec::new();
    for _ in 0..4 {
        purged.push(f.engine.purge_queue(&queue("default"), 10).await.unwrap());
    }
    assert_eq!(purged, [10, 10, 5, 0]);
}

/// A task that left every trace it can is pruned, and its id starts from nothing.
pub async fn nothing_is_left_of_pruned_tasks(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, retry(Duration::ZERO)).await;
    f.claim(1).await;
    f.advance(LEASE);
    f.engine.reclaim_expired(10).await.unwrap();
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    prune(&f, matching(TaskFilter::default(), None)).await;
    f.try_submit(vec![task("a")], OnConflict::Fail).await.unwrap();
    let fresh = f.get("a").await;
    assert_eq!((fresh.attempt, fresh.crashes, fresh.errors.len(), fresh.dead_letter), (0, 0, 0, false));
    assert_eq!((fresh.worker, fresh.started_at, fresh.checkpoint), (None, None, None));
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.crashes), (1, 0));
}
