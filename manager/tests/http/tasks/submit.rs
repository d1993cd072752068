//! `POST /tasks`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn a_task_gets_an_id_and_goes_to_its_queue() {
    let server = Server::start().await;
    let answer = server.post("/tasks", json!({"name": "echo"})).await;
    let task = answer.expect(201);
    assert_eq!((&task["queue"], &task["status"]), (&json!("default"), &json!("submitted")));
    assert_eq!((&task["created"], &task["replaced"]), (&json!(true), &json!(false)));
    let location = answer.headers["location"].to_str().unwrap();
    let stored = server.get(location).await.expect(200);
    assert_eq!(stored["id"], task["id"]);
    assert_eq!((&stored["version"], &stored["priority"], &stored["parameters"]), (&json!(1), &json!(5), &json!({})));
}

#[tokio::test]
async fn everything_that_is_said_is_kept() {
    let server = Server::start().await;
    let said = json!({
        "id": "a/b", "name": "t", "version": 3, "priority": 9, "parameters": [1], "delay": "1h", "max_retries": 7,
        "retry_delay": 2, "backoff": "linear", "max_retry_delay": "5m", "timeout": "90s",
        "max_heartbeat_interval": 0.5, "on_stall": "retry", "on_shutdown": "requeue", "dead_letter": "save",
        "max_crashes": 4, "max_tries": 9, "exhausted": "aborted", "retry_for": "36h", "retry_on": ["busy"], "fatal_on": ["app::Invalid"],
        "expires_in": "2h",
    });
    let request = server.json(Method::POST, "/tasks", &said);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let answer = server.send(request.header("traceparent", trace)).await;
    assert_eq!(answer.expect(201)["status"], "scheduled");
    assert_eq!(answer.headers["location"], "/tasks/a%2Fb");
    let task = server.get("/tasks/a%2Fb").await.expect(200);
    for field in ["id", "name", "version", "priority", "parameters"] {
        assert_eq!(task[field], said[field], "{field}");
    }
    assert_eq!(task["traceparent"], trace);
    let policy = json!({
        "max_retries": 7, "retry_delay": "2s", "backoff": "linear", "max_retry_delay": "5m", "timeout": "90s",
        "max_heartbeat_interval": "500ms", "on_stall": "retry", "on_shutdown": "requeue", "dead_letter": "save",
        "max_crashes": 4, "max_tries": 9, "exhausted": "aborted", "retry_for": "36h", "retry_on": ["busy"], "fatal_on": ["app::Invalid"],
        "expires_in": "2h",
    });
    assert_eq!(task["policy"], policy);
}

