//! Queues, roles, routing rules and workers.

pub(crate) mod registry;
mod schedules;
mod workflows;

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Outcome},
    worker::{WorkerReport, WorkerState},
};
use jobbers_law::model::ModelEngine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn a_queue_is_made_changed_and_deleted() {
    let server = Server::start().await;
    let made = server.post("/queues", json!({"name": "mail", "max_per_worker": 3})).await.expect(201);
    assert_eq!(made["retention"], json!({"age": "1d", "count": 100_000}));
    assert_eq!((&made["max_per_worker"], &made["paused"], &made["tasks"]), (&json!(3), &json!(false), &json!({})));
    server.post("/queues", json!({"name": "mail"})).await.refused(409, "exists");
    let changed = server.put("/queues/mail", json!({"retention": {"age": "1h", "count": 5}})).await.expect(200);
    assert_eq!(changed["retention"], json!({"age": "1h", "count": 5}));
    assert_eq!(changed.get("max_per_worker"), None, "what PUT leaves out has its default");
    let names = |list: &Value| -> Vec<String> {
        list["queues"].as_array().unwrap().iter().map(|queue| queue["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&server.get("/queues").await.expect(200)), ["default", "mail"]);
    assert_eq!(server.delete("/queues/mail").await.status, 204);
    assert_eq!(names(&server.get("/queues").await.expect(200)), ["default"]);
    server.delete("/queues/mail").await.refused(404, "unknown_queue");
}

#[tokio::test]
async fn a_new_queue_takes_tasks_at_once() {
    let server = Server::start().await;
    server.post("/tasks", json!({"name": "t", "queue": "new"})).await.refused(404, "unknown_queue");
    server.put("/queues/new", json!({})).await.expect(200);
    server.post("/tasks", json!({"name": "t", "queue": "new"})).await.expect(201);
    assert_eq!(server.delete("/queues/new").await.refused(409, "queue_not_empty")["status"], 409);
}

#[tokio::test]
async fn a_queue_that_is_named_elsewhere_stays() {
    let server = Server::start().await;
    server.delete("/queues/default").await.refused(409, "queue_in_use");
}

#[tokio::test]
async fn a_paused_queue_gives_nothing_out_and_keeps_its_settings() {
    let server = Server::start().await;
    server.put("/queues/default", json!({"max_per_worker": 2})).await.expect(200);
    server.post("/tasks", json!({"name": "t"})).await.expect(201);
    let paused = server.post("/queues/default/pause", "").await.expect(200);
    assert_eq!((&paused["paused"], &paused["max_per_worker"]), (&json!(true), &json!(2)));
    assert_eq!(paused["tasks"], json!({"submitted": 1}));
    assert!(paused["oldest_ready_age"].as_f64().unwrap() >= 0.0);
    assert!(server.claim("default", 1).await.is_empty());
    assert_eq!(server.post("/queues/default/resume", "").await.expect(200)["paused"], false);
    assert_eq!(server.claim("default", 1).await.len(), 1);
    server.post("/queues/none/pause", "").await.refused(404, "unknown_queue");
}

#[tokio::test]
async fn a_queue_is_told_with_its_limits() {
    let server = Server::start().await;
    let limits =
        json!({"max_concurrent": 3, "rate_limit": {"tasks": 50, "per": "1s", "burst": 10}, "max_length": 1_000});
    let put = server.put("/queues/default", &limits).await.expect(200);
    for (name, value) in limits.as_object().unwrap() {
        assert_eq!(&put[name], value);
    }
    let paused = server.post("/queues/default/pause", "").await.expect(200);
    assert_eq!(paused["rate_limit"], limits["rate_limit"], "pausing changes nothing else");
}

#[tokio::test]
async fn a_full_queue_refuses_the_whole_batch_for_now() {
    let server = Server::start().await;
    server.put("/queues/default", json!({"max_length": 2})).await.expect(200);
    server.post("/tasks", json!({"name": "t"})).await.expect(201);
    let batch = server.post("/tasks", json!({"tasks": [{"name": "t"}, {"name": "t"}]})).await;
    batch.refused(429, "queue_full");
    assert_eq!(batch.headers["retry-after"], "1");
    server.post("/tasks", json!({"name": "t"})).await.expect(201);
    server.post("/tasks", json!({"name": "t"})).await.refused(429, "queue_full");
    assert_eq!(server.get("/queues/default").await.expect(200)["tasks"], json!({"submitted": 2}));
}

#[tokio::test]
async fn a_queue_that_is_full_of_bytes_refuses_for_now_and_what_never_fits_for_good() {
    let server = Server::start().await;
    let put = server.put("/queues/default", json!({"max_bytes": 20})).await.expect(200);
    assert_eq!((&put["max_bytes"], &put["waiting_bytes"]), (&json!(20), &json!(0)));
    let of = |n: usize| json!({"name": "t", "parameters": "x".repeat(n - 2)});
    server.post("/tasks", of(12)).await.expect(201);
    let batch = server.post("/tasks", json!({"tasks": [of(4), of(5)]})).await;
    let refused = batch.refused(429, "queue_full");
    assert!(refused["detail"].as_str().unwrap().contains("max_bytes of 20"), "{refused}");
    assert_eq!(batch.headers["retry-after"], "1");
    assert_eq!(server.get("/queues/default").await.expect(200)["waiting_bytes"], 12, "nothing of it went in");
    server.post("/tasks", of(8)).await.expect(201);
    let never = server.post("/tasks", of(21)).await.refused(413, "payload_too_large");
    assert_eq!(never["pointer"], "/parameters");
    server.put("/queues/default", json!({"max_bytes": 0})).await.refused(422, "invalid_request");
    let plain = server.put("/queues/default", json!({})).await.expect(200);
    assert!(plain["max_bytes"].is_null() && plain["waiting_bytes"].is_null(), "{plain}");
    server.post("/tasks", of(21)).await.expect(201);
}

#[tokio::test]
async fn a_change_on_condition_is_refused_when_another_came_first() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    let read = server.get("/queues/mail").await.headers["etag"].to_str().unwrap().to_owned();
    server.post("/tasks", json!({"name": "t", "queue": "mail"})).await.expect(201);
    let put = async |path: &str, tag: &str, body: Value| {
        server.send(server.json(Method::PUT, path, body).header("if-match", tag)).await
    };
    let changed = put("/queues/mail", &read, json!({"max_per_worker": 2})).await;
    assert_eq!(changed.expect(200)["max_per_worker"], 2, "numbers that moved on are no change of its settings");
    assert_ne!(changed.headers["etag"].to_str().unwrap(), read);
    put("/queues/mail", &read, json!({})).await.refused(412, "changed");
    put("/queues/new", "*", json!({})).await.refused(412, "changed");
    put("/queues/mail", "no tag", json!({})).await.refused(400, "invalid_parameter");
    assert_eq!(server.get("/queues/mail").await.expect(200)["max_per_worker"], 2);

    let delete =
        async |path: &str, tag: &str| server.send(server.request(Method::DELETE, path).header("if-match", tag)).await;
    delete("/queues/mail?force=true", &read).await.refused(412, "changed");
    delete("/queues/none", "*").await.refused(412, "changed");
    delete("/roles/default", "\"other\"").await.refused(412, "changed");
    assert_eq!(server.get("/queues/mail").await.expect(200)["tasks"]["submitted"], 1, "nothing was deleted");

    let role = server.get("/roles/default").await.headers["etag"].to_str().unwrap().to_owned();
    put("/roles/default", &role, json!({"queues": ["mail"]})).await.expect(200);
    put("/roles/default", &role, json!({"queues": ["default"]})).await.refused(412, "changed");
    put("/roles/default", "*", json!({"queues": ["default"]})).await.expect(200);
    let now = server.get("/queues/mail").await.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(delete("/queues/mail?force=true", &now).await.status, 204);
}

fn report(id: &str, role: &str) -> WorkerReport {
    WorkerReport {
        id: id.parse().unwrap(),
        host: "here".to_owned(),
        pid: 7,
        version: "1".to_owned(),
        role: role.parse().unwrap(),
        queues: vec!["default".parse().unwrap()],
        slots: 1,
        running: 0,
        state: WorkerState::Running,
        tasks: Vec::new(),
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    }
}

#[tokio::test]
async fn a_role_that_workers_serve_is_deleted_by_force_only() {
    let server = Server::start().await;
    server.post("/roles", json!({"name": "mailer", "queues": ["default"]})).await.expect(201);
    let minute = Duration::from_secs(60);
    server.engine.register_worker(report("one", "mailer"), minute).await.unwrap();
    server.engine.register_worker(report("two", "mailer"), minute).await.unwrap();
    let refused = server.delete("/roles/mailer").await.refused(409, "role_in_use");
    assert!(refused["detail"].as_str().unwrap().contains("2 live workers"), "{refused}");
    server.delete("/roles/mailer?force=false").await.refused(409, "role_in_use");
    server.delete("/roles/mailer?force=perhaps").await.refused(400, "invalid_parameter");
    let tagged = server.request(Method::DELETE, "/roles/mailer?force=true").header("if-match", "\"other\"");
    server.send(tagged).await.refused(412, "changed");
    server.get("/roles/mailer").await.expect(200);
    assert_eq!(server.delete("/roles/mailer?force=true").await.status, 204);
    server.delete("/roles/mailer?force=true").await.refused(404, "unknown_role");
    assert_eq!(server.get("/workers").await.expect(200)["workers"].as_array().unwrap().len(), 2, "they live on");
}

#[tokio::test]
async fn managers_that_change_one_queue_at_once_undo_nothing() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let one = Server::with(Arc::clone(&engine), jobbers_manager::Config::default()).await;
    let other = Server::with(engine, jobbers_manager::Config::default()).await;
    for limit in 1..=30 {
        let limiting = async {
            loop {
                let read = one.get("/queues/default").await;
                let (tag, paused) = (read.headers["etag"].clone(), read.json()["paused"].clone());
                let body = json!({"max_per_worker": limit, "paused": paused});
                let put = one.send(one.json(Method::PUT, "/queues/default", body).header("if-match", tag)).await;
                if put.status != 412 {
                    break put.expect(200);
                }
            }
        };
        let verb = if limit % 2 == 0 { "resume" } else { "pause" };
        let path = format!("/queues/default/{verb}");
        let (_, steered) = tokio::join!(limiting, other.post(&path, ""));
        steered.expect(200);
        let queue = one.get("/queues/default").await.expect(200);
        assert_eq!((&queue["max_per_worker"], &queue["paused"]), (&json!(limit), &json!(limit % 2 == 1)));
    }
}

#[tokio::test]
async fn a_queue_with_tasks_is_deleted_by_force_only() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    for id in ["a", "b"] {
        server.post("/tasks", json!({"name": "t", "queue": "mail", "id": id})).await.expect(201);
    }
    let running = server.claim("mail", 1).await.remove(0);
    server.delete("/queues/mail").await.refused(409, "queue_not_empty");
    server.delete("/queues/mail?force=perhaps").await.refused(400, "invalid_parameter");
    assert_eq!(server.delete("/queues/mail?force=true").await.status, 202, "one runs still");
    server.get("/tasks/b").await.refused(404, "unknown_task");
    assert_eq!(server.get("/tasks/a").await.expect(200)["cancel_requested"], true);
    server.settle(&running, Outcome::Cancelled).await;
    assert_eq!(server.delete("/queues/mail?force=true").await.status, 204);
    server.get("/queues/mail").await.refused(404, "unknown_queue");
    server.delete("/queues/default?force=true").await.refused(409, "queue_in_use");
}

