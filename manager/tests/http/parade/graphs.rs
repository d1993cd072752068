//! Dependencies, insertion, replacement, deletion and monitoring.

use std::collections::BTreeSet;

use super::*;

pub(super) async fn a_successor_runs_after_a_completed_and_an_aborted_predecessor(lake: Lake) {
    lake.insert(vec![task("good", "frob"), task("bad", "frob"), after("next", "broz", &["good", "bad"])]).await;
    for owned in lake.own("foo", 2, &["frob"]).await {
        assert!(lake.own("foo", 1, &["broz"]).await.is_empty());
        lake.finish(&owned, if owned["id"] == "good" { "completed" } else { "aborted" }).await;
    }
    assert_eq!(lake.own_one("foo", "broz").await["id"], "next");
    let told = lake.server.post("/tasks/statuses", json!({"ids": ["good", "bad"]})).await.expect(200);
    assert_eq!(told["count"], json!({"completed": 1, "aborted": 1}), "one failure");
}

pub(super) async fn an_abort_goes_on_to_all_successors_unless_they_say_otherwise(lake: Lake) {
    let strict = |id: &str, on: &str| task_with(id, "broz", &json!({"depends_on": [on]}));
    lake.insert(vec![
        task("a", "frob"),
        strict("b", "a"),
        strict("c", "b"),
        after("counts", "broz", &["c"]),
        task_with("handler", "broz", &json!({"depends_on": [{"id": "a", "policy": "run_on_error"}]})),
    ])
    .await;
    let owned = lake.own_one("foo", "frob").await;
    assert_eq!(lake.finish(&owned, "aborted").await, "aborted");
    assert_eq!((lake.status("b").await, lake.status("c").await), ("aborted".into(), "aborted".into()));
    assert_eq!(ids(&lake.own("foo", 9, &["broz"]).await), ["counts", "handler"]);
}

pub(super) async fn no_task_is_owned_before_its_divisors(lake: Lake) {
    let divisors = |n: usize| (1..=n / 2).filter(move |d| n.is_multiple_of(*d));
    let id = |n: usize| format!("number-{n}");
    let number = |n: usize| {
        let on: Vec<String> = divisors(n).map(id).collect();
        let mut task = after(&id(n), "frob", &on.iter().map(String::as_str).collect::<Vec<_>>());
        task["parameters"] = json!(n);
        task
    };
    lake.insert((1..=63).map(number).collect()).await;
    let mut done = BTreeSet::new();
    loop {
        let owned = lake.own("foo", 17, &["frob"]).await;
        if owned.is_empty() {
            break;
        }
        for owned in owned {
            let n = usize::try_from(owned["parameters"].as_u64().unwrap()).unwrap();
            assert!(divisors(n).all(|d| done.contains(&d)), "{n} after {done:?}");
            assert_eq!(lake.finish(&owned, "completed").await, "completed");
            assert!(done.insert(n), "{n} ran twice");
        }
    }
    assert_eq!(done.len(), 63);
}

pub(super) async fn deletions_go_on_to_what_waited_only_for_them(lake: Lake) {
    let dep = |id: &str, on: &[&str]| after(id, "frob", on);
    lake.insert(vec![
        task("a0", "frob"),
        dep("a1", &["a0"]),
        dep("a2", &["a1"]),
        dep("a3", &["a0", "a2"]),
        task("b0", "frob"),
        task("b1", "frob"),
        dep("b2", &["b0", "b1"]),
        task("c0", "frob"),
        dep("c1", &["c0"]),
        dep("c2", &["c0"]),
        dep("c3", &["c1"]),
        dep("c4", &["c1", "c2"]),
        dep("c5", &["c2", "c3"]),
        dep("c6", &["c3"]),
    ])
    .await;
    for (deleted, all, left) in [
        ("a0", &["a0", "a1", "a2", "a3"][..], &[][..]),
        ("b0", &["b0", "b1", "b2"], &["b1", "b2"]),
        ("c0", &["c0", "c1", "c2", "c3", "c4", "c5", "c6"], &[]),
    ] {
        let answer = lake.server.post("/tasks/delete", json!({"ids": [deleted, "none"]})).await.expect(200);
        let outcomes = [("deleted", 1), ("running", 0), ("unknown", 1)];
        outcomes.iter().for_each(|(outcome, count)| assert_eq!(answer[outcome], *count, "{answer}"));
        assert_eq!(lake.left(all).await, left, "{deleted}");
    }
    assert_eq!(lake.task("b2").await["dependencies"]["total"], 1);

    lake.insert(vec![task("d0", "broz"), task("d1", "broz"), dep("d2", &["d0", "d1"])]).await;
    let owned = lake.own_one("foo", "broz").await;
    let answer = lake.server.post("/tasks/delete", json!({"ids": [owned["id"]]})).await.expect(200);
    assert_eq!(answer["tasks"][0]["outcome"], "running", "it stays");
    lake.finish(&owned, "completed").await;
    lake.server.post("/tasks/delete", json!({"ids": [owned["id"]]})).await.expect(200);
    assert_eq!(lake.status("d2").await, "waiting", "one of two is left");
    let other = if owned["id"] == "d0" { "d1" } else { "d0" };
    lake.server.post("/tasks/delete", json!({"ids": [other]})).await.expect(200);
    assert_eq!(lake.left(&["d0", "d1", "d2"]).await, [""; 0], "what is left of its dependencies was signalled");
}

