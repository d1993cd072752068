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
        (json!({"cron": "61 * * * *"}), "/cron", "\"61\" in its minute, which is 0 to 59"),
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
        (task(json!({"name": "echo", "expires_in": "0s"})), "/task/expires_in", "above 0"),
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
    let large = yearly(&task(json!({"name": "echo", "parameters": "x".repeat(70_000)})));
    let problem = server.post("/schedules", large).await.refused(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("65536 bytes"), "{problem}");
    assert_eq!(server.get("/schedules").await.expect(200)["schedules"], json!([]));
}

#[tokio::test]
async fn slots_are_previewed_without_a_schedule() {
    let server = Server::start().await;
    let preview = server.get("/schedule-preview?cron=0+9+1+1+*&time_zone=Europe/Berlin&count=2").await.expect(200);
    let slots: Vec<&str> = preview["slots"].as_array().unwrap().iter().map(|slot| slot.as_str().unwrap()).collect();
    assert!(slots.len() == 2 && slots.iter().all(|slot| slot.ends_with("-01-01T08:00:00Z")), "{slots:?}");
    let two = server.get("/schedule-preview?cron=0+9+1+1+*%7C0+10+1+1+*&count=2").await.expect(200);
    assert!(two["slots"][0].as_str().unwrap().ends_with("T09:00:00Z"), "{two}");
    assert!(two["slots"][1].as_str().unwrap().ends_with("T10:00:00Z"), "{two}");
    let hourly = server.get("/schedule-preview?every=1h").await.expect(200);
    assert_eq!(hourly["slots"].as_array().unwrap().len(), 10);
    for (query, says) in [
        ("", "cron or every"),
        ("cron=61+*+*+*+*", "\"61\" in its minute, which is 0 to 59"),
        ("cron=@every+1h", "write every, such as every 1h"),
        ("cron=@daily&time_zone=Mars", "\"Mars\" does not exist"),
        ("cron=@daily&every=1h", "beside cron"),
        ("every=1500ms", "whole seconds"),
        ("cron=@daily&count=1001", "1 to 1000"),
    ] {
        let problem = server.get(&format!("/schedule-preview?{query}")).await.refused(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{query}: {problem}");
    }
    assert_eq!(server.get("/schedules").await.expect(200)["schedules"], json!([]));
}

#[tokio::test]
async fn a_paused_schedule_says_why_it_has_no_slots() {
    let server = Server::start().await;
    server.post("/schedules", yearly(&json!({"paused": true}))).await.expect(201);
    let next = server.get("/schedules/yearly/next").await.expect(200);
    assert_eq!((&next["slots"], &next["paused"]), (&json!([]), &json!(true)));
    assert!(next["note"].as_str().unwrap().contains("paused"), "{next}");
    server.post("/schedules/yearly/resume", "").await.expect(200);
    let next = server.get("/schedules/yearly/next?count=3").await.expect(200);
    assert_eq!(
        (next["slots"].as_array().unwrap().len(), &next["paused"], &next["note"]),
        (3, &json!(false), &Value::Null)
    );
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

#[tokio::test]
async fn a_workflow_that_makes_no_sense_is_refused_with_its_place_and_nothing_is_stored() {
    let server = Server::start().await;
    let workflow = |more: Value| json!({"task": null, "workflow": more});
    for (more, pointer, says) in [
        (json!({"task": null}), "/task", "or workflow"),
        (json!({"workflow": {"nodes": [{"id": "a", "name": "echo"}]}}), "/workflow", "beside task"),
        (workflow(json!({"id": "w", "nodes": [{"id": "a", "name": "echo"}]})), "/workflow/id", "slot"),
        (workflow(json!({"nodes": []})), "/workflow/nodes", "at least one node"),
        (workflow(json!({"nodes": [{"id": "a", "name": "echo", "delay": "1s"}]})), "/workflow/nodes/0/delay", "nodes"),
        (
            workflow(json!({"nodes": [
                {"id": "a", "name": "echo", "depends_on": ["b"]}, {"id": "b", "name": "echo", "depends_on": ["a"]},
            ]})),
            "/workflow/nodes/1/depends_on",
            "wait for each other",
        ),
        (
            workflow(json!({"nodes": [{"id": "a", "name": "echo", "depends_on": ["z"]}]})),
            "/workflow/nodes/0/depends_on/0",
            "does not exist",
        ),
        (workflow(json!({"mermaid": "flowchart TD\n  a[\"echo\"] --> a"})), "/workflow/mermaid", "line 2"),
        (workflow(json!({"nonsense": 1})), "/workflow", "nonsense"),
        (
            json!({"name": "x".repeat(35), "task": null, "workflow": {"nodes": [{"id": "a", "name": "echo"}]}}),
            "/name",
            "34 bytes",
        ),
    ] {
        let problem = server.post("/schedules", yearly(&more)).await.refused(422, "invalid_request");
        let told = (problem["pointer"].as_str().unwrap_or_default(), problem["detail"].as_str().unwrap());
        assert!(told.0.starts_with(pointer) && told.1.contains(says), "{more}: {told:?}");
    }
    let nowhere = yearly(&workflow(json!({"nodes": [{"id": "a", "name": "echo", "queue": "nowhere"}]})));
    let problem = server.post("/schedules", nowhere).await.refused(404, "unknown_queue");
    assert_eq!(problem["pointer"], "/workflow/nodes/0/queue");
    assert_eq!(server.get("/schedules").await.expect(200)["schedules"], json!([]));
}

/// A schedule of a workflow that does not fire while a test runs: `load` after `extract`, and `more` to say.
fn yearly_import(more: &Value) -> Value {
    let import = json!({"task": null, "workflow": {"nodes": [
        {"id": "load", "name": "echo", "depends_on": [{"id": "extract", "policy": "run_with_failures"}]},
        {"id": "extract", "name": "echo", "parameters": {"n": 1.0}, "max_retries": 2},
    ]}});
    let mut schedule = yearly(&import);
    for (field, value) in more.as_object().unwrap() {
        schedule[field] = value.clone();
    }
    schedule
}

#[tokio::test]
async fn a_schedule_of_a_workflow_is_created_shown_and_started_by_hand() {
    let server = Server::start().await;
    let created = server.post("/schedules", yearly_import(&json!({"overlap": "skip"}))).await.expect(201);
    assert_eq!((&created["task"], &created["workflow"]["name"]), (&Value::Null, &Value::Null));
    let nodes = &created["workflow"]["nodes"];
    assert_eq!((&nodes[0]["id"], &nodes[0]["max_retries"]), (&json!("extract"), &json!(2)));
    assert_eq!(nodes[0]["parameters"].to_string(), r#"{"n":1.0}"#, "as it was given");
    assert_eq!(nodes[1]["depends_on"], json!([{"id": "extract", "policy": "run_with_failures"}]));

    let first = server.post("/schedules/yearly/run", "").await.expect(201);
    assert_eq!((&first["state"], &first["name"], &first["nodes"]), (&json!("submitting"), &json!("yearly"), &json!(2)));
    let id = first["id"].as_str().unwrap();
    assert!(id.starts_with("schedule:yearly:run:"), "{id}");
    let shown = server.get("/schedules/yearly").await.expect(200);
    assert_eq!((&shown["last_run"]["workflow"], &shown["fired"]), (&first["id"], &json!(0)));
    let task = soon(async {
        loop {
            if let Some(task) = server.claim("default", 1).await.pop() {
                return task;
            }
        }
    })
    .await;
    assert_eq!((task.id.as_str(), &task.parameters.bytes[..]), (&*format!("{id}/extract"), &br#"{"n":1.0}"#[..]));
    let listed = server.get("/workflows?name=yearly").await.expect(200);
    assert_eq!(listed["workflows"][0]["id"], first["id"]);
    let second = server.post("/schedules/yearly/run", "").await.expect(201);
    assert_ne!(second["id"], first["id"]);
}

#[tokio::test]
async fn a_schedule_may_start_a_task_first_and_a_flowchart_later() {
    let server = Server::start().await;
    server.post("/schedules", yearly(&json!({}))).await.expect(201);
    server.post("/schedules/yearly/run", "").await.expect(201);
    let chart = "flowchart TD\n  a[\"echo(n=1.0)\"] --> b[\"echo\"]";
    let import = yearly(&json!({"task": null, "workflow": {"name": "import", "mermaid": chart}}));
    let put = server.put("/schedules/yearly", import).await.expect(200);
    assert_eq!((&put["workflow"]["name"], &put["workflow"]["nodes"][1]["id"]), (&json!("import"), &json!("b")));
    assert!(put["last_run"]["task"].is_string(), "the run before stays: {put}");
    let started = server.post("/schedules/yearly/run", "").await.expect(201);
    assert_eq!((&started["name"], &started["nodes"]), (&json!("import"), &json!(2)));
    let shown = server.get("/schedules/yearly").await.expect(200);
    assert_eq!((&shown["last_run"]["workflow"], &shown["last_run"]["task"]), (&started["id"], &Value::Null));
}

#[tokio::test]
async fn slots_of_a_workflow_are_fired_when_the_one_before_is_over() {
    let server = Server::start().await;
    let import = yearly_import(&json!({"cron": null, "time_zone": null, "every": "1s", "overlap": "skip"}));
    server.post("/schedules", import).await.expect(201);
    let count = async |field: &str| server.get("/schedules/yearly").await.expect(200)[field].as_u64().unwrap();
    soon(async { while count("skipped").await == 0 {} }).await;
    assert_eq!(count("fired").await, 1);
    // As soon as both of its tasks are over, the next slot is fired.
    soon(async {
        while count("fired").await == 1 {
            for task in server.claim("default", 1).await {
                assert!(task.id.as_str().starts_with("schedule:yearly:20"), "{}", task.id);
                server.settle(&task, Outcome::Completed { result: None }).await;
            }
        }
    })
    .await;
    let listed = server.get("/workflows?state=completed").await.expect(200);
    assert_eq!(listed["workflows"].as_array().unwrap().len(), 1, "{listed}");
}
