//! Items 1 to 13, 18 and 22 to 25 of the conformance list: updates.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Error, Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            task::BoardTask,
        },
    },
    name::BoardName,
};
use jobbers_law::model::ModelEngine;
use serde_json::{Value, json};

use crate::store::{MINUTE, OTHER, OWNER, Store, error, id, ids};

on_every_store!(
    added_tasks_have_ids_their_group_their_owner_and_their_data,
    groups_are_exactly_those_that_hold_tasks,
    a_moved_task_keeps_its_group_and_moves_by_exactly_a_minute,
    a_task_of_the_future_is_hidden_until_its_time,
    an_owner_may_extend_again_and_another_client_may_not,
    what_a_replaced_id_is_good_for,
    failures_consume_no_id_and_ids_are_dense,
    an_update_reports_all_that_is_wrong_at_once,
    times_are_absolute_or_distances_from_the_present,
    an_update_never_changes_the_group,
    an_update_with_only_an_id_empties_and_releases_the_task,
    a_dependency_may_be_held_by_another_client,
    an_update_without_an_id_adds_a_task,
    an_id_and_an_owner_in_an_addition_are_ignored,
    adds_are_answered_before_updates,
    a_task_changed_twice_in_one_update_is_a_bug,
    an_empty_update_is_a_bug,
    an_addition_without_a_group_is_a_bug,
    deleting_one_task_twice_in_one_update_deletes_it_once,
    data_comes_back_unchanged,
);

/// Items 1 and 18.
async fn added_tasks_have_ids_their_group_their_owner_and_their_data(store: Store) {
    let adds =
        json!([{"group": "a", "data": "hello"}, {"group": "b"}, {"group": "a", "data": "hi", "duration": -MINUTE}]);
    let added = store.updated(json!({"adds": adds})).await;
    assert_eq!(ids(&added), [1, 2, 3]);
    let told: Vec<Value> = added.iter().map(|task| json!([task["group"], task["data"], task["ownerid"]])).collect();
    assert_eq!(told, [json!(["a", "hello", OWNER]), json!(["b", "", OWNER]), json!(["a", "hi", OWNER])]);
    let available = ids(&store.group("a", "").await);
    assert_eq!(available, [1], "its time is not after the present");
    assert!(added[2]["duration"].as_i64() > added[0]["duration"].as_i64());
    assert_eq!(store.get("/tasks/1,2,3").await, json!(added));
}

/// Items 2 and 16.
async fn groups_are_exactly_those_that_hold_tasks(store: Store) {
    assert_eq!(store.get("/groups").await, json!([]), "never null");
    let (one, _) = (store.add("a").await, store.add("b").await);
    let mut groups: Vec<String> = serde_json::from_value(store.get("/groups").await).unwrap();
    groups.sort_unstable();
    assert_eq!(groups, ["a", "b"]);
    assert_eq!(store.get("/group").await, store.get("/groups").await, "where the Go client asks");
    store.updated(json!({"deletes": [id(&one)]})).await;
    assert_eq!(store.get("/groups").await, json!(["b"]));
    assert_eq!(store.get("/group/a").await, json!([]));
}

/// Item 4.
async fn a_moved_task_keeps_its_group_and_moves_by_exactly_a_minute(store: Store) {
    let task = store.add("a").await;
    let later = task["duration"].as_i64().unwrap() + MINUTE;
    let update = json!({"updates": [{"id": id(&task), "group": "a", "data": "x", "duration": later}]});
    let moved = store.updated_as(OTHER, update).await;
    assert_eq!(moved.len(), 1);
    assert!(id(&moved[0]) > id(&task));
    let expected = json!({"id": id(&moved[0]), "group": "a", "data": "x", "duration": later, "timespec": later,
        "ownerid": OTHER});
    assert_eq!(moved[0], expected);
    assert_eq!(store.get(&format!("/task/{}", id(&moved[0]))).await, expected);
    assert_eq!(store.get(&format!("/task/{}", id(&task))).await, Value::Null, "the old id is gone");
    // To the nanosecond, as some clients compare times.
    let odd = json!({"updates": [{"id": id(&moved[0]), "duration": later + 1}]});
    assert_eq!(store.updated_as(OTHER, odd).await[0]["duration"], json!(later + 1));
}

