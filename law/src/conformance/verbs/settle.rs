//! Settling: by the fence, once.

use std::time::Duration;

use jobbers_common::{
    engine::{Cycle, Error, Outcome, PutMode, SettleAnswer, Settlement},
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH, MAX_ERROR_BYTES, MAX_ERROR_KIND_BYTES, MAX_ERRORS_KEPT},
    outcome::transition::{Facts, Return, Transition},
    payload::Payload,
    policy::{Exhausted, PolicyOverrides, Tries, error_kind::ErrorKind},
    queue::QueueConfig,
    task::{AttemptError, AttemptFailure, FailureKind, Fence, NewTask},
    time::Clock,
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, failed, failure, id, ids, queue, retry, seconds, task, worker,
};

use SettleAnswer::{Accepted, LeaseLost};

pub async fn a_completed_task_keeps_its_result(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.advance(seconds(2));
    let result = Payload::json(&b"{\"words\":9007199254740993}"[..]);
    let outcome = Outcome::Completed { result: Some(result.clone()) };
    assert_eq!(f.settle(&claimed, outcome).await, Accepted(Status::Completed));
    let task = f.get("a").await;
    assert_eq!((task.status, task.result), (Status::Completed, Some(result)));
    assert_eq!(task.completed_at, Some(f.clock.now()));
    assert_eq!(task.started_at, Some(f.clock.now().before(seconds(2))));
    assert_eq!((task.lease, task.worker), (None, Some(worker("w1"))));
    assert_eq!((task.attempt, task.parameters), (1, Some(claimed.parameters)));
}

pub async fn a_completed_task_keeps_parameters_up_to_its_queue_s_bound(f: Fixture) {
    let of = |bytes: usize| Payload { content_type: Some("text/plain".into()), ..Payload::json(vec![b'x'; bytes]) };
    // Without a setting, with one on either side of what is stored beside a task, with none and with all.
    let bounds = [None, Some(100), Some(KEPT_PARAMETER_BYTES as u64 + 500), Some(0), Some(u64::MAX)];
    let sizes =
        [0, 1, 100, 101, KEPT_PARAMETER_BYTES, KEPT_PARAMETER_BYTES + 1, KEPT_PARAMETER_BYTES + 500, 2_048, 2_049];
    for bound in bounds {
        if let Some(keep_parameters) = bound {
            let settings = QueueConfig { keep_parameters, ..QueueConfig::new(queue("default")) };
            f.engine.put_queue(settings, PutMode::Replace).await.unwrap();
        }
        for result in [None, Some(Payload::json(&b"[7]"[..]))] {
            let name = |bytes: usize| format!("{bound:?}-{}-{bytes}", result.is_some()).replace(['(', ')'], "");
            for ends_well in [true, false] {
                let name = |bytes| format!("{}-{ends_well}", name(bytes));
                f.submit(sizes.iter().map(|bytes| NewTask { parameters: of(*bytes), ..task(&name(*bytes)) }).collect())
                    .await;
                for claimed in f.claim(sizes.len()).await {
                    let failed = Outcome::Failed { failure: failure("no"), dead_letter: false };
                    let outcome = if ends_well { Outcome::Completed { result: result.clone() } } else { failed };
                    f.settle(&claimed, outcome).await;
                }
                for bytes in sizes {
                    let ended = f.get(&name(bytes)).await;
                    let most = usize::try_from(bound.unwrap_or(2_048)).unwrap_or(usize::MAX);
                    let is_kept = !ends_well || bytes > 0 && bytes <= most;
                    assert_eq!(ended.parameters, is_kept.then(|| of(bytes)), "{}", name(bytes));
                    assert_eq!(ended.result, result.clone().filter(|_| ends_well), "{}", name(bytes));
                }
            }
        }
    }
    f.assert_conserved().await;
}

pub async fn a_retry_waits_for_its_time(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, retry(seconds(10))).await, Accepted(Status::Scheduled));
    let task = f.get("a").await;
    assert_eq!((task.ready_at, task.lease), (f.clock.now().after(seconds(10)), None));
    assert_eq!((task.worker, task.started_at), (Some(worker("w1")), Some(f.clock.now())));
    assert!(f.claim(1).await.is_empty());
    f.advance(seconds(10));
    let again = f.claim_one().await;
    assert_eq!((again.attempt, again.crashes), (2, 0));
    assert!(again.fence > claimed.fence);
    assert_eq!(again.ready_at, f.clock.now());
}

