//! Ids that a client chose are remembered after their tasks were pruned.

use jobbers_common::{
    engine::{
        ConflictReason, Error, OnConflict, PruneRequest, PruneScope, Resubmit, ResubmitFrom, Resubmitted, SubmittedHow,
        TaskFilter,
    },
    lifecycle::Status,
    task::{
        NewTask,
        tombstone::{Tombstone, TombstonePolicy},
    },
    time::{Clock, Timestamp},
};

use crate::conformance::{DONE, Fixture, audit::assert_sound, failed, id, queue, seconds, task, task_in};

fn chosen(text: &str) -> NewTask {
    NewTask { id_is_chosen: true, ..task(text) }
}

async fn prune_all(f: &Fixture) {
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
}

/// Completes a task, and prunes it. Returns when it was over.
async fn bury(f: &Fixture, new: NewTask) -> Timestamp {
    f.submit(vec![new.clone()]).await;
    let claimed = f.claim_from(&[new.queue.as_str()], 1).await;
    f.settle(&claimed[0], DONE).await;
    let finished_at = f.clock.now();
    f.advance(seconds(1));
    prune_all(f).await;
    assert_eq!(f.engine.get(&new.id).await.unwrap(), None);
    finished_at
}

async fn tombstone(f: &Fixture, text: &str) -> Option<Tombstone> {
    f.engine.tombstone(&id(text)).await.unwrap()
}

pub async fn a_pruned_task_of_a_chosen_id_is_remembered(f: Fixture) {
    f.create_queue("mail").await;
    let new = NewTask { id_is_chosen: true, ..task_in("a", "mail") };
    let finished_at = bury(&f, new.clone()).await;
    let expected = Tombstone {
        id: id("a"),
        queue: queue("mail"),
        status: Status::Completed,
        finished_at,
        forget_at: TombstonePolicy::DEFAULT.forget_at(finished_at),
        fingerprint: new.fingerprint(),
    };
    assert_eq!(tombstone(&f, "a").await, Some(expected));
    assert_eq!(f.engine.health().await.unwrap().tombstones.count, 1);
    let answered = f.submit(vec![new, task("b")]).await;
    assert_eq!((answered[0].how, answered[0].status), (SubmittedHow::Existing, Status::Completed));
    assert_eq!((&answered[0].queue, answered[1].how), (&queue("mail"), SubmittedHow::Created));
    assert_eq!(f.stats("mail").await.accepted, 1, "it is not stored again");
    assert_sound(&f, 2, false).await;
}

pub async fn a_remembered_id_with_another_body_is_a_conflict(f: Fixture) {
    bury(&f, chosen("a")).await;
    let other = NewTask { version: 2, ..chosen("a") };
    let refused = f.try_submit(vec![task("b"), other.clone()], OnConflict::Fail).await;
    let conflict = Error::Conflict { id: id("a"), status: Status::Completed, reason: ConflictReason::BodyDiffers };
    assert_eq!(refused, Err(conflict));
    assert_eq!(f.engine.get(&id("b")).await.unwrap(), None, "nothing of the batch is stored");
    let skipped = f.try_submit(vec![other], OnConflict::Skip).await.unwrap();
    assert_eq!((skipped[0].how, skipped[0].status), (SubmittedHow::Existing, Status::Completed));
}

pub async fn a_remembered_id_can_be_used_again_by_a_replacement(f: Fixture) {
    bury(&f, chosen("a")).await;
    let other = NewTask { version: 2, ..chosen("a") };
    let replaced = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!((replaced[0].how, replaced[0].status), (SubmittedHow::Created, Status::Submitted));
    assert_eq!(f.get("a").await.version, 2);
    assert_eq!(tombstone(&f, "a").await, None);
    f.assert_conserved().await;
    assert_sound(&f, 2, false).await;
}

pub async fn a_generated_id_leaves_nothing(f: Fixture) {
    bury(&f, task("a")).await;
    assert_eq!(tombstone(&f, "a").await, None);
    assert_eq!(f.submit(vec![task("a")]).await[0].how, SubmittedHow::Created);
}

pub async fn an_id_is_forgotten_after_its_time(f: Fixture) {
    bury(&f, chosen("a")).await;
    f.advance(TombstonePolicy::DEFAULT.age - seconds(1));
    assert_eq!(tombstone(&f, "a").await, None);
    assert_eq!(f.submit(vec![NewTask { version: 2, ..chosen("a") }]).await[0].how, SubmittedHow::Created);
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    f.advance(TombstonePolicy::DEFAULT.age);
    prune_all(&f).await;
    assert_eq!(tombstone(&f, "a").await, None, "nothing is left to remember it for");
}

pub async fn expired_tombstones_are_swept_away(f: Fixture) {
    for text in ["a", "b", "c"] {
        bury(&f, chosen(text)).await;
    }
    assert_eq!(f.engine.health().await.unwrap().tombstones.count, 3);
    f.advance(TombstonePolicy::DEFAULT.age);
    let retention = PruneRequest { scope: PruneScope::Retention, limit: 1_000, dry_run: false, cursor: None };
    f.engine.prune(retention).await.unwrap();
    assert_eq!(f.engine.health().await.unwrap().tombstones.count, 0);
}

pub async fn a_pruned_task_made_anew_is_remembered_no_more(f: Fixture) {
    f.submit(vec![chosen("a")]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, failed(true)).await;
    let copy = f.engine.dead_letters(0, 10).await.unwrap().copies.remove(0);
    assert!(copy.task.id_is_chosen);
    f.advance(seconds(1));
    prune_all(&f).await;
    assert_eq!(tombstone(&f, "a").await.map(|it| it.status), Some(Status::Failed));
    let wish = Resubmit { from: ResubmitFrom::Archive(Box::new(copy)), ..Resubmit::of_store(id("a")) };
    assert_eq!(f.engine.resubmit(vec![wish]).await.unwrap(), [Resubmitted::Done]);
    assert_eq!(tombstone(&f, "a").await, None);
    let task = f.get("a").await;
    assert_eq!((task.status, task.id_is_chosen), (Status::Submitted, true));
    assert_sound(&f, 2, false).await;
}
