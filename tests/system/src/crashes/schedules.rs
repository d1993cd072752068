//! Schedules with several managers, some of which are killed: each slot is fired once.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use jobbers_test_support::wait::until;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack, all_ids},
};

const LONG: Duration = Duration::from_secs(60);
const MANAGERS: usize = 3;

on_both_engines!(
    each_slot_is_fired_once_while_a_manager_is_killed,
    each_slot_of_a_workflow_is_fired_once_while_a_manager_is_killed,
    slots_of_an_outage_are_caught_up_with,
    a_skipping_schedule_goes_on_after_its_run_ended,
);

mod on_sqlite_long {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: three minutes"]
    async fn each_of_180_slots_is_fired_once_while_managers_are_killed() {
        super::each_of_180_slots_is_fired_once_while_managers_are_killed(super::Kind::Sqlite).await;
    }
}

mod on_redis_long {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: three minutes"]
    async fn each_of_180_slots_is_fired_once_while_managers_are_killed() {
        super::each_of_180_slots_is_fired_once_while_managers_are_killed(super::Kind::Redis).await;
    }
}

/// The seconds of the slots that were fired, and how often each was, by the ids of their tasks and how often these were
/// taken in: a task that took the place of another would show as accepted and removed.
#[derive(Debug, Default)]
struct Count {
    by_slot: BTreeMap<i64, usize>,
    accepted: u64,
}

impl Count {
    async fn of(manager: &Manager, schedule: &str, queue: &str) -> Self {
        let ids = all_ids(&manager.api, &format!("/tasks?queue={queue}")).await;
        let accepted = manager.api.get(&format!("/queues/{queue}")).await.ok()["accepted"].as_u64().unwrap();
        Self::of_ids(schedule, ids.iter().map(String::as_str), accepted)
    }

    /// The slots of the runs with these ids, of which so many were taken in.
    fn of_ids<'a>(schedule: &str, ids: impl Iterator<Item = &'a str>, accepted: u64) -> Self {
        let begins = format!("schedule:{schedule}:");
        let mut by_slot = BTreeMap::new();
        for id in ids {
            let slot = id.strip_prefix(&begins).unwrap_or_else(|| panic!("{id} is of another schedule"));
            let slot: jiff::Timestamp = slot.parse().unwrap();
            *by_slot.entry(slot.as_second()).or_default() += 1;
        }
        Self { by_slot, accepted }
    }

    /// What is wrong, if not each slot from the first to the last was fired once.
    fn complaint(&self) -> Option<String> {
        let (first, last) = (*self.by_slot.keys().next()?, *self.by_slot.keys().last()?);
        let left_out: Vec<i64> = (first..=last).filter(|slot| !self.by_slot.contains_key(slot)).collect();
        if !left_out.is_empty() {
            return Some(format!("slots were left out: {left_out:?}"));
        }
        let fired: usize = self.by_slot.values().sum();
        let twice = self.by_slot.values().any(|times| *times != 1) || fired as u64 != self.accepted;
        twice.then(|| format!("{} slots, {fired} tasks, {} accepted", self.by_slot.len(), self.accepted))
    }
}

#[test]
fn a_slot_that_is_fired_twice_or_left_out_is_found() {
    let count = |slots: &[(i64, usize)], accepted| Count { by_slot: slots.iter().copied().collect(), accepted };
    assert_eq!(count(&[(1, 1), (2, 1), (3, 1)], 3).complaint(), None);
    assert!(count(&[(1, 1), (3, 1)], 2).complaint().unwrap().contains("[2]"));
    assert!(count(&[(1, 1), (2, 2)], 3).complaint().is_some(), "two tasks of one slot");
    assert!(count(&[(1, 1), (2, 1)], 3).complaint().is_some(), "a task was taken in and replaced");
}

async fn create(manager: &Manager, schedule: &Value) {
    manager.api.post("/schedules", schedule).await.ok();
}

async fn state(manager: &Manager, name: &str) -> Value {
    manager.api.get(&format!("/schedules/{name}")).await.ok()
}

async fn fired(manager: &Manager, name: &str) -> u64 {
    state(manager, name).await["fired"].as_u64().unwrap()
}

/// Waits until so many slots were fired, and kills a manager each time so many more were.
async fn kill_managers(stack: &Stack, managers: &mut [Manager], slots: u64, every: u64) {
    let (mut at, mut next) = (every, 0);
    while at < slots {
        let asked = &managers[(next + 1) % MANAGERS];
        until(LONG, &format!("{at} slots are fired"), async || (fired(asked, "ticks").await >= at).then_some(())).await;
        managers[next].program.kill().await;
        managers[next] = stack.manager().await;
        (at, next) = (at + every, (next + 1) % MANAGERS);
    }
    let asked = &managers[0];
    until(LONG, &format!("{slots} slots are fired"), async || (fired(asked, "ticks").await >= slots).then_some(()))
        .await;
}

