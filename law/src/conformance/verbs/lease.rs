//! Leases: renewed, lost, reclaimed.

use std::time::Duration;

use jobbers_common::{
    engine::{
        Cycle, Error, ExtendAnswer, Extension, Heartbeat, LostTask, Outcome, Reclaimed, SettleAnswer, Settlement,
    },
    lifecycle::Status,
    limits::MAX_PROGRESS_BYTES,
    name::TaskName,
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides},
    task::{ClaimedTask, FailureKind, Fence, NewTask, Progress},
    time::Clock,
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};

const GOES_ON: ExtendAnswer = ExtendAnswer::Extended { cancel_requested: false };

async fn extend(f: &Fixture, task: &ClaimedTask, heartbeat: Option<Heartbeat>) -> ExtendAnswer {
    let extension = Extension { id: task.id.clone(), fence: task.fence, heartbeat };
    f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.unwrap()[0]
}

async fn reclaim(f: &Fixture) -> Reclaimed {
    f.engine.reclaim_expired(100).await.unwrap()
}

pub async fn an_extended_lease_does_not_expire(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    for _ in 0..5 {
        f.advance(LEASE - Duration::from_millis(1));
        let revision = f.get("a").await.revision;
        assert_eq!(extend(&f, &claimed, None).await, GOES_ON);
        let task = f.get("a").await;
        assert_eq!(task.lease.unwrap().expires_at, f.clock.now().after(LEASE));
        assert_eq!(task.revision, revision, "renewing is no change");
    }
    f.advance(LEASE - Duration::from_millis(1));
    assert_eq!(reclaim(&f).await.total(), 0);
    assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Completed));
}

pub async fn a_lease_is_renewed_by_its_worker_alone(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let before = f.get("a").await;
    let heartbeat = Some(Heartbeat { progress: None, checkpoint: Some(Payload::json("1")) });
    let extension = Extension { id: id("a"), fence: claimed.fence, heartbeat };
    let answer = f.engine.extend(&worker("w2"), LEASE, vec![extension]).await.unwrap();
    assert_eq!(answer, [ExtendAnswer::LeaseLost]);
    assert_eq!(f.get("a").await, before, "nothing changed");
    assert_eq!(extend(&f, &claimed, None).await, GOES_ON);
}

pub async fn a_lease_that_ran_out_can_be_renewed_until_it_is_reclaimed(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.advance(LEASE * 2);
    assert_eq!(extend(&f, &claimed, None).await, GOES_ON);
    assert_eq!(reclaim(&f).await.total(), 0);
    f.advance(LEASE);
    assert_eq!(reclaim(&f).await.requeued, 1);
    assert_eq!(extend(&f, &claimed, None).await, ExtendAnswer::LeaseLost);
}

pub async fn an_expired_lease_is_reclaimed_by_the_next_claim(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let first = f.claim_one().await;
    f.advance(LEASE - Duration::from_micros(1));
    assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.is_empty());
    f.advance(Duration::from_micros(1));
    let claimed = f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed;
    assert_eq!((claimed[0].id.as_str(), claimed[0].crashes, claimed[0].attempt), ("a", 1, 1));
    assert!(claimed[0].fence > first.fence);
}

pub async fn a_reclaimed_task_keeps_its_place_and_its_attempt(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let submitted_at = f.clock.now();
    f.claim(1).await;
    f.advance(LEASE);
    assert_eq!(reclaim(&f).await, Reclaimed { requeued: 1, ended: Vec::new() });
    let task = f.get("a").await;
    assert_eq!((task.status, task.attempt, task.crashes), (Status::Submitted, 0, 1));
    assert_eq!((task.ready_at, task.lease), (submitted_at, None));
    assert_eq!(ids(&f.claim(3).await), ["a", "b", "c"]);
}

pub async fn a_crash_is_noted_and_is_no_failure(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.claim(1).await;
    f.advance(LEASE);
    reclaim(&f).await;
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.crashes), (1, 1), "no retry was used up");
    let error = &f.get("a").await.errors[0];
    assert_eq!((error.kind, error.attempt, &error.worker), (FailureKind::Crash, 1, &worker("w1")));
    f.settle(&claimed, retry(Duration::ZERO)).await;
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.crashes), (2, 1), "crashes are remembered over a retry");
    f.settle(&claimed, RELEASED).await;
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.crashes), (2, 1), "and over a release");
}

