//! Dead letters: what goes on the outbox, what is sent again, and who keeps what.

use std::time::Duration;

use jobbers_common::{
    engine::{
        DeadKey, DeadTask, Deleted, Duty, DutyClaim, Error, Extension, Heartbeat, OnConflict, Outbox, Outcome,
        PruneRequest, PruneScope, Resubmit, ResubmitFrom, Resubmitted, SettleAnswer, Settlement, TaskFilter,
    },
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH},
    name::{DutyName, HolderId},
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides},
    task::{AttemptFailure, FailureKind, NewTask, Priority, Task},
    time::Clock,
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};

use Resubmitted::{Already, Done, Live, Moved, Unknown, UnknownQueue};

/// Failed for good, and to be kept.
fn dead() -> Outcome {
    Outcome::Failed { failure: failure("over"), dead_letter: true }
}

async fn letters(f: &Fixture) -> Vec<DeadTask> {
    f.engine.dead_letters(0, MAX_BATCH).await.unwrap().copies
}

async fn resubmit(f: &Fixture, wish: Resubmit) -> Resubmitted {
    let mut answers = f.engine.resubmit(vec![wish]).await.unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// A task that has failed for good, and its copy.
async fn failed(f: &Fixture, new: NewTask) -> DeadTask {
    let into = new.queue.to_string();
    f.submit(vec![new]).await;
    let claimed = f.claim_from(&[&into], 1).await;
    f.settle(&claimed[0], dead()).await;
    letters(f).await.pop().unwrap()
}

async fn prune_all(f: &Fixture) {
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: MAX_BATCH, dry_run: false, cursor: None }).await.unwrap();
}

pub async fn a_task_that_fails_for_good_leaves_a_full_copy(f: Fixture) {
    let parameters = Payload { content_type: Some("text/x".into()), bytes: vec![0, 159, 255].into() };
    let new = NewTask {
        version: 7,
        priority: Priority::new(9).unwrap(),
        overrides: PolicyOverrides { max_retries: Some(2), ..PolicyOverrides::default() },
        trace: Some("00-ab-cd-01".into()),
        parameters,
        ..task("a")
    };
    f.submit(vec![new.clone()]).await;
    let first = f.claim_one().await;
    f.settle(&first, retry(Duration::ZERO)).await;
    assert_eq!(letters(&f).await, [], "a retry is no end");
    let second = f.claim_one().await;
    let heartbeat = Heartbeat { progress: None, checkpoint: Some(Payload::json("{\"page\":12}")) };
    let extension = Extension { id: id("a"), fence: second.fence, heartbeat: Some(heartbeat) };
    f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.unwrap();
    f.advance(seconds(1));
    f.settle(&second, dead()).await;
    let copies = letters(&f).await;
    assert_eq!(copies, [DeadTask { task: f.get("a").await, fingerprint: new.fingerprint() }]);
    let kept = &copies[0].task;
    assert_eq!((kept.status, kept.attempt, kept.errors.len(), kept.dead_letter), (Status::Failed, 2, 2, true));
    assert_eq!((kept.parameters.as_ref(), kept.completed_at), (Some(&new.parameters), Some(f.clock.now())));
    assert_eq!(f.engine.health().await.unwrap().outbox, 1);
}

pub async fn a_copy_has_large_parameters_too(f: Fixture) {
    let large = Payload::json(vec![b'7'; KEPT_PARAMETER_BYTES + 1]);
    let copy = failed(&f, NewTask { parameters: large.clone(), ..task("a") }).await;
    assert_eq!(copy.task.parameters, Some(large));
}