pub async fn a_retry_without_delay_goes_to_the_end(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim_one().await;
    f.advance(seconds(1));
    assert_eq!(f.settle(&claimed, retry(Duration::ZERO)).await, Accepted(Status::Submitted));
    assert_eq!(f.get("a").await.ready_at, f.clock.now());
    assert_eq!(ids(&f.claim(2).await), ["b", "a"]);
}

/// Every way in which an attempt can end its task, and results and failures that differ a little.
fn endings() -> Vec<Outcome> {
    let completed = |text: &str| Outcome::Completed { result: Some(Payload::json(text.to_owned())) };
    let typed = Payload { content_type: Some("text/plain".into()), ..Payload::json("1") };
    let fails = |failure| Outcome::Failed { failure, dead_letter: false };
    let (delay, patience) = (Duration::ZERO, Duration::ZERO);
    vec![
        DONE,
        completed("1"),
        completed("1.0"),
        Outcome::Completed { result: Some(typed) },
        fails(failure("no")),
        fails(failure("no ")),
        fails(failure("no").of(ErrorKind::new("io").ok())),
        fails(AttemptFailure::new(FailureKind::Fatal, "no")),
        Outcome::Stalled { failure: failure("no"), dead_letter: false },
        Outcome::Aborted { failure: failure("no") },
        Outcome::Unknown { delay, patience, failure: failure("no"), dead_letter: false },
        Outcome::Cancelled,
    ]
}

pub async fn a_settlement_that_differs_from_what_is_stored_comes_too_late(f: Fixture) {
    for (place, first) in endings().into_iter().enumerate() {
        let name = format!("a{place}");
        f.submit_ids(&[&name]).await;
        let claimed = f.claim_one().await;
        let accepted = f.settle(&claimed, first.clone()).await;
        let stored = f.get(&name).await;
        f.advance(seconds(1));
        for (other, second) in endings().into_iter().enumerate() {
            let answer = f.settle(&claimed, second.clone()).await;
            let expected = if other == place { accepted } else { LeaseLost };
            assert_eq!(answer, expected, "{first:?}, then {second:?}");
        }
        for back in [RELEASED, retry(Duration::ZERO), Outcome::Unstarted { delay: Duration::ZERO }] {
            assert_eq!(f.settle(&claimed, back.clone()).await, LeaseLost, "{first:?}, then {back:?}");
        }
        assert_eq!(f.get(&name).await, stored, "nothing changed");
    }
}

pub async fn a_last_try_is_settled_again_by_the_same_words(f: Fixture) {
    for exhausted in [Exhausted::Failed, Exhausted::Aborted] {
        let name = format!("{exhausted:?}").to_lowercase();
        for (place, last) in [retry(seconds(1)), RELEASED].into_iter().enumerate() {
            let once = PolicyOverrides { max_tries: Some(1), exhausted: Some(exhausted), ..PolicyOverrides::default() };
            f.submit(vec![NewTask { overrides: once, ..task(&format!("{name}{place}")) }]).await;
            let claimed = f.claim_one().await;
            let accepted = f.settle(&claimed, last.clone()).await;
            assert!(matches!(accepted, Accepted(status) if status.is_finished()), "{accepted:?}");
            assert_eq!(f.settle(&claimed, last.clone()).await, accepted);
            let other = Outcome::Retry { delay: seconds(1), failure: failure("something else") };
            for other in [DONE, Outcome::Cancelled, other] {
                assert_eq!(f.settle(&claimed, other).await, LeaseLost, "{last:?}");
            }
        }
    }
}

pub async fn a_cancel_makes_all_outcomes_one(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim(2).await;
    f.engine.cancel(&[id("a"), id("b")]).await.unwrap();
    let result = |text: &str| Outcome::Completed { result: Some(Payload::json(text.to_owned())) };
    for outcome in [result("1"), result("2"), Outcome::Cancelled, RELEASED] {
        assert_eq!(f.settle(&claimed[0], outcome).await, Accepted(Status::Cancelled));
    }
    // A failure is noted, also of a task that is cancelled.
    assert_eq!(f.settle(&claimed[0], failed(false)).await, LeaseLost);
    for (outcome, expected) in [(failed(false), Accepted(Status::Cancelled)), (DONE, LeaseLost)] {
        assert_eq!(f.settle(&claimed[1], outcome.clone()).await, expected, "{outcome:?}");
        assert_eq!(f.settle(&claimed[1], outcome).await, expected);
    }
}

