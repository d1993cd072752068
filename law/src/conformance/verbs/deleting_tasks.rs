//! Tasks that are deleted by their ids.

use std::time::Duration;

use jobbers_common::{
    dependency::{Dependencies, DependencyPolicy},
    engine::{Error, OnConflict, TaskDeletion},
    lifecycle::Status,
    limits::{MAX_BATCH, SIGNALS_A_STEP},
    name::TaskId,
    task::{NewTask, Start},
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED,
    audit::assert_sound,
    dependencies::{after, edge},
    failed, id, queue, seconds, task, task_in,
};

use TaskDeletion::{Deleted, Running, Unknown};

impl Fixture {
    async fn delete(&self, ids: &[&str], cascade: bool) -> Vec<TaskDeletion> {
        let ids: Vec<TaskId> = ids.iter().map(|text| id(text)).collect();
        self.engine.delete_tasks(&ids, cascade).await.unwrap()
    }

    async fn exists(&self, text: &str) -> bool {
        self.engine.get(&id(text)).await.unwrap().is_some()
    }

    /// Those of these tasks that exist.
    async fn left<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        let mut left = Vec::new();
        for text in ids {
            if self.exists(text).await {
                left.push(*text);
            }
        }
        left
    }
}

pub async fn a_task_that_does_not_run_is_deleted_and_leaves_nothing(f: Fixture) {
    f.create_queue("mail").await;
    let later = NewTask { start: Start::After(seconds(60)), id_is_chosen: true, ..task("later") };
    let done = NewTask { id_is_chosen: true, ..task_in("done", "mail") };
    f.submit(vec![task("ready"), later, done, after("waits", &["ready"])]).await;
    f.settle(&f.claim_from(&["mail"], 1).await[0], DONE).await;
    let answers = f.delete(&["later", "nowhere", "ready", "ready", "done"], true).await;
    assert_eq!(answers, [Deleted, Unknown, Deleted, Unknown, Deleted]);
    for gone in ["ready", "later", "done", "waits"] {
        assert!(!f.exists(gone).await, "{gone}");
        assert_eq!(f.engine.tombstone(&id(gone)).await, Ok(None), "{gone}: its id is free");
    }
    assert!(f.claim_from(&["default", "mail"], 9).await.is_empty());
    assert_eq!((f.stats("default").await.removed, f.stats("mail").await.removed), (3, 1));
    f.submit(vec![task("ready")]).await;
    assert_eq!(f.claim_one().await.attempt, 1);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_running_task_is_not_deleted_and_that_is_said(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.delete(&["a"], true).await, [Running]);
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!(f.delete(&["a"], true).await, [Running], "nor one that is to be cancelled");
    f.settle(&claimed, RELEASED).await;
    assert_eq!((f.status("a").await, f.delete(&["a"], true).await), (Status::Cancelled, vec![Deleted]));
    assert_eq!(f.status("b").await, Status::Aborted, "its predecessor had ended before");
}