pub async fn only_what_is_to_be_kept_is_put_on_the_outbox(f: Fixture) {
    f.submit_ids(&["completed", "failed", "cancelled"]).await;
    let claimed = f.claim(3).await;
    f.settle(&claimed[0], DONE).await;
    f.settle(&claimed[1], Outcome::Failed { failure: failure("no"), dead_letter: false }).await;
    f.engine.cancel(&[id("cancelled")]).await.unwrap();
    assert_eq!(f.settle(&claimed[2], dead()).await, SettleAnswer::Accepted(Status::Cancelled));
    assert_eq!(letters(&f).await, []);
    assert_eq!(f.engine.health().await.unwrap().outbox, 0);
}

pub async fn a_poison_task_is_put_on_the_outbox(f: Fixture) {
    let overrides = PolicyOverrides { max_crashes: Some(1), ..PolicyOverrides::default() };
    let careless = PolicyOverrides { dead_letter: Some(DeadLetter::None), ..overrides.clone() };
    f.submit(vec![NewTask { overrides, ..task("a") }, NewTask { overrides: careless, ..task("b") }]).await;
    for _ in 0..2 {
        f.claim_one().await;
        f.advance(LEASE + seconds(1));
        assert_eq!(f.engine.reclaim_expired(10).await.unwrap().count(Status::Failed), 1);
    }
    let copies = letters(&f).await;
    assert_eq!(copies.iter().map(|copy| copy.task.clone()).collect::<Vec<_>>(), [f.get("a").await]);
    assert_eq!(copies[0].task.errors[0].kind, FailureKind::Crash);
}

pub async fn a_stalled_task_is_over(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let silent = AttemptFailure::new(FailureKind::Stall, "no heartbeat for 2s");
    let stalled = Outcome::Stalled { failure: silent.clone(), dead_letter: true };
    assert_eq!(f.settle(&claimed, stalled.clone()).await, SettleAnswer::Accepted(Status::Stalled));
    assert_eq!(f.settle(&claimed, stalled).await, SettleAnswer::Accepted(Status::Stalled), "repeated");
    let over = f.get("a").await;
    assert_eq!((over.status, over.errors.len(), over.dead_letter), (Status::Stalled, 1, true));
    assert_eq!((over.errors[0].kind, &over.errors[0].message), (silent.kind, &silent.message));
    assert_eq!(letters(&f).await[0].task, over);
    assert_eq!(f.count(Status::Stalled).await, 1);
    f.assert_conserved().await;
}

/// The task is not known here.
fn unknown(patience: Duration) -> Outcome {
    let failure = AttemptFailure::new(FailureKind::Unknown, "no worker knows echo@1");
    Outcome::Unknown { delay: seconds(10), patience, failure, dead_letter: true }
}

pub async fn an_unknown_task_is_dropped_when_its_queue_s_patience_ends(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.advance(seconds(1_000));
    for _ in 0..3 {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.attempt, 1, "a give-back is no attempt");
        assert_eq!(f.settle(&claimed, unknown(seconds(25))).await, SettleAnswer::Accepted(Status::Scheduled));
        assert_eq!(f.get("a").await.errors, []);
        f.advance(seconds(10));
    }
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, unknown(seconds(25))).await, SettleAnswer::Accepted(Status::Dropped));
    let over = f.get("a").await;
    assert_eq!((over.status, over.errors[0].kind, over.dead_letter), (Status::Dropped, FailureKind::Unknown, true));
    assert_eq!(letters(&f).await[0].task, over);
    assert_eq!(f.settle(&claimed, unknown(seconds(25))).await, SettleAnswer::Accepted(Status::Dropped), "repeated");
    f.assert_conserved().await;
}

pub async fn patience_begins_anew_when_somebody_ran_the_task(f: Fixture) {
    for (name, ran) in [("tried", Some(retry(Duration::ZERO))), ("drained", Some(RELEASED)), ("crashed", None)] {
        f.submit_ids(&[name]).await;
        f.settle(&f.claim_one().await, unknown(seconds(25))).await;
        f.advance(seconds(20));
        let claimed = f.claim_one().await;
        if let Some(outcome) = ran {
            f.settle(&claimed, outcome).await;
        }
        f.advance(seconds(20));
        let answer = f.settle(&f.claim_one().await, unknown(seconds(25))).await;
        assert_eq!(answer, SettleAnswer::Accepted(Status::Scheduled), "{name}");
        f.engine.cancel(&[id(name)]).await.unwrap();
    }
}

