//! Blame: only a worker's only suspect is failed as poison, and suspects do not run together again.

use std::collections::BTreeSet;

use jobbers_common::{
    engine::{Cancelled, Extension, Probation, PutMode, Settlement, TaskFilter},
    lifecycle::Status,
    policy::{DeadLetter, PolicyOverrides},
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{ClaimedTask, NewTask, suspicion::Suspicion},
    time::Clock,
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, id, ids, queue, retry, seconds, task, worker,
};

fn numbered(count: usize) -> Vec<NewTask> {
    (0..count).map(|n| task(&format!("t{n:02}"))).collect()
}

async fn claim_as(f: &Fixture, name: &str, limit: usize) -> Vec<ClaimedTask> {
    f.cycle_as(name, &["default"], limit, Vec::new()).await.claimed
}

/// The worker vanishes with all it holds. Answers how many of its tasks failed.
async fn lose(f: &Fixture) -> u64 {
    f.advance(LEASE);
    f.engine.reclaim_expired(1_000).await.unwrap().count(Status::Failed)
}

/// A worker takes up to `limit` tasks and vanishes with them, as often as said: after two times what it took is suspect.
async fn lose_times(f: &Fixture, limit: usize, times: usize) {
    for _ in 0..times {
        claim_as(f, "w1", limit).await;
        assert_eq!(lose(f).await, 0);
    }
}

async fn losses(f: &Fixture, tasks: &[&str]) -> Vec<u8> {
    let mut losses = Vec::new();
    for task in tasks {
        losses.push(f.get(task).await.suspicion.losses());
    }
    losses
}

pub async fn tasks_lost_together_are_suspects_and_none_is_blamed(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    assert_eq!(losses(&f, &["a", "b"]).await, [0, 0]);
    for loss in 1..=3 {
        assert_eq!(f.claim(2).await.len(), 2, "loss {loss}");
        assert_eq!(lose(&f).await, 0, "loss {loss}");
        let (a, b) = (f.get("a").await, f.get("b").await);
        let suspicion = Suspicion::new(u8::try_from(loss).unwrap(), 2);
        assert_eq!((a.crashes, a.blames, a.suspicion), (loss, 0, suspicion));
        assert_eq!((b.crashes, b.blames, b.suspicion), (a.crashes, a.blames, a.suspicion));
    }
    f.assert_conserved().await;
    assert_sound(&f, 3, false).await;
}

pub async fn a_first_loss_isolates_nothing(f: Fixture) {
    f.submit(numbered(64)).await;
    lose_times(&f, 64, 1).await;
    f.submit_ids(&["fresh"]).await;
    let claimed = claim_as(&f, "w2", 64).await;
    assert_eq!((claimed.len(), claimed[63].id.as_str()), (64, "t63"), "all are taken again, at their places");
    assert_eq!(ids(&claim_as(&f, "w2", 64).await), ["fresh"]);
    assert_sound(&f, 100, false).await;
}

pub async fn a_worker_starts_few_suspects_at_a_time(f: Fixture) {
    f.submit(numbered(40)).await;
    lose_times(&f, 40, 1).await;
    for (losses, most) in Suspicion::CAPACITIES.into_iter().enumerate().skip(2) {
        let lost = claim_as(&f, "w1", 40).await.len();
        assert_eq!(lost, Suspicion::CAPACITIES[losses - 1].min(40), "{losses}");
        assert_eq!(lose(&f).await, 0);
        // The first are those that were lost most often. Of these the next worker may take so many, and no other suspect.
        let claimed = claim_as(&f, "w2", 40).await;
        assert_eq!((claimed.len(), claimed[0].crashes as usize), (most, losses));
        if most == 1 {
            break;
        }
        let released = claimed.iter().map(|it| Settlement::new(it.id.clone(), it.fence, RELEASED)).collect();
        f.cycle_as("w2", &["default"], 0, released).await;
    }
    assert_sound(&f, 100, false).await;
}

