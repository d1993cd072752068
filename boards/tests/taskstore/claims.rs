//! Items 14 and 21 of the conformance list: claims.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::store::{MINUTE, OTHER, OWNER, Store, error, id, ids};

on_every_store!(
    a_claim_takes_one_task_and_hides_it,
    a_claim_finds_nothing_in_a_group_that_is_empty_or_held,
    a_missing_dependency_wins_over_an_empty_group,
    a_claim_without_a_duration_gives_a_new_id_and_hides_nothing,
    what_was_claimed_is_its_owner_s_until_its_time,
    claims_prefer_old_tasks_and_are_not_stuck_on_the_oldest,
    tasks_are_claimed_once_each_by_racing_clients,
);

/// Item 14.
async fn a_claim_takes_one_task_and_hides_it(store: Store) {
    let adds = json!([{"group": "a", "data": "x"}, {"group": "a", "data": "x"}, {"group": "b", "data": "y"}]);
    store.updated(json!({"adds": adds})).await;
    let before = store.group("a", "").await.len();
    let claimed = store.claim("a", MINUTE).await.unwrap();
    assert_eq!((&claimed["group"], &claimed["data"], &claimed["ownerid"]), (&json!("a"), &json!("x"), &json!(OWNER)));
    assert_eq!(id(&claimed), 4);
    assert_eq!(store.group("a", "").await.len(), before - 1);
    assert_eq!(store.all("a").await.len(), 2);
    assert_eq!(store.get("/task/4").await, claimed);
}

async fn a_claim_finds_nothing_in_a_group_that_is_empty_or_held(store: Store) {
    store.updated(json!({"adds": [{"group": "a", "duration": -MINUTE}]})).await;
    for group in ["a", "b", ""] {
        let answer = store.post("/claim", &json!({"clientid": OWNER, "group": group, "duration": MINUTE})).await;
        assert_eq!(answer, json!({"tasks": null, "error": null}), "{group}");
    }
    assert_eq!(id(&store.add("c").await), 2, "no id was consumed");
}

/// Item 21.
async fn a_missing_dependency_wins_over_an_empty_group(store: Store) {
    let there = id(&store.add("a").await);
    for group in ["a", "b"] {
        let claim = json!({"clientid": OWNER, "group": group, "duration": MINUTE, "depends": [50, there, -1, 50]});
        let answer = store.post("/claim", &claim).await;
        assert_eq!(answer, json!({"tasks": null, "error": error(&[], &[], &[50, -1], &[])}));
    }
    assert_eq!(ids(&store.group("a", "").await), [there], "nothing was claimed");
    let claim = json!({"clientid": OWNER, "group": "a", "duration": MINUTE, "depends": [there]});
    assert_eq!(store.post("/claim", &claim).await["tasks"][0]["group"], "a");
}

async fn a_claim_without_a_duration_gives_a_new_id_and_hides_nothing(store: Store) {
    store.add("a").await;
    for (duration, expected) in [(0, 2), (-MINUTE, 3), (0, 4)] {
        assert_eq!(id(&store.claim("a", duration).await.unwrap()), expected);
    }
    assert_eq!(ids(&store.group("a", "").await), [4]);
}

async fn what_was_claimed_is_its_owner_s_until_its_time(store: Store) {
    store.add("a").await;
    let claimed = id(&store.claim("a", MINUTE).await.unwrap());
    let stolen = store.update_as(OTHER, json!({"deletes": [claimed]})).await;
    assert_eq!(stolen["error"], error(&[], &[], &[], &[claimed]));
    let given_back = store.updated(json!({"updates": [{"id": claimed, "data": "back"}]})).await;
    assert_eq!(store.updated_as(OTHER, json!({"deletes": [id(&given_back[0])]})).await, Vec::<Value>::new());
    assert_eq!(store.failed(json!({"deletes": [claimed]})).await["deletes"], json!([claimed]));
}

async fn claims_prefer_old_tasks_and_are_not_stuck_on_the_oldest(store: Store) {
    const TASKS: i64 = 200;
    let adds: Vec<Value> =
        (1..=TASKS).map(|age| json!({"group": "a", "data": age.to_string(), "duration": age})).collect();
    store.updated(json!({"adds": adds})).await;
    let mut chosen = Vec::new();
    for _ in 0..40 {
        let claimed = store.claim("a", MINUTE).await.unwrap();
        chosen.push(claimed["data"].as_str().unwrap().parse::<i64>().unwrap());
    }
    let distinct: BTreeSet<i64> = chosen.iter().copied().collect();
    assert_eq!(distinct.len(), chosen.len());
    assert_ne!(chosen, (1..=40).collect::<Vec<_>>(), "a task that kills its workers would be claimed for ever");
    assert!(chosen.iter().sum::<i64>() / 40 < TASKS / 2, "old ones come first: {chosen:?}");
}

async fn tasks_are_claimed_once_each_by_racing_clients(store: Store) {
    const TASKS: usize = 120;
    let adds: Vec<Value> = (0..TASKS).map(|n| json!({"group": "a", "data": n.to_string()})).collect();
    store.updated(json!({"adds": adds})).await;
    let clients = (0..8).map(|client| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut got = Vec::new();
            loop {
                let answer = store.post("/claim", &json!({"clientid": client, "group": "a", "duration": MINUTE})).await;
                let Some(tasks) = answer["tasks"].as_array() else { return got };
                got.push(tasks[0]["data"].as_str().unwrap().to_owned());
            }
        })
    });
    let mut seen = BTreeMap::new();
    for client in clients.collect::<Vec<_>>() {
        for data in client.await.unwrap() {
            *seen.entry(data).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), TASKS);
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}