pub async fn no_patience_drops_at_once(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let answer = f.settle(&f.claim_one().await, unknown(Duration::ZERO)).await;
    assert_eq!(answer, SettleAnswer::Accepted(Status::Dropped));
}

pub async fn a_cancel_wins_over_a_stall_and_a_drop(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim(2).await;
    f.engine.cancel(&[id("a"), id("b")]).await.unwrap();
    let stalled = Outcome::Stalled { failure: failure("silent"), dead_letter: true };
    assert_eq!(f.settle(&claimed[0], stalled).await, SettleAnswer::Accepted(Status::Cancelled));
    assert_eq!(f.settle(&claimed[1], unknown(Duration::ZERO)).await, SettleAnswer::Accepted(Status::Cancelled));
    assert_eq!(letters(&f).await, []);
    assert_eq!((f.get("a").await.errors.len(), f.get("b").await.errors.len()), (1, 0));
}

pub async fn the_outbox_is_read_oldest_first_and_forgotten_by_key(f: Fixture) {
    for name in ["c", "a", "b"] {
        failed(&f, task(name)).await;
    }
    let names = |copies: Vec<DeadTask>| copies.into_iter().map(|copy| copy.task.id.to_string()).collect::<Vec<_>>();
    let first = f.engine.dead_letters(0, 2).await.unwrap();
    assert_eq!((first.last, first.unreadable), (Some(first.copies[1].task.revision), Vec::new()));
    let rest = f.engine.dead_letters(first.last.unwrap(), 2).await.unwrap();
    assert_eq!(f.engine.dead_letters(rest.last.unwrap(), 2).await, Ok(Outbox::default()));
    assert_eq!((names(first.copies), names(rest.copies)), (vec!["c".to_owned(), "a".to_owned()], vec!["b".to_owned()]));
    assert_eq!(names(letters(&f).await), ["c", "a", "b"]);
    let keys: Vec<DeadKey> = letters(&f).await.iter().map(DeadTask::key).collect();
    let other = DeadKey { id: id("b"), revision: keys[0].revision };
    f.engine.forget_dead_letters(&[keys[1].clone(), other]).await.unwrap();
    assert_eq!(names(letters(&f).await), ["c", "b"]);
    f.engine.forget_dead_letters(&keys).await.unwrap();
    f.engine.forget_dead_letters(&keys).await.unwrap();
    assert_eq!(letters(&f).await, []);
    assert_eq!(f.engine.health().await.unwrap().outbox, 0);
}

pub async fn a_call_for_dead_letters_past_its_bounds_is_refused(f: Fixture) {
    for limit in [0, MAX_BATCH + 1] {
        assert!(matches!(f.engine.dead_letters(0, limit).await, Err(Error::Invalid(_))));
    }
    let key = |n: usize| DeadKey { id: id(&n.to_string()), revision: 1 };
    let many: Vec<DeadKey> = (0..=MAX_BATCH).map(key).collect();
    assert!(matches!(f.engine.forget_dead_letters(&many).await, Err(Error::Invalid(_))));
    assert!(matches!(f.engine.forget_receipts(&many).await, Err(Error::Invalid(_))));
    f.engine.forget_dead_letters(&many[..MAX_BATCH]).await.unwrap();
    f.engine.forget_receipts(&many[..MAX_BATCH]).await.unwrap();
    let many: Vec<Resubmit> = (0..=MAX_BATCH).map(|n| Resubmit::of_store(id(&n.to_string()))).collect();
    assert!(matches!(f.engine.resubmit(many).await, Err(Error::Invalid(_))));
    let twice = vec![Resubmit::of_store(id("a")), Resubmit::of_store(id("a"))];
    assert!(matches!(f.engine.resubmit(twice).await, Err(Error::Invalid(_))));
    let copy = failed(&f, task("a")).await;
    let of_another = Resubmit { id: id("b"), ..Resubmit::of_archive(copy) };
    assert!(matches!(f.engine.resubmit(vec![of_another]).await, Err(Error::Invalid(_))));
    assert_eq!(f.engine.resubmit(Vec::new()).await, Ok(Vec::new()));
}