pub async fn a_poison_task_is_failed(f: Fixture) {
    f.submit_ids(&["poison"]).await;
    for crash in 1..=3 {
        assert_eq!(f.claim_one().await.crashes, crash - 1);
        f.advance(LEASE);
        let expected = if crash < 3 { (1, 0) } else { (0, 1) };
        let reclaimed = reclaim(&f).await;
        assert_eq!((reclaimed.requeued, reclaimed.count(Status::Failed)), expected);
    }
    let task = f.get("poison").await;
    assert_eq!((task.status, task.crashes, task.errors.len()), (Status::Failed, 3, 3));
    assert_eq!(task.completed_at, Some(f.clock.now()));
    assert!(task.errors.iter().all(|error| error.kind == FailureKind::Crash));
    assert!(task.dead_letter, "kept unless its policy says `none`");
    f.assert_conserved().await;
}

pub async fn what_ends_with_its_lease_is_reported_by_who_took_that_back(f: Fixture) {
    f.create_queue("mail").await;
    let overrides = |dead_letter| PolicyOverrides {
        max_crashes: Some(1),
        dead_letter: Some(dead_letter),
        ..PolicyOverrides::default()
    };
    let poison = |text: &str, dead_letter| NewTask {
        version: 7,
        name: TaskName::new(format!("crash-{text}")).unwrap(),
        overrides: overrides(dead_letter),
        ..task_in(text, "mail")
    };
    let lost = |text: &str, status, dead_letter| LostTask {
        queue: queue("mail"),
        name: TaskName::new(format!("crash-{text}")).unwrap(),
        version: 7,
        status,
        dead_letter,
    };
    f.submit(vec![poison("a", DeadLetter::Save), poison("b", DeadLetter::None)]).await;
    assert_eq!(f.claim_from(&["mail"], 1).await.len(), 1);
    f.advance(LEASE);
    assert_eq!(
        reclaim(&f).await,
        Reclaimed { requeued: 0, ended: vec![lost("a", Status::Failed, true)] },
        "by the chore"
    );
    let next = f.cycle_as("w2", &["mail"], 1, Vec::new()).await;
    assert_eq!((ids(&next.claimed), next.reclaimed), (vec!["b"], Reclaimed::default()));
    f.advance(LEASE);
    f.submit(vec![poison("c", DeadLetter::Save)]).await;
    let next = f.cycle_as("w3", &["mail"], 1, Vec::new()).await;
    assert_eq!(ids(&next.claimed), ["c"]);
    assert_eq!(next.reclaimed, Reclaimed { requeued: 0, ended: vec![lost("b", Status::Failed, false)] }, "by a claim");
    f.engine.cancel(&[id("c")]).await.unwrap();
    f.advance(LEASE);
    let next = f.cycle_as("w4", &["mail"], 1, Vec::new()).await;
    assert_eq!(next.reclaimed, Reclaimed { requeued: 0, ended: vec![lost("c", Status::Cancelled, false)] });
    f.submit(vec![task_in("d", "mail")]).await;
    assert_eq!(f.claim_from(&["mail"], 1).await.len(), 1);
    f.advance(LEASE);
    let next = f.cycle_as("w5", &["mail"], 1, Vec::new()).await;
    assert_eq!(next.reclaimed, Reclaimed { requeued: 1, ended: Vec::new() });
}

pub async fn max_crashes_can_be_overridden(f: Fixture) {
    let overrides =
        |max, dead_letter| PolicyOverrides { max_crashes: Some(max), dead_letter, ..PolicyOverrides::default() };
    f.submit(vec![
        NewTask { overrides: overrides(1, Some(DeadLetter::Save)), ..task("one") },
        NewTask { overrides: overrides(100, Some(DeadLetter::None)), ..task("many") },
    ])
    .await;
    for name in ["one", "many"] {
        assert_eq!(f.claim_one().await.id.as_str(), name);
        f.advance(LEASE);
        reclaim(&f).await;
    }
    for _ in 0..4 {
        f.claim_one().await;
        f.advance(LEASE);
        reclaim(&f).await;
    }
    let one = f.get("one").await;
    assert_eq!((one.status, one.blames, one.dead_letter), (Status::Failed, 1, true));
    let many = f.get("many").await;
    assert_eq!((many.status, many.blames), (Status::Submitted, 5));
}

pub async fn an_extension_with_a_wrong_fence_changes_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let before = f.get("a").await;
    f.advance(seconds(1));
    let wrong = ClaimedTask { fence: Fence(claimed.fence.0 + 1), ..claimed.clone() };
    let heartbeat = Heartbeat { progress: None, checkpoint: Some(Payload::json(&b"1"[..])) };
    assert_eq!(extend(&f, &wrong, Some(heartbeat)).await, ExtendAnswer::LeaseLost);
    assert_eq!(f.get("a").await, before);
    f.settle(&claimed, DONE).await;
    assert_eq!(extend(&f, &claimed, None).await, ExtendAnswer::LeaseLost, "it is over");
}