pub async fn suspects_go_first_and_fresh_tasks_run_beside_them(f: Fixture) {
    f.submit(numbered(20)).await;
    lose_times(&f, 20, 2).await;
    f.submit_ids(&["fresh-1", "fresh-2"]).await;
    let claimed = f.claim(64).await;
    assert_eq!(claimed.len(), 18);
    assert_eq!(ids(&claimed)[..2], ["t00", "t01"]);
    assert_eq!(ids(&claimed)[16..], ["fresh-1", "fresh-2"]);
    assert_eq!(f.claim(64).await, [], "it holds its share of suspects");
    assert_eq!(ids(&claim_as(&f, "w2", 64).await), ["t16", "t17", "t18", "t19"], "another worker takes the others");
}

pub async fn a_settled_suspect_makes_room_for_the_next(f: Fixture) {
    f.submit(numbered(17)).await;
    lose_times(&f, 17, 2).await;
    let held = f.claim(64).await;
    assert_eq!(held.len(), 16);
    let done = vec![Settlement::new(held[3].id.clone(), held[3].fence, DONE)];
    assert_eq!(ids(&f.cycle_as("w1", &["default"], 64, done).await.claimed), ["t16"]);
}

pub async fn suspects_join_when_the_probation_of_those_before_them_ends(f: Fixture) {
    f.submit(numbered(20)).await;
    lose_times(&f, 20, 2).await;
    assert_eq!(f.claim(64).await.len(), 16);
    f.advance(seconds(1));
    let reply = f.cycle_as("w1", &["default"], 64, Vec::new()).await;
    let place = f.engine.place(&id("t16")).await.unwrap().unwrap();
    let first = Probation { until: f.clock.now().after(seconds(1)), id: id("t00") };
    assert_eq!((place.probations.len(), place.probations.first()), (10, Some(&first)), "ten of sixteen are named");
    assert_eq!(f.stats("default").await.suspects, 4);
    // They had run for less than two seconds when they were lost.
    assert_eq!((reply.claimed, reply.next_due, reply.more), (vec![], Some(seconds(1)), false));
    f.advance(seconds(1));
    assert_eq!(f.engine.place(&id("t16")).await.unwrap().unwrap().probations, []);
    assert_eq!(ids(&f.claim(64).await), ["t16", "t17", "t18", "t19"], "beside the sixteen");
    assert_sound(&f, 100, false).await;
}

/// Renews what workers hold, every two seconds.
async fn run_for(f: &Fixture, held: &[(&str, ClaimedTask)], length: u64) {
    for _ in 0..length / 2 {
        f.advance(seconds(2));
        for (name, task) in held {
            let renew = Extension { id: task.id.clone(), fence: task.fence, heartbeat: None };
            f.engine.extend(&worker(name), LEASE, vec![renew]).await.unwrap();
        }
    }
}

pub async fn a_probation_is_as_long_as_the_run_and_four_times_as_long_with_each_further_loss(f: Fixture) {
    let overrides = PolicyOverrides { max_crashes: Some(100), ..PolicyOverrides::default() };
    f.submit(numbered(2).into_iter().map(|new| NewTask { overrides: overrides.clone(), ..new }).collect()).await;
    // Lost so often, after so many seconds: two of that probation each.
    for (losses, ran, probation) in
        [(1, 4, 0), (2, 4, 6), (3, 8, 40), (4, 40, 240), (5, 2, 256), (6, 2, 1_024), (7, 2, 1_024)]
    {
        let mut held = Vec::new();
        for (name, expected) in [("w1", "t00"), ("w2", "t01")] {
            let claimed = claim_as(&f, name, 1).await.remove(0);
            assert_eq!(claimed.id, id(expected));
            held.push((name, claimed));
        }
        run_for(&f, &held, ran).await;
        assert_eq!(lose(&f).await, 0, "{losses}");
        for task in ["t00", "t01"] {
            assert_eq!(f.get(task).await.suspicion.probation(), seconds(probation), "{losses}");
        }
    }
}

/// Runs as workers of 64 slots do, of which each dies while it holds `poison`. Answers how many died.
async fn run_until_all_are_over(f: &Fixture, poison: &str) -> u32 {
    let mut crashes = 0;
    for n in 0.. {
        let name = format!("w{n}");
        loop {
            let claimed = claim_as(f, &name, 64).await;
            if claimed.is_empty() {
                return crashes;
            }
            if claimed.iter().any(|it| it.id.as_str() == poison) {
                break;
            }
            let done = claimed.iter().map(|it| Settlement::new(it.id.clone(), it.fence, DONE)).collect();
            f.cycle_as(&name, &["default"], 0, done).await;
        }
        crashes += 1;
        lose(f).await;
    }
    crashes
}