pub async fn a_copy_outlives_its_task(f: Fixture) {
    let pruned = failed(&f, task("pruned")).await;
    let replaced = failed(&f, task("replaced")).await;
    let again = failed(&f, task("again")).await;
    f.create_queue("mail").await;
    let gone = failed(&f, task_in("gone", "mail")).await;
    f.try_submit(vec![NewTask { version: 2, ..task("replaced") }], OnConflict::Replace).await.unwrap();
    assert_eq!(resubmit(&f, Resubmit::of_store(id("again"))).await, Done);
    prune_all(&f).await;
    while f.engine.delete_queue(&queue("mail"), None).await.unwrap() == Deleted::More {}
    assert_eq!(letters(&f).await, [pruned, replaced, again, gone]);
}

pub async fn a_failed_task_is_submitted_again_from_the_start(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    f.submit_ids(&["b"]).await;
    f.advance(seconds(3));
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy.clone())).await, Done);
    let task = f.get("a").await;
    assert_eq!((task.status, task.attempt, task.crashes), (Status::Submitted, 0, 0));
    assert_eq!((task.ready_at, task.completed_at, task.dead_letter), (f.clock.now(), None, false));
    assert_eq!(task.errors, copy.task.errors);
    assert_eq!(task.submitted_at, f.clock.now(), "what is measured from the submission begins anew");
    assert!(task.revision > copy.task.revision);
    assert_eq!((f.count(Status::Failed).await, f.count(Status::Submitted).await), (0, 2));
    let claimed = f.claim(2).await;
    assert_eq!(ids(&claimed), ["b", "a"], "at the end of its priority");
    assert_eq!((claimed[1].attempt, claimed[1].crashes), (1, 0));
    assert_eq!(claimed[1].submitted_at, f.clock.now());
    assert_eq!(Some(&claimed[1].parameters), copy.task.parameters.as_ref());
    f.advance(seconds(1));
    f.settle(&claimed[1], dead()).await;
    let errors = f.get("a").await.errors;
    assert_eq!((errors.len(), &errors[0]), (2, &copy.task.errors[0]), "the history grows");
    let copies = letters(&f).await;
    assert_eq!(copies.len(), 2, "its second end is another dead letter");
    assert_eq!(copies[1].task.errors, errors);
    f.assert_conserved().await;
}

pub async fn attempts_go_on_when_that_is_wished(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.settle(&f.claim_one().await, retry(Duration::ZERO)).await;
    f.settle(&f.claim_one().await, dead()).await;
    let submitted_at = f.clock.now();
    f.advance(seconds(3));
    let wish = Resubmit { reset_attempts: false, ..Resubmit::of_store(id("a")) };
    assert_eq!(resubmit(&f, wish).await, Done);
    assert_eq!((f.get("a").await.attempt, f.get("a").await.submitted_at), (2, submitted_at));
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.submitted_at), (3, submitted_at));
}

pub async fn a_checkpoint_is_found_by_a_task_sent_again(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let checkpoint = Payload::json("{\"page\":12}");
    let heartbeat = Heartbeat { progress: None, checkpoint: Some(checkpoint.clone()) };
    let extension = Extension { id: id("a"), fence: claimed.fence, heartbeat: Some(heartbeat) };
    f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.unwrap();
    f.settle(&claimed, dead()).await;
    let copy = letters(&f).await.remove(0);
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy.clone())).await, Done);
    let claimed = f.claim_one().await;
    assert_eq!(claimed.checkpoint, Some(checkpoint.clone()));
    f.settle(&claimed, DONE).await;
    prune_all(&f).await;
    f.engine.forget_receipts(&[copy.key()]).await.unwrap();
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy)).await, Done);
    assert_eq!(f.claim_one().await.checkpoint, Some(checkpoint), "also when it was made anew");
}