#[tokio::test]
async fn a_queue_is_deleted_when_its_tasks_have_moved() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    for id in ["a", "b", "c"] {
        server.post("/tasks", json!({"name": "t", "queue": "mail", "id": id})).await.expect(201);
    }
    let running = server.claim("mail", 1).await.remove(0);
    for (query, status, code) in [
        ("move_to=nowhere", 404, "unknown_queue"),
        ("move_to=mail", 400, "invalid_parameter"),
        ("move_to=a%20b", 400, "invalid_parameter"),
        ("move_to=default&force=true", 400, "invalid_parameter"),
    ] {
        server.delete(&format!("/queues/mail?{query}")).await.refused(status, code);
    }
    server.delete("/queues/nowhere?move_to=default").await.refused(404, "unknown_queue");
    server.delete("/queues/default?move_to=mail").await.refused(409, "queue_in_use");
    assert_eq!(server.delete("/queues/mail?move_to=default").await.status, 202, "one runs still");
    assert_eq!(server.get("/tasks/a").await.expect(200)["cancel_requested"], false);
    for id in ["b", "c"] {
        assert_eq!(server.get(&format!("/tasks/{id}")).await.expect(200)["queue"], "default");
    }
    server.settle(&running, Outcome::Released { delay: Duration::ZERO }).await;
    assert_eq!(server.delete("/queues/mail?move_to=default").await.status, 204);
    let order: Vec<_> = server.claim("default", 9).await.into_iter().map(|task| task.id.to_string()).collect();
    assert_eq!(order, ["a", "b", "c"]);
    server.get("/queues/mail").await.refused(404, "unknown_queue");
}