pub async fn the_culprit_fails_and_its_neighbours_do_not(f: Fixture) {
    f.submit(numbered(100)).await;
    let overrides = PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides, ..task("poison") }]).await;
    f.submit((100..200).map(|n| task(&format!("t{n}"))).collect()).await;
    let crashes = run_until_all_are_over(&f, "poison").await;
    assert!((3..=7).contains(&crashes), "{crashes} crashes");
    let poison = f.get("poison").await;
    assert_eq!((poison.status, poison.blames, poison.crashes, poison.dead_letter), (Status::Failed, 3, crashes, true));
    assert_eq!(f.count(Status::Completed).await, 200);
    f.assert_conserved().await;
}

pub async fn long_tasks_survive_the_loss_of_their_worker(f: Fixture) {
    f.submit(numbered(40)).await;
    for n in 0..3 {
        claim_as(&f, &format!("w{n}"), 64).await;
        assert_eq!(lose(&f).await, 0, "loss {n}");
    }
    assert_eq!(f.count(Status::Submitted).await, 40);
}

pub async fn a_fresh_task_beside_a_suspect_is_not_blamed(f: Fixture) {
    f.submit_ids(&["suspect"]).await;
    lose_times(&f, 1, 2).await;
    f.submit_ids(&["fresh"]).await;
    assert_eq!(ids(&f.claim(10).await), ["suspect", "fresh"]);
    assert_eq!(lose(&f).await, 1);
    assert_eq!(f.status("suspect").await, Status::Failed);
    let fresh = f.get("fresh").await;
    assert_eq!((fresh.blames, fresh.suspicion, fresh.crashes), (0, Suspicion::new(1, 2), 1));
}

pub async fn a_task_lost_once_is_not_blamed_beside_others(f: Fixture) {
    f.submit_ids(&["again"]).await;
    lose_times(&f, 1, 1).await;
    assert_eq!(f.get("again").await.blames, 1, "its worker held nothing else");
    f.submit_ids(&["fresh"]).await;
    lose_times(&f, 2, 1).await;
    let (again, fresh) = (f.get("again").await, f.get("fresh").await);
    assert_eq!((again.blames, again.suspicion.losses()), (1, 2));
    assert_eq!((fresh.blames, fresh.suspicion.losses()), (0, 1));
}

pub async fn an_attempt_that_ends_clears_suspicion_and_a_release_does_not(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    lose_times(&f, 2, 2).await;
    let held = f.claim(2).await;
    f.settle(&held[0], retry(seconds(0))).await;
    f.settle(&held[1], RELEASED).await;
    assert_eq!(losses(&f, &["a", "b"]).await, [0, 2]);
    let held = f.claim(2).await;
    assert_eq!(ids(&held), ["b", "a"], "suspects first");
    f.settle(&held[0], DONE).await;
    assert_eq!(losses(&f, &["b"]).await, [0]);
    assert_eq!(f.get("b").await.crashes, 2, "crashes are kept, for information");
}

pub async fn blames_add_up_over_attempts(f: Fixture) {
    f.submit_ids(&["poison"]).await;
    for blames in 1..=3 {
        let claimed = f.claim_one().await;
        f.settle(&claimed, retry(seconds(0))).await;
        f.claim_one().await;
        assert_eq!(lose(&f).await, u64::from(blames == 3));
        assert_eq!(f.get("poison").await.blames, blames);
    }
}

pub async fn a_loss_taken_back_piece_by_piece_is_one_loss(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    f.claim(1).await;
    f.advance(seconds(1));
    f.claim(2).await;
    f.advance(LEASE - seconds(1));
    for _ in 0..2 {
        f.engine.reclaim_expired(1).await.unwrap();
    }
    f.advance(seconds(1));
    for _ in 0..2 {
        f.engine.reclaim_expired(1).await.unwrap();
    }
    assert_eq!(f.count(Status::Submitted).await, 3);
    for text in ["a", "b", "c"] {
        let task = f.get(text).await;
        assert_eq!((task.blames, task.suspicion.losses()), (0, 1), "{text}");
    }
}