pub async fn every_end_but_success_can_be_undone(f: Fixture) {
    f.submit_ids(&["completed", "failed", "stalled", "dropped", "cancelled"]).await;
    let claimed = f.claim(4).await;
    let stalled = Outcome::Stalled { failure: failure("silent"), dead_letter: false };
    f.settle(&claimed[0], DONE).await;
    f.settle(&claimed[1], Outcome::Failed { failure: failure("no"), dead_letter: false }).await;
    f.settle(&claimed[2], stalled).await;
    f.settle(&claimed[3], unknown(Duration::ZERO)).await;
    f.engine.cancel(&[id("cancelled")]).await.unwrap();
    let names = ["completed", "failed", "stalled", "dropped", "cancelled", "nobody"];
    let batch = names.map(|name| Resubmit::of_store(id(name))).to_vec();
    let answers = f.engine.resubmit(batch.clone()).await.unwrap();
    assert_eq!(answers, [Moved(Status::Completed), Done, Done, Done, Done, Unknown], "in the order given");
    let now = Live(Status::Submitted);
    let again = f.engine.resubmit(batch).await.unwrap();
    assert_eq!(again, [Moved(Status::Completed), now.clone(), now.clone(), now.clone(), now, Unknown]);
    assert_eq!(ids(&f.claim(9).await), ["failed", "stalled", "dropped", "cancelled"]);
    f.assert_conserved().await;
}

pub async fn a_live_task_is_not_sent_again(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    assert_eq!(resubmit(&f, Resubmit::of_store(id("a"))).await, Done);
    let claimed = f.claim_one().await;
    assert_eq!(resubmit(&f, Resubmit::of_store(id("a"))).await, Live(Status::Started));
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy)).await, Live(Status::Started));
    f.settle(&claimed, retry(seconds(5))).await;
    assert_eq!(resubmit(&f, Resubmit::of_store(id("a"))).await, Live(Status::Scheduled));
}

pub async fn an_end_that_is_not_the_expected_one_stays(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    resubmit(&f, Resubmit::of_store(id("a"))).await;
    f.settle(&f.claim_one().await, dead()).await;
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy.clone())).await, Moved(Status::Failed));
    let from = ResubmitFrom::Store { revision: Some(copy.task.revision) };
    assert_eq!(resubmit(&f, Resubmit { from, ..Resubmit::of_store(id("a")) }).await, Moved(Status::Failed));
    let from = ResubmitFrom::Store { revision: Some(f.get("a").await.revision) };
    assert_eq!(resubmit(&f, Resubmit { from, ..Resubmit::of_store(id("a")) }).await, Done);
}

pub async fn a_pruned_task_is_made_anew_from_its_copy(f: Fixture) {
    let large = Payload::json(vec![b'7'; KEPT_PARAMETER_BYTES + 1]);
    let overrides = PolicyOverrides { max_crashes: Some(1), ..PolicyOverrides::default() };
    let new = NewTask {
        version: 3,
        priority: Priority::new(2).unwrap(),
        parameters: large.clone(),
        overrides,
        trace: Some("00-ab-cd-01".into()),
        ..task("a")
    };
    let copy = failed(&f, new.clone()).await;
    prune_all(&f).await;
    assert_eq!(resubmit(&f, Resubmit::of_store(id("a"))).await, Unknown);
    f.advance(seconds(5));
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy.clone())).await, Done);
    let made = f.get("a").await;
    let plain = |task: &Task| Task { revision: 0, ..task.clone() };
    let expected = Task {
        status: Status::Submitted,
        submitted_at: f.clock.now(),
        ready_at: f.clock.now(),
        completed_at: None,
        attempt: 0,
        dead_letter: false,
        ..copy.task.clone()
    };
    assert_eq!(plain(&made), plain(&expected));
    assert!(made.revision > copy.task.revision);
    let same = f.submit(vec![new]).await;
    assert_eq!(same[0].status, Status::Submitted, "it is the same submission still");
    f.assert_conserved().await;
    let claimed = f.claim_one().await;
    assert_eq!((claimed.parameters.clone(), claimed.version), (large, 3));
    f.advance(LEASE + seconds(1));
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().count(Status::Failed), 1, "its policy came along");
    assert_eq!(f.get("a").await.errors.len(), 2);
}