#[tokio::test]
async fn a_queue_that_takes_no_more_in_says_when_to_come_back() {
    let server = Server::start().await;
    let rate = json!({"tasks": 1, "per": "1h", "burst": 2});
    let queue = server.post("/queues", json!({"name": "mail", "submit_rate_limit": rate})).await.expect(201);
    assert_eq!(queue["submit_rate_limit"], rate);
    let task = json!({"name": "t", "queue": "mail"});
    server.post("/tasks", json!({"tasks": [task, task, task]})).await.refused(422, "invalid_request");
    server.post("/tasks", json!({"tasks": [task, task]})).await.expect(201);
    let answer = server.post("/tasks", &task).await;
    let seconds: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    answer.refused(429, "rate_limited");
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");
    let none = json!({"name": "none", "submit_rate_limit": {"tasks": 0, "per": "1s"}});
    server.post("/queues", none).await.refused(422, "invalid_request");
}

#[tokio::test]
async fn a_purge_leaves_what_runs() {
    let server = Server::start().await;
    for body in [json!({"name": "t"}), json!({"name": "t"}), json!({"name": "t", "delay": "1h"})] {
        server.post("/tasks", body).await.expect(201);
    }
    server.claim("default", 1).await;
    let purged = server.post("/queues/default/purge", "").await.expect(200);
    assert_eq!(purged, json!({"removed": 2, "more": false}));
    assert_eq!(server.get("/queues/default").await.expect(200)["tasks"], json!({"started": 1}));
    server.post("/queues/none/purge", "").await.refused(404, "unknown_queue");
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    for body in [
        json!({}),
        json!({"name": "a b"}),
        json!({"name": "q", "max_per_worker": 0}),
        json!({"name": "q", "max_concurrent": 0}),
        json!({"name": "q", "max_length": 0}),
        json!({"name": "q", "rate_limit": {"tasks": 0, "per": "1s"}}),
        json!({"name": "q", "rate_limit": {"tasks": 1, "per": 0}}),
        json!({"name": "q", "rate_limit": {"tasks": 1}}),
        json!({"name": "q", "retention": {"age": "long"}}),
        json!({"name": "q", "retention": {"months": 1}}),
        json!({"name": "q", "colour": "red"}),
        json!(["q"]),
        json!({"name": "q", "retention": ["1h"]}),
        json!({"name": "q", "rate_limit": [1, "1s"]}),
        json!({"name": "q", "rate_limit_per_key": [1, "1s"]}),
        json!({"name": "q", "task_limits": {"t": [1]}}),
        json!({"name": "."}),
        json!({"name": ".."}),
    ] {
        server.post("/queues", body).await.refused(422, "invalid_request");
    }
    server.put("/queues/default", json!({"max_length": 7})).await.expect(200);
    let problem = server.put("/queues/default", json!([])).await.refused(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("a JSON object"), "{problem}");
    assert_eq!(server.get("/queues/default").await.expect(200)["max_length"], 7, "nothing was reset");
    server.post("/roles", json!({"name": "..", "queues": ["default"]})).await.refused(422, "invalid_request");
    server.post("/tasks/cancel", json!({"filter": [["submitted"]]})).await.refused(422, "invalid_request");
    let route = json!({"name": "t", "route": ["single", "default"]});
    assert_eq!(server.put("/routing", route).await.refused(422, "invalid_request")["pointer"], "/route");
    let other = server.put("/queues/a", json!({"name": "b"})).await.refused(422, "invalid_request");
    assert_eq!(other["pointer"], "/name");
}