pub(super) async fn a_wide_fan_in_through_shards_is_done_once(lake: Lake) {
    const SHARDS: usize = 20;
    const EACH: usize = 100;
    let part = |n: usize| format!("in:{n:05}");
    let shard = |n: usize| format!("shard:{n:02}");
    for n in 0..SHARDS {
        let mut batch: Vec<Value> = (0..EACH).map(|i| task(&part(n * EACH + i), "frob")).collect();
        let on: Vec<String> = (0..EACH).map(|i| part(n * EACH + i)).collect();
        batch.push(after(&shard(n), "broz", &on.iter().map(String::as_str).collect::<Vec<_>>()));
        lake.insert(batch).await;
    }
    let on: Vec<String> = (0..SHARDS).map(shard).collect();
    lake.insert(vec![after("done", "done", &on.iter().map(String::as_str).collect::<Vec<_>>())]).await;
    let mut ended = BTreeMap::new();
    loop {
        let owned = lake.own("foo", 300, &["frob", "broz", "done"]).await;
        if owned.is_empty() {
            break;
        }
        let answers =
            lake.lease_call("return", &owned.iter().collect::<Vec<_>>(), &json!({"outcome": "completed"})).await;
        assert!(answers.iter().all(|answer| answer["status"] == "completed"));
        owned.iter().for_each(|it| *ended.entry(it["queue"].as_str().unwrap().to_owned()).or_insert(0) += 1);
    }
    let expected = [("broz", SHARDS), ("done", 1), ("frob", SHARDS * EACH)];
    assert_eq!(ended, BTreeMap::from(expected.map(|(action, count)| (action.to_owned(), count))));
}

/// The branch export of lakeFS's own document: `done-export` is spontaneous and waits for each copied file, however its copy ended;
/// `next-export` waits for it.
pub(super) async fn a_branch_export_of_5000_files_is_done_once_all_are_copied(lake: Lake) {
    for action in ["copy", "done-export", "next-export"] {
        lake.server.post("/queues", json!({"name": action})).await.expect(201);
    }
    let files: Vec<String> = (0..5_000).map(|n| format!("copy:main/part-{n:05}")).collect();
    for files in files.chunks(1_000) {
        lake.insert(files.iter().map(|id| task(id, "copy")).collect()).await;
    }
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut done = after("done-export-main", "done-export", &all);
    done["spontaneous"] = json!(true);
    lake.insert(vec![done]).await;
    lake.insert(vec![after("next-export-main", "next-export", &["done-export-main"])]).await;
    let mut copied = 0;
    loop {
        let owned = lake.own("copier", 1_000, &["copy"]).await;
        if owned.is_empty() {
            break;
        }
        assert!(lake.own("exporter", 1, &["done-export", "next-export"]).await.is_empty(), "after {copied} copies");
        copied += owned.len();
        let (failed, done) = owned.split_at(1);
        lake.give_back_all(failed, "aborted").await;
        lake.give_back_all(done, "completed").await;
    }
    assert_eq!(copied, files.len());
    // What a step does not signal, the claims that follow do.
    let mut owned = Vec::new();
    for _ in 0..100 {
        owned = lake.own("exporter", 2, &["done-export", "next-export"]).await;
        if !owned.is_empty() {
            break;
        }
    }
    assert_eq!(ids(&owned), ["next-export-main"], "no worker owns a spontaneous task");
    assert_eq!(lake.status("done-export-main").await, "completed");
    assert_eq!(lake.finish(&owned[0], "completed").await, "completed");
}

pub(super) async fn no_dependencies_and_an_empty_list_are_runnable(lake: Lake) {
    lake.insert(vec![task("none", "frob"), task_with("empty", "frob", &json!({"depends_on": []}))]).await;
    assert_eq!(ids(&lake.own("foo", 9, &["frob"]).await), ["empty", "none"]);
}