pub async fn a_copy_is_sent_again_once(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    let wish = Resubmit::of_archive(copy.clone());
    assert_eq!(resubmit(&f, wish.clone()).await, Done);
    assert_eq!(resubmit(&f, wish.clone()).await, Already);
    f.settle(&f.claim_one().await, DONE).await;
    assert_eq!(resubmit(&f, wish.clone()).await, Already);
    prune_all(&f).await;
    assert_eq!(resubmit(&f, wish.clone()).await, Already, "not even when the task was pruned meanwhile");
    f.engine.forget_dead_letters(&[copy.key()]).await.unwrap();
    assert_eq!(resubmit(&f, wish.clone()).await, Already, "nor when its copy was taken off the outbox");
    f.engine.forget_receipts(&[copy.key()]).await.unwrap();
    f.engine.forget_receipts(&[copy.key()]).await.unwrap();
    assert_eq!(resubmit(&f, wish).await, Done, "unless the receipt was taken away");
}

pub async fn a_receipt_taken_away_leaves_the_copy(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    f.engine.forget_receipts(&[copy.key()]).await.unwrap();
    assert_eq!(letters(&f).await, [copy]);
}

pub async fn a_task_is_sent_again_to_another_queue(f: Fixture) {
    f.create_queue("mail").await;
    let stays = failed(&f, task("stays")).await;
    let pruned = failed(&f, task("pruned")).await;
    prune_all(&f).await;
    let kept = failed(&f, task("kept")).await;
    let to = |name: &str, wish| Resubmit { queue: Some(queue(name)), ..wish };
    assert_eq!(
        resubmit(&f, to("nowhere", Resubmit::of_archive(stays.clone()))).await,
        UnknownQueue(queue("nowhere")),
        "and leaves no receipt"
    );
    for copy in [stays, pruned, kept] {
        assert_eq!(resubmit(&f, to("mail", Resubmit::of_archive(copy))).await, Done);
    }
    let claimed = f.claim_from(&["default", "mail"], 9).await;
    assert_eq!(ids(&claimed), ["stays", "pruned", "kept"]);
    assert!(claimed.iter().all(|task| task.queue == queue("mail")));
    assert_eq!((f.get("kept").await.queue, f.stats("mail").await.accepted), (queue("mail"), 3));
    f.assert_conserved().await;
    for task in &claimed {
        f.settle(task, DONE).await;
    }
    f.assert_conserved().await;
    prune_all(&f).await;
    f.assert_conserved().await;
}

pub async fn a_queue_that_is_gone_takes_nothing_back(f: Fixture) {
    f.create_queue("mail").await;
    let copy = failed(&f, task_in("a", "mail")).await;
    while f.engine.delete_queue(&queue("mail"), None).await.unwrap() == Deleted::More {}
    assert_eq!(resubmit(&f, Resubmit::of_archive(copy.clone())).await, UnknownQueue(queue("mail")));
    let wish = Resubmit { queue: Some(queue("default")), ..Resubmit::of_archive(copy) };
    assert_eq!(resubmit(&f, wish).await, Done);
}

