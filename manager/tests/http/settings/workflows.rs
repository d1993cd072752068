//! `/workflows`.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, Outcome, QueueClaim, Settlement},
    limits::{MAX_BATCH, MAX_WORKFLOW_NODES},
    name::{QueueName, TaskId, WorkerId},
    task::{AttemptFailure, FailureKind},
};
use jobbers_engines::OpenOptions;
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use serde_json::{Value, json};

use crate::server::{Server, soon};

const DONE: Outcome = Outcome::Completed { result: None };

fn node(id: &str, on: &Value) -> Value {
    json!({"id": id, "name": "echo", "parameters": {"n": 1.0}, "depends_on": on})
}

/// A diamond with a handler for its end: `a`, then `b` and `c`, then `d`; `alarm` only if `d` fails.
fn diamond(id: &str) -> Value {
    json!({"id": id, "name": "nightly", "nodes": [
        node("alarm", &json!([{"id": "d", "policy": "run_on_error"}])),
        node("d", &json!(["b", "c"])), node("b", &json!(["a"])), node("c", &json!(["a"])), node("a", &json!([])),
    ]})
}

fn failed() -> Outcome {
    Outcome::Failed { failure: AttemptFailure::new(FailureKind::Error, "no"), dead_letter: false }
}

/// Runs all that can be run, and ends each task as `outcome` says. Answers their ids in that order.
async fn work(server: &Server, outcome: impl Fn(&str) -> Outcome) -> Vec<String> {
    let mut ran = Vec::new();
    loop {
        let claimed = server.claim("default", 100).await;
        if claimed.is_empty() {
            return ran;
        }
        for task in claimed {
            server.settle(&task, outcome(task.id.as_str())).await;
            ran.push(task.id.to_string());
        }
    }
}

async fn state(server: &Server, id: &str) -> Value {
    server.get(&format!("/workflows/{id}")).await.expect(200)["state"].clone()
}