pub async fn a_failed_task_keeps_its_errors_and_parameters(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let outcome = Outcome::Failed { failure: failure("no such file"), dead_letter: true };
    assert_eq!(f.settle(&claimed, outcome).await, Accepted(Status::Failed));
    let task = f.get("a").await;
    assert_eq!((task.status, task.dead_letter, task.result), (Status::Failed, true, None));
    assert_eq!(task.parameters, Some(Payload::json(&b"{\"n\":1}"[..])));
    let error = &task.errors[0];
    assert_eq!((error.attempt, &error.worker, error.kind), (1, &worker("w1"), FailureKind::Error));
    assert_eq!((error.message.as_str(), error.at), ("no such file", f.clock.now()));
}

pub async fn an_error_keeps_its_kind(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let longest = "x".repeat(MAX_ERROR_KIND_BYTES);
    let words = [
        "app::mail::Refused",
        "App\\Exceptions\\NotFound",
        "[Ljava.lang.String;",
        ";;",
        "TimeoutError: 30s",
        "é—ß",
        &longest,
    ];
    let words = words.map(|word| ErrorKind::new(word).ok());
    let kinds: Vec<Option<ErrorKind>> = std::iter::once(None).chain(words).collect();
    assert_eq!(kinds.iter().flatten().count(), 7);
    for kind in kinds.clone() {
        let claimed = f.claim_one().await;
        let failure = failure(&format!("E;;{}", "m".repeat(MAX_ERROR_BYTES))).of(kind);
        f.settle(&claimed, Outcome::Retry { delay: Duration::ZERO, failure }).await;
    }
    let errors = f.get("a").await.errors;
    assert_eq!(errors.iter().map(|error| error.error_kind.clone()).collect::<Vec<_>>(), kinds);
    let whole = |error: &AttemptError| error.message.len() == MAX_ERROR_BYTES && error.message.starts_with("E;;m");
    assert!(errors.iter().all(|error| whole(error) && error.kind == FailureKind::Error), "{errors:?}");
}

pub async fn errors_grow_over_attempts(f: Fixture) {
    f.submit_ids(&["a"]).await;
    for n in 1..=3 {
        let claimed = f.claim_one().await;
        let failure = failure(&format!("attempt {n} \u{0} «ü» \"quoted\""));
        f.settle(&claimed, Outcome::Retry { delay: Duration::ZERO, failure }).await;
        f.advance(seconds(1));
    }
    let errors = f.get("a").await.errors;
    let seen: Vec<_> = errors.iter().map(|error| (error.attempt, error.message.as_str())).collect();
    assert_eq!(
        seen,
        [
            (1, "attempt 1 \u{0} «ü» \"quoted\""),
            (2, "attempt 2 \u{0} «ü» \"quoted\""),
            (3, "attempt 3 \u{0} «ü» \"quoted\"")
        ]
    );
    assert!(errors.is_sorted_by_key(|error| error.at));
}

pub async fn only_the_latest_errors_are_kept(f: Fixture) {
    f.submit_ids(&["a"]).await;
    for _ in 0..MAX_ERRORS_KEPT + 3 {
        let claimed = f.claim_one().await;
        f.settle(&claimed, retry(Duration::ZERO)).await;
    }
    let errors = f.get("a").await.errors;
    assert_eq!(errors.len(), MAX_ERRORS_KEPT);
    assert_eq!((errors[0].attempt, errors[MAX_ERRORS_KEPT - 1].attempt), (4, 103));
}

pub async fn a_release_costs_nothing_and_keeps_its_place(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let submitted_at = f.clock.now();
    let claimed = f.claim_one().await;
    f.advance(seconds(1));
    assert_eq!(f.settle(&claimed, RELEASED).await, Accepted(Status::Submitted));
    let task = f.get("a").await;
    assert_eq!((task.attempt, task.crashes, task.errors.len()), (0, 0, 0));
    assert_eq!(task.ready_at, submitted_at);
    let again = f.claim(2).await;
    assert_eq!(ids(&again), ["a", "b"]);
    assert_eq!((again[0].attempt, again[0].ready_at), (1, submitted_at));
}

