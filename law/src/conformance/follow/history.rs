//! The history of queues: what happened is in the slot where it happened, once, and for as long as it says.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Error, OnConflict, Resubmit, Settlement, Submit, backup::Restored},
    history::{Counts, Grain, Slot, Times},
    limits::MAX_QUEUES_PER_READ,
    task::{NewTask, Start},
    time::{Clock, Timestamp},
};

use crate::conformance::{DONE, Fixture, LEASE, RELEASED, failed, id, ids, queue, retry, seconds, task, task_in};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

async fn slots(f: &Fixture, name: &str, by: Grain) -> Vec<Slot> {
    let mut history = f.engine.history(&[queue(name)], by).await.unwrap();
    assert_eq!((history.now, history.queues.len()), (f.clock.now(), 1));
    history.queues.remove(0)
}

fn sum(slots: &[Slot]) -> Counts {
    let mut counts = Counts::default();
    slots.iter().for_each(|slot| counts.add(slot.counts));
    counts
}

fn times(slots: &[Slot], of: impl Fn(&Slot) -> Times) -> Times {
    let mut times = Times::default();
    slots.iter().for_each(|slot| times.add(&of(slot)));
    times
}

/// Moves the clock to the beginning of the next slot. Returns when that is.
fn next_slot(f: &Fixture, by: Grain) -> Timestamp {
    let begin = by.begin_of(by.number_at(f.clock.now()) + 1);
    f.advance(begin.since(f.clock.now()));
    begin
}

pub async fn the_sums_over_an_hour_are_the_counts_of_what_happened(f: Fixture) {
    next_slot(&f, Grain::Hour);
    f.submit_ids(&["a", "b", "c", "d", "e", "f"]).await;
    f.submit(vec![NewTask { start: Start::After(seconds(600)), ..task("later") }]).await;
    let claimed = f.claim(5).await;
    assert_eq!(ids(&claimed), ["a", "b", "c", "d", "e"]);
    f.settle(&claimed[0], DONE).await;
    next_slot(&f, Grain::Minute);
    f.settle(&claimed[1], failed(true)).await;
    f.settle(&claimed[2], retry(Duration::ZERO)).await;
    f.settle(&claimed[3], RELEASED).await;
    // Settling again, and settling without a lease, is nothing that happens.
    f.settle(&claimed[0], DONE).await;
    f.settle(&claimed[3], DONE).await;
    f.engine.cancel(&[id("f")]).await.unwrap();
    f.advance(LEASE + seconds(1));
    // The lease of `e` has ended: it is tried again.
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 1);
    let expected = Counts { accepted: 7, started: 5, completed: 1, failed: 1, other: 1, retried: 2 };
    assert_eq!(sum(&slots(&f, "default", Grain::Minute).await), expected);
    assert_eq!(sum(&slots(&f, "default", Grain::Hour).await), expected);
    f.advance(HOUR);
    let completed = f.claim(10).await;
    assert_eq!(completed.len(), 4, "c, d, e and the due task");
    for task in &completed {
        f.settle(task, DONE).await;
    }
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!(
        hours.iter().map(|slot| slot.counts).collect::<Vec<_>>(),
        [expected, Counts { started: 4, completed: 4, ..Counts::default() }]
    );
}