pub async fn heartbeats_progress_and_checkpoints_are_kept(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.get("a").await.heartbeat_at, None);
    f.advance(seconds(1));
    assert_eq!(extend(&f, &claimed, Some(Heartbeat::default())).await, GOES_ON);
    assert_eq!(f.get("a").await.heartbeat_at, Some(f.clock.now()));
    f.advance(seconds(1));
    let progress = Progress { fraction: 0.4, message: "page 12 «ü»".to_owned() };
    let checkpoint = Payload::json(&b"{\"page\":12}"[..]);
    let heartbeat = Heartbeat { progress: Some(progress.clone()), checkpoint: Some(checkpoint.clone()) };
    extend(&f, &claimed, Some(heartbeat)).await;
    f.advance(seconds(1));
    extend(&f, &claimed, Some(Heartbeat::default())).await;
    let task = f.get("a").await;
    assert_eq!((task.progress, task.checkpoint), (Some(progress), Some(checkpoint)), "silence changes nothing");
    assert_eq!(task.heartbeat_at, Some(f.clock.now()));
    f.advance(seconds(1));
    extend(&f, &claimed, None).await;
    assert_eq!(f.get("a").await.heartbeat_at, Some(f.clock.now().before(seconds(1))), "a renewal is no heartbeat");
}

pub async fn a_checkpoint_is_found_by_the_next_attempt(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let mut claimed = f.claim_one().await;
    for n in 1..=3 {
        let checkpoint = Payload::json(format!("{{\"page\":{n}}}"));
        extend(&f, &claimed, Some(Heartbeat { progress: None, checkpoint: Some(checkpoint.clone()) })).await;
        match n {
            1 => f.settle(&claimed, retry(Duration::ZERO)).await,
            2 => f.settle(&claimed, RELEASED).await,
            _ => {
                f.advance(LEASE);
                reclaim(&f).await;
                SettleAnswer::LeaseLost
            }
        };
        claimed = f.claim_one().await;
        assert_eq!(claimed.checkpoint, Some(checkpoint), "after ending {n}");
    }
}

pub async fn progress_belongs_to_its_attempt(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let progress = Progress { fraction: 0.9, message: String::new() };
    extend(&f, &claimed, Some(Heartbeat { progress: Some(progress), checkpoint: None })).await;
    f.settle(&claimed, retry(Duration::ZERO)).await;
    let task = f.get("a").await;
    assert_eq!((task.progress, task.heartbeat_at), (None, None));
    f.claim(1).await;
    let task = f.get("a").await;
    assert_eq!((task.progress, task.heartbeat_at), (None, None));
}

pub async fn a_settlement_carries_the_last_report(f: Fixture) {
    let progress = Progress { fraction: 1.0, message: "all! 20 ; pages".to_owned() };
    let checkpoint = Payload { content_type: Some("text/plain".into()), bytes: b"at!\0;20"[..].into() };
    let last = Heartbeat { progress: Some(progress.clone()), checkpoint: Some(checkpoint.clone()) };
    let reported = Heartbeat { progress: Some(Progress::new(0.1, "page 2")), checkpoint: Some(Payload::json("2")) };
    let failed = Outcome::Failed { failure: failure("no"), dead_letter: true };
    let ends = [DONE, failed, Outcome::Cancelled];
    for (n, outcome) in ends.into_iter().enumerate() {
        for (place, before) in [None, Some(reported.clone())].into_iter().enumerate() {
            let name = format!("{n}-{place}");
            f.submit_ids(&[&name]).await;
            let claimed = f.claim_one().await;
            if before.is_some() {
                extend(&f, &claimed, before).await;
            }
            f.advance(seconds(1));
            settle_with(&f, &claimed, outcome.clone(), last.clone()).await;
            let task = f.get(&name).await;
            assert!(task.status.is_finished(), "{outcome:?}");
            assert_eq!(
                (task.progress, task.heartbeat_at),
                (Some(progress.clone()), Some(f.clock.now())),
                "{outcome:?}"
            );
        }
    }
    let copies = f.engine.dead_letters(0, 10).await.unwrap().copies;
    assert!(copies.iter().all(|copy| copy.task.progress.as_ref() == Some(&progress)), "{copies:?}");
    assert!(copies.iter().all(|copy| copy.task.checkpoint.as_ref() == Some(&checkpoint)), "{copies:?}");
    for (name, outcome) in [("retried", retry(Duration::ZERO)), ("returned", RELEASED)] {
        f.submit_ids(&[name]).await;
        let claimed = f.claim_one().await;
        extend(&f, &claimed, Some(reported.clone())).await;
        settle_with(&f, &claimed, outcome, last.clone()).await;
        assert_eq!(f.get(name).await.progress, None, "progress belongs to its attempt");
        let next = f.claim_one().await;
        assert_eq!(next.checkpoint.as_ref(), Some(&checkpoint), "{name}");
        let progress_alone = Heartbeat { progress: last.progress.clone(), checkpoint: None };
        settle_with(&f, &next, retry(Duration::ZERO), progress_alone).await;
        let next = f.claim_one().await;
        assert_eq!(next.checkpoint.as_ref(), Some(&checkpoint), "{name}: what is not said stays");
        f.settle(&next, DONE).await;
    }
}

