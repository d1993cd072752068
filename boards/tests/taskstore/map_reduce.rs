//! Item 12 of the conformance list: the map-reduce of the original's documentation, a count of words by workers that race.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::store::{MINUTE, Store, id};

/// What is counted.
const TEXT: &str = include_str!("../../../README.md");
/// Workers of either kind.
const WORKERS: i64 = 3;
const SHARDS: usize = 7;

on_every_store!(racing_workers_count_the_words_of_a_text_exactly);

async fn racing_workers_count_the_words_of_a_text_exactly(store: Store) {
    let lines: Vec<&str> = TEXT.lines().filter(|line| !line.trim().is_empty()).take(60).collect();
    let maps = lines.iter().map(|line| json!({"group": "map", "data": line}));
    let shards = (0..SHARDS).map(|shard| json!({"group": "reduce", "data": shard.to_string()}));
    store.updated(json!({"adds": maps.chain(shards).collect::<Vec<_>>()})).await;
    let mappers: Vec<_> = (0..WORKERS).map(|n| tokio::spawn(map(store.clone(), 100 + n))).collect();
    let reducers: Vec<_> = (0..WORKERS).map(|n| tokio::spawn(reduce(store.clone(), 200 + n))).collect();
    for worker in mappers.into_iter().chain(reducers) {
        worker.await.unwrap();
    }
    let mut counted = BTreeMap::new();
    for task in store.all("result").await {
        let (word, count) = task["data"].as_str().unwrap().split_once(' ').unwrap();
        let before = counted.insert(word.to_owned(), count.parse::<u64>().unwrap());
        assert_eq!(before, None, "{word} has two results");
    }
    let mut expected = BTreeMap::new();
    for word in lines.iter().flat_map(|line| line.split_whitespace()) {
        *expected.entry(word.to_owned()).or_insert(0) += 1;
    }
    assert_eq!(counted, expected);
    assert_eq!(store.get("/groups").await, json!(["result"]));
}

async fn claim(store: &Store, client: i64, group: &str) -> Option<Value> {
    let answer = store.post("/claim", &json!({"clientid": client, "group": group, "duration": MINUTE})).await;
    answer["tasks"].as_array().map(|tasks| tasks[0].clone())
}

async fn is_empty(store: &Store, group: &str) -> bool {
    store.group(group, "?limit=1&owned=1").await.is_empty()
}

/// Turns each line into a task per word, in the step that deletes the line.
async fn map(store: Store, client: i64) {
    while !is_empty(&store, "map").await {
        let Some(task) = claim(&store, client, "map").await else { continue };
        let words = task["data"].as_str().unwrap().split_whitespace();
        let adds: Vec<Value> = words.map(|word| json!({"group": shard_of(word), "data": word})).collect();
        store.updated_as(client, json!({"adds": adds, "deletes": [id(&task)]})).await;
    }
}

/// The group of a word: all its tasks are in one.
fn shard_of(word: &str) -> String {
    format!("shard-{}", word.bytes().map(usize::from).sum::<usize>() % SHARDS)
}

/// Turns the words of each shard into counts once all lines are mapped, in the step that deletes the words.
async fn reduce(store: Store, client: i64) {
    while !is_empty(&store, "map").await {}
    while !is_empty(&store, "reduce").await {
        let Some(task) = claim(&store, client, "reduce").await else { continue };
        let words = store.all(&format!("shard-{}", task["data"].as_str().unwrap())).await;
        let mut counts = BTreeMap::new();
        for word in &words {
            *counts.entry(word["data"].as_str().unwrap()).or_insert(0) += 1;
        }
        let adds: Vec<Value> =
            counts.iter().map(|(word, count)| json!({"group": "result", "data": format!("{word} {count}")})).collect();
        let deletes: Vec<i64> = words.iter().chain([&task]).map(id).collect();
        store.updated_as(client, json!({"adds": adds, "deletes": deletes})).await;
    }
}