pub async fn each_slot_has_what_happened_in_its_time(f: Fixture) {
    let mut begun = Vec::new();
    for n in 0..4 {
        begun.push(next_slot(&f, Grain::Minute));
        f.submit((0..=n).map(|m| task(&format!("{n}-{m}"))).collect()).await;
        // The last moment of a minute belongs to it.
        f.advance(MINUTE - Duration::from_micros(1));
        f.submit_ids(&[&format!("late-{n}")]).await;
    }
    let found = slots(&f, "default", Grain::Minute).await;
    assert_eq!(found.iter().map(|slot| slot.at).collect::<Vec<_>>(), begun);
    assert_eq!(found.iter().map(|slot| slot.counts.accepted).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert!(found.iter().all(|slot| slot.waited.total() + slot.ran.total() == 0), "times are kept by hour");
}

pub async fn a_slot_is_begun_once_and_kept_as_long_as_it_says(f: Fixture) {
    let first = next_slot(&f, Grain::Hour);
    f.submit_ids(&["a"]).await;
    f.submit_ids(&["b"]).await;
    let kept = MINUTE * u32::try_from(Grain::Minute.kept()).unwrap();
    f.advance(kept - MINUTE);
    assert_eq!(slots(&f, "default", Grain::Minute).await[0].at, first, "the last minute in which it is kept");
    f.advance(MINUTE);
    assert_eq!(slots(&f, "default", Grain::Minute).await, []);
    // Whatever place in a ring the next minutes take, they begin with nothing.
    for n in 0..20 {
        f.submit_ids(&[&format!("c{n}")]).await;
        f.advance(MINUTE);
    }
    let minutes = slots(&f, "default", Grain::Minute).await;
    assert_eq!(minutes.iter().map(|slot| slot.counts.accepted).collect::<Vec<_>>(), [1; 20]);
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!(
        hours.iter().map(|slot| (slot.at, slot.counts.accepted)).collect::<Vec<_>>(),
        [(first, 2), (first.after(2 * HOUR), 20)]
    );
    let kept = HOUR * u32::try_from(Grain::Hour.kept()).unwrap();
    f.advance((first.after(kept - HOUR)).since(f.clock.now()));
    f.submit_ids(&["late"]).await;
    assert_eq!(slots(&f, "default", Grain::Hour).await[0].at, first);
    f.advance(HOUR);
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!(hours.iter().map(|slot| slot.counts.accepted).collect::<Vec<_>>(), [20, 1]);
}

pub async fn many_callers_at_the_turn_of_a_minute_lose_nothing(f: Fixture) {
    const CALLERS: usize = 8;
    const CALLS: usize = 25;
    next_slot(&f, Grain::Hour);
    f.advance(HOUR - 2 * MINUTE);
    let callers = (0..CALLERS).map(|caller| {
        let (engine, clock) = (Arc::clone(&f.engine), Arc::clone(&f.clock));
        tokio::spawn(async move {
            for n in 0..CALLS {
                let tasks = vec![task(&format!("{caller}-{n}"))];
                let batch = Submit { tasks, on_conflict: OnConflict::Fail };
                engine.submit(batch).await.unwrap();
                clock.advance(seconds(1));
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let all = u64::try_from(CALLERS * CALLS).unwrap();
    let (minutes, hours) = (slots(&f, "default", Grain::Minute).await, slots(&f, "default", Grain::Hour).await);
    assert!(minutes.len() > 2 && hours.len() == 2, "the clock crossed minutes and an hour: {minutes:?}");
    assert_eq!((sum(&minutes).accepted, sum(&hours).accepted), (all, all));
}

pub async fn times_are_counted_by_the_hour_in_which_they_end(f: Fixture) {
    next_slot(&f, Grain::Hour);
    f.submit_ids(&["a", "b"]).await;
    f.advance(seconds(2));
    let a = f.claim_one().await;
    f.advance(Duration::from_millis(20));
    f.settle(&a, DONE).await;
    let b = f.claim_one().await;
    let begun = next_slot(&f, Grain::Hour);
    f.settle(&b, retry(Duration::ZERO)).await;
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!((hours.len(), hours[1].at), (2, begun));
    let bucket = |at: usize, tasks| {
        let mut times = Times::default();
        times.0[at] = tasks;
        times
    };
    assert_eq!((hours[0].waited, hours[0].ran), (bucket(7, 2), bucket(3, 1)), "2 s; 20 ms");
    assert_eq!((hours[1].waited, hours[1].ran), (Times::default(), bucket(13, 1)), "over half an hour");
}

pub async fn times_count_every_task_of_a_batch(f: Fixture) {
    f.submit((0..100).map(|n| task(&format!("t{n:02}"))).collect()).await;
    let reply = f.cycle_as("w1", &["default"], 100, Vec::new()).await;
    let settlements = reply.claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, DONE));
    f.cycle_as("w1", &["default"], 1, settlements.collect()).await;
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!(sum(&hours), Counts { accepted: 100, started: 100, completed: 100, ..Counts::default() });
    assert_eq!((times(&hours, |slot| slot.waited).total(), times(&hours, |slot| slot.ran).total()), (100, 100));
}

pub async fn what_happens_counts_in_its_queue(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task_in("a", "mail"), task_in("b", "mail"), task("c")]).await;
    f.engine.move_tasks(&queue("mail"), &queue("default"), 1).await.unwrap();
    let claimed = f.claim_from(&["mail"], 5).await;
    f.settle(&claimed[0], failed(true)).await;
    // Sent again, it is no new task.
    let again = Resubmit::of_store(claimed[0].id.clone());
    f.engine.resubmit(vec![again]).await.unwrap();
    let names = [queue("default"), queue("nowhere"), queue("mail")];
    let history = f.engine.history(&names, Grain::Hour).await.unwrap();
    let sums: Vec<Counts> = history.queues.iter().map(|slots| sum(slots)).collect();
    assert_eq!(
        sums,
        [
            Counts { accepted: 2, ..Counts::default() },
            Counts::default(),
            Counts { accepted: 2, started: 1, failed: 1, ..Counts::default() }
        ]
    );
}

pub async fn a_restored_task_is_accepted_and_did_not_end_here(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim(1).await;
    f.settle(&claimed[0], DONE).await;
    let backup = Arc::clone(&f.engine).backup();
    let stored = backup.dump(&[id("a"), id("b")]).await.unwrap().into_iter().map(|stored| stored.unwrap()).collect();
    let deletion = f.engine.delete_tasks(&[id("a"), id("b")], false).await.unwrap();
    assert_eq!(deletion.len(), 2);
    f.advance(2 * HOUR);
    let restored: Vec<Restored> = backup.restore(stored).await.unwrap();
    assert_eq!(restored, [Restored::Done, Restored::Done]);
    let hours = slots(&f, "default", Grain::Hour).await;
    assert_eq!(hours.last().unwrap().counts, Counts { accepted: 2, ..Counts::default() });
}

pub async fn a_deleted_queue_has_no_history(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task_in("a", "mail")]).await;
    let claimed = f.claim_from(&["mail"], 1).await;
    f.settle(&claimed[0], DONE).await;
    f.engine.delete_queue(&queue("mail"), None).await.unwrap();
    f.create_queue("mail").await;
    for by in [Grain::Minute, Grain::Hour] {
        assert_eq!(slots(&f, "mail", by).await, []);
    }
}

pub async fn a_history_of_too_many_queues_is_refused(f: Fixture) {
    let names: Vec<_> = (0..=MAX_QUEUES_PER_READ).map(|n| queue(&format!("q{n}"))).collect();
    assert!(matches!(f.engine.history(&names, Grain::Minute).await, Err(Error::Invalid(_))));
    let history = f.engine.history(&names[1..], Grain::Minute).await.unwrap();
    assert_eq!(history.queues, vec![Vec::<Slot>::new(); MAX_QUEUES_PER_READ]);
    assert_eq!(f.engine.history(&[], Grain::Hour).await.unwrap().queues.len(), 0);
}