pub async fn a_release_with_a_delay_waits(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, Outcome::Released { delay: seconds(3) }).await, Accepted(Status::Scheduled));
    assert!(f.claim(1).await.is_empty());
    f.advance(seconds(3));
    assert_eq!(f.claim_one().await.attempt, 1);
}

pub async fn a_worker_may_cancel_its_own_task(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, Outcome::Cancelled).await, Accepted(Status::Cancelled));
    assert_eq!(f.get("a").await.completed_at, Some(f.clock.now()));
}

pub async fn a_settlement_with_a_wrong_fence_changes_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let before = f.get("a").await;
    for fence in [claimed.fence.0 - 1, claimed.fence.0 + 1, 0, u64::MAX >> 1] {
        let wrong = jobbers_common::task::ClaimedTask { fence: Fence(fence), ..claimed.clone() };
        for outcome in [DONE, retry(Duration::ZERO), RELEASED, Outcome::Cancelled] {
            assert_eq!(f.settle(&wrong, outcome).await, LeaseLost, "fence {fence}");
        }
    }
    assert_eq!(f.get("a").await, before);
    assert_eq!(f.settle(&claimed, DONE).await, Accepted(Status::Completed));
}

pub async fn a_settlement_after_reclaim_is_refused(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let zombie = f.claim_one().await;
    f.advance(LEASE);
    let second = f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.remove(0);
    assert!(second.fence > zombie.fence);
    for outcome in [DONE, retry(Duration::ZERO), RELEASED, Outcome::Cancelled] {
        assert_eq!(f.settle(&zombie, outcome).await, LeaseLost);
    }
    let task = f.get("a").await;
    assert_eq!((task.status, task.worker), (Status::Started, Some(worker("w2"))));
    assert_eq!(f.settle(&second, DONE).await, Accepted(Status::Completed));
    assert_eq!(f.settle(&zombie, DONE).await, LeaseLost);
}

pub async fn a_settlement_after_expiry_but_before_reclaim_is_accepted(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.advance(LEASE + seconds(100));
    assert_eq!(f.settle(&claimed, DONE).await, Accepted(Status::Completed));
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().total(), 0);
}

pub async fn a_settlement_repeated_is_answered_alike(f: Fixture) {
    f.submit_ids(&["done", "failed"]).await;
    let claimed = f.claim(2).await;
    let failed = Outcome::Failed { failure: failure("no"), dead_letter: false };
    for _ in 0..3 {
        assert_eq!(f.settle(&claimed[0], DONE).await, Accepted(Status::Completed));
        assert_eq!(f.settle(&claimed[1], failed.clone()).await, Accepted(Status::Failed));
        f.advance(seconds(1));
    }
    assert_eq!(f.get("failed").await.errors.len(), 1);
    assert_eq!(f.get("done").await.completed_at, Some(f.clock.now().before(seconds(3))));
    assert_eq!((f.count(Status::Completed).await, f.count(Status::Failed).await), (1, 1));
    f.assert_conserved().await;
}

pub async fn a_settlement_of_an_unknown_task_is_refused(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let unknown = jobbers_common::task::ClaimedTask { id: id("unknown"), ..claimed };
    assert_eq!(f.settle(&unknown, DONE).await, LeaseLost);
    assert_eq!(f.engine.get(&id("unknown")).await.unwrap(), None);
}

pub async fn a_lost_lease_harms_no_neighbour(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let claimed = f.claim(3).await;
    let settlements = claimed
        .iter()
        .enumerate()
        .map(|(n, task)| {
            let fence = if n == 1 { Fence(task.fence.0 + 1_000_000) } else { task.fence };
            Settlement::new(task.id.clone(), fence, if n == 0 { retry(Duration::ZERO) } else { DONE })
        })
        .collect();
    let reply = f.cycle_as("w1", &[], 0, settlements).await;
    assert_eq!(reply.settled, [Accepted(Status::Submitted), LeaseLost, Accepted(Status::Completed)]);
    assert_eq!(f.status("b").await, Status::Started);
}

pub async fn an_old_fence_is_refused_after_a_retry(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let first = f.claim_one().await;
    f.settle(&first, retry(Duration::ZERO)).await;
    assert_eq!(f.settle(&first, DONE).await, LeaseLost, "the task is back in its queue");
    let second = f.claim_one().await;
    assert_eq!(f.settle(&first, DONE).await, LeaseLost, "somebody else has it");
    assert_eq!(f.settle(&second, DONE).await, Accepted(Status::Completed));
    assert_eq!(f.settle(&first, DONE).await, LeaseLost, "it is over by another's hand");
}