/// Items 3 and 5.
async fn a_task_of_the_future_is_hidden_until_its_time(store: Store) {
    store.updated(json!({"adds": [{"group": "a", "duration": -MINUTE}, {"group": "a", "duration": 1}]})).await;
    assert_eq!(ids(&store.group("a", "?owned=0").await), [2]);
    assert_eq!(ids(&store.group("a", "").await), [2]);
    let mut all = ids(&store.all("a").await);
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

/// Items 6 and 7.
async fn an_owner_may_extend_again_and_another_client_may_not(store: Store) {
    let task = store.add("a").await;
    let held = store.updated(json!({"updates": [{"id": id(&task), "duration": -MINUTE}]})).await;
    let held = store.updated(json!({"updates": [{"id": id(&held[0]), "duration": -2 * MINUTE}]})).await;
    let held = id(&held[0]);
    for change in [json!({"updates": [{"id": held}]}), json!({"deletes": [held]})] {
        let refused = store.update_as(OTHER, change).await;
        assert_eq!(refused["error"], error(&[], &[], &[], &[held]));
    }
    store.updated(json!({"deletes": [held]})).await;
}

/// Items 8 and 9.
async fn what_a_replaced_id_is_good_for(store: Store) {
    let task = id(&store.add("a").await);
    store.updated(json!({"updates": [{"id": task}]})).await;
    assert_eq!(store.failed(json!({"depends": [task], "adds": [{"group": "a"}]})).await, error(&[], &[], &[task], &[]));
    assert_eq!(store.failed(json!({"updates": [{"id": task}]})).await, error(&[task], &[], &[], &[]));
    assert_eq!(store.failed(json!({"deletes": [task]})).await, error(&[], &[task], &[], &[]));
}

/// Items 10 and 11: the original's scenario, with its ids.
async fn failures_consume_no_id_and_ids_are_dense(store: Store) {
    let groups = ["g1", "g1", "g2", "g2", "g3", "g3"];
    let adds: Vec<Value> = groups.iter().map(|group| json!({"group": group})).collect();
    assert_eq!(ids(&store.updated(json!({"adds": adds})).await), [1, 2, 3, 4, 5, 6]);
    assert_eq!(ids(&store.updated(json!({"updates": [{"id": 1, "duration": -MINUTE}]})).await), [7]);
    assert_eq!(ids(&store.updated(json!({"updates": [{"id": 7, "duration": -2 * MINUTE}]})).await), [8]);
    let foreign = store.update_as(OTHER, json!({"updates": [{"id": 8}], "adds": [{"group": "g1"}]})).await;
    assert_eq!(foreign["error"]["owned"], json!([8]));
    store.failed(json!({"depends": [1], "updates": [{"id": 8}]})).await;
    store.failed(json!({"updates": [{"id": 7}]})).await;
    assert_eq!(store.updated_as(OTHER, json!({"deletes": [3]})).await, Vec::<Value>::new(), "it was free");
    let mut left = Vec::new();
    for group in ["g1", "g2", "g3"] {
        left.extend(ids(&store.all(group).await));
    }
    left.sort_unstable();
    assert_eq!(left, [2, 4, 5, 6, 8]);
    assert_eq!(id(&store.add("g1").await), 9);
}

/// Item 22.
async fn an_update_reports_all_that_is_wrong_at_once(store: Store) {
    let held = id(&store.updated_as(OTHER, json!({"adds": [{"group": "a", "duration": -MINUTE}]})).await[0]);
    let also = id(&store.updated_as(OTHER, json!({"adds": [{"group": "a", "duration": -MINUTE}]})).await[0]);
    let change =
        json!({"updates": [{"id": 90}, {"id": held}], "deletes": [also, 91, 91, -3], "depends": [92, 0, held]});
    let told = store.failed(change).await;
    assert_eq!(told["changes"], json!([90]));
    assert_eq!(told["deletes"], json!([91, -3]), "each once");
    assert_eq!(told["depends"], json!([92, 0]));
    let mut owned: Vec<i64> = serde_json::from_value(told["owned"].clone()).unwrap();
    owned.sort_unstable();
    assert_eq!(owned, [held, also]);
    assert_eq!(told.get("bugs"), None, "the Go client can't read any");
    // Bugs hide nothing of it.
    let change = json!({"updates": [{"id": 90}, {"id": 90}], "deletes": [also], "depends": [92], "adds": [{}]});
    let told = store.failed(change).await;
    assert_eq!((&told["changes"], &told["depends"], &told["owned"]), (&json!([90]), &json!([92]), &json!([also])));
    assert_eq!(told["bugs"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(store.all("a").await.len(), 2);
}

/// Item 23.
async fn times_are_absolute_or_distances_from_the_present(store: Store) {
    let base = store.add("a").await["duration"].as_i64().unwrap();
    for (said, least, most) in
        [(0, base, base + MINUTE), (-5 * MINUTE, base + 5 * MINUTE, base + 6 * MINUTE), (1, 1, 1), (base, base, base)]
    {
        let added = store.updated(json!({"adds": [{"group": "a", "duration": said}]})).await;
        let at = added[0]["duration"].as_i64().unwrap();
        assert!((least..=most).contains(&at), "{said}: {at} is not from {least} to {most}");
        let moved = store.updated(json!({"updates": [{"id": id(&added[0]), "duration": said}]})).await;
        let at = moved[0]["duration"].as_i64().unwrap();
        assert!((least..=most).contains(&at), "{said}: {at} is not from {least} to {most}");
    }
    for beyond in [i64::MAX, i64::MIN] {
        let added = store.updated(json!({"adds": [{"group": "b", "duration": beyond}]})).await;
        assert_eq!(added[0]["duration"], json!(i64::MAX), "the last moment that can be said");
    }
}

/// Item 24.
async fn an_update_never_changes_the_group(store: Store) {
    let task = store.add("a").await;
    let moved = store.updated(json!({"updates": [{"id": id(&task), "group": "b"}]})).await;
    assert_eq!(moved[0]["group"], "a");
    assert_eq!(store.get("/groups").await, json!(["a"]));
}

async fn an_update_with_only_an_id_empties_and_releases_the_task(store: Store) {
    store.updated(json!({"adds": [{"group": "a", "data": "x", "duration": -MINUTE}]})).await;
    assert!(store.group("a", "").await.is_empty());
    let released = store.updated(json!({"updates": [{"id": 1}]})).await;
    assert_eq!(released[0]["data"], "");
    assert_eq!(ids(&store.group("a", "").await), [2]);
}

/// Item 25.
async fn a_dependency_may_be_held_by_another_client(store: Store) {
    let held = store.updated_as(OTHER, json!({"adds": [{"group": "a", "duration": -MINUTE}]})).await;
    store.updated(json!({"depends": [id(&held[0])], "adds": [{"group": "a"}]})).await;
}

async fn an_update_without_an_id_adds_a_task(store: Store) {
    let first = id(&store.add("a").await);
    let update =
        json!({"adds": [{"group": "x"}], "updates": [{"group": "y"}, {"id": first}, {"id": -4, "group": "z"}]});
    let told = store.updated(update).await;
    let groups: Vec<&str> = told.iter().map(|task| task["group"].as_str().unwrap()).collect();
    assert_eq!(groups, ["x", "y", "a", "z"], "each at its place");
}

async fn an_id_and_an_owner_in_an_addition_are_ignored(store: Store) {
    let task = store.updated(json!({"adds": [{"id": 77, "ownerid": 99, "group": "a"}]})).await;
    assert_eq!((id(&task[0]), &task[0]["ownerid"]), (1, &json!(OWNER)));
}

async fn adds_are_answered_before_updates(store: Store) {
    let (one, two) = (id(&store.add("a").await), id(&store.add("a").await));
    let update =
        json!({"updates": [{"id": two, "data": "2"}, {"id": one, "data": "1"}], "adds": [{"group": "b", "data": "3"}]});
    let told = store.updated(update).await;
    let data: Vec<&str> = told.iter().map(|task| task["data"].as_str().unwrap()).collect();
    assert_eq!(data, ["3", "2", "1"]);
    assert!(told.iter().all(|task| id(task) > two && task["ownerid"] == json!(OWNER)), "{told:?}");
    for task in told {
        assert_eq!(store.get(&format!("/task/{}", id(&task))).await, task);
    }
}

/// The original makes two tasks of the first, and the second comes back to life.
async fn a_task_changed_twice_in_one_update_is_a_bug(store: Store) {
    let task = id(&store.add("a").await);
    for update in
        [json!({"updates": [{"id": task}, {"id": task}]}), json!({"updates": [{"id": task}], "deletes": [task]})]
    {
        let told = store.failed(update).await;
        assert_eq!(told["bugs"].as_array().unwrap().len(), 1, "{told}");
        assert!(told["bugs"][0].as_str().unwrap().starts_with("task 1 is updated "), "{told}");
    }
    assert_eq!(ids(&store.all("a").await), [task]);
    let told = store.failed(json!({"updates": [{"id": 9}], "deletes": [9]})).await;
    assert_eq!((&told["changes"], &told["deletes"]), (&json!([9]), &json!([9])), "missing is reported too");
}

async fn an_empty_update_is_a_bug(store: Store) {
    let task = id(&store.add("a").await);
    for update in [json!({}), json!({"depends": [task]}), json!({"adds": [], "updates": null})] {
        let told = store.failed(update).await;
        assert!(told["bugs"][0].as_str().unwrap().contains("empty"), "{told}");
    }
    assert_eq!(store.failed(json!({"depends": [5]})).await["depends"], json!([5]), "all of it is reported");
}

async fn an_addition_without_a_group_is_a_bug(store: Store) {
    for update in
        [json!({"adds": [{"group": "a"}, {"data": "x"}]}), json!({"updates": [{"id": 0}]}), json!({"adds": [null]})]
    {
        let told = store.failed(update).await;
        assert!(told["bugs"][0].as_str().unwrap().contains("without a group"), "{told}");
    }
    assert_eq!(store.get("/groups").await, json!([]));
}

async fn deleting_one_task_twice_in_one_update_deletes_it_once(store: Store) {
    let task = id(&store.add("a").await);
    assert!(store.updated(json!({"deletes": [task, task]})).await.is_empty());
}

async fn data_comes_back_unchanged(store: Store) {
    let texts = ["", "ä\u{0}\n\"\\", "\u{10ffff}", &"x".repeat(4_096)];
    for text in texts {
        let added = store.updated(json!({"adds": [{"group": "a", "data": text}]})).await;
        assert_eq!((&added[0]["data"], added[0].get("data_encoding")), (&json!(text), None));
        assert_eq!(store.get(&format!("/task/{}", id(&added[0]))).await["data"], text);
    }
    let added = store.updated(json!({"adds": [{"group": "a", "data": "/wD+", "data_encoding": "base64"}]})).await;
    let read = store.get(&format!("/task/{}", id(&added[0]))).await;
    assert_eq!(read, added[0]);
    assert_eq!((&read["data"], &read["data_encoding"]), (&json!("/wD+"), &json!("base64")));
    // What is UTF-8 after all is written as text.
    let added = store.updated(json!({"adds": [{"group": "a", "data": "aGk=", "data_encoding": "base64"}]})).await;
    assert_eq!((&added[0]["data"], added[0].get("data_encoding")), (&json!("hi"), None));
}

/// A store that can be closed.
#[derive(Debug)]
struct Closable {
    boards: ModelEngine,
    is_closed: AtomicBool,
}

impl Closable {
    fn check(&self) -> Result<()> {
        if self.is_closed.load(Ordering::SeqCst) { Err(Error::unavailable("it is closed")) } else { Ok(()) }
    }
}

#[async_trait]
impl Boards for Closable {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        self.check()?;
        self.boards.commit(commit).await
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        self.check()?;
        self.boards.take(take).await
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: std::time::Duration) {
        self.boards.wait(board, group, seen, timeout).await;
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        self.boards.get(board, revisions).await
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        self.boards.list(list).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        self.boards.groups(board, after, limit).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        self.boards.boards(after, limit).await
    }
}

/// Item 13.
#[tokio::test]
async fn a_closed_store_refuses_every_change_and_keeps_what_it_has() {
    let closable = Arc::new(Closable { boards: ModelEngine::with_system_clock(), is_closed: AtomicBool::new(false) });
    let store = Store::over(Arc::<Closable>::clone(&closable)).await;
    let task = store.add("a").await;
    closable.is_closed.store(true, Ordering::SeqCst);
    for (path, body) in [
        ("/update", json!({"adds": [{"group": "a"}]})),
        ("/update", json!({"updates": [{"id": 1}]})),
        ("/update", json!({"deletes": [1]})),
        ("/claim", json!({"group": "a", "duration": 5})),
    ] {
        let answer = store.send(store.posting(path).body(body.to_string())).await;
        assert_eq!(answer.status.as_u16(), 503, "{answer:?}");
        assert!(answer.text.contains("it is closed"), "{answer:?}");
    }
    assert_eq!(store.all("a").await, [task]);
}