pub async fn what_waited_only_for_deleted_tasks_is_deleted_too(f: Fixture) {
    f.submit(vec![task("a0"), after("a1", &["a0"]), after("a2", &["a1"]), after("a3", &["a0", "a2"])]).await;
    assert_eq!(f.delete(&["a0"], true).await, [Deleted], "a chain with an extra link");
    assert_eq!(f.left(&["a0", "a1", "a2", "a3"]).await, [""; 0]);
    f.submit(vec![task("b0"), task("b1"), after("b2", &["b0", "b1"])]).await;
    assert_eq!(f.delete(&["b0"], true).await, [Deleted], "one of two");
    assert_eq!(f.left(&["b0", "b1", "b2"]).await, ["b1", "b2"]);
    let Dependencies { total, signals, waits_for, .. } = *f.get("b2").await.dependencies.unwrap();
    assert_eq!((total, signals, waits_for), (1, 0, vec![edge("b1", DependencyPolicy::AbortSuccessors)]));
    f.submit(vec![
        task("c0"),
        after("c1", &["c0"]),
        after("c2", &["c0"]),
        after("c3", &["c1"]),
        after("c4", &["c1", "c2"]),
        after("c5", &["c2", "c3"]),
        after("c6", &["c3"]),
    ])
    .await;
    assert_eq!(f.delete(&["c0"], true).await, [Deleted], "a tree");
    assert_eq!(f.left(&["c0", "c1", "c2", "c3", "c4", "c5", "c6"]).await, [""; 0]);
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn an_end_counts_and_a_deletion_does_not(f: Fixture) {
    f.submit(vec![task("a"), task("b"), after("c", &["a", "b"])]).await;
    f.settle(&f.claim_one().await, DONE).await;
    assert_eq!(f.delete(&["a"], true).await, [Deleted], "over");
    let Dependencies { total, signals, .. } = *f.get("c").await.dependencies.unwrap();
    assert_eq!((f.status("c").await, total, signals), (Status::Waiting, 2, 1), "kept while one of two is left");
    assert_eq!(f.delete(&["b"], true).await, [Deleted]);
    assert!(!f.exists("c").await, "all that is left of its dependencies is signalled");
    f.submit(vec![task("d"), after("e", &["d"])]).await;
    f.settle(&f.claim_one().await, DONE).await;
    assert_eq!(f.delete(&["d"], true).await, [Deleted]);
    assert_eq!(f.status("e").await, Status::Submitted, "what an end released stays");
}

pub async fn without_a_cascade_what_waits_for_no_other_task_is_released(f: Fixture) {
    let later = NewTask { start: Start::After(seconds(60)), ..after("later", &["a"]) };
    let on_error = NewTask { depends_on: vec![edge("a", DependencyPolicy::RunOnError)], ..task("handler") };
    f.submit(vec![task("a"), task("b"), after("now", &["a"]), later, on_error, after("both", &["a", "b"])]).await;
    assert_eq!(f.delete(&["a"], false).await, [Deleted]);
    let expected = [
        ("now", Status::Submitted),
        ("later", Status::Scheduled),
        ("handler", Status::Submitted),
        ("both", Status::Waiting),
    ];
    for (text, status) in expected {
        assert_eq!(f.status(text).await, status, "{text}");
    }
    let Dependencies { total, signals, aborted_by, .. } = *f.get("now").await.dependencies.unwrap();
    assert_eq!((total, signals, aborted_by), (0, 0, None));
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_wide_deletion_is_worked_off_by_later_claims(f: Fixture) {
    let many = 2 * SIGNALS_A_STEP + 10;
    for (first, cascade) in [("a", true), ("b", false)] {
        f.submit(vec![task(first)]).await;
        let wide: Vec<String> = (0..many).map(|n| format!("{first}-{n:04}")).collect();
        let tasks = wide.iter().map(|text| after(text, &[first])).collect();
        f.submit(tasks).await;
        assert_eq!(f.delete(&[first], cascade).await, [Deleted]);
        // What a new task of this id is waited for does not concern the deleted one.
        f.submit(vec![NewTask { start: Start::After(seconds(600)), ..task(first) }, after("next", &[first])]).await;
        f.engine.promote_due(MAX_BATCH).await.unwrap();
        f.engine.promote_due(MAX_BATCH).await.unwrap();
        assert_eq!(f.count(Status::Waiting).await, 1, "only the next one");
        assert_eq!(f.count(Status::Submitted).await, if cascade { 0 } else { many as u64 });
        f.delete(&["next", first], true).await;
    }
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_caller_that_waits_for_a_deleted_task_is_answered(f: Fixture) {
    f.submit(vec![task("a"), after("b", &["a"])]).await;
    let engine = std::sync::Arc::clone(&f.engine);
    let awaited = id("b");
    let waits = async { engine.await_finished(&awaited, Duration::from_secs(60)).await.unwrap() };
    let deletes = async {
        // Only once it is looked for: a caller that comes later finds it gone anyhow.
        tokio::task::yield_now().await;
        f.delete(&["a"], true).await
    };
    let (waited, deleted) = tokio::join!(waits, deletes);
    assert_eq!((waited, deleted), (None, vec![Deleted]));
}

pub async fn what_was_set_aside_or_failed_is_deleted_as_well(f: Fixture) {
    f.submit_ids(&["suspect", "other", "dead"]).await;
    let claimed = f.claim(3).await;
    f.settle(&claimed[2], failed(true)).await;
    for _ in 0..2 {
        f.advance(LEASE);
        assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 2);
        f.claim(2).await;
    }
    f.advance(LEASE);
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 2);
    assert_eq!(f.delete(&["suspect", "dead"], true).await, [Deleted, Deleted]);
    assert_eq!(f.claim_one().await.id, id("other"));
    assert_eq!(f.engine.dead_letters(0, 10).await.unwrap().copies.len(), 1, "its copy stays");
    assert_sound(&f, 7, false).await;
}

pub async fn a_deletion_past_its_bounds_is_refused(f: Fixture) {
    let many: Vec<TaskId> = (0..=MAX_BATCH).map(|n| id(&format!("t{n}"))).collect();
    assert!(matches!(f.engine.delete_tasks(&many, true).await, Err(Error::Invalid(_))));
    assert_eq!(f.engine.delete_tasks(&many[1..], true).await.unwrap(), vec![Unknown; MAX_BATCH]);
    assert_eq!(f.engine.delete_tasks(&[], true).await, Ok(Vec::new()));
    f.try_submit(vec![task("t1")], OnConflict::Fail).await.unwrap();
    assert_eq!(f.stats("default").await.queue, queue("default"));
}