pub async fn a_task_is_sent_again_with_other_parameters(f: Fixture) {
    let large = Payload::json(vec![b'7'; KEPT_PARAMETER_BYTES + 1]);
    let small = Payload { content_type: Some("text/x".into()), bytes: vec![255].into() };
    for (name, before, after) in [
        ("a", Payload::json("{}"), small.clone()),
        ("b", Payload::json("{}"), large.clone()),
        ("c", large.clone(), small),
        ("d", large.clone(), Payload::json(vec![b'8'; KEPT_PARAMETER_BYTES + 1])),
    ] {
        let new = NewTask { parameters: before, ..task(name) };
        let copy = failed(&f, new.clone()).await;
        if name == "d" {
            prune_all(&f).await;
        }
        let wish = Resubmit { parameters: Some(after.clone()), ..Resubmit::of_archive(copy) };
        assert_eq!(resubmit(&f, wish).await, Done);
        assert_eq!(f.get(name).await.parameters, Some(after.clone()));
        assert_eq!(f.submit(vec![new]).await[0].status, Status::Submitted, "the submission is what it was");
        let claimed = f.claim_one().await;
        assert_eq!(claimed.parameters, after);
        f.settle(&claimed, RELEASED).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, dead()).await;
        assert_eq!(letters(&f).await.pop().unwrap().task.parameters, Some(after));
    }
}

pub async fn many_are_sent_again_at_once(f: Fixture) {
    f.submit((0..MAX_BATCH).map(|n| task(&format!("t{n:04}"))).collect()).await;
    let claimed = f.claim(MAX_BATCH).await;
    let settlements = claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, dead())).collect();
    f.cycle_as("w1", &[], 0, settlements).await;
    let copies = letters(&f).await;
    assert_eq!(copies.len(), MAX_BATCH);
    let batch: Vec<Resubmit> = copies.iter().cloned().map(Resubmit::of_archive).collect();
    assert!(f.engine.resubmit(batch.clone()).await.unwrap().iter().all(|answer| *answer == Done));
    assert!(f.engine.resubmit(batch).await.unwrap().iter().all(|answer| *answer == Already));
    let keys: Vec<DeadKey> = copies.iter().map(DeadTask::key).collect();
    f.engine.forget_dead_letters(&keys).await.unwrap();
    assert_eq!(f.engine.health().await.unwrap().outbox, 0);
    let again = f.claim(MAX_BATCH).await;
    assert_eq!(ids(&again), ids(&claimed), "in the order given");
    f.assert_conserved().await;
}

pub async fn concurrent_resubmissions_send_a_task_once(f: Fixture) {
    let copy = failed(&f, task("a")).await;
    let send = || resubmit(&f, Resubmit::of_archive(copy.clone()));
    let answers: [Resubmitted; 4] = tokio::join!(send(), send(), send(), send()).into();
    assert_eq!(answers.iter().filter(|answer| **answer == Done).count(), 1, "{answers:?}");
    assert_eq!(f.claim(9).await.len(), 1);
}

fn claim(holder: &str, note: &str) -> DutyClaim {
    DutyClaim {
        duty: DutyName::new("archive").unwrap(),
        holder: HolderId::new(holder).unwrap(),
        note: note.to_owned(),
        ttl: seconds(8),
    }
}

pub async fn a_duty_is_had_by_one_at_a_time(f: Fixture) {
    let duty = claim("a", "").duty;
    assert_eq!(f.engine.duty(&duty).await, Ok(None));
    let had = f.engine.claim_duty(claim("a", "http://a; «1»\n{}")).await.unwrap();
    assert_eq!((had.holder.as_str(), had.note.as_str(), had.term), ("a", "http://a; «1»\n{}", 1));
    assert_eq!(had.expires_at, f.clock.now().after(seconds(8)));
    assert_eq!(f.engine.claim_duty(claim("b", "")).await, Ok(had.clone()));
    f.advance(seconds(7));
    let kept = f.engine.claim_duty(claim("a", "here now")).await.unwrap();
    assert_eq!((kept.note.as_str(), kept.term), ("here now", 1));
    f.advance(seconds(7));
    assert_eq!(f.engine.duty(&duty).await, Ok(Some(kept.clone())), "kept by claiming it again");
    assert_eq!(f.engine.claim_duty(claim("b", "")).await, Ok(kept));
    let other = DutyClaim { duty: DutyName::new("other").unwrap(), ..claim("b", "") };
    assert_eq!(f.engine.claim_duty(other).await.unwrap().holder.as_str(), "b", "duties are apart");
}