pub(super) async fn a_dependency_named_twice_is_refused_with_the_whole_batch(lake: Lake) {
    let tasks = json!({"tasks": [task("a", "frob"), after("b", "frob", &["a", "a"])]});
    lake.server.post("/tasks", tasks).await.refused(422, "invalid_request");
    assert_eq!(lake.left(&["a", "b"]).await, [""; 0]);
}

pub(super) async fn a_batch_with_a_taken_id_is_refused_as_a_whole(lake: Lake) {
    lake.insert(vec![task("taken", "frob")]).await;
    let other = json!({"tasks": [task("new", "frob"), task("taken", "broz")]});
    lake.server.post("/tasks", other).await.refused(409, "task_exists");
    assert_eq!(lake.left(&["taken", "new"]).await, ["taken"]);
}

pub(super) async fn a_replacement_replaces_what_waits_and_never_what_runs(lake: Lake) {
    let replace = |parameters: u64| {
        let next = task_with("next-export", "frob", &json!({"parameters": parameters}));
        json!({"tasks": [next], "on_conflict": "replace"})
    };
    for commit in 1..=3 {
        lake.server.post("/tasks", replace(commit)).await.expect(201);
    }
    let owned = lake.own("foo", 9, &["frob"]).await;
    assert_eq!((owned.len(), &owned[0]["parameters"]), (1, &json!(3)));
    lake.server.post("/tasks", replace(4)).await.refused(409, "task_started");
    lake.finish(&owned[0], "completed").await;
    lake.server.post("/tasks", replace(4)).await.expect(201);
    assert_eq!(lake.own_one("foo", "frob").await["parameters"], 4);
}

pub(super) async fn dependencies_are_added_together_and_only_to_what_has_not_started(lake: Lake) {
    lake.insert(vec![task("done-export", "done"), task("next-export", "frob"), task("runs", "broz")]).await;
    let owned = lake.own_one("foo", "broz").await;
    let edges = |edges: &[[&str; 2]]| {
        let edge = |[run, after]: &[&str; 2]| json!({"run": run, "after": after});
        json!({"dependencies": edges.iter().map(edge).collect::<Vec<_>>()})
    };
    let wanted = edges(&[["next-export", "done-export"], ["runs", "done-export"]]);
    let refused = lake.server.post("/dependencies", wanted).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert_eq!(lake.status("next-export").await, "submitted", "none of them");
    lake.finish(&owned, "completed").await;
    lake.server.post("/dependencies", edges(&[["next-export", "done-export"]])).await.expect(200);
    assert!(lake.own("foo", 1, &["frob"]).await.is_empty());
    let done = lake.own_one("foo", "done").await;
    assert_eq!(lake.finish(&done, "completed").await, "completed");
    assert_eq!(lake.own_one("foo", "frob").await["id"], "next-export");
}

pub(super) async fn a_signal_counts_once_however_often_it_is_sent(lake: Lake) {
    lake.insert(vec![task("a", "frob"), task("b", "frob"), after("c", "broz", &["a", "b"])]).await;
    let owned = lake.own("foo", 2, &["frob"]).await;
    for _ in 0..3 {
        assert_eq!(lake.finish(&owned[0], "completed").await, "completed");
    }
    assert_eq!((lake.status("c").await, lake.own("foo", 1, &["broz"]).await.len()), ("waiting".into(), 0));
    for _ in 0..2 {
        assert_eq!(lake.finish(&owned[1], "completed").await, "completed");
    }
    assert_eq!(lake.own("foo", 9, &["broz"]).await.len(), 1, "released once");
}