pub async fn the_last_report_of_a_lost_lease_changes_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let wrong = ClaimedTask { fence: Fence(claimed.fence.0 + 1), ..claimed.clone() };
    let last = Heartbeat { progress: Some(Progress::new(0.5, "half")), checkpoint: Some(Payload::json("1")) };
    assert_eq!(settle_with(&f, &wrong, DONE, last.clone()).await, SettleAnswer::LeaseLost);
    let task = f.get("a").await;
    assert_eq!((task.progress, task.checkpoint, task.heartbeat_at), (None, None, None));
    let progress = Progress { fraction: 1.5, message: String::new() };
    let heartbeat = Some(Heartbeat { progress: Some(progress), checkpoint: None });
    let settlement = Settlement { heartbeat, ..Settlement::new(claimed.id.clone(), claimed.fence, DONE) };
    let cycle = Cycle { worker: worker("w1"), settlements: vec![settlement], claim: None };
    assert!(matches!(f.engine.cycle(cycle).await, Err(Error::Invalid(_))));
    assert_eq!(f.status("a").await, Status::Started);
}

async fn settle_with(f: &Fixture, task: &ClaimedTask, outcome: Outcome, last: Heartbeat) -> SettleAnswer {
    let settlement = Settlement { heartbeat: Some(last), ..Settlement::new(task.id.clone(), task.fence, outcome) };
    f.cycle_as("w1", &[], 0, vec![settlement]).await.settled[0]
}

pub async fn fences_only_grow(f: Fixture) {
    f.submit_ids(&["a", "b", "c", "d"]).await;
    let mut last = Fence(0);
    for round in 0..12 {
        for claimed in f.claim(4).await {
            assert!(claimed.fence > last, "round {round}");
            last = claimed.fence;
            let outcome = if round % 2 == 0 { RELEASED } else { retry(Duration::ZERO) };
            f.settle(&claimed, outcome).await;
        }
    }
}

pub async fn a_live_lease_is_not_reclaimed(f: Fixture) {
    f.submit_ids(&["early", "late"]).await;
    f.claim(1).await;
    f.advance(LEASE / 2);
    f.claim(1).await;
    f.advance(LEASE / 2);
    assert_eq!(reclaim(&f).await.requeued, 1);
    assert_eq!((f.status("early").await, f.status("late").await), (Status::Submitted, Status::Started));
}

pub async fn progress_out_of_bounds_is_refused_and_changes_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let before = f.get("a").await;
    f.advance(seconds(1));
    let long = Progress { fraction: 0.5, message: "x".repeat(MAX_PROGRESS_BYTES + 1) };
    for progress in [
        long,
        Progress { fraction: f64::NAN, ..Progress::new(0.0, "") },
        Progress { fraction: 1.5, ..Progress::new(0.0, "") },
    ] {
        let heartbeat = Some(Heartbeat { progress: Some(progress), checkpoint: None });
        let extension = Extension { id: claimed.id.clone(), fence: claimed.fence, heartbeat };
        let answer = f.engine.extend(&worker("w1"), LEASE, vec![extension]).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
        assert_eq!(f.get("a").await, before);
    }
    // The longest there is, of characters that take the most room however they are written down.
    let longest = Progress::new(0.5, "\u{1}".repeat(MAX_PROGRESS_BYTES));
    extend(&f, &claimed, Some(Heartbeat { progress: Some(longest.clone()), checkpoint: None })).await;
    assert_eq!(f.get("a").await.progress, Some(longest));
}

pub async fn extending_nothing_is_fine(f: Fixture) {
    assert!(f.engine.extend(&worker("w1"), LEASE, Vec::new()).await.unwrap().is_empty());
}
