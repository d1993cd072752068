//! A bridge whose managers and workers are killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jobbers_test_support::{program::Program, wait::until};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack, all_tasks},
};

/// How often a manager or a worker is killed, in turn.
const KILLS: usize = 9;
/// How many tasks are posted before each kill.
const BATCH: usize = 50;
/// Leases end, tasks that lost their worker run apart, and all of it on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const BRIDGE: &str = "\
[bridges.work]
board = \"taskstore\"
group = \"work\"
task = \"nap\"
reply_group = \"replies\"
";

on_both_engines!(a_bridge_answers_each_task_once_while_managers_and_workers_are_killed);

/// What was posted, and the traces that a bridge left of it.
#[derive(Debug, Default)]
struct Ledger {
    /// The ids that the client was given.
    posted: BTreeSet<u64>,
    /// The data of all replies.
    replies: Vec<Value>,
    /// The ids of all native tasks.
    native: Vec<String>,
}

impl Ledger {
    /// Everything that breaks the promise: one reply and one native task for each task that was posted.
    fn complaints(&self) -> Vec<String> {
        let mut replies: BTreeMap<u64, usize> = BTreeMap::new();
        let mut complaints = Vec::new();
        for reply in &self.replies {
            let id = reply["task"].as_u64().unwrap_or_default();
            *replies.entry(id).or_default() += 1;
            if reply["status"] != "completed" || reply["jobbers_task"] != format!("bridge:taskstore:{id}") {
                complaints.push(format!("not as it must be: {reply}"));
            }
        }
        let of = |id: &u64| replies.get(id).copied().unwrap_or_default();
        let astray = self.posted.iter().filter(|id| of(id) != 1);
        complaints.extend(astray.map(|id| format!("task {id} was answered {} times", of(id))));
        let unasked = replies.keys().filter(|id| !self.posted.contains(id));
        complaints.extend(unasked.map(|id| format!("task {id} was answered and never posted")));
        let native: BTreeSet<&str> = self.native.iter().map(String::as_str).collect();
        let expected: BTreeSet<String> = self.posted.iter().map(|id| format!("bridge:taskstore:{id}")).collect();
        let second = native.iter().filter(|id| !expected.contains(**id));
        complaints.extend(second.map(|id| format!("{id} is the native task of no task that was posted")));
        let missing = expected.iter().filter(|id| !native.contains(id.as_str()));
        complaints.extend(missing.map(|id| format!("{id} was never submitted")));
        complaints
    }
}

/// The tasks of a group.
async fn group(manager: &Manager, group: &str) -> Vec<Value> {
    let listed = manager.api.get(&format!("/taskstore/group/{group}?owned=1")).await.ok();
    listed.as_array().cloned().unwrap_or_default()
}

/// Posts a batch, and returns the ids.
async fn post(manager: &Manager) -> BTreeSet<u64> {
    let adds = vec![json!({"group": "work", "data": "{}"}); BATCH];
    let added = manager.api.post("/taskstore/update", &json!({"clientid": 7, "adds": adds})).await.ok();
    added["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_u64().unwrap()).collect()
}

/// Waits for the moment of a kill: at once, when a task has started, or when one was answered.
async fn until_moment(round: usize, stack: &Stack, manager: &Manager, started: usize, answered: usize) {
    match round % 3 {
        0 => {}
        1 => {
            until(PATIENCE, "a task starts", async || (stack.effects.count("started").len() > started).then_some(()))
                .await;
        }
        _ => {
            until(PATIENCE, "a task is answered", async || {
                (group(manager, "replies").await.len() > answered).then_some(())
            })
            .await;
        }
    }
}

async fn a_bridge_answers_each_task_once_while_managers_and_workers_are_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let file = stack.folder().join("manager.toml");
    std::fs::write(&file, BRIDGE).unwrap();
    let environment = [("MANAGER_CONFIG", file.to_str().unwrap())];
    let mut managers = [stack.manager_with(&environment).await, stack.manager_with(&environment).await];
    let mut workers: [Program; 2] = [stack.worker().await, stack.worker().await];
    let mut ledger = Ledger::default();
    for round in 0..KILLS {
        let [victim, survivor] = [round % 2, (round + 1) % 2];
        let (started, answered) =
            (stack.effects.count("started").len(), group(&managers[survivor], "replies").await.len());
        ledger.posted.extend(post(&managers[victim]).await);
        until_moment(round, &stack, &managers[survivor], started, answered).await;
        if round % 4 == 3 {
            workers[0].kill().await;
            workers[0] = stack.worker().await;
        } else {
            managers[victim].program.kill().await;
            managers[victim] = stack.manager_with(&environment).await;
        }
    }
    let manager = &managers[0];
    // One page is what the group held at one moment; more leave out what a bridge renewed after the first.
    let is_left = async || !manager.api.get("/taskstore/group/work?owned=1&limit=1").await.ok()[0].is_null();
    until(PATIENCE, "every task is answered", async || (!is_left().await).then_some(())).await;
    let data = |reply: Value| serde_json::from_str(reply["data"].as_str().unwrap()).unwrap();
    ledger.replies = group(manager, "replies").await.into_iter().map(data).collect();
    let native = all_tasks(&manager.api, "/tasks?name=nap").await;
    ledger.native = native.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ledger.complaints(), Vec::<String>::new());
    let executions: usize = stack.effects.count("started").values().sum();
    println!("{KILLS} kills, {} tasks, {} replies, {executions} executions", ledger.posted.len(), ledger.replies.len());
    println!("{}", stack.examined().await);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(id: u64) -> Value {
        json!({"task": id, "status": "completed", "jobbers_task": format!("bridge:taskstore:{id}")})
    }

    fn complaints(posted: &[u64], replies: &[u64], native: &[u64]) -> Vec<String> {
        let replies = replies.iter().map(|id| reply(*id)).collect();
        let native = native.iter().map(|id| format!("bridge:taskstore:{id}")).collect();
        Ledger { posted: posted.iter().copied().collect(), replies, native }.complaints()
    }

    #[test]
    fn a_bridge_that_loses_a_task_or_answers_or_submits_it_twice_is_noticed() {
        assert_eq!(complaints(&[1, 2], &[2, 1], &[1, 2]), Vec::<String>::new());
        assert_eq!(complaints(&[1, 2], &[2], &[1, 2]), ["task 1 was answered 0 times"]);
        assert_eq!(complaints(&[1], &[1, 1], &[1]), ["task 1 was answered 2 times"]);
        assert_eq!(complaints(&[], &[3], &[]), ["task 3 was answered and never posted"]);
        assert_eq!(
            complaints(&[1], &[1], &[1, 4]),
            ["bridge:taskstore:4 is the native task of no task that was posted"]
        );
        assert_eq!(complaints(&[1], &[1], &[]), ["bridge:taskstore:1 was never submitted"]);
        let failed = json!({"task": 1, "status": "cancelled", "jobbers_task": "bridge:taskstore:1"});
        let ledger = Ledger { posted: [1].into(), replies: vec![failed], native: Vec::new() };
        assert!(ledger.complaints()[0].starts_with("not as it must be"), "{ledger:?}");
    }
}
