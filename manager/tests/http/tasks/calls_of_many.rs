//! Calls that name many tasks: a bad entry is answered by itself, and its neighbours fare as they would without it.
//!
//! These are all calls of many that are not one step. All or nothing, as documented, are `POST /tasks`, `POST /workflows`,
//! `POST /dependencies`, and the commits of boards.

use serde_json::{Value, json};

use crate::{archive::dead_letters::bench, server::Server};

/// What can't be the id of a task, or is the id of none.
fn bad_ids() -> Vec<Value> {
    vec![
        json!(""),
        json!("a b"),
        json!("x".repeat(5_000)),
        json!("none"),
        json!(5),
        json!(null),
        json!({"id": "a"}),
        json!([]),
    ]
}

/// `good` with `bad` at a place.
fn with(good: &[Value], bad: &Value, place: usize) -> Vec<Value> {
    let mut all = good.to_vec();
    all.insert(place, bad.clone());
    all
}

async fn submit(server: &Server, ids: &[&str]) {
    for id in ids {
        server.post("/tasks", json!({"id": id, "name": "t", "max_retries": 0})).await.expect(201);
    }
}

/// Submits tasks and leases them.
async fn leased(server: &Server, ids: &[&str]) -> Vec<Value> {
    submit(server, ids).await;
    let claim = json!({"worker": "w", "queues": ["default"], "limit": ids.len(), "lease": "60s"});
    let leases = server.post("/leases", claim).await.expect(200)["leases"].clone();
    let named = leases.as_array().unwrap().iter().map(|lease| json!({"id": lease["id"], "token": lease["token"]}));
    let named: Vec<Value> = named.collect();
    assert_eq!(named.len(), ids.len());
    named
}

