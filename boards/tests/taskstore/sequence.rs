//! Random updates and claims, each compared with what a small program that follows the reference says.
//!
//! All times are far in the past or far in the future, so that the present does not decide anything.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::store::{Store, id};

/// Further than any present.
const FUTURE: i64 = 4_000_000_000_000_000_000;
const STEPS: usize = 400;
const GROUPS: [&str; 3] = ["a", "b", "c"];

on_every_store!(random_updates_and_claims_do_what_the_reference_says);

async fn random_updates_and_claims_do_what_the_reference_says(store: Store) {
    let seed = rand::rng().next_u64();
    #[expect(clippy::print_stdout, reason = "a failing test shows how its requests were drawn")]
    {
        println!("seed {seed}");
    }
    let (mut random, mut reference) = (StdRng::seed_from_u64(seed), Reference::default());
    for step in 0..STEPS {
        match random.random_range(0..10) {
            0..6 => reference.check_update(&store, &update(&mut random, reference.last)).await,
            6..9 => reference.check_claim(&store, &claim(&mut random, reference.last)).await,
            _ => reference.check_lists(&store).await,
        }
        assert!(reference.last > 0 || step < 100, "something happens");
    }
    reference.check_lists(&store).await;
}

/// A task as the reference has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    group: String,
    data: String,
    at: i64,
    owner: i64,
}

/// The original's semantics, without its oddities.
#[derive(Debug, Default)]
struct Reference {
    last: i64,
    tasks: BTreeMap<i64, Task>,
}

fn list<'a>(request: &'a Value, name: &str) -> &'a [Value] {
    request[name].as_array().map_or(&[], Vec::as_slice)
}

fn numbers(values: &[Value]) -> Vec<i64> {
    values.iter().map(|value| value.as_i64().unwrap()).collect()
}

/// A time of a request: 0 is a time of the past here too, and below it the future.
fn is_future(said: i64) -> bool {
    !(0..FUTURE).contains(&said)
}

impl Reference {
    fn is_free(&self, id: i64, client: i64) -> bool {
        self.tasks.get(&id).is_none_or(|task| !is_future(task.at) || task.owner == client)
    }

    fn missing(&self, ids: &[i64]) -> BTreeSet<i64> {
        ids.iter().copied().filter(|id| !self.tasks.contains_key(id)).collect()
    }

    /// What an update reports, and whether it is a bug; `None`: it succeeds.
    fn failure(&self, request: &Value) -> Option<([BTreeSet<i64>; 4], bool)> {
        let client = request["clientid"].as_i64().unwrap();
        let (deletes, depends) = (numbers(list(request, "deletes")), numbers(list(request, "depends")));
        let (adds, updates): (Vec<&Value>, Vec<&Value>) =
            list(request, "updates").iter().partition(|task| task["id"].as_i64().unwrap() <= 0);
        let changed: Vec<i64> = updates.into_iter().map(id).collect();
        let distinct: BTreeSet<i64> = changed.iter().copied().collect();
        let is_bug = changed.len() != distinct.len()
            || deletes.iter().any(|id| distinct.contains(id))
            || list(request, "adds").iter().chain(adds).any(|task| task["group"] == "")
            || ["adds", "updates", "deletes"].iter().all(|name| list(request, name).is_empty());
        let held = deletes.iter().chain(&changed).copied().filter(|id| !self.is_free(*id, client)).collect();
        let found = [self.missing(&changed), self.missing(&deletes), self.missing(&depends), held];
        (is_bug || found.iter().any(|ids| !ids.is_empty())).then_some((found, is_bug))
    }

    async fn check_update(&mut self, store: &Store, request: &Value) {
        let answer = store.post("/update", request).await;
        if let Some((expected, is_bug)) = self.failure(request) {
            let error = &answer["error"];
            let told = ["changes", "deletes", "depends", "owned"].map(|name| {
                let ids = numbers(list(error, name));
                let distinct: BTreeSet<i64> = ids.iter().copied().collect();
                assert_eq!(ids.len(), distinct.len(), "each once: {error}");
                distinct
            });
            assert_eq!((&told, !list(error, "bugs").is_empty()), (&expected, is_bug), "{request}: {answer}");
            assert!(answer["tasks"].is_null(), "{answer}");
            return;
        }
        for id in numbers(list(request, "deletes")) {
            self.tasks.remove(&id);
        }
        let asked: Vec<&Value> = list(request, "adds").iter().chain(list(request, "updates")).collect();
        let told = list(&answer, "tasks");
        assert_eq!(told.len(), asked.len(), "{request}: {answer}");
        let first = self.last + 1;
        let mut new = BTreeSet::new();
        for (asked, told) in asked.into_iter().zip(told) {
            let old = asked.get("id").and_then(Value::as_i64).and_then(|id| self.tasks.remove(&id));
            let group = old.map_or_else(|| asked["group"].as_str().unwrap().to_owned(), |old| old.group);
            assert_eq!(told["group"], json!(group), "{request}: {answer}");
            assert_eq!(
                (&told["data"], &told["ownerid"]),
                (&asked["data"], &request["clientid"]),
                "{request}: {answer}"
            );
            let (said, at) = (asked["duration"].as_i64().unwrap(), told["duration"].as_i64().unwrap());
            assert_eq!(is_future(said), at >= FUTURE, "{request}: {answer}");
            assert!(said <= 0 || said == at, "{request}: {answer}");
            let task = Task { group, data: text(told, "data"), at, owner: request["clientid"].as_i64().unwrap() };
            self.tasks.insert(id(told), task);
            new.insert(id(told));
        }
        self.last += i64::try_from(new.len()).unwrap();
        assert_eq!(new, (first..=self.last).collect(), "ids are dense: {request}: {answer}");
    }