#[tokio::test]
async fn a_workflow_runs_in_the_order_of_its_graph_and_is_over_with_its_last_node() {
    let server = Server::start().await;
    let created = server.post("/workflows", diamond("w")).await.expect(201);
    assert_eq!((&created["state"], &created["nodes"]), (&json!("running"), &json!(5)));
    let again = server.post("/workflows", diamond("w")).await.expect(200);
    assert_eq!(again["created_at"], created["created_at"], "the same submission");

    let graph = server.get("/workflows/w").await.expect(200);
    let names: Vec<&str> = graph["graph"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "alarm"]);
    assert_eq!(graph["progress"], json!({"submitted": 1, "waiting": 4}));
    assert_eq!(graph["graph"][3]["depends_on"][1], json!({"id": "c", "policy": "abort_successors"}));
    assert_eq!(graph["graph"][0]["parameters"].to_string(), r#"{"n":1.0}"#, "as it was given");
    assert!(graph["graph"].as_array().unwrap().iter().all(|node| node.get("started_at").is_none()), "{graph}");

    let ran = work(&server, |_| DONE).await;
    assert_eq!((ran[0].as_str(), ran[3].as_str(), ran.len()), ("w/a", "w/d", 4));
    let over = server.get("/workflows/w").await.expect(200);
    assert_eq!((&over["state"], &over["over"]), (&json!("completed"), &json!(5)));
    assert_eq!(over["progress"], json!({"aborted": 1, "completed": 4}));
    assert_eq!(over["graph"][4]["skipped"], true, "nothing failed");
    for id in ["a", "b", "c", "d", "alarm"] {
        let task = server.get(&format!("/tasks/w%2F{id}")).await.expect(200);
        let node = over["graph"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap();
        for time in ["started_at", "finished_at"] {
            assert_eq!(node.get(time), task.get(time), "{time} of {id}: {node}");
        }
        assert_eq!(
            (node.get("started_at").is_some(), node["finished_at"].is_string()),
            (id != "alarm", true),
            "{node}"
        );
    }
    server.post("/workflows/w/cancel", json!({})).await.refused(409, "workflow_over");
    server.post("/workflows/w/retry", json!({})).await.refused(409, "workflow_not_over");
    assert_eq!(server.delete("/workflows/w").await.status, 204);
    server.get("/workflows/w").await.refused(404, "unknown_workflow");
}

#[tokio::test]
async fn the_tick_notes_the_end_of_a_workflow_that_nobody_looks_at() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let config = Config { tick: Duration::from_millis(20), ..Config::default() };
    let server = Server::with(engine, config).await;
    server.post("/workflows", diamond("w")).await.expect(201);
    work(&server, |_| DONE).await;
    soon(async {
        loop {
            let listed = server.get("/workflows?state=completed").await.expect(200);
            if let Some(run) = listed["workflows"].as_array().unwrap().first() {
                assert_eq!((&run["id"], &run["over"]), (&json!("w"), &json!(5)));
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_failed_workflow_is_run_again_from_what_failed() {
    let server = Server::start().await;
    server.post("/workflows", diamond("w")).await.expect(201);
    let ran = work(&server, |id| if id == "w/c" { failed() } else { DONE }).await;
    assert_eq!(ran.last().map(String::as_str), Some("w/alarm"), "d was aborted, which the handler waits for: {ran:?}");
    let over = server.get("/workflows/w").await.expect(200);
    assert_eq!(over["state"], "failed");
    assert_eq!(over["progress"], json!({"aborted": 1, "completed": 3, "failed": 1}));

    let again = server.post("/workflows/w/retry", json!({})).await.expect(200);
    assert_eq!((&again["state"], &again["attempt"]), (&json!("running"), &json!(2)));
    server.post("/workflows/w/retry", json!({})).await.refused(409, "workflow_not_over");
    assert_eq!(server.get("/tasks/w%2Fd").await.expect(200)["status"], "waiting", "for c once more");
    assert_eq!(work(&server, |_| DONE).await, ["w/c", "w/d"], "what completed stays");
    assert_eq!(state(&server, "w").await, "completed");
    let again = server.post("/workflows", diamond("w")).await.expect(200);
    assert_eq!(again["attempt"], 2);
}

/// Waits until a run is in a state: it follows its tasks at the next look.
async fn until(server: &Server, id: &str, wanted: &str) {
    soon(async { while state(server, id).await != wanted {} }).await;
}

#[tokio::test]
async fn a_run_follows_its_tasks_whatever_is_sent_again_cancelled_or_replaced_by_itself() {
    let server = Server::start().await;
    let nodes = json!([node("a", &json!([])), node("b", &json!([]))]);
    server.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    work(&server, |id| if id == "w/a" { failed() } else { DONE }).await;
    assert_eq!(state(&server, "w").await, "failed");

    server.post("/tasks/w%2Fa/resubmit", json!({})).await.expect(200);
    until(&server, "w", "running").await;
    server.post("/tasks/w%2Fa/cancel", json!({})).await.expect(200);
    until(&server, "w", "cancelled").await;
    assert_eq!(server.get("/workflows/w").await.expect(200)["progress"], json!({"cancelled": 1, "completed": 1}));

    server.post("/tasks/w%2Fa/resubmit", json!({})).await.expect(200);
    assert_eq!(work(&server, |_| DONE).await, ["w/a"]);
    until(&server, "w", "completed").await;

    let other = json!({"id": "w/b", "name": "echo", "parameters": {"n": 2}, "on_conflict": "replace"});
    server.post("/tasks", other).await.expect(201);
    until(&server, "w", "running").await;
    assert_eq!(work(&server, |_| failed()).await, ["w/b"]);
    until(&server, "w", "failed").await;
}

#[tokio::test]
async fn a_retry_runs_handlers_again_whose_predecessors_run_again() {
    let server = Server::start().await;
    let nodes = json!([
        node("work", &json!([])),
        node("alarm", &json!([{"id": "work", "policy": "run_on_error"}])),
        node("tidy", &json!([{"id": "work", "policy": "run_with_failures"}])),
    ]);
    server.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    let fails = |id: &str| if id == "w/work" { failed() } else { DONE };
    let all = ["w/work", "w/alarm", "w/tidy"];
    assert_eq!(work(&server, fails).await, all);
    assert_eq!(state(&server, "w").await, "failed");
    server.post("/workflows/w/retry", json!({})).await.expect(200);
    assert_eq!(work(&server, fails).await, all, "it fails again, so its handlers run again");
    assert_eq!(state(&server, "w").await, "failed");
    server.post("/workflows/w/retry", json!({})).await.expect(200);
    assert_eq!(work(&server, |_| DONE).await, ["w/work", "w/tidy"]);
    assert_eq!(state(&server, "w").await, "completed");
}

#[tokio::test]
async fn a_cancelled_workflow_cancels_its_tasks() {
    let server = Server::start().await;
    server.post("/workflows", diamond("w")).await.expect(201);
    server.delete("/workflows/w").await.refused(409, "workflow_not_over");
    let running = server.claim("default", 1).await;
    let cancelled = server.post("/workflows/w/cancel", json!({})).await.expect(200);
    assert_eq!((&cancelled["state"], &cancelled["cancel_requested"]), (&json!("running"), &json!(true)));
    assert_eq!(server.get("/workflows/w").await.expect(200)["progress"], json!({"cancelled": 4, "started": 1}));
    server.settle(&running[0], DONE).await;
    assert_eq!(state(&server, "w").await, "cancelled");
    server.post("/workflows/w/retry", json!({})).await.expect(200);
    assert_eq!(work(&server, |_| DONE).await.len(), 4);
    assert_eq!(state(&server, "w").await, "completed");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_place_and_nothing_is_stored() {
    let server = Server::start().await;
    let nodes = |nodes: Value| json!({"id": "w", "nodes": nodes});
    let with = |more: Value| {
        let mut node = node("a", &json!([]));
        more.as_object().unwrap().iter().for_each(|(field, value)| node[field] = value.clone());
        json!([node])
    };
    for (wrong, code, pointer, says) in [
        (json!([]), "invalid_request", "/nodes", "at least one"),
        (
            json!([node("a", &json!(["b"])), node("b", &json!(["a"]))]),
            "invalid_request",
            "/nodes/1/depends_on",
            "a -> b",
        ),
        (json!([node("a", &json!(["x"]))]), "invalid_request", "/nodes/0/depends_on/0", "does not exist"),
        (json!([node("a", &json!([])), node("a", &json!([]))]), "invalid_request", "/nodes/1/id", "twice"),
        (json!([{"name": "echo"}]), "invalid_request", "/nodes/0/id", "missing"),
        (with(json!({"id": "a/b"})), "invalid_request", "/nodes/0/id", "without /"),
        (with(json!({"queue": "none"})), "unknown_queue", "/nodes/0/queue", "none"),
        (with(json!({"delay": "1s"})), "invalid_request", "/nodes/0/delay", "not for nodes"),
        (with(json!({"priority": 10})), "invalid_request", "/nodes/0/priority", "0 to 9"),
        (with(json!({"unique_key": "k"})), "invalid_request", "/nodes/0/unique_key", "not for nodes"),
        (with(json!({"parameters": "x".repeat(300_000)})), "payload_too_large", "/nodes/0/parameters", "262144"),
    ] {
        let answer = server.post("/workflows", nodes(wrong)).await;
        let status = answer.status.as_u16();
        let problem = answer.refused(status, code);
        assert_eq!(problem["pointer"], pointer, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let many: Vec<Value> = (0..=MAX_WORKFLOW_NODES).map(|n| json!({"id": format!("n{n}"), "name": "e"})).collect();
    let problem = server.post("/workflows", json!({"nodes": many})).await.refused(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("at most 10000 nodes"), "{problem}");
    let long = json!({"id": "w".repeat(65), "nodes": [node("a", &json!([]))]});
    assert_eq!(server.post("/workflows", long).await.refused(422, "invalid_request")["pointer"], "/id");
    assert_eq!(server.get("/workflows").await.expect(200)["workflows"], json!([]));
    assert_eq!(server.get("/tasks").await.expect(200)["tasks"], json!([]));
}

#[tokio::test]
async fn an_id_that_is_taken_is_refused() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "w/b", "name": "echo"})).await.expect(201);
    let problem = server.post("/workflows", diamond("w")).await.refused(409, "task_exists");
    assert!(problem["detail"].as_str().unwrap().contains("w/b"), "{problem}");
    server.post("/workflows", diamond("v")).await.expect(201);
    let other = json!({"id": "v", "nodes": [node("a", &json!([]))]});
    server.post("/workflows", other).await.refused(409, "workflow_exists");
}

#[tokio::test]
async fn a_large_workflow_is_submitted_in_pieces() {
    let server = Server::start().await;
    // Two layers of 1,200, each node of the second after eight of the first.
    let first = (0..1_200).map(|n| node(&format!("f{n}"), &json!([])));
    let on = |n: usize| (0..8).map(|k| format!("f{}", (n + k * 7) % 1_200)).collect::<Vec<_>>();
    let second = (0..1_200).map(|n| node(&format!("s{n}"), &json!(on(n))));
    let nodes: Vec<Value> = second.chain(first).collect();
    let created = server.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    assert_eq!(created["state"], "running");
    let graph = server.get("/workflows/w").await.expect(200);
    assert_eq!(graph["progress"], json!({"submitted": 1_200, "waiting": 1_200}));
    let ran = work(&server, |_| DONE).await;
    assert_eq!(ran.len(), 2_400);
    assert!(ran[..1_200].iter().all(|id| id.starts_with("w/f")));
    assert_eq!(state(&server, "w").await, "completed");
}

#[tokio::test]
async fn workflows_are_listed_the_latest_first_by_state_and_name() {
    let server = Server::start().await;
    for id in ["c", "a", "b"] {
        server.post("/workflows", diamond(id)).await.expect(201);
    }
    server.post("/workflows", json!({"id": "d", "name": "other", "nodes": [node("a", &json!([]))]})).await.expect(201);
    server.post("/workflows/a/cancel", json!({})).await.expect(200);
    state(&server, "a").await;
    let listed = |answer: Value| -> Vec<String> {
        answer["workflows"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(server.get("/workflows").await.expect(200)), ["d", "b", "a", "c"]);
    assert_eq!(listed(server.get("/workflows?state=cancelled").await.expect(200)), ["a"]);
    assert_eq!(listed(server.get("/workflows?name=nightly&state=running").await.expect(200)), ["b", "c"]);
    let (mut seen, mut path) = (Vec::new(), "/workflows?limit=1".to_owned());
    loop {
        let page = server.get(&path).await.expect(200);
        seen.extend(listed(page.clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/workflows?limit=1&cursor={cursor}");
    }
    assert_eq!(seen, ["d", "b", "a", "c"]);
    server.get("/workflows?cursor=x").await.refused(400, "invalid_parameter");
    server.get("/workflows?limit=0").await.refused(400, "invalid_parameter");
    server.get("/workflows?state=done").await.refused(400, "invalid_parameter");
}

#[tokio::test]
async fn a_full_queue_puts_the_rest_of_a_workflow_off() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let server = Server::with(engine, Config { tick: Duration::from_millis(20), ..Config::default() }).await;
    server.post("/queues", json!({"name": "small", "max_length": 1})).await.expect(201);
    let node = |id: &str| json!({"id": id, "name": "echo", "queue": "small"});
    server.post("/tasks", node("in-the-way")).await.expect(201);
    let created = server.post("/workflows", json!({"id": "w", "nodes": [node("a")]})).await.expect(201);
    assert_eq!(created["state"], "submitting");
    assert!(created["refusal"].as_str().unwrap().contains("max_length"), "{created}");
    server.post("/tasks/in-the-way/cancel", json!({})).await.expect(200);
    soon(async { while server.get("/workflows/w").await.expect(200)["state"] != "running" {} }).await;
    assert_eq!(server.get("/workflows/w").await.expect(200).get("refusal"), None);
}

#[tokio::test]
async fn tasks_that_are_refused_for_good_fail_the_workflow() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let server = Server::with(engine, Config { tick: Duration::from_millis(20), ..Config::default() }).await;
    server.post("/queues", json!({"name": "small", "max_length": 1})).await.expect(201);
    let node = |id: &str| json!({"id": id, "name": "echo", "queue": "small"});
    // A piece with two tasks never fits into this queue.
    let created = server.post("/workflows", json!({"id": "w", "nodes": [node("a"), node("b")]})).await.expect(201);
    assert!(created["failure"].as_str().unwrap().contains("max_length"), "{created}");
    soon(async { while server.get("/workflows/w").await.expect(200)["state"] != "failed" {} }).await;
    assert_eq!(server.get("/tasks").await.expect(200)["tasks"], json!([]));
}

#[tokio::test]
async fn a_workflow_comes_and_goes_as_a_flowchart() {
    let server = Server::start().await;
    let text = "flowchart TD\n  a[\"echo(path='x (1).csv', n=1.0)\"] --> b[\"echo\"]\n  b -.-> alarm[\"echo\"]\n";
    server.post("/workflows", json!({"id": "w", "mermaid": text})).await.expect(201);
    let graph = server.get("/workflows/w").await.expect(200);
    assert_eq!(graph["graph"][0]["parameters"], json!({"n": 1.0, "path": "x (1).csv"}));
    assert_eq!(graph["graph"][2]["depends_on"], json!([{"id": "b", "policy": "run_on_error"}]));
    let drawn = server.get("/workflows/w?format=mermaid").await;
    assert_eq!(drawn.headers["content-type"], "text/vnd.mermaid; charset=utf-8");
    assert!(
        drawn.text.contains("b[\"echo{waiting}\"]:::waiting") && drawn.text.contains("b -.-> alarm"),
        "{}",
        drawn.text
    );
    server.post("/workflows", json!({"id": "again", "mermaid": drawn.text})).await.expect(201);
    server.get("/workflows/w?format=svg").await.refused(400, "invalid_parameter");
    for (text, says) in [
        ("flowchart TD\n  a[\"echo\"] -> b", "line 2, column 13: the arrows are"),
        ("flowchart TD\n  a[\"echo@1:none\"]", "line 2, column 3: queue none does not exist"),
        ("flowchart TD\n  a[\"echo\"] --> b[\"echo\"]\n  b --> a", "line 2, column 17: these nodes would wait"),
    ] {
        let answer = server.post("/workflows", json!({"id": "x", "mermaid": text})).await;
        let problem = answer.json();
        assert_eq!(problem["pointer"], "/mermaid", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let both = json!({"mermaid": "flowchart TD", "nodes": [node("a", &json!([]))]});
    server.post("/workflows", both).await.refused(422, "invalid_request");
    server.get("/workflows/x").await.refused(404, "unknown_workflow");
}

#[tokio::test]
async fn a_task_with_a_colon_in_its_name_comes_and_goes_as_a_flowchart() {
    let server = Server::start().await;
    server.put("/queues/deliver", json!({})).await.expect(200);
    for (place, name) in ["email:deliver", "Mailer::Welcome", "a:b"].into_iter().enumerate() {
        let (id, again) = (format!("w{place}"), format!("again{place}"));
        server.post("/workflows", json!({"id": id, "nodes": [{"id": "end", "name": name}]})).await.expect(201);
        let drawn = server.get(&format!("/workflows/{id}?format=mermaid")).await.text;
        server.post("/workflows", json!({"id": again, "mermaid": drawn})).await.expect(201);
        let graph = &server.get(&format!("/workflows/{again}")).await.expect(200)["graph"][0];
        assert_eq!(
            (&graph["name"], &graph["id"], &graph["queue"]),
            (&json!(name), &json!("end"), &Value::Null),
            "{drawn}"
        );
    }
}

#[tokio::test]
async fn a_long_flowchart_is_read_and_one_that_makes_too_much_is_refused() {
    let server = Server::start().await;
    let list = |name: &str| vec![name; 10_000].join(" & ");
    let bomb = format!("flowchart TD\n{} --> {}", list("a"), list("b"));
    let problem = server.post("/workflows", json!({"id": "bomb", "mermaid": bomb})).await;
    assert!(problem.refused(422, "invalid_request")["detail"].as_str().unwrap().contains("at most 100000 edges"));
    let long = format!("flowchart TD\n a[\"echo\"]\n %% {}", "x".repeat(100_000));
    server.post("/workflows", json!({"id": "long", "mermaid": long})).await.expect(201);
}

/// Completes all that can be run, many at a time. Returns how many, and the last.
async fn work_off(engine: &dyn Engine) -> (usize, Option<TaskId>) {
    let worker = WorkerId::new("w1").unwrap();
    let queues = vec![QueueClaim { queue: QueueName::new("default").unwrap(), limit: MAX_BATCH }];
    let claim = Some(ClaimRequest { queues, limit: MAX_BATCH, refused: Vec::new(), lease: Duration::from_secs(30) });
    let (mut count, mut last, mut settlements) = (0, None, Vec::new());
    loop {
        let cycle =
            Cycle { worker: worker.clone(), settlements: std::mem::take(&mut settlements), claim: claim.clone() };
        let claimed = engine.cycle(cycle).await.unwrap().claimed;
        if claimed.is_empty() {
            return (count, last);
        }
        count += claimed.len();
        last = claimed.last().map(|task| task.id.clone());
        settlements = claimed.into_iter().map(|task| Settlement::new(task.id, task.fence, DONE)).collect();
    }
}

#[tokio::test]
async fn a_node_waits_for_all_others_of_the_largest_run() {
    let engine = jobbers_engines::open("sqlite::memory:", OpenOptions::default()).await.unwrap();
    let config = Config { tick: Duration::from_millis(20), ..Config::default() };
    let server = Server::with(Arc::clone(&engine), config).await;
    let names: Vec<String> = (1..MAX_WORKFLOW_NODES).map(|n| format!("n{n}")).collect();
    let plain = |name: &String| json!({"id": name, "name": "echo"});
    let nodes: Vec<Value> = names.iter().map(plain).chain([node("all", &json!(names))]).collect();
    let labels = names.iter().map(|name| format!("{name}[\"echo\"]")).collect::<Vec<_>>().join(" & ");
    let chart = format!("flowchart TD\n{labels} --> all[\"echo\"]");
    for (id, body) in
        [("json", json!({"id": "json", "nodes": nodes})), ("chart", json!({"id": "chart", "mermaid": chart}))]
    {
        server.post("/workflows", body).await.expect(201);
        soon(async { while state(&server, id).await == "submitting" {} }).await;
        let edges = MAX_WORKFLOW_NODES - 1;
        let all = format!("/tasks/{id}%2Fall");
        assert_eq!(server.get(&all).await.expect(200)["dependencies"]["total"], edges);
        // The ticks and claims signal what a step does not.
        let (mut ran, mut last) = work_off(&*engine).await;
        soon(async {
            while ran < MAX_WORKFLOW_NODES {
                let (more, latest) = work_off(&*engine).await;
                (ran, last) = (ran + more, latest.or(last.take()));
            }
        })
        .await;
        assert_eq!((ran, last.unwrap().as_str()), (MAX_WORKFLOW_NODES, format!("{id}/all").as_str()));
        assert_eq!(server.get(&all).await.expect(200)["dependencies"], json!({"total": edges, "signals": edges}));
        soon(async { while state(&server, id).await != "completed" {} }).await;
    }
}

#[tokio::test]
async fn the_explanation_of_a_waiting_node_names_its_workflow() {
    let server = Server::start().await;
    server.post("/workflows", diamond("w")).await.expect(201);
    let explained = server.get("/tasks/w%2Fd/explain").await.expect(200);
    assert_eq!(explained["reasons"][0]["message"], "it waits for 2 of 2 tasks to end, as node d of workflow w");
}

#[tokio::test]
async fn a_node_waits_for_a_signal_as_well_as_for_other_nodes() {
    let server = Server::start().await;
    let mut deploy = node("deploy", &json!(["build"]));
    deploy["signals"] = json!([{"name": "approved", "timeout": "1h"}]);
    let nodes = json!([node("build", &json!([])), deploy, node("report", &json!(["deploy"]))]);
    server.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    assert_eq!(work(&server, |_| DONE).await, ["w/build"]);
    let reason = server.get("/tasks/w%2Fdeploy/explain").await.expect(200)["reasons"][0].clone();
    let message = "it waits for signals from outside: approved, as node deploy of workflow w";
    assert_eq!((&reason["code"], &reason["message"]), (&json!("waits_for_signals"), &json!(message)));
    let drawn = server.get("/workflows/w?format=mermaid").await;
    let label = "deploy[\"echo({#quot;n#quot;:1.0}) on approved=1h{waiting}\"]";
    assert!(drawn.text.contains(label), "{}", drawn.text);
    server.post("/tasks/w%2Fdeploy/signal", json!({"name": "approved"})).await.expect(200);
    assert_eq!(work(&server, |_| DONE).await, ["w/deploy", "w/report"]);
    assert_eq!(state(&server, "w").await, "completed");

    for signals in [json!(["s", "s"]), json!([{"name": "s", "timeout": "0s"}])] {
        let mut bad = node("bad", &json!([]));
        bad["signals"] = signals;
        let problem = server.post("/workflows", json!({"id": "x", "nodes": [bad]})).await;
        assert_eq!(problem.refused(422, "invalid_request")["pointer"], "/nodes/0/signals");
    }
}

#[tokio::test]
async fn a_node_that_is_run_again_still_reads_the_results_before_it() {
    let server = Server::start().await;
    server.post("/workflows", diamond("w")).await.expect(201);
    work(&server, |id| if id == "w/d" { failed() } else { DONE }).await;
    assert_eq!(state(&server, "w").await, "failed");
    server.post("/workflows/w/retry", json!({})).await.expect(200);
    let again = server.get("/tasks/w%2Fd/predecessors").await.expect(200);
    let ids: Vec<&Value> = again["predecessors"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!("w/b"), &json!("w/c")]);
    assert_eq!(work(&server, |_| DONE).await, ["w/d"]);
    assert_eq!(state(&server, "w").await, "completed");
}

#[tokio::test]
async fn a_flowchart_may_be_the_whole_body() {
    let server = Server::start().await;
    let post = async |path: &str, body: &str| {
        let request =
            server.request(reqwest::Method::POST, path).header("content-type", "text/vnd.mermaid; charset=utf-8");
        let response = request.body(body.to_owned()).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let text = "flowchart TD\n  a[\"echo(n=1)\"] --> b[\"echo\"]";
    let (status, run) = post("/workflows?id=w&name=nightly", text).await;
    assert_eq!((status, &run["id"], &run["name"], &run["nodes"]), (201, &json!("w"), &json!("nightly"), &json!(2)));
    assert_eq!(post("/workflows?id=w&name=nightly", text).await.0, 200);
    assert_eq!(post("/workflows?id=w&name=other", text).await.0, 409);
    assert_eq!(post("/workflows", "flowchart TD\n  a[\"echo").await.1["pointer"], "/mermaid");
    assert_eq!(post("/workflows?who=me", text).await.1["code"], "invalid_parameter");
    assert_eq!(server.post("/workflows?id=x", diamond("x")).await.expect(400)["code"], "invalid_parameter");
}
