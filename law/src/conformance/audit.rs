//! Audits: a sound store has nothing to find, however it got where it is.

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{AuditRequest, Error, OnConflict, Outcome, PruneRequest, PruneScope, Resubmit, TaskFilter},
    limits::KEPT_PARAMETER_BYTES,
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides},
    task::{NewTask, Start},
};

use super::{DONE, Fixture, LEASE, RELEASED, failure, id, queue, retry, seconds, task, task_in};

/// Audits from end to end by steps of `limit`, which must find nothing. Answers how much was looked at.
pub async fn assert_sound(f: &Fixture, limit: usize, repair: bool) -> u64 {
    let (mut looked_at, mut cursor) = (0, None);
    for _ in 0..100_000 {
        let audited = f.engine.audit(AuditRequest { limit, repair, cursor }).await.unwrap();
        assert_eq!(audited.findings, [], "after {looked_at}");
        looked_at += audited.looked_at;
        cursor = audited.next;
        if cursor.is_none() {
            return looked_at;
        }
    }
    panic!("an audit comes to an end");
}

/// One task in every situation there is, some of which left traces beside them.
async fn tasks_of_all_sorts(f: &Fixture) {
    f.create_queue("mail").await;
    let kept = PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() };
    let large = Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]);
    let names = ["done", "retried", "released", "failed", "cancelled", "stalled", "crashed", "resubmitted", "moved"];
    for name in names {
        f.submit(vec![NewTask { overrides: kept.clone(), parameters: large.clone(), ..task(name) }]).await;
    }
    for claimed in f.claim(100).await {
        let failed = Outcome::Failed { failure: failure("no"), dead_letter: true };
        let outcome = match claimed.id.as_str() {
            "done" => DONE,
            "retried" => retry(seconds(60)),
            "released" => RELEASED,
            "cancelled" => Outcome::Cancelled,
            "stalled" => Outcome::Stalled { failure: failure("silent"), dead_letter: true },
            "crashed" => continue,
            _ => failed,
        };
        f.settle(&claimed, outcome).await;
    }
    f.advance(LEASE);
    f.engine.reclaim_expired(10).await.unwrap();
    let moved = Resubmit { queue: Some(queue("mail")), ..Resubmit::of_store(id("moved")) };
    f.engine.resubmit(vec![Resubmit::of_store(id("resubmitted")), moved]).await.unwrap();
    f.submit(vec![NewTask { start: Start::After(seconds(60)), ..task("scheduled") }, task_in("mailed", "mail")]).await;
    f.claim_from(&["mail"], 1).await;
    f.engine.cancel(&[id("mailed"), id("moved")]).await.unwrap();
    let kept = Dependency { on: id("kept"), policy: DependencyPolicy::default() };
    let holds = NewTask { depends_on: vec![kept], ..task_in("holds", "mail") };
    f.submit(vec![task_in("kept", "mail"), holds]).await;
    let kept = f.claim_from(&["mail"], 1).await.remove(0);
    f.settle(&kept, Outcome::Completed { result: Some(Payload::json("7")) }).await;
    f.engine.delete_tasks(&[kept.id], false).await.unwrap();
    f.try_submit(vec![NewTask { version: 2, ..task("failed") }], OnConflict::Replace).await.unwrap();
}

pub async fn an_audit_of_a_sound_store_finds_nothing(f: Fixture) {
    tasks_of_all_sorts(&f).await;
    assert!(assert_sound(&f, 1_000, false).await >= 11);
    assert!(assert_sound(&f, 1, false).await >= 11, "in small steps it sees no less");
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
    f.engine.purge_queue(&queue("default"), 1_000).await.unwrap();
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_repair_of_a_sound_store_changes_nothing(f: Fixture) {
    tasks_of_all_sorts(&f).await;
    let before = (f.list(TaskFilter::default(), 100).await, f.all_stats().await);
    assert_sound(&f, 3, true).await;
    assert_eq!(before, (f.list(TaskFilter::default(), 100).await, f.all_stats().await));
}

pub async fn an_audit_past_its_bounds_is_refused(f: Fixture) {
    for (limit, cursor) in [(0, None), (1_001, None), (10, Some("nonsense".to_owned()))] {
        let refused = f.engine.audit(AuditRequest { limit, repair: false, cursor: cursor.clone() }).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{limit} {cursor:?}: {refused:?}");
    }
}
