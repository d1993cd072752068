//! Tasks whose tries are limited.

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{LostTask, Outcome, Reclaimed, Resubmit, Resubmitted},
    lifecycle::Status,
    name::TaskName,
    policy::{DeadLetter, Exhausted, PolicyOverrides},
    task::{FailureKind, NewTask},
};

use crate::conformance::{Fixture, LEASE, RELEASED, SettleAnswer::Accepted, id, retry, seconds, task};

fn tries(text: &str, max_tries: u32, exhausted: Option<Exhausted>) -> NewTask {
    let overrides = PolicyOverrides { max_tries: Some(max_tries), exhausted, ..PolicyOverrides::default() };
    NewTask { overrides, ..task(text) }
}

fn after(text: &str, on: &str) -> NewTask {
    NewTask { depends_on: vec![Dependency { on: id(on), policy: DependencyPolicy::default() }], ..task(text) }
}

async fn reclaim(f: &Fixture) -> Reclaimed {
    f.advance(LEASE);
    f.engine.reclaim_expired(10).await.unwrap()
}

pub async fn expiries_give_backs_and_retries_use_up_tries(f: Fixture) {
    f.submit(vec![tries("a", 7, None)]).await;
    for attempt in 1..=7 {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.attempt, attempt);
        let expected = if attempt < 7 { Status::Submitted } else { Status::Failed };
        match attempt % 3 {
            0 => assert_eq!(f.settle(&claimed, RELEASED).await, Accepted(expected)),
            1 => assert_eq!(reclaim(&f).await.total(), 1),
            _ => assert_eq!(f.settle(&claimed, retry(seconds(0))).await, Accepted(expected)),
        }
        assert_eq!(f.status("a").await, expected, "after {attempt} leases");
    }
    assert!(f.claim(1).await.is_empty());
    let ended = f.get("a").await;
    assert_eq!((ended.attempt, ended.crashes, ended.dead_letter), (7, 3, true));
    f.assert_conserved().await;
}

pub async fn a_task_of_one_try_runs_at_most_once(f: Fixture) {
    for (text, outcome) in [("given-back", Some(RELEASED)), ("failed", Some(retry(seconds(9)))), ("lost", None)] {
        f.submit(vec![tries(text, 1, None)]).await;
        let claimed = f.claim_one().await;
        let kind = match outcome {
            Some(RELEASED) => FailureKind::Fatal,
            Some(_) => FailureKind::Error,
            None => FailureKind::Crash,
        };
        match outcome {
            Some(outcome) => assert_eq!(f.settle(&claimed, outcome).await, Accepted(Status::Failed), "{text}"),
            None => assert_eq!(reclaim(&f).await.count(Status::Failed), 1),
        }
        let ended = f.get(text).await;
        assert_eq!((ended.status, ended.attempt, ended.dead_letter), (Status::Failed, 1, true), "{text}");
        assert_eq!(ended.errors.iter().map(|error| error.kind).collect::<Vec<_>>(), [kind], "{text}");
    }
}

pub async fn a_lease_on_which_nothing_began_uses_up_no_try(f: Fixture) {
    f.submit(vec![tries("a", 1, None)]).await;
    for _ in 0..3 {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.attempt, 1);
        let unstarted = Outcome::Unstarted { delay: seconds(0) };
        assert_eq!(f.settle(&claimed, unstarted).await, Accepted(Status::Submitted));
    }
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, crate::conformance::DONE).await, Accepted(Status::Completed));
}

pub async fn a_task_that_says_so_is_aborted_when_its_tries_are_used_up(f: Fixture) {
    for (text, is_lost) in [("lost", true), ("given-back", false)] {
        let next = format!("after-{text}");
        f.submit(vec![tries(text, 2, Some(Exhausted::Aborted)), after(&next, text)]).await;
        for attempt in 1..=2 {
            let claimed = f.claim_one().await;
            if !is_lost {
                f.settle(&claimed, RELEASED).await;
                continue;
            }
            let name = TaskName::new("echo").unwrap();
            let (queue, status) = (crate::conformance::queue("default"), Status::Aborted);
            let ended = LostTask { queue, name, version: 1, status, dead_letter: false };
            let expected = if attempt == 1 {
                Reclaimed { requeued: 1, ended: Vec::new() }
            } else {
                Reclaimed { requeued: 0, ended: vec![ended] }
            };
            assert_eq!(reclaim(&f).await, expected);
        }
        let ended = f.get(text).await;
        assert_eq!((ended.status, ended.dead_letter), (Status::Aborted, false), "{text}");
        assert_eq!(f.status(&next).await, Status::Aborted, "{next}");
    }
    f.assert_conserved().await;
}

pub async fn tasks_that_wait_for_a_failure_run_when_its_tries_are_used_up(f: Fixture) {
    let on_error = Dependency { on: id("a"), policy: DependencyPolicy::RunOnError };
    let handler = NewTask { depends_on: vec![on_error], ..task("handler") };
    f.submit(vec![tries("a", 1, None), handler, after("next", "a")]).await;
    f.claim_one().await;
    reclaim(&f).await;
    assert_eq!((f.status("handler").await, f.status("next").await), (Status::Submitted, Status::Aborted));
}

pub async fn blames_do_not_end_a_task_before_its_tries_unless_it_says_so(f: Fixture) {
    let overrides = |max_crashes| PolicyOverrides { max_tries: Some(9), max_crashes, ..PolicyOverrides::default() };
    f.submit(vec![
        NewTask { overrides: overrides(None), ..task("many") },
        NewTask { overrides: overrides(Some(2)), ..task("two") },
    ])
    .await;
    for _ in 0..5 {
        f.claim_one().await;
        reclaim(&f).await;
    }
    let many = f.get("many").await;
    assert_eq!((many.status, many.attempt, many.blames), (Status::Submitted, 5, 5));
    f.engine.cancel(&[id("many")]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(f.claim_one().await.id, id("two"));
        reclaim(&f).await;
    }
    assert_eq!(f.status("two").await, Status::Failed);
}

pub async fn no_dead_letter_is_made_of_a_task_that_wants_none(f: Fixture) {
    let overrides =
        PolicyOverrides { max_tries: Some(1), dead_letter: Some(DeadLetter::None), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides, ..task("a") }]).await;
    f.claim_one().await;
    reclaim(&f).await;
    let ended = f.get("a").await;
    assert_eq!((ended.status, ended.dead_letter), (Status::Failed, false));
}

pub async fn a_cancel_wins_over_the_last_try(f: Fixture) {
    f.submit(vec![tries("a", 1, Some(Exhausted::Aborted))]).await;
    let claimed = f.claim_one().await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!(f.settle(&claimed, RELEASED).await, Accepted(Status::Cancelled));
}

pub async fn a_task_that_is_sent_again_from_the_start_has_its_tries_again(f: Fixture) {
    f.submit(vec![tries("a", 2, None)]).await;
    for round in 0..2 {
        for _ in 0..2 {
            let claimed = f.claim_one().await;
            f.settle(&claimed, RELEASED).await;
        }
        assert_eq!(f.status("a").await, Status::Failed);
        if round == 0 {
            let answers = f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await;
            assert_eq!(answers, Ok(vec![Resubmitted::Done]));
        }
    }
}