/// Three managers, and a schedule each second with these settings, of whose slots so many are fired while managers are
/// killed. It is paused then.
async fn fire_while_managers_are_killed(stack: &Stack, settings: &Value, slots: u64, kill_every: u64) -> Vec<Manager> {
    let mut managers = Vec::new();
    for _ in 0..MANAGERS {
        managers.push(stack.manager().await);
    }
    managers[0].api.post("/queues", &json!({"name": "ticks"})).await.ok();
    let mut schedule = json!({"name": "ticks", "cron": "* * * * * *", "catch_up": "all"});
    for (field, value) in settings.as_object().unwrap() {
        schedule[field] = value.clone();
    }
    create(&managers[0], &schedule).await;
    let began = Instant::now();
    kill_managers(stack, &mut managers, slots, kill_every).await;
    let took = began.elapsed();
    assert!(took > Duration::from_secs(slots - 2), "{slots} slots came in {took:?}: too early");
    let paused = managers[0].api.post("/schedules/ticks/pause", &Value::Null).await.ok();
    assert_eq!((&paused["missed"], &paused["skipped"]), (&json!(0), &json!(0)));
    managers
}

/// Whether each slot was fired once, at least so many.
async fn check(count: &Count, manager: &Manager, slots: u64) {
    assert_eq!(count.complaint(), None, "{count:?}");
    assert_eq!(count.by_slot.len() as u64, fired(manager, "ticks").await);
    assert!(count.by_slot.len() as u64 >= slots);
}

async fn fires_each_slot_once(kind: Kind, slots: u64, kill_every: u64) {
    let stack = Stack::on(kind).await;
    let task = json!({"task": {"name": "note", "queue": "ticks"}});
    let managers = fire_while_managers_are_killed(&stack, &task, slots, kill_every).await;
    let count = Count::of(&managers[1], "ticks", "ticks").await;
    check(&count, &managers[0], slots).await;
    stack.examined().await;
}

async fn each_slot_of_a_workflow_is_fired_once_while_a_manager_is_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let node = |id: &str, on: &[&str]| json!({"id": id, "name": "note", "depends_on": on});
    let workflow = json!({"workflow": {"nodes": [node("a", &[]), node("b", &["a"]), node("c", &["a"])]}});
    let managers = fire_while_managers_are_killed(&stack, &workflow, 10, 3).await;
    let runs = managers[1].api.get("/workflows?name=ticks&limit=1000").await.ok();
    let ids: Vec<&str> = runs["workflows"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let count = Count::of_ids("ticks", ids.iter().copied(), ids.len() as u64);
    check(&count, &managers[0], 10).await;
    // The tasks of each run are submitted, once, though the manager that fired it may be dead.
    let tasks = 3 * ids.len();
    let accepted = async || managers[1].api.get("/queues/default").await.ok()["accepted"].as_u64().unwrap();
    until(LONG, "all tasks are submitted", async || (accepted().await >= tasks as u64).then_some(())).await;
    assert_eq!(all_ids(&managers[1].api, "/tasks?queue=default").await.len(), tasks);
    assert_eq!(accepted().await, tasks as u64);
    let _worker = stack.worker().await;
    let completed = async || {
        let runs = managers[1].api.get("/workflows?name=ticks&state=completed&limit=1000").await.ok();
        (runs["workflows"].as_array().unwrap().len() == ids.len()).then_some(())
    };
    until(LONG, "all runs are completed", completed).await;
    stack.examined().await;
}

async fn each_slot_is_fired_once_while_a_manager_is_killed(kind: Kind) {
    fires_each_slot_once(kind, 10, 3).await;
}

async fn each_of_180_slots_is_fired_once_while_managers_are_killed(kind: Kind) {
    fires_each_slot_once(kind, 180, 5).await;
}

async fn slots_of_an_outage_are_caught_up_with(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let task = json!({"name": "note"});
    create(&manager, &json!({"name": "ticks", "every": "1s", "catch_up": "all", "task": task})).await;
    until(LONG, "a slot is fired", async || (fired(&manager, "ticks").await > 0).then_some(())).await;
    manager.program.kill().await;
    // What the outage takes is another manager's start.
    let manager = stack.manager().await;
    let before = fired(&manager, "ticks").await;
    until(LONG, "it goes on", async || (fired(&manager, "ticks").await > before + 1).then_some(())).await;
    manager.api.post("/schedules/ticks/pause", &Value::Null).await.ok();
    let count = Count::of(&manager, "ticks", "default").await;
    assert_eq!(count.complaint(), None, "{count:?}");
}

async fn a_skipping_schedule_goes_on_after_its_run_ended(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let fails = json!({"name": "fail", "parameters": {"kind": "fatal"}, "dead_letter": "none"});
    let schedule = json!({"name": "careful", "every": "1s", "overlap": "skip", "task": fails});
    create(&manager, &schedule).await;
    until(LONG, "a slot is skipped", async || (state(&manager, "careful").await["skipped"] != 0).then_some(())).await;
    assert_eq!(fired(&manager, "careful").await, 1, "its run waits for a worker");
    let _worker = stack.stock_worker().await;
    until(LONG, "it fires again, though its run failed", async || (fired(&manager, "careful").await > 1).then_some(()))
        .await;
    let last = state(&manager, "careful").await["last_run"]["task"].as_str().unwrap().to_owned();
    assert!(last.starts_with("schedule:careful:"), "{last}");
}
