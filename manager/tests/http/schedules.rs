//! `/schedules`.

use jobbers_common::engine::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, soon};

/// A schedule that does not fire while a test runs, and `more` to say.
fn yearly(more: &Value) -> Value {
    let mut schedule = json!({"name": "yearly", "cron": "0 3 1 1 *", "time_zone": "Europe/Berlin",
        "task": {"name": "echo", "parameters": {"n": 1.0}, "max_retries": 2, "timeout": "30s"}});
    for (field, value) in more.as_object().unwrap() {
        schedule[field] = value.clone();
    }
    schedule
}

#[tokio::test]
async fn a_schedule_is_created_shown_replaced_and_deleted() {
    let server = Server::start().await;
    let created = server.post("/schedules", yearly(&json!({"overlap": "skip", "catch_up": "all"}))).await.expect(201);
    assert_eq!(created["task"]["parameters"].to_string(), r#"{"n":1.0}"#, "as it was given");
    assert_eq!((&created["task"]["max_retries"], &created["task"]["timeout"]), (&json!(2), &json!("30s")));
    assert_eq!((&created["catch_up_limit"], &created["fired"]), (&json!(100), &json!(0)));
    assert!(created["next_slot"].as_str().unwrap().ends_with("-01-01T02:00:00Z"), "{created}");
    server.post("/schedules", yearly(&json!({}))).await.refused(409, "exists");
    let put =
        server.put("/schedules/yearly", yearly(&json!({"name": null, "overlap": "buffer_one"}))).await.expect(200);
    assert_eq!((&put["overlap"], &put["created_at"]), (&json!("buffer_one"), &created["created_at"]));
    server.put("/schedules/a%2Fb", yearly(&json!({"name": "a/b"}))).await.expect(200);
    let first = server.get("/schedules?limit=1").await.expect(200);
    assert_eq!((&first["schedules"][0]["name"], &first["next_cursor"]), (&json!("a/b"), &json!("a/b")));
    let second = server.get("/schedules?limit=2&cursor=a/b").await.expect(200);
    assert_eq!((&second["schedules"][0]["name"], &second["next_cursor"]), (&json!("yearly"), &Value::Null));
    assert_eq!(server.delete("/schedules/yearly").await.status, 204);
    for refused in [server.get("/schedules/yearly").await, server.delete("/schedules/yearly").await] {
        refused.refused(404, "unknown_schedule");
    }
    server.get("/schedules?limit=0").await.refused(400, "invalid_parameter");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_field_and_nothing_is_stored() {
    let server = Server::start().await;
    let task = |more: Value| json!({"task": more});
    for (more, pointer, says) in [
        (json!({"cron": "0 0 30 2 *"}), "/cron", "never fires"),
        (json!({"cron": "every day"}), "/cron", "five fields"),
        (json!({"cron": "0 0 0 1 1 * 2030"}), "/cron", "five fields"),
        (json!({"cron": "61 * * * *"}), "/cron", "can't be read"),
        (json!({"cron": null, "time_zone": null}), "/cron", "every"),
        (json!({"every": "1h"}), "/every", "beside cron"),
        (json!({"cron": null, "every": "1h"}), "/time_zone", "interval"),
        (json!({"cron": null, "time_zone": null, "every": "1500ms"}), "/every", "whole seconds"),
        (json!({"cron": null, "time_zone": null, "every": "400d"}), "/every", "366d"),
        (json!({"time_zone": "Europe/Atlantis"}), "/time_zone", "does not exist"),
        (json!({"catch_up_limit": 5}), "/catch_up_limit", "catch_up: all"),
        (json!({"catch_up": "all", "catch_up_limit": 1001}), "/catch_up_limit", "1 to 1000"),
        (json!({"jitter": "2d"}), "/jitter", "1d"),
        (json!({"name": "x".repeat(81)}), "/name", "80 bytes"),
        (json!({"name": ".."}), "/name", ".."),
        (json!({"overlap": "sometimes"}), "/overlap", "sometimes"),
        (task(json!({"name": "echo", "id": "a"})), "/task/id", "slot"),
        (task(json!({"name": "echo", "delay": "1s"})), "/task/delay", "jitter"),
        (task(json!({"name": "echo", "run_at": "2030-01-01T00:00:00Z"})), "/task/run_at", "cron"),
        (task(json!({"name": "echo", "unique_key": "k"})), "/task/unique_key", "overlap"),
        (task(json!({"name": "echo", "depends_on": ["a"]})), "/task/depends_on", "waits for no other task"),
        (
            task(json!({"name": "echo", "parameters": "", "parameters_content_type": "text/plain"})),
            "/task/parameters_content_type",
            "JSON",
        ),
        (task(json!({"name": "echo", "unique_for": "1h"})), "/task/unique_for", "unique_key"),
        (task(json!({"name": "echo", "priority": 12})), "/task/priority", "0 to 9"),
        (task(json!({"name": "echo", "max_retries": 5000})), "/task/max_retries", "1000"),
        (task(json!({"name": "echo", "nonsense": 1})), "/task", "nonsense"),
        (task(json!({"parameters": {}})), "/task", "name"),
    ] {
        let problem = server.post("/schedules", yearly(&more)).await.refused(422, "invalid_request");
        let told = (problem["pointer"].as_str().unwrap_or_default(), problem["detail"].as_str().unwrap());
        assert!(told.0.starts_with(pointer) && told.1.contains(says), "{more}: {told:?}");
    }
    let nowhere = yearly(&task(json!({"name": "echo", "queue": "nowhere"})));
    assert_eq!(server.post("/schedules", nowhere).await.refused(404, "unknown_queue")["pointer"], "/task/queue");
    let large = yearly(&task(json!({"name": "echo", "parameters": "x".repeat(20_000)})));
    let problem = server.post("/schedules", large).await.refused(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("16384 bytes"), "{problem}");
    assert_eq!(server.get("/schedules").await.expect(200)["schedules"], json!([]));
}

#[tokio::test]
async fn a_change_of_what_changed_meanwhile_is_refused() {
    let server = Server::start().await;
    server.post("/schedules", yearly(&json!({}))).await.expect(201);
    let read = server.get("/schedules/yearly").await;
    let tag = read.headers["etag"].to_str().unwrap().to_owned();
    // Runs change its outcomes and not its settings.
    server.post("/schedules/yearly/run", "").await.expect(201);
    let put =
        |tag: &str, more: Value| server.json(Method::PUT, "/schedules/yearly", yearly(&more)).header("if-match", tag);
    server.send(put(&tag, json!({"jitter": "1m"}))).await.expect(200);
    server.send(put(&tag, json!({"jitter": "2m"}))).await.refused(412, "changed");
    let delete = |tag: &str| server.request(Method::DELETE, "/schedules/yearly").header("if-match", tag);
    server.send(delete(&tag)).await.refused(412, "changed");
    let tag = server.get("/schedules/yearly").await.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(server.send(delete(&tag)).await.status, 204);
    server.send(put(&tag, json!({}))).await.refused(412, "changed");
}

#[tokio::test]
async fn a_schedule_rests_while_it_is_paused_and_its_slots_are_shown_ahead() {
    let server = Server::start().await;
    server.post("/schedules", yearly(&json!({}))).await.expect(201);
    let next = server.get("/schedules/yearly/next?count=3").await.expect(200);
    let slots: Vec<&str> = next["slots"].as_array().unwrap().iter().map(|slot| slot.as_str().unwrap()).collect();
    assert!(slots.len() == 3 && slots.is_sorted() && slots.iter().all(|slot| slot.ends_with("-01-01T02:00:00Z")));
    for count in ["0", "1001", "x"] {
        server.get(&format!("/schedules/yearly/next?count={count}")).await.refused(400, "invalid_parameter");
    }
    let paused = server.post("/schedules/yearly/pause", "").await.expect(200);
    assert_eq!((&paused["paused"], &paused["next_slot"]), (&json!(true), &Value::Null));
    assert_eq!(server.get("/schedules/yearly/next").await.expect(200)["slots"], json!([]));
    let resumed = server.post("/schedules/yearly/resume", "").await.expect(200);
    assert_eq!((&resumed["paused"], resumed["next_slot"].as_str()), (&json!(false), Some(slots[0])));
    for verb in ["pause", "resume", "run"] {
        server.post(&format!("/schedules/none/{verb}"), "").await.refused(404, "unknown_schedule");
    }
    server.get("/schedules/none/next").await.refused(404, "unknown_schedule");
}

#[tokio::test]
async fn a_run_by_hand_submits_the_task_and_uses_up_no_slot() {
    let server = Server::start().await;
    server.post("/schedules", yearly(&json!({"paused": true}))).await.expect(201);
    let first = server.post("/schedules/yearly/run", "").await.expect(201);
    let second = server.post("/schedules/yearly/run", "").await.expect(201);
    assert!(first["id"] != second["id"] && first["created"] == json!(true), "{first} {second}");
    let claimed = server.claim("default", 10).await;
    assert_eq!((claimed.len(), &claimed[0].parameters.bytes[..]), (2, &br#"{"n":1.0}"#[..]));
    let shown = server.get("/schedules/yearly").await.expect(200);
    assert_eq!((&shown["last_run"]["task"], &shown["fired"]), (&second["id"], &json!(0)));
}

#[tokio::test]
async fn slots_are_fired_when_they_come() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    server.put("/routing", json!({"name": "tick", "route": {"kind": "single", "queue": "mail"}})).await.expect(200);
    let tick = json!({"name": "tick", "every": "1s", "overlap": "skip", "task": {"name": "tick"}});
    server.post("/schedules", tick).await.expect(201);
    let claimed = soon(async {
        loop {
            if let Some(task) = server.claim("mail", 1).await.pop() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(claimed.id.as_str().starts_with("schedule:tick:20"), "{}", claimed.id);
    let skipped = async || server.get("/schedules/tick").await.expect(200)["skipped"].as_u64().unwrap();
    soon(async { while skipped().await == 0 {} }).await;
    assert_eq!(server.get("/schedules/tick").await.expect(200)["fired"], 1);
    server.settle(&claimed, Outcome::Completed { result: None }).await;
    let fired = async || server.get("/schedules/tick").await.expect(200)["fired"].as_u64().unwrap();
    soon(async { while fired().await == 1 {} }).await;
}