    async fn check_claim(&mut self, store: &Store, request: &Value) {
        let answer = store.post("/claim", request).await;
        let missing = self.missing(&numbers(list(request, "depends")));
        if !missing.is_empty() {
            let told: BTreeSet<i64> = numbers(list(&answer["error"], "depends")).into_iter().collect();
            assert_eq!((told, answer["tasks"].is_null()), (missing, true), "{request}: {answer}");
            return;
        }
        assert!(answer["error"].is_null(), "{request}: {answer}");
        let free: Vec<i64> =
            self.tasks.iter().filter(|(_, task)| is_free_in(task, request)).map(|(id, _)| *id).collect();
        let Some(told) = list(&answer, "tasks").first() else {
            assert!(free.is_empty(), "{request}: {answer}");
            return;
        };
        self.last += 1;
        assert_eq!(id(told), self.last, "{request}: {answer}");
        let (group, data) = (text(told, "group"), text(told, "data"));
        let is_it = |id: &&i64| (&self.tasks[*id].group, &self.tasks[*id].data) == (&group, &data);
        let taken = *free.iter().find(is_it).unwrap_or_else(|| panic!("not free: {request}: {answer}"));
        self.tasks.remove(&taken);
        let at = told["duration"].as_i64().unwrap();
        assert_eq!(at >= FUTURE, request["duration"].as_i64().unwrap() >= FUTURE, "{request}: {answer}");
        self.tasks.insert(self.last, Task { group, data, at, owner: request["clientid"].as_i64().unwrap() });
    }

    async fn check_lists(&self, store: &Store) {
        for group in GROUPS {
            for (query, also_held) in [("?owned=1", true), ("?owned=0", false)] {
                let listed: BTreeMap<i64, Task> =
                    store.group(group, query).await.iter().map(|task| (id(task), read(task))).collect();
                let is_meant = |task: &Task| task.group == group && (also_held || !is_future(task.at));
                let expected: BTreeMap<i64, Task> = self
                    .tasks
                    .iter()
                    .filter(|(_, task)| is_meant(task))
                    .map(|(id, task)| (*id, task.clone()))
                    .collect();
                assert_eq!(listed, expected, "{group}{query}");
            }
        }
        let groups: BTreeSet<&str> = self.tasks.values().map(|task| task.group.as_str()).collect();
        assert_eq!(store.get("/groups").await, json!(groups));
    }
}

fn is_free_in(task: &Task, request: &Value) -> bool {
    request["group"] == json!(task.group) && !is_future(task.at)
}

fn text(task: &Value, name: &str) -> String {
    task[name].as_str().unwrap().to_owned()
}

fn read(task: &Value) -> Task {
    let number = |name: &str| task[name].as_i64().unwrap();
    Task { group: text(task, "group"), data: text(task, "data"), at: number("duration"), owner: number("ownerid") }
}

/// A time of the past or the future, in each of the ways to say it.
fn time(random: &mut StdRng) -> i64 {
    match random.random_range(0..4) {
        0 => 0,
        1 => random.random_range(1..1_000),
        2 => FUTURE + random.random_range(0..1_000),
        _ => -FUTURE,
    }
}

/// An id that is there most often, sometimes gone, and sometimes none.
fn an_id(random: &mut StdRng, last: i64) -> i64 {
    random.random_range((last - 12).max(-1)..=last + 1)
}

fn ids_of(random: &mut StdRng, most: usize, last: i64) -> Vec<i64> {
    (0..random.random_range(0..=most)).map(|_| an_id(random, last)).collect()
}

fn a_task(random: &mut StdRng, id: Option<i64>) -> Value {
    let group = if random.random_range(0..20) == 0 { "" } else { GROUPS[random.random_range(0..GROUPS.len())] };
    // Distinct, so that a claimed task shows which one it was.
    let mut task = json!({"group": group, "data": random.next_u64().to_string(), "duration": time(random)});
    if let Some(id) = id {
        task["id"] = json!(id);
    }
    task
}

fn update(random: &mut StdRng, last: i64) -> Value {
    let adds: Vec<Value> = (0..random.random_range(0..3)).map(|_| a_task(random, None)).collect();
    let updates = ids_of(random, 2, last).into_iter().map(|id| a_task(random, Some(id))).collect::<Vec<_>>();
    let (deletes, depends) = (ids_of(random, 1, last), ids_of(random, 1, last));
    json!({"clientid": random.random_range(1..3), "adds": adds, "updates": updates, "deletes": deletes, "depends": depends})
}

fn claim(random: &mut StdRng, last: i64) -> Value {
    let duration = [0, -5, FUTURE][random.random_range(0..3)];
    let group = GROUPS[random.random_range(0..GROUPS.len())];
    json!({"clientid": random.random_range(1..3), "group": group, "duration": duration, "depends": ids_of(random, 1, last)})
}