pub async fn a_duty_of_a_silent_holder_is_free(f: Fixture) {
    f.engine.claim_duty(claim("a", "")).await.unwrap();
    f.advance(seconds(8));
    assert_eq!(f.engine.duty(&claim("a", "").duty).await, Ok(None));
    let taken = f.engine.claim_duty(claim("b", "b's")).await.unwrap();
    assert_eq!((taken.holder.as_str(), taken.note.as_str(), taken.term), ("b", "b's", 2));
    let taken = Duty { taken_from: None, ..taken };
    assert_eq!(f.engine.claim_duty(claim("a", "")).await, Ok(taken), "it came back too late");
}

pub async fn who_takes_a_duty_over_is_told_what_the_holder_before_said(f: Fixture) {
    let first = f.engine.claim_duty(claim("a", "{\"at\": \"a;1\"}\n")).await.unwrap();
    assert_eq!(first.taken_from, None, "nobody had it before");
    assert_eq!(f.engine.claim_duty(claim("b", "b's")).await, Ok(first), "nor has b taken it");
    assert_eq!(f.engine.claim_duty(claim("a", "a's; kept\n")).await.unwrap().taken_from, None);
    f.advance(seconds(86_400));
    let taken = f.engine.claim_duty(claim("b", "b's")).await.unwrap();
    assert_eq!(taken.taken_from.as_deref(), Some("a's; kept\n"), "what it said last, however long ago");
    assert_eq!(f.engine.claim_duty(claim("b", "b's")).await.unwrap().taken_from, None, "told once");
    assert_eq!(f.engine.duty(&claim("b", "").duty).await.unwrap().unwrap().taken_from, None);
    f.engine.release_duty(&claim("b", "").duty, &claim("b", "").holder).await.unwrap();
    assert_eq!(f.engine.claim_duty(claim("b", "")).await.unwrap().taken_from, None, "from nobody but itself");
    f.engine.release_duty(&claim("b", "").duty, &claim("b", "").holder).await.unwrap();
    assert_eq!(f.engine.claim_duty(claim("c", "")).await.unwrap().taken_from.as_deref(), Some(""));
}

pub async fn a_duty_is_given_back(f: Fixture) {
    let (duty, holder) = (claim("a", "").duty, claim("a", "").holder);
    f.engine.release_duty(&duty, &holder).await.unwrap();
    let had = f.engine.claim_duty(claim("a", "")).await.unwrap();
    f.engine.release_duty(&duty, &claim("b", "").holder).await.unwrap();
    assert_eq!(f.engine.duty(&duty).await, Ok(Some(had)), "only by its holder");
    f.engine.release_duty(&duty, &holder).await.unwrap();
    assert_eq!(f.engine.duty(&duty).await, Ok(None));
    assert_eq!(f.engine.claim_duty(claim("b", "")).await.unwrap().term, 2);
}

pub async fn a_duty_past_its_bounds_is_refused(f: Fixture) {
    let long = claim("a", &"x".repeat(jobbers_common::limits::MAX_DUTY_NOTE_BYTES + 1));
    let brief = DutyClaim { ttl: Duration::ZERO, ..claim("a", "") };
    for bad in [long, brief] {
        assert!(matches!(f.engine.claim_duty(bad).await, Err(Error::Invalid(_))));
    }
}