#[tokio::test]
async fn a_role_is_made_changed_and_deleted() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "a"})).await.expect(201);
    let made = server.post("/roles", json!({"name": "r", "queues": ["a", "default"]})).await.expect(201);
    assert_eq!(made, json!({"name": "r", "queues": ["a", "default"], "serves": ["a", "default"], "order": "strict"}));
    server.post("/roles", json!({"name": "r", "queues": ["a"]})).await.refused(409, "exists");
    server.put("/roles/r", json!({"queues": ["a"]})).await.expect(200);
    assert_eq!(server.get("/roles/r").await.expect(200)["queues"], json!(["a"]));
    assert_eq!(server.get("/roles").await.expect(200)["roles"].as_array().unwrap().len(), 2);
    server.put("/roles/r", json!({"queues": ["none"]})).await.refused(404, "unknown_queue");
    server.put("/roles/r", json!({"queues": []})).await.refused(422, "invalid_request");
    server.delete("/queues/a").await.refused(409, "queue_in_use");
    assert_eq!(server.delete("/roles/r").await.status, 204);
    server.get("/roles/r").await.refused(404, "unknown_role");
    server.delete("/roles/r").await.refused(404, "unknown_role");
}

#[tokio::test]
async fn a_role_with_patterns_shows_what_was_written_and_what_it_serves() {
    let server = Server::start().await;
    let made = server.post("/roles", json!({"name": "r", "queues": ["tenant-*", "default"]})).await.expect(201);
    assert_eq!(made, json!({"name": "r", "queues": ["tenant-*", "default"], "serves": ["default"], "order": "strict"}));
    let tag = server.get("/roles/r").await.headers["etag"].clone();
    for name in ["tenant-2", "tenant-1", "mail"] {
        server.post("/queues", json!({"name": name})).await.expect(201);
    }
    let role = server.get("/roles/r").await;
    assert_eq!(role.headers["etag"], tag, "the tag is that of what was written");
    let role = role.expect(200);
    assert_eq!(role["queues"], json!(["tenant-*", "default"]));
    assert_eq!(role["serves"], json!(["tenant-1", "tenant-2", "default"]));
    assert_eq!(server.get("/roles").await.expect(200)["roles"][1], role);
    assert_eq!(server.delete("/queues/tenant-1").await.status, 204, "a pattern does not keep it");
    assert_eq!(server.get("/roles/r").await.expect(200)["serves"], json!(["tenant-2", "default"]));
    let weighted = json!({"queues": ["tenant-*", "*"], "order": "weighted", "weights": {"tenant-*": 3, "mail": 2}});
    let role = server.put("/roles/r", weighted).await.expect(200);
    assert_eq!(role["weights"], json!({"tenant-*": 3, "mail": 2}));
    assert_eq!(role["serves"], json!(["tenant-2", "default", "mail"]));
    let page = server.get("/ui/manager").await.text;
    assert!(page.contains("<code>tenant-*</code>") && page.contains("queue?name=tenant-2"), "{page}");
}