pub(super) async fn the_monitoring_call_counts_by_action_and_by_id(lake: Lake) {
    lake.insert(vec![
        task("a", "frob"),
        task("b", "frob"),
        after("c", "broz", &["a"]),
        task_with("d", "frob", &json!({"delay": "1h"})),
    ])
    .await;
    let owned = lake.own_one("foo", "frob").await;
    let ask = |body: Value| async { lake.server.post("/tasks/statuses", body).await.expect(200) };
    let told = ask(json!({"queues": ["frob", "broz", "never"], "ids": ["a", "b", "c", "none"]})).await;
    let queues = json!([
        {"queue": "frob", "exists": true, "tasks": {"scheduled": 1, "submitted": 1, "started": 1}, "total": 3},
        {"queue": "broz", "exists": true, "tasks": {"waiting": 1}, "total": 1},
        {"queue": "never", "exists": true, "tasks": {}, "total": 0},
    ]);
    assert_eq!(told["queues"], queues);
    let other = if owned["id"] == "a" { "b" } else { "a" };
    let status =
        |id: &str| told["tasks"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap()["status"].clone();
    assert_eq!(told["tasks"].as_array().unwrap().len(), 4);
    assert_eq!((status(owned["id"].as_str().unwrap()), status(other)), (json!("started"), json!("submitted")));
    assert_eq!((status("c"), status("none")), (json!("waiting"), Value::Null));
    assert_eq!(told["count"], json!({"started": 1, "submitted": 1, "waiting": 1}));
    let filter = json!({"queues": ["frob"], "ids": ["a", "b", "c", "none"], "status": ["started", "failed"]});
    let told = ask(filter).await;
    assert_eq!(told["queues"], json!([{"queue": "frob", "exists": true, "tasks": {"started": 1}, "total": 1}]));
    assert_eq!(told["tasks"], json!([{"id": owned["id"], "status": "started"}]));
}

/// With every letter that an id may have.
pub(super) async fn the_path_of_a_file_is_an_id_everywhere(lake: Lake) {
    let (file, marks) = ("sales/day=2026-11-26/user@shop/part%200+1.parquet", "=%+@._:/-");
    let path = "/tasks/%3D%25%2B%40._:%2F-";
    lake.insert(vec![task(file, "frob")]).await;
    let answer = lake.server.post("/tasks", after(marks, "broz", &[file])).await;
    assert_eq!(answer.headers["location"], path);
    answer.expect(201);
    let shown = lake.server.get(path).await.expect(200);
    assert_eq!(shown["dependencies"]["waits_for"][0]["id"], file, "{shown}");
    let parents = lake.server.get(&format!("{path}/predecessors")).await.expect(200);
    assert_eq!(parents["predecessors"][0]["id"], file, "{parents}");

    let waiter = format!("{path}?wait=60s");
    let waiting = lake.server.get(&waiter);
    let ending = async {
        for (id, action) in [(file, "frob"), (marks, "broz")] {
            let owned = lake.own_one("foo", action).await;
            assert_eq!(owned["id"], id);
            lake.finish(&owned, "completed").await;
        }
    };
    let (seen, ()) = tokio::join!(waiting, ending);
    assert_eq!(seen.expect(200)["status"], "completed");
    assert_eq!(lake.left(&[file, marks]).await, [file, marks]);
    let deleted = lake.server.post("/tasks/delete", json!({"ids": [file, marks]})).await.expect(200);
    assert_eq!(deleted["deleted"], 2, "{deleted}");
    assert!(lake.left(&[file, marks]).await.is_empty());
}

/// As the document has it: `ToSignal` and `TotalDependencies`, in one `InsertTasks`.
pub(super) async fn a_graph_that_names_successors_is_the_one_that_names_predecessors(lake: Lake) {
    let signals = |id: &str, to: &[&str]| task_with(id, "frob", &json!({"to_signal": to}));
    let last = task_with("last", "broz", &json!({"total_dependencies": 2}));
    let batch = vec![signals("a", &["last"]), last, signals("b", &["last", "last"])];
    lake.insert(batch.clone()).await;
    let again = lake.server.post("/tasks", json!({"tasks": batch})).await.expect(200);
    assert_eq!(again["tasks"].as_array().map(Vec::len), Some(3), "sending it again changes nothing: {again}");
    let other = vec![task("a", "frob"), after("last", "broz", &["a", "b"]), task("b", "frob")];
    lake.server.post("/tasks", json!({"tasks": other})).await.expect(200);

    let waits = |signals| json!({"total": 2, "signals": signals});
    for (signals, end) in [(0, "completed"), (1, "aborted")] {
        let told = lake.task("last").await["dependencies"].clone();
        assert_eq!(json!({"total": told["total"], "signals": told["signals"]}), waits(signals));
        assert!(lake.own("foo", 1, &["broz"]).await.is_empty());
        let owned = lake.own_one("foo", "frob").await;
        lake.finish(&owned, end).await;
    }
    assert_eq!(lake.own_one("foo", "broz").await["id"], "last");

    for (tasks, at) in [
        (vec![signals("c", &["nowhere"])], "/tasks/0/to_signal/0"),
        (
            vec![signals("c", &["d"]), task_with("d", "broz", &json!({"total_dependencies": 2}))],
            "/tasks/1/total_dependencies",
        ),
    ] {
        let refused = lake.server.post("/tasks", json!({"tasks": tasks})).await.refused(422, "invalid_request");
        assert_eq!(refused["pointer"], at, "{refused}");
    }
    assert!(lake.left(&["c", "d"]).await.is_empty());
}