pub async fn a_lease_taken_after_a_loss_belongs_to_the_next(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    f.claim(2).await;
    lose(&f).await;
    // A worker of the same name, which holds one of them alone.
    f.claim(1).await;
    lose(&f).await;
    let (a, b) = (f.get("a").await, f.get("b").await);
    assert_eq!((a.blames, a.suspicion.losses()), (1, 2));
    assert_eq!((b.blames, b.suspicion.losses()), (0, 1));
}

pub async fn a_loss_counts_the_leases_in_every_queue(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task("a"), crate::conformance::task_in("b", "mail")]).await;
    f.claim_from(&["default", "mail"], 2).await;
    assert_eq!(lose(&f).await, 0);
    for text in ["a", "b"] {
        assert_eq!(f.get(text).await.blames, 0, "{text}");
    }
    let held = f.claim_from(&["default", "mail"], 2).await;
    assert_eq!(ids(&held), ["a", "b"]);
}

pub async fn a_worker_that_lives_on_keeps_what_it_holds(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let held = f.claim(2).await;
    f.advance(LEASE - seconds(1));
    let renewal = Extension { id: held[1].id.clone(), fence: held[1].fence, heartbeat: None };
    f.engine.extend(&worker("w1"), LEASE, vec![renewal]).await.unwrap();
    f.advance(seconds(1));
    f.engine.reclaim_expired(10).await.unwrap();
    let a = f.get("a").await;
    assert_eq!((a.crashes, a.blames, a.suspicion.losses()), (1, 0, 1), "it held another");
    f.settle(&held[1], DONE).await;
    assert_eq!(f.status("b").await, Status::Completed);
}

pub async fn a_suspect_waits_like_any_other(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(numbered(6)).await;
    lose_times(&f, 6, 2).await;
    let stats = f.stats("default").await;
    assert_eq!(stats.tasks.get(&Status::Submitted), Some(&6));
    assert!(stats.oldest_ready_at.is_some());
    let listed = f.list(TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() }, 2).await;
    assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["t00", "t01", "t02", "t03", "t04", "t05"]);
    assert_eq!(f.engine.place(&id("t02")).await.unwrap().map(|place| place.ahead), Some(2));
    assert_eq!(f.engine.cancel(&[id("t00")]).await.unwrap(), [Cancelled::Done]);
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 1).await.unwrap(), 1);
    assert_eq!(losses(&f, &["t01"]).await, [2], "it stays suspect where it goes");
    f.try_submit(vec![NewTask { version: 2, ..task("t02") }], jobbers_common::engine::OnConflict::Replace)
        .await
        .unwrap();
    assert_eq!(losses(&f, &["t02"]).await, [0], "a replacement is a clean slate");
    assert_eq!(f.engine.purge_queue(&queue("default"), 2).await.unwrap(), 2);
    assert_sound(&f, 2, false).await;
    let claimed = f.claim_from(&["default", "mail"], 10).await;
    let left: BTreeSet<_> = ids(&claimed).into_iter().collect();
    assert_eq!((claimed.len(), left.contains("t01"), left.contains("t00")), (3, true, false));
    f.assert_conserved().await;
}

pub async fn a_suspect_waits_for_its_limits_like_any_other(f: Fixture) {
    let limited = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limited, PutMode::Upsert).await.unwrap();
    let of = |text: &str, key: &str| NewTask { concurrency_key: ConcurrencyKey::new(key).ok(), ..task(text) };
    f.submit(vec![of("a", "acme"), of("b", "bolt")]).await;
    lose_times(&f, 2, 2).await;
    f.submit(vec![of("c", "acme")]).await;
    let held = claim_as(&f, "w2", 10).await;
    assert_eq!(ids(&held), ["a", "b"], "the suspect goes first, and its key allows one");
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&claim_as(&f, "w2", 10).await), ["c"]);
    assert_sound(&f, 2, false).await;
}

pub async fn a_task_sent_again_from_the_start_is_fresh(f: Fixture) {
    let overrides = PolicyOverrides { max_crashes: Some(1), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides, ..task("a") }]).await;
    f.claim_one().await;
    assert_eq!(lose(&f).await, 1);
    assert_eq!(f.get("a").await.blames, 1);
    f.engine.resubmit(vec![jobbers_common::engine::Resubmit::of_store(id("a"))]).await.unwrap();
    let task = f.get("a").await;
    assert_eq!((task.blames, task.crashes, task.suspicion), (0, 0, Suspicion::NONE));
}