pub async fn a_poisoned_task_is_not_settled_by_its_ghost(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let mut ghosts = Vec::new();
    for _ in 0..3 {
        ghosts.push(f.claim_one().await);
        f.advance(LEASE);
        f.engine.reclaim_expired(10).await.unwrap();
    }
    assert_eq!(f.status("a").await, Status::Failed);
    for ghost in &ghosts {
        assert_eq!(f.settle(ghost, DONE).await, LeaseLost);
    }
    assert_eq!(f.status("a").await, Status::Failed);
}

pub async fn a_task_settled_twice_in_one_cycle_is_refused(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let settlement = Settlement::new(claimed.id, claimed.fence, DONE);
    let cycle = Cycle { worker: worker("w1"), settlements: vec![settlement.clone(), settlement], claim: None };
    assert!(matches!(f.engine.cycle(cycle).await, Err(Error::Invalid(_))));
    assert_eq!(f.status("a").await, Status::Started);
}

pub async fn a_large_batch_is_settled_at_once(f: Fixture) {
    f.submit((0..MAX_BATCH).map(|n| task(&format!("t{n}"))).collect()).await;
    let claimed = f.claim(MAX_BATCH).await;
    let settlements: Vec<Settlement> = claimed
        .into_iter()
        .enumerate()
        .map(|(n, task)| {
            let outcome = match n % 4 {
                0 => DONE,
                1 => retry(seconds(5)),
                2 => RELEASED,
                _ => Outcome::Failed { failure: failure("no"), dead_letter: false },
            };
            Settlement::new(task.id, task.fence, outcome)
        })
        .collect();
    let reply = f.cycle_as("w1", &[], 0, settlements).await;
    assert!(reply.settled.iter().all(|answer| matches!(answer, Accepted(_))));
    let quarter = MAX_BATCH as u64 / 4;
    for status in [Status::Completed, Status::Scheduled, Status::Submitted, Status::Failed] {
        assert_eq!(f.count(status).await, quarter, "{status}");
    }
    f.assert_conserved().await;
}

/// Each outcome with each delay, patience and wish for a dead letter.
fn all_outcomes() -> Vec<Outcome> {
    let boom = || failure("boom");
    let mut all = vec![DONE, Outcome::Cancelled, Outcome::Aborted { failure: boom() }];
    for delay in [Duration::ZERO, seconds(10)] {
        all.extend([retry(delay), Outcome::Released { delay }, Outcome::Unstarted { delay }]);
        for patience in [Duration::ZERO, seconds(60)] {
            all.push(Outcome::Unknown { delay, patience, failure: boom(), dead_letter: true });
        }
    }
    for dead_letter in [false, true] {
        all.push(Outcome::Failed { failure: boom(), dead_letter });
        all.push(Outcome::Stalled { failure: boom(), dead_letter });
    }
    all
}

pub async fn every_outcome_moves_a_task_as_the_table_says(f: Fixture) {
    for (n, outcome) in all_outcomes().into_iter().enumerate() {
        for cancel_requested in [false, true] {
            let name = format!("t{n}-{cancel_requested}");
            f.submit_ids(&[&name]).await;
            let claimed = f.claim_one().await;
            f.advance(seconds(1));
            if cancel_requested {
                f.engine.cancel(std::slice::from_ref(&claimed.id)).await.unwrap();
            }
            let facts = Facts { now: f.clock.now(), cancel_requested, unknown_since: None, tries: Tries::Unlimited };
            let expected = Transition::of_outcome(&outcome, &facts);
            let said = format!("{outcome:?}, cancel requested: {cancel_requested}");
            assert_eq!(f.settle(&claimed, outcome.clone()).await, Accepted(expected.to), "{said}");
            let task = f.get(&name).await;
            let facts = (task.status, task.attempt, task.errors.len(), task.dead_letter, task.ready_at);
            let ready_at = match expected.back {
                Some(Return::After(delay)) => f.clock.now().after(delay),
                _ => claimed.ready_at,
            };
            let (attempt, errors) = (u32::from(expected.counts), usize::from(expected.notes_failure));
            assert_eq!(facts, (expected.to, attempt, errors, expected.dead_letter, ready_at), "{said}");
            f.engine.purge_queue(&queue("default"), 1_000).await.unwrap();
        }
    }
    f.assert_conserved().await;
}
