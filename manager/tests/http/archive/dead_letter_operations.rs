//! Operations on dead letters: carried on, cancelled, harmless whatever they hold; and the archive they need.

use std::{sync::Arc, time::Duration};

use jobbers_archive::{Archive, NewOperation, Options, Selection};
use jobbers_common::{
    engine::{DeadTask, Duties, DutyClaim, Engine, Letters},
    payload::Payload,
    time::Timestamp,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    archive::dead_letters::{Bench, bench, config},
    server::{Answer, Server},
};

fn nested(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

#[tokio::test]
async fn a_patch_nests_no_deeper_than_parameters_may() {
    let bench = bench().await;
    bench.fail("a", "x", "boom").await;
    bench.archived(1).await;
    let body = |depth| format!(r#"{{"ids": ["a"], "parameters": {}}}"#, nested(depth));
    for deep in [65, 200, 100_000] {
        let answer = bench.post("/dead-letter-queue/resubmit", body(deep)).await;
        assert_eq!(answer.refused(422, "json_too_deep")["pointer"], "/parameters");
    }
    bench.post("/dead-letter-queue/resubmit?wait=10s", body(64)).await.expect(200);
    assert!(bench.get("/tasks/a").await.text.contains(&nested(64)[..200]));
}

/// An archive that is not open yet, with dead letters and an operation that sends them as `request` says.
fn archive_with_operation(folder: &TempDir, dead: &[DeadTask], request: &str) -> String {
    let archive = Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap();
    archive.put(dead).unwrap();
    let selection = Selection::Tasks(dead.iter().map(|dead| dead.task.id.clone()).collect());
    let new = NewOperation { key: None, digest: 0, request: request.to_owned(), selection };
    archive.begin(&new, Timestamp::from_micros(1)).unwrap().id
}

/// A store whose outbox has been emptied into what is answered.
async fn failed_before(ids: &[&str]) -> (Arc<ModelEngine>, Vec<DeadTask>) {
    let engine = Arc::new(ModelEngine::with_system_clock());
    let server = Server::with(Arc::clone(&engine) as Arc<dyn Engine>, Config::default()).await;
    let bench = Bench { server, folder: tempfile::tempdir().unwrap() };
    for id in ids {
        bench.fail(id, "x", "boom").await;
    }
    bench.server.stop().await;
    let dead = engine.dead_letters(0, 100).await.unwrap().copies;
    engine.forget_dead_letters(&dead.iter().map(DeadTask::key).collect::<Vec<_>>()).await.unwrap();
    (engine, dead)
}

#[tokio::test]
async fn a_stored_patch_that_is_too_deep_harms_nobody() {
    let (engine, dead) = failed_before(&["a"]).await;
    let folder = tempfile::tempdir().unwrap();
    let request = format!(r#"{{"reset_retry_count": true, "parameters": {}}}"#, nested(100_000));
    let id = archive_with_operation(&folder, &dead, &request);
    let server = Server::with(engine, config(&folder)).await;
    let bench = Bench { server, folder };
    let path = format!("/dead-letter-queue/operations/{id}?wait=5s");
    let done = bench.until(&path, |answer| answer.status == 200 && answer.json()["state"] == "done").await;
    assert_eq!(done["outcomes"], json!({"bad_parameters": 1}));
    bench.archived(1).await;
}

#[tokio::test]
async fn an_operation_that_would_last_for_ever_is_cancelled_and_frees_its_letters() {
    let (engine, dead) = failed_before(&["a", "b", "c"]).await;
    let folder = tempfile::tempdir().unwrap();
    let id = archive_with_operation(&folder, &dead, r#"{"reset_retry_count": true, "rate": 1e-300}"#);
    let server = Server::with(engine, config(&folder)).await;
    let bench = Bench { server, folder };
    let path = format!("/dead-letter-queue/operations/{id}");
    bench.until(&path, |answer| answer.status == 200 && answer.json()["resubmitted"] == 1).await;
    let cancelled = bench.delete(&path).await;
    assert!(matches!(cancelled.status.as_u16(), 200 | 202), "{}", cancelled.text);
    let over = bench.until(&path, |answer| answer.json()["state"] == "cancelled").await;
    assert_eq!(over["outcomes"], json!({"resubmitted": 1, "cancelled": 2}));
    assert_eq!(bench.delete(&path).await.expect(200), over, "twice is no error");
    bench.delete("/dead-letter-queue/operations/nothing").await.refused(404, "unknown_operation");
    assert_eq!(bench.resubmit(json!({"all": true})).await.expect(200)["resubmitted"], 2);
    assert_eq!(bench.claim("default", 9).await.len(), 3);
}

#[tokio::test]
async fn operations_are_listed_the_latest_first() {
    let bench = bench().await;
    assert_eq!(bench.get("/dead-letter-queue/operations").await.expect(200), json!({"operations": []}));
    for task in ["a", "b", "c", "d"] {
        bench.fail(task, "x", "boom").await;
    }
    bench.archived(4).await;
    let mut begun = Vec::new();
    for task in ["a", "b"] {
        let done = bench.resubmit(json!({"ids": [task]})).await.expect(200);
        begun.insert(0, done["id"].clone());
    }
    // One that goes on: its second task waits for more than a quarter of an hour.
    let slow = json!({"ids": ["c", "d"], "rate": 0.001});
    begun.insert(0, bench.post("/dead-letter-queue/resubmit?wait=0", slow).await.expect(202)["id"].clone());

    let ids = async |query: &str| -> Vec<Value> {
        let page = bench.get(&format!("/dead-letter-queue/operations?{query}")).await.expect(200);
        page["operations"].as_array().unwrap().iter().map(|operation| operation["id"].clone()).collect()
    };
    assert_eq!(ids("").await, begun);
    assert_eq!((ids("state=done").await, ids("state=running").await), (begun[1..].to_vec(), begun[..1].to_vec()));
    assert!(ids("state=cancelled").await.is_empty());
    let first = bench.get("/dead-letter-queue/operations?limit=2").await.expect(200);
    let next = first["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&format!("limit=2&cursor={next}")).await, begun[2..]);
    // Each as it is shown alone, except its tasks.
    let listed = &first["operations"][1];
    let mut alone =
        bench.get(&format!("/dead-letter-queue/operations/{}", begun[1].as_str().unwrap())).await.expect(200);
    assert_eq!(alone.as_object_mut().unwrap().remove("tasks").unwrap()[0]["id"], "b");
    assert_eq!(*listed, alone);
    for query in ["limit=0", "limit=1001", "state=lost", "cursor=garbage"] {
        bench.get(&format!("/dead-letter-queue/operations?{query}")).await.refused(400, "invalid_parameter");
    }
    bench.delete(&format!("/dead-letter-queue/operations/{}", begun[0].as_str().unwrap())).await;
    bench.until("/dead-letter-queue/operations?state=cancelled", |answer| answer.text.contains("cancelled\"")).await;
}

#[tokio::test]
async fn an_operation_nobody_can_read_is_cancelled_too() {
    let (engine, dead) = failed_before(&["a"]).await;
    let folder = tempfile::tempdir().unwrap();
    let id = archive_with_operation(&folder, &dead, "no order at all");
    let server = Server::with(engine, config(&folder)).await;
    let bench = Bench { server, folder };
    let path = format!("/dead-letter-queue/operations/{id}");
    bench.until(&path, |answer| answer.status == 200).await;
    bench.delete(&path).await;
    bench.until(&path, |answer| answer.json()["state"] == "cancelled").await;
    bench.archived(1).await;
}

#[tokio::test]
async fn a_keeper_with_another_archive_is_told_of() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let warnings = async |server: &Server| -> Vec<String> {
        let ready = server.get("/health/ready").await.expect(200);
        let warnings = ready["warnings"].as_array().into_iter().flatten();
        warnings.filter_map(Value::as_str).filter(|it| it.contains("another archive")).map(str::to_owned).collect()
    };
    let keeper_in = async |folder: &TempDir| {
        let server = Server::with(Arc::clone(&engine), config(folder)).await;
        // Answered by who keeps the archive.
        server.get("/dead-letter-queue").await.expect(200);
        server
    };
    let first = keeper_in(&one).await;
    assert!(warnings(&first).await.is_empty());
    let url = format!("http://{}", first.address);
    first.stop().await;
    let again = keeper_in(&one).await;
    assert!(warnings(&again).await.is_empty(), "the same file goes on");
    again.stop().await;
    for _ in 0..2 {
        let second = keeper_in(&other).await;
        let told = warnings(&second).await;
        assert_eq!(told.len(), 1, "also after a restart: {told:?}");
        assert!(!told[0].contains(&url) && told[0].contains("http://127.0.0.1:"), "by whom it was kept last: {told:?}");
        second.stop().await;
    }
}

#[tokio::test]
async fn nobody_is_sent_to_where_it_came_from() {
    let engine = Arc::new(ModelEngine::with_system_clock());
    let predecessor = DutyClaim {
        duty: "dead-letters".parse().unwrap(),
        holder: "dead".parse().unwrap(),
        note: r#"{"url": "http://127.0.0.1:1/", "archive": "x"}"#.to_owned(),
        ttl: Duration::from_secs(3_600),
    };
    engine.claim_duty(predecessor).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let same = Config { advertise_url: "http://127.0.0.1:1".to_owned(), ..config(&folder) };
    let server = Server::with(engine, same).await;
    let bench = Bench { server, folder };
    // Until it has looked up the keeper of the archive, it reports that no manager keeps it.
    let says_why = |answer: &Answer| answer.text.contains("where this one is");
    bench.until("/dead-letter-queue", says_why).await;
    let answer = bench.get("/dead-letter-queue").await;
    answer.refused(503, "archive_unavailable");
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_full_archive_makes_room_by_what_it_may_delete() {
    let (engine, dead) = failed_before(&["old"]).await;
    let folder = tempfile::tempdir().unwrap();
    let mut old = dead[0].clone();
    old.task.completed_at = Some(Timestamp::from_micros(1));
    old.task.parameters = Some(Payload::json(vec![b'7'; 600_000]));
    let archive = Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap();
    archive.put(&[old]).unwrap();
    drop(archive);
    let server = Server::with(Arc::clone(&engine) as Arc<dyn Engine>, Config::default()).await;
    let bench = Bench { server, folder };
    bench.fail("new", "x", "boom").await;
    let Bench { server, folder } = bench;
    server.stop().await;
    let full = Config { dlq_max_bytes: 400_000, dlq_retention: Duration::from_secs(3_600), ..config(&folder) };
    let server = Server::with(engine, full).await;
    let bench = Bench { server, folder };
    let letters = bench.archived(1).await;
    assert_eq!(letters[0]["id"], "new");
}

#[tokio::test]
async fn a_preview_of_a_deletion_counts_what_the_deletion_does() {
    let bench = bench().await;
    bench.fail("a", "x", "boom").await;
    bench.archived(1).await;
    bench.resubmit(json!({"ids": ["a"]})).await.expect(200);
    bench.fail_again("again").await;
    bench.archived(1).await;
    let delete = |body: Value| bench.send(bench.json(Method::DELETE, "/dead-letter-queue", body));
    let dry = delete(json!({"ids": ["a", "nobody"], "dry_run": true})).await.expect(200);
    assert_eq!((&dry["matched"], &dry["changed"]), (&json!(2), &json!(2)), "all letters of the task");
    assert_eq!(delete(json!({"ids": ["a", "nobody"]})).await.expect(200)["changed"], 2);
}

#[tokio::test]
async fn a_request_sent_twice_under_one_key_is_one_operation() {
    let bench = bench().await;
    bench.fail("a", "resize", "boom").await;
    bench.archived(1).await;
    let send = |body: Value| {
        let path = "/dead-letter-queue/resubmit?wait=10s";
        bench.send(bench.json(Method::POST, path, body).header("idempotency-key", "k1"))
    };
    let first = send(json!({"name": "resize"})).await.expect(200);
    assert_eq!(send(json!({"name": "resize"})).await.expect(200), first);
    send(json!({"name": "other"})).await.refused(409, "idempotency_key_reused");
    assert_eq!(bench.claim("default", 9).await.len(), 1);
}

#[tokio::test]
async fn an_unfinished_operation_is_carried_on_by_the_next_manager() {
    let first = bench().await;
    for n in 0..8 {
        first.fail(&format!("t{n}"), "x", "boom").await;
    }
    first.archived(8).await;
    // So slow that it is not done before the manager stops.
    let body = json!({"all": true, "rate": 4});
    let begun = first.post("/dead-letter-queue/resubmit?wait=0s", body).await.expect(202);
    assert_eq!((&begun["state"], &begun["total"]), (&json!("running"), &json!(8)));
    let engine = Arc::clone(&first.engine);
    let Bench { server, folder } = first;
    server.stop().await;
    let second = Bench { server: Server::with(engine, config(&folder)).await, folder };
    let path = format!("/dead-letter-queue/operations/{}?wait=5s", begun["id"].as_str().unwrap());
    let done = second.until(&path, |answer| answer.status == 200 && answer.json()["state"] == "done").await;
    assert_eq!((&done["resubmitted"], &done["pending"]), (&json!(8), &json!(0)));
    assert_eq!(second.claim("default", 100).await.len(), 8);
}

#[tokio::test]
async fn a_wait_that_ends_first_answers_with_the_numbers_of_its_end() {
    let bench = bench().await;
    for n in 0..12 {
        bench.fail(&format!("t{n}"), "x", "boom").await;
    }
    bench.archived(12).await;
    // Four a second, so that some are sent while the wait lasts, and not all.
    let body = json!({"all": true, "rate": 4});
    let begun = bench.post("/dead-letter-queue/resubmit?wait=0s", body).await.expect(202);
    let path = format!("/dead-letter-queue/operations/{}", begun["id"].as_str().unwrap());
    let sent =
        async |wait: &str| bench.get(&format!("{path}?wait={wait}")).await.expect(200)["resubmitted"].as_u64().unwrap();
    let (before, after) = (sent("0s").await, sent("1s").await);
    assert!(after >= before + 2, "{before} and then {after}");
}