#[tokio::test]
async fn a_bad_pattern_and_a_pattern_in_the_place_of_a_name_are_refused() {
    let server = Server::start().await;
    let long = format!("{}*", "x".repeat(128));
    for bad in ["", "**", "a**", "a b*", "tenant-*\u{7}", "tenant-?*", &long] {
        let refused =
            server.post("/roles", json!({"name": "r", "queues": [bad]})).await.refused(422, "invalid_request");
        assert!(!refused["detail"].as_str().unwrap().contains('\u{7}'), "{refused}");
    }
    let many: Vec<String> = (0..101).map(|n| format!("*{n}")).collect();
    for bad in [json!([]), json!(["a*", "a*"]), json!(many)] {
        server.post("/roles", json!({"name": "r", "queues": bad})).await.refused(422, "invalid_request");
    }
    server.post("/roles", json!({"name": "r", "queues": ["a*", "none"]})).await.refused(404, "unknown_queue");
    server.get("/roles/r").await.refused(404, "unknown_role");
    for (path, body) in [
        ("/queues", json!({"name": "tenant-*"})),
        ("/tasks", json!({"name": "t", "queue": "tenant-*"})),
        ("/leases", json!({"worker": "w", "queues": ["tenant-*"]})),
    ] {
        server.post(path, body).await.refused(422, "invalid_request");
    }
    server.post("/queues/tenant-*/pause", "").await.refused(400, "invalid_parameter");
    let rule = json!({"name": "t", "route": {"kind": "single", "queue": "tenant-*"}});
    server.put("/routing", rule).await.refused(422, "invalid_request");
}