fn and(lease: &Value, more: &Value) -> Value {
    let mut entry = lease.clone();
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

/// Entries that make no sense, with the code of their refusal; `more` makes a sensible entry of a lease.
fn bad_entries(lease: &Value, more: &Value, wrong: &[(Value, &'static str)]) -> Vec<(Value, &'static str)> {
    let mut entries = vec![
        (json!(null), "invalid_request"),
        (json!([]), "invalid_request"),
        (json!({}), "invalid_request"),
        (and(&json!({"id": "a b", "token": "1"}), more), "invalid_request"),
        (and(&json!({"id": 5, "token": "1"}), more), "invalid_request"),
        (and(&json!({"id": "none"}), more), "invalid_request"),
        (and(&json!({"id": "none", "token": "1", "nonsense": 1}), more), "invalid_request"),
        (and(&json!({"id": "none", "token": "1"}), more), "lease_lost"),
    ];
    entries.extend(wrong.iter().map(|(wrong, code)| (and(&and(lease, more), wrong), *code)));
    entries
}

#[tokio::test]
async fn a_bad_entry_keeps_no_other_from_being_returned() {
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    let wrong = [
        (json!({"outcome": "finished"}), "invalid_request"),
        (json!({"error": {"kind": "a\u{1b}b"}}), "invalid_request"),
        (json!({"error": {"kind": "x".repeat(300)}}), "invalid_request"),
        (json!({"error": "text"}), "invalid_request"),
        (json!({"delay": "1s"}), "invalid_request"),
        (json!({"outcome": "released", "delay": "400d", "error": null}), "invalid_request"),
        (json!({"outcome": "completed", "error": null, "result": "x".repeat(300_000)}), "payload_too_large"),
        (json!({"outcome": "completed", "error": null, "result": deep}), "json_too_deep"),
        (
            json!({"outcome": "completed", "error": null, "result": "§", "result_content_type": "a/b"}),
            "invalid_request",
        ),
    ];
    let failed = json!({"outcome": "failed", "error": {"message": "m", "kind": "App\\Exceptions\\NotFound"}});
    for at in 0..17 {
        let server = Server::start().await;
        let leases = leased(&server, &["a", "b", "c"]).await;
        let (bad, code) = bad_entries(&leases[2], &failed, &wrong)[at].clone();
        let good: Vec<Value> = leases[..2].iter().map(|lease| and(lease, &failed)).collect();
        let place = at % 3;
        let body = json!({"worker": "w", "leases": with(&good, &bad, place)});
        let mut answers = server.post("/leases/return", &body).await.expect(200)["leases"].as_array().unwrap().clone();
        let refused = answers.remove(place);
        assert_eq!((&refused["accepted"], &refused["code"]), (&json!(false), &json!(code)), "{bad}");
        if code != "lease_lost" {
            let pointer = refused["pointer"].as_str().unwrap();
            assert!(pointer.starts_with(&format!("/leases/{place}")), "{bad}: {pointer}");
        }
        for (id, answer) in ["a", "b"].iter().zip(answers) {
            assert_eq!((&answer["id"], &answer["status"]), (&json!(id), &json!("failed")), "{bad}");
            let task = server.get(&format!("/tasks/{id}")).await.expect(200);
            assert_eq!(task["errors"][0]["error_kind"], "App\\Exceptions\\NotFound", "{task}");
        }
        // The third is still leased, and is returned once the entry is right.
        let again = json!({"worker": "w", "leases": [and(&leases[2], &failed)]});
        assert_eq!(server.post("/leases/return", &again).await.expect(200)["leases"][0]["accepted"], true, "{bad}");
    }
}

#[tokio::test]
async fn a_task_that_is_returned_twice_in_one_call_is_settled_by_the_first() {
    let server = Server::start().await;
    let leases = leased(&server, &["a", "b"]).await;
    let completed = |lease: &Value, n: u64| and(lease, &json!({"outcome": "completed", "result": n}));
    let body = json!({"worker": "w", "leases":
        [completed(&leases[0], 1), completed(&leases[0], 2), completed(&leases[1], 3)]});
    let answer = server.post("/leases/return", &body).await.expect(200);
    let accepted: Vec<&Value> = answer["leases"].as_array().unwrap().iter().map(|lease| &lease["accepted"]).collect();
    assert_eq!(accepted, [&json!(true), &json!(false), &json!(true)]);
    assert_eq!(answer["leases"][1]["code"], "invalid_request");
    assert_eq!(server.get("/tasks/a").await.expect(200)["result"], 1);
}

#[tokio::test]
async fn a_bad_entry_keeps_no_other_from_being_extended() {
    let wrong = [
        (json!({"progress": {"fraction": 2}}), "invalid_request"),
        (json!({"progress": {"fraction": 0, "message": "x".repeat(2_000)}}), "invalid_request"),
        (json!({"progress": 5}), "invalid_request"),
        (json!({"heartbeat": "yes"}), "invalid_request"),
        (json!({"checkpoint": "x".repeat(300_000)}), "payload_too_large"),
        (json!({"checkpoint": "§", "checkpoint_content_type": "a/b"}), "invalid_request"),
    ];
    let news = json!({"progress": {"fraction": 0.5, "message": "half"}, "checkpoint": {"page": 3}});
    let server = Server::start().await;
    let leases = leased(&server, &["a", "b", "c"]).await;
    let good: Vec<Value> = leases[..2].iter().map(|lease| and(lease, &news)).collect();
    for (at, (bad, code)) in bad_entries(&leases[2], &json!({}), &wrong).into_iter().enumerate() {
        let place = at % 3;
        let body = json!({"worker": "w", "leases": with(&good, &bad, place)});
        let mut answers = server.post("/leases/extend", &body).await.expect(200)["leases"].as_array().unwrap().clone();
        let refused = answers.remove(place);
        assert_eq!((&refused["extended"], &refused["code"]), (&json!(false), &json!(code)), "{bad}");
        assert!(answers.iter().all(|answer| answer["extended"] == true), "{bad}: {answers:?}");
    }
    assert_eq!(server.get("/tasks/b").await.expect(200)["progress"]["message"], "half");
}

#[tokio::test]
async fn a_bad_id_keeps_no_other_task_from_being_cancelled_deleted_or_looked_up() {
    for (at, bad) in bad_ids().into_iter().enumerate() {
        let server = Server::start().await;
        submit(&server, &["a", "b"]).await;
        let ids = with(&[json!("a"), json!("b")], &bad, at % 3);
        let looked = server.post("/tasks/statuses", json!({"ids": ids})).await.expect(200);
        assert_eq!(
            (&looked["count"]["submitted"], &looked["tasks"][at % 3]["status"]),
            (&json!(2), &Value::Null),
            "{bad}"
        );
        let cancelled = server.post("/tasks/cancel", json!({"ids": ids})).await.expect(200);
        assert_eq!((&cancelled["cancelled"], &cancelled["unknown"]), (&json!(2), &json!(1)), "{bad}");
        assert_eq!(cancelled["tasks"][at % 3]["outcome"], "unknown", "{bad}");
        let deleted = server.post("/tasks/delete", json!({"ids": ids})).await.expect(200);
        assert_eq!((&deleted["deleted"], &deleted["unknown"]), (&json!(2), &json!(1)), "{bad}");
        assert!(deleted.to_string().len() < 1_000, "what is no id is not repeated whole");
    }
}

#[tokio::test]
async fn a_queue_that_does_not_exist_keeps_no_other_from_being_counted() {
    let server = Server::start().await;
    submit(&server, &["a", "b"]).await;
    for bad in [json!("nowhere"), json!("a b"), json!(7)] {
        let counted = server.post("/tasks/statuses", json!({"queues": [bad, "default"]})).await.expect(200);
        assert_eq!((&counted["queues"][0]["exists"], &counted["queues"][0]["total"]), (&json!(false), &json!(0)));
        assert_eq!(
            (&counted["queues"][1]["exists"], &counted["queues"][1]["total"]),
            (&json!(true), &json!(2)),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_bad_id_keeps_no_other_dead_letter_from_being_sent_again_or_deleted() {
    for (at, bad) in bad_ids().into_iter().chain([json!("a")]).enumerate() {
        let bench = bench().await;
        for id in ["a", "b"] {
            bench.fail(id, "t", "no").await;
        }
        bench.archived(2).await;
        let ids = with(&[json!("a"), json!("b")], &bad, at % 3);
        assert_eq!(bench.resubmit(json!({"ids": ids})).await.expect(200)["resubmitted"], 2, "{bad}");
        let delete = bench.json(reqwest::Method::DELETE, "/dead-letter-queue", json!({"ids": ids}));
        assert_eq!(bench.send(delete).await.expect(200)["changed"], 2, "{bad}");
    }
}