#[tokio::test]
async fn numbers_of_any_size_and_the_very_text_come_back() {
    let server = Server::start().await;
    let parameters = r#"{"b":9007199254740993,"a":123456789012345678901234567890.10,"e":1E400,"u":"\u00e4"}"#;
    server.post("/tasks", format!(r#"{{"id":"n","name":"t","parameters":{parameters}}}"#)).await.expect(201);
    let answer = server.get("/tasks/n").await;
    assert!(answer.text.contains(&format!(r#""parameters":{parameters}"#)), "{}", answer.text);
}

#[tokio::test]
async fn null_is_a_value_like_any_other() {
    let server = Server::start().await;
    server.post("/tasks", r#"{"id":"n","name":"t","parameters":null}"#).await.expect(201);
    assert!(server.get("/tasks/n").await.text.contains(r#""parameters":null"#));
}

#[tokio::test]
async fn a_time_that_has_passed_means_at_once() {
    let server = Server::start().await;
    let task = server.post("/tasks", json!({"name": "t", "run_at": "2001-01-01T00:00:00+01:00"})).await.expect(201);
    assert_eq!(task["status"], "submitted");
    let ahead = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let task = server.post("/tasks", json!({"name": "t", "run_at": ahead.to_string()})).await.expect(201);
    assert_eq!(task["status"], "scheduled");
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order() {
    let server = Server::start().await;
    let tasks: Vec<Value> = (0..1_000).map(|n| json!({"id": format!("t{n}"), "name": "t"})).collect();
    let answer = server.post("/tasks", json!({ "tasks": tasks })).await.expect(201);
    let ids: Vec<String> =
        answer["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, (0..1_000).map(|n| format!("t{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_same_task_twice_is_one_task() {
    let server = Server::start().await;
    let body = json!({"id": "x", "name": "t", "parameters": {"n": 1}});
    server.post("/tasks", &body).await.expect(201);
    let again = server.post("/tasks", &body).await.expect(200);
    assert_eq!((&again["id"], &again["created"]), (&json!("x"), &json!(false)));
    let problem = server.post("/tasks", json!({"id": "x", "name": "t"})).await.refused(409, "task_exists");
    assert!(problem["detail"].as_str().unwrap().contains('x'));
}

#[tokio::test]
async fn a_conflict_may_be_skipped_or_replaced_but_not_while_it_runs() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "x", "name": "old"})).await.expect(201);
    let skipped = server.post("/tasks", json!({"id": "x", "name": "new", "on_conflict": "skip"})).await.expect(200);
    assert_eq!(skipped["created"], false);
    let batch = json!({"tasks": [{"id": "x", "name": "new"}], "on_conflict": "replace"});
    let replaced = server.post("/tasks", &batch).await.expect(201);
    assert_eq!(replaced["tasks"][0]["replaced"], true);
    assert_eq!(server.get("/tasks/x").await.expect(200)["name"], "new");
    assert_eq!(server.claim("default", 1).await.len(), 1);
    let batch = json!({"tasks": [{"id": "x", "name": "newer"}], "on_conflict": "replace"});
    server.post("/tasks", &batch).await.refused(409, "task_started");
}

#[tokio::test]
async fn one_conflict_refuses_the_whole_batch() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "x", "name": "t"})).await.expect(201);
    let batch = json!({"tasks": [{"id": "new", "name": "t"}, {"id": "x", "name": "u"}]});
    server.post("/tasks", batch).await.refused(409, "task_exists");
    server.get("/tasks/new").await.refused(404, "unknown_task");
}

async fn with_key(server: &Server, key: &str, body: Value) -> crate::server::Answer {
    server.send(server.json(Method::POST, "/tasks", body).header("idempotency-key", key)).await
}

#[tokio::test]
async fn a_key_makes_a_request_safe_to_repeat() {
    let server = Server::start().await;
    let body = json!({"tasks": [{"name": "a"}, {"name": "b"}, {"id": "mine", "name": "c"}]});
    let first = with_key(&server, "order-7", body.clone()).await.expect(201);
    let again = with_key(&server, "order-7", body.clone()).await.expect(200);
    let ids = |answer: &Value| -> Vec<Value> {
        answer["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!(ids(&first), ids(&again));
    assert_eq!(ids(&first)[2], "mine");
    let other = with_key(&server, "order-8", json!({"tasks": [{"name": "a"}, {"name": "b"}]})).await.expect(201);
    assert_ne!(ids(&first)[0], ids(&other)[0]);
    assert_eq!(server.get("/queues/default").await.expect(200)["accepted"], 5);
}

#[tokio::test]
async fn a_task_with_an_id_of_its_own_is_the_same_under_any_key() {
    let server = Server::start().await;
    let body = json!({"id": "mine", "name": "t"});
    server.post("/tasks", &body).await.expect(201);
    for key in ["first", "second"] {
        assert_eq!(with_key(&server, key, body.clone()).await.expect(200)["created"], false);
    }
    let batch = json!({"tasks": [body, {"id": "other", "name": "t"}]});
    with_key(&server, "third", batch).await.expect(201);
    with_key(&server, "first", json!({"id": "mine", "name": "u"})).await.refused(409, "task_exists");
}

#[tokio::test]
async fn a_key_used_for_another_body_is_refused() {
    let server = Server::start().await;
    with_key(&server, "k", json!({"tasks": [{"name": "a"}, {"name": "b"}]})).await.expect(201);
    for other in [json!({"tasks": [{"name": "a"}]}), json!({"name": "a"}), json!({"tasks": [{"name": "b"}]})] {
        with_key(&server, "k", other).await.refused(409, "idempotency_key_reused");
    }
    // Skipping or replacing would hide that the key came with another body.
    let hidden = json!({"name": "z", "on_conflict": "replace"});
    assert_eq!(with_key(&server, "k", hidden).await.refused(422, "invalid_request")["pointer"], "/on_conflict");
    for bad in ["", "with space", &"x".repeat(256)] {
        with_key(&server, bad, json!({"name": "a"})).await.refused(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn rules_choose_the_queue_and_a_named_queue_wins() {
    let server = Server::start().await;
    for queue in ["a", "b"] {
        server.post("/queues", json!({ "name": queue })).await.expect(201);
    }
    let rule = json!({"name": "t", "route": {"kind": "hash", "parameter": "user", "queues": ["a", "b"]}});
    server.put("/routing", rule).await.expect(200);
    let mut seen = std::collections::BTreeSet::new();
    for user in 0..20 {
        let body = json!({"name": "t", "parameters": {"user": user}});
        let (one, two) =
            (server.post("/tasks", &body).await.expect(201), server.post("/tasks", &body).await.expect(201));
        assert_eq!(one["queue"], two["queue"], "equal values meet in one queue");
        seen.insert(one["queue"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    let named = server.post("/tasks", json!({"name": "t", "queue": "default"})).await.expect(201);
    assert_eq!(named["queue"], "default");
    let single = json!({"name": "t", "version": 2, "route": {"kind": "single", "queue": "b"}});
    server.put("/routing", single).await.expect(200);
    assert_eq!(server.post("/tasks", json!({"name": "t", "version": 2})).await.expect(201)["queue"], "b");
}

#[tokio::test]
async fn a_rule_may_forbid_to_name_another_queue() {
    let server = Server::start().await;
    for queue in ["a", "b", "c"] {
        server.post("/queues", json!({ "name": queue })).await.expect(201);
    }
    let task = |queue: &str| json!({"name": "t", "version": 3, "queue": queue, "parameters": {"user": 1}});
    let mut before = task("c");
    before["id"] = json!("before");
    server.post("/tasks", &before).await.expect(201);
    let keyed = with_key(&server, "before", task("c")).await.expect(201);
    let put = async |route: Value| {
        let version = json!({"from": 2, "to": 4});
        let rule = json!({"name": "t", "version": version, "route": route, "explicit_queue": "forbid"});
        server.put("/routing", rule).await.expect(200);
    };
    put(json!({"kind": "round_robin", "queues": ["a", "b"]})).await;
    let refused = server.post("/tasks", task("c")).await.refused(422, "queue_forbidden");
    assert_eq!(refused["pointer"], "/queue");
    let detail = refused["detail"].as_str().unwrap();
    assert!(["t@2-4", "queue c", "a, b"].iter().all(|part| detail.contains(part)), "{detail}");
    for queue in ["a", "b"] {
        assert_eq!(server.post("/tasks", task(queue)).await.expect(201)["queue"], queue, "the rule might choose it");
    }
    let batch = json!({"tasks": [{"name": "t", "version": 3}, task("c")]});
    let held = server.get("/tasks?name=t").await.expect(200)["tasks"].as_array().unwrap().len();
    assert_eq!(server.post("/tasks", batch).await.refused(422, "queue_forbidden")["pointer"], "/tasks/1/queue");
    assert_eq!(server.get("/tasks?name=t").await.expect(200)["tasks"].as_array().unwrap().len(), held, "wholly");
    server.post("/tasks", json!({"name": "t", "version": 5, "queue": "c"})).await.expect(201);
    server.post("/tasks", json!({"name": "t", "version": 3, "queue": "none"})).await.refused(404, "unknown_queue");

    // A task accepted before is answered with its present state; one that would replace it is judged again.
    assert_eq!(server.post("/tasks", &before).await.expect(200)["queue"], "c");
    assert_eq!(with_key(&server, "before", task("c")).await.expect(200)["id"], keyed["id"]);
    before["on_conflict"] = json!("replace");
    server.post("/tasks", &before).await.refused(422, "queue_forbidden");

    put(json!({"kind": "hash", "parameter": "user", "queues": ["a", "b"]})).await;
    let chosen = server.post("/tasks", json!({"name": "t", "version": 3, "parameters": {"user": 1}})).await.expect(201);
    let (own, other) = if chosen["queue"] == "a" { ("a", "b") } else { ("b", "a") };
    server.post("/tasks", task(own)).await.expect(201);
    server.post("/tasks", task(other)).await.refused(422, "queue_forbidden");

    server.delete("/routing?name=t&version_from=2&version_to=4").await;
    server.post("/tasks", task("c")).await.expect(201);
}

#[tokio::test]
async fn what_an_operator_moves_or_sends_again_is_judged_by_no_rule() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "a"})).await.expect(201);
    server.post("/queues", json!({"name": "b"})).await.expect(201);
    let submitted = server.post("/tasks", json!({"name": "t", "queue": "b"})).await.expect(201);
    let rule = json!({"name": "t", "route": {"kind": "single", "queue": "default"}, "explicit_queue": "forbid"});
    server.put("/routing", rule).await.expect(200);
    server.delete("/queues/b?move_to=a").await;
    let path = format!("/tasks/{}", submitted["id"].as_str().unwrap());
    assert_eq!(server.get(&path).await.expect(200)["queue"], "a");
    server.post(&format!("{path}/cancel"), "").await.expect(200);
    server.post(&format!("{path}/resubmit"), "").await.expect(200);
    let task = server.get(&path).await.expect(200);
    assert_eq!((&task["queue"], &task["status"]), (&json!("a"), &json!("submitted")));
}