#[tokio::test]
async fn a_role_may_give_its_queues_weights() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    let weighted = json!({"queues": ["default", "mail"], "order": "weighted", "weights": {"default": 3}});
    let put = server.put("/roles/default", &weighted).await.expect(200);
    assert_eq!((&put["order"], &put["weights"]), (&json!("weighted"), &json!({"default": 3})));
    for bad in [
        json!({"queues": ["default"], "weights": {"default": 3}}),
        json!({"queues": ["default"], "order": "weighted", "weights": {"default": 0}}),
        json!({"queues": ["default"], "order": "weighted", "weights": {"mail": 1}}),
        json!({"queues": ["default"], "order": "fair"}),
    ] {
        server.put("/roles/default", bad).await.refused(422, "invalid_request");
    }
}

#[tokio::test]
async fn a_refresh_gives_the_role_a_new_tag_and_keeps_its_queues() {
    let server = Server::start().await;
    let first = server.post("/roles/default/refresh", "").await.expect(200);
    assert_eq!(first["role"], "default");
    let before = server.engine.config().await.unwrap().version;
    let second = server.post("/roles/default/refresh", "").await.expect(200);
    assert_ne!(first["refresh_tag"], second["refresh_tag"]);
    assert!(server.engine.config().await.unwrap().version > before, "workers read anew");
    server.put("/roles/default", json!({"queues": ["default"]})).await.expect(200);
    let role = server.get("/roles/default").await.expect(200);
    assert_eq!((&role["refresh_tag"], &role["queues"]), (&second["refresh_tag"], &json!(["default"])));
    server.post("/roles/none/refresh", "").await.refused(404, "unknown_role");
}

#[tokio::test]
async fn rules_are_put_listed_and_deleted() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "a"})).await.expect(201);
    let rules = [
        json!({"name": "s", "route": {"kind": "single", "queue": "a"}}),
        json!({"name": "t", "version": 2, "route": {"kind": "weighted", "queues": [
            {"queue": "a", "weight": 3}, {"queue": "default", "weight": 1}]}}),
        json!({"name": "u", "route": {"kind": "round_robin", "queues": ["a", "default"]}}),
        json!({"name": "v", "route": {"kind": "hash", "parameter": "user", "queues": ["a"]}}),
    ];
    let rules = rules.map(|mut rule| {
        rule["explicit_queue"] = json!("allow");
        rule
    });
    for rule in &rules {
        let mut said = rule.clone();
        said.as_object_mut().unwrap().remove("explicit_queue");
        assert_eq!(&server.put("/routing", said).await.expect(200), rule);
    }
    assert_eq!(server.get("/routing").await.expect(200)["rules"], json!(rules));
    assert_eq!(server.delete("/routing?name=t&version=2").await.expect(200), json!({"deleted": true}));
    assert_eq!(server.delete("/routing?name=t&version=2").await.expect(200), json!({"deleted": false}));
    assert_eq!(server.delete("/routing?name=never").await.expect(200), json!({"deleted": false}));
    assert_eq!(server.get("/routing").await.expect(200)["rules"].as_array().unwrap().len(), 3);
    server.delete("/routing").await.refused(400, "invalid_parameter");
    for (rule, status, code) in [
        (json!({"name": "s", "route": {"kind": "single", "queue": "none"}}), 404, "unknown_queue"),
        (json!({"name": "s", "route": {"kind": "round_robin", "queues": []}}), 422, "invalid_request"),
        (json!({"name": "s", "route": {"kind": "magic"}}), 422, "invalid_request"),
        (
            json!({"name": "s", "route": {"kind": "weighted", "queues": [{"queue": "a", "weight": 0}]}}),
            422,
            "invalid_request",
        ),
    ] {
        server.put("/routing", rule).await.refused(status, code);
    }
}

