//! Books that earn a complaint, for what is not broken in earnest by the controls.

use serde_json::json;

use super::*;
use crate::soak::{clients::schedules, ledger};

/// The deeds of a book with these requests and answers, a millisecond apart.
fn deeds(all: &[(Action, &str, Value, Value)]) -> Vec<Deed> {
    let mut at = 0;
    let mut next = || {
        at += 1_000;
        at
    };
    let mut deeds = Vec::new();
    for (action, key, with, answer) in all {
        let (asked_at, answered_at) = (next(), next());
        let answer = Some((answered_at, answer.clone()));
        deeds.push(Deed { action: *action, key: (*key).to_owned(), with: with.clone(), asked_at, answer });
    }
    deeds
}

fn task(status: &str) -> Task {
    let task = json!({"status": status, "attempt": 1, "crashes": 0, "finished_at": "2025-01-01T00:00:09Z"});
    Task { record: Record::of(&task), result: Value::Null }
}

fn effect(event: &str, task: &str, at: i64) -> Effect {
    Effect { event: event.to_owned(), task: task.to_owned(), attempt: 1, fence: 1, pid: 1, at }
}

fn broken(books: &Books) -> Vec<Broken> {
    books.complaints().into_iter().map(|complaint| complaint.broken).collect()
}

#[test]
fn an_innocent_task_that_failed_is_noticed_and_a_sound_one_is_not() {
    let deeds = deeds(&[(Action::Submit, "quick.0.0", json!({}), json!({"status": 201}))]);
    let of = |status| Books {
        deeds: deeds.clone(),
        tasks: BTreeMap::from([("quick.0.0".to_owned(), task(status))]),
        letters: if status == "failed" { BTreeMap::from([("quick.0.0".to_owned(), 1)]) } else { BTreeMap::new() },
        ..Books::default()
    };
    assert_eq!(broken(&of("completed")), []);
    assert_eq!(broken(&of("failed")), [Broken::InnocentFailed]);
}

#[test]
fn a_slot_that_was_left_out_is_noticed() {
    let deeds = deeds(&[(Action::Schedule, schedules::TICKS, json!({}), json!({"status": 201}))]);
    let of = |seconds: &[u64]| {
        let slots = seconds.iter().map(|second| format!("schedule:ticks:2025-01-01T00:00:0{second}Z"));
        let fired = Fired { fired: seconds.len() as u64, missed: 0, accepted: seconds.len() as u64 };
        Books {
            deeds: deeds.clone(),
            tasks: slots.map(|id| (id, task("completed"))).collect(),
            schedules: BTreeMap::from([(schedules::TICKS.to_owned(), fired)]),
            ..Books::default()
        }
    };
    assert_eq!(broken(&of(&[1, 2, 3])), []);
    assert_eq!(broken(&of(&[1, 3])), [Broken::SlotMissed]);
    assert_eq!(broken(&of(&[])), [Broken::SlotMissed]);
}

#[test]
fn a_node_that_began_before_its_predecessor_was_done_is_noticed() {
    let deeds = deeds(&[(Action::Workflow, "run", json!({"width": 1}), json!({"status": 201}))]);
    let of = |last_at| Books {
        deeds: deeds.clone(),
        tasks: ["run/first", "run/m0", "run/last"].map(|id| (id.to_owned(), task("completed"))).into(),
        workflows: BTreeMap::from([("run".to_owned(), "completed".to_owned())]),
        effects: vec![
            effect("done", "run/first", 10),
            effect("started", "run/m0", 20),
            effect("done", "run/m0", 30),
            effect("done", "run/last", last_at),
        ],
        ..Books::default()
    };
    assert_eq!(broken(&of(40)), []);
    assert_eq!(broken(&of(25)), [Broken::ReleasedEarly]);
}

#[test]
fn a_lease_that_two_clients_have_is_noticed_and_one_after_the_other_is_not() {
    let lease = |fence: u64| json!([{"id": "remote.0.0", "fence": fence}]);
    let of = |lease_ms: i64, first_ends: bool| {
        let with = json!({"lease_ms": lease_ms});
        let mut all = vec![
            (Action::Submit, "remote.0.0", json!({}), json!({"status": 201})),
            (Action::Lease, "a", with.clone(), lease(1)),
        ];
        if first_ends {
            let released = json!({"fence": 1, "outcome": "released"});
            all.push((Action::Return, "remote.0.0", released, json!({"accepted": true})));
        }
        all.push((Action::Lease, "b", with, lease(2)));
        let result = json!({"by": "b"});
        let end = json!({"fence": 2, "outcome": "completed", "result": result});
        all.push((Action::Return, "remote.0.0", end, json!({"accepted": true})));
        let ended = Task { result, ..task("completed") };
        Books { deeds: deeds(&all), tasks: [("remote.0.0".to_owned(), ended)].into(), ..Books::default() }
    };
    assert_eq!(broken(&of(4_000, false)), [Broken::HeldByTwo]);
    assert_eq!(broken(&of(1, false)), [], "the first one was over");
    assert_eq!(broken(&of(4_000, true)), [], "it was given back");
}

#[test]
fn a_lost_task_and_one_that_is_not_over_are_noticed() {
    let text = "{\"line\":0,\"at\":1,\"asks\":{\"action\":\"submit\",\"key\":\"nap.0.0\",\"with\":{}}}\n\
                {\"line\":1,\"at\":2,\"answered\":{\"asked\":0,\"answer\":{\"status\":201}}}\n";
    let deeds = ledger::read(text).unwrap();
    let live = Task { record: Record::live(&json!({"status": "started"})), result: Value::Null };
    let books = Books { deeds: deeds.clone(), tasks: [("nap.0.0".to_owned(), live)].into(), ..Books::default() };
    assert!(broken(&books).contains(&Broken::Lost));
    assert_eq!(broken(&Books { deeds, ..Books::default() }), [Broken::Lost]);
}
