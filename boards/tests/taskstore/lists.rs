//! Items 15 and 17 of the conformance list: looking, also at more than a page.

use serde_json::{Value, json};

use crate::store::{MINUTE, Store, id, ids};

on_every_store!(
    tasks_are_answered_in_the_order_asked_with_null_for_what_is_not_there,
    a_positive_limit_is_kept_and_any_other_is_none,
    a_large_group_is_listed_whole_and_once,
    a_name_with_any_letters_is_a_group,
);

/// Item 17.
async fn tasks_are_answered_in_the_order_asked_with_null_for_what_is_not_there(store: Store) {
    let (one, two) = (store.add("a").await, store.add("b").await);
    assert_eq!(store.get("/tasks/2,9,1,2").await, json!([two, null, one, two]));
    assert_eq!(store.get("/tasks/-1,0,1").await, json!([null, null, one]));
    assert_eq!(store.get("/tasks/9223372036854775807").await, json!([null]));
    assert_eq!(store.get("/task/2").await, two);
    assert_eq!(store.get("/task/0").await, Value::Null);
}

/// Item 15.
async fn a_positive_limit_is_kept_and_any_other_is_none(store: Store) {
    let adds: Vec<Value> = (1..=150).map(|at| json!({"group": "a", "duration": at})).collect();
    store.updated(json!({"adds": adds})).await;
    let adds: Vec<Value> = (1..=150).map(|_| json!({"group": "a", "duration": -MINUTE})).collect();
    store.updated(json!({"adds": adds})).await;
    for (limit, free, all) in [
        ("1", 1, 1),
        ("99", 99, 99),
        ("100", 100, 100),
        ("101", 101, 101),
        ("200", 150, 200),
        ("0", 150, 300),
        ("-5", 150, 300),
        ("", 150, 300),
    ] {
        let listed = store.group("a", &format!("?limit={limit}")).await;
        assert_eq!(listed.len(), free, "limit={limit}");
        assert!(listed.iter().all(|task| id(task) <= 150), "none of the future");
        assert_eq!(
            store.group("a", &format!("?limit={limit}&owned=true")).await.len(),
            all,
            "limit={limit}&owned=true"
        );
    }
    for (said, is_all) in [("YES", true), ("True", true), ("1", true), ("no", false), ("FALSE", false), ("0", false)] {
        assert_eq!(store.group("a", &format!("?owned={said}")).await.len(), if is_all { 300 } else { 150 }, "{said}");
    }
}

async fn a_large_group_is_listed_whole_and_once(store: Store) {
    const TASKS: i64 = 1_250;
    for from in (0..TASKS).step_by(250) {
        let adds: Vec<Value> = (from..from + 250).map(|n| json!({"group": "a", "data": n.to_string()})).collect();
        store.updated(json!({"adds": adds})).await;
    }
    let mut listed = ids(&store.all("a").await);
    listed.sort_unstable();
    assert_eq!(listed, (1..=TASKS).collect::<Vec<_>>());
}

async fn a_name_with_any_letters_is_a_group(store: Store) {
    for name in ["a/b", "ä ö", "100%", "a?b#c&d=e", "\u{1F600}"] {
        store.add(name).await;
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(store.group(&encoded, "").await.len(), 1, "{name}");
        assert!(store.claim(name, 1).await.is_some(), "{name}");
    }
    assert_eq!(store.group("a/b", "").await.len(), 1, "also when it is not encoded");
}