#[tokio::test]
async fn rules_are_for_a_version_a_range_or_all() {
    let server = Server::start().await;
    let route = json!({"kind": "single", "queue": "default"});
    let rules = [
        json!({"name": "t", "route": route, "explicit_queue": "forbid"}),
        json!({"name": "t", "version": {"to": 9}, "route": route, "explicit_queue": "allow"}),
        json!({"name": "t", "version": {"from": 2, "to": 5}, "route": route, "explicit_queue": "forbid"}),
        json!({"name": "t", "version": 3, "route": route, "explicit_queue": "allow"}),
        json!({"name": "t", "version": {"from": 10}, "route": route, "explicit_queue": "allow"}),
    ];
    for rule in rules.iter().rev() {
        assert_eq!(&server.put("/routing", rule).await.expect(200), rule);
    }
    assert_eq!(server.get("/routing").await.expect(200)["rules"], json!(rules));
    let crossing = json!({"name": "t", "version": {"from": 4, "to": 7}, "route": route});
    let refused = server.put("/routing", crossing).await.refused(409, "rules_overlap");
    assert!(refused["detail"].as_str().unwrap().contains("t@2-5"), "{refused}");
    for (version, why, pointer) in [
        (json!({"from": 5, "to": 2}), "lies above", "/version"),
        (json!({}), "from, to or both", "/version"),
        (json!({"since": 2}), "since", "/version/since"),
        (json!("2-5"), "range of versions", "/version"),
        (json!(-1), "range of versions", "/version"),
        (json!(4_294_967_296_u64), "at most 4294967295", "/version"),
        (json!({"from": 4_294_967_296_u64}), "4294967296", "/version/from"),
    ] {
        let rule = json!({"name": "t", "version": version, "route": route});
        let refused = server.put("/routing", rule).await.refused(422, "invalid_request");
        assert!(refused["detail"].as_str().unwrap().contains(why), "{version}: {refused}");
        assert_eq!(refused["pointer"], pointer, "{version}");
    }
    let unknown = json!({"name": "t", "route": route, "explicit_queue": "perhaps"});
    assert_eq!(server.put("/routing", unknown).await.refused(422, "invalid_request")["pointer"], "/explicit_queue");
    for bad in ["version=2&version_from=2", "version_from=5&version_to=2", "version_from=x", "from=2"] {
        server.delete(&format!("/routing?name=t&{bad}")).await.refused(400, "invalid_parameter");
    }
    for (rule, left) in [("version_from=2&version_to=5", 4), ("version_from=2&version_to=5", 4), ("version_from=10", 3)]
    {
        server.delete(&format!("/routing?name=t&{rule}")).await.expect(200);
        assert_eq!(server.get("/routing").await.expect(200)["rules"].as_array().unwrap().len(), left);
    }
    server.delete("/routing?name=t").await.expect(200);
    assert_eq!(server.get("/routing").await.expect(200)["rules"], json!([rules[1], rules[3]]), "not the whole task");
}

#[tokio::test]
async fn workers_are_told_with_their_report() {
    let server = Server::start().await;
    let report = WorkerReport {
        slots: 64,
        running: 2,
        state: WorkerState::Draining,
        tasks: vec!["t@1".to_owned()],
        settled: 9,
        left: vec!["a".parse().unwrap()],
        done_within: Some(Duration::from_secs(90)),
        ..report("w", "default")
    };
    server.engine.register_worker(report, Duration::from_secs(60)).await.unwrap();
    let told = server.get("/workers").await.expect(200)["workers"][0].clone();
    for (field, value) in [
        ("id", json!("w")),
        ("role", json!("default")),
        ("queues", json!(["default"])),
        ("slots", json!(64)),
        ("running", json!(2)),
        ("state", json!("draining")),
        ("tasks", json!(["t@1"])),
        ("settled", json!(9)),
        ("left", json!(["a"])),
    ] {
        assert_eq!(told[field], value, "{field}");
    }
}
