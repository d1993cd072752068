//! Examples for the OpenAPI document: what Swagger's "Try it out" sends, and what readers copy.
//!
//! Each is sent to a running manager by a test. One walk uses them all: a queue and its role, tasks in it, and a dead
//! letter. A cursor and the id of an operation have no example: only an answer can name one. What the manager answers in that
//! test are the examples of answers (`examples/answers.json`): the test compares them with the file, and writes it.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, ParameterBuilder},
};

/// What each operation answers to its example, if that is JSON. A file that can't be read has none, which the test notices.
static ANSWERS: LazyLock<BTreeMap<String, ExampleAnswer>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples/answers.json")).unwrap_or_default());

#[derive(Deserialize)]
struct ExampleAnswer {
    status: u16,
    body: Value,
}

/// The path parameters: the operation's tag, the name, the example.
const IN_PATHS: [(&str, &str, &str); 10] = [
    ("tasks", "id", "order-7"),
    ("dead letters", "task_id", "order-7"),
    ("queues", "queue", "mail"),
    ("roles", "role", "mailers"),
    ("keys", "key", "0000000abc"),
    ("schedules", "schedule", "nightly"),
    ("workers", "id", "worker-1"),
    ("workflows", "workflow", "nightly-1"),
    ("boards", "board", "masstasker"),
    ("boards", "revision", "1"),
];

/// The body of an operation that takes one.
fn body(operation: &str) -> Option<Value> {
    let queue = json!({
        "name": "mail", "max_concurrent": 50, "rate_limit": {"tasks": 100, "per": "1s"}, "retention": {"age": "1d"},
    });
    let role = json!({"name": "mailers", "queues": ["mail", "default"], "order": "strict"});
    let schedule = json!({
        "name": "nightly", "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "overlap": "skip", "catch_up": "latest",
        "task": {"name": "echo", "parameters": {"report": "daily"}, "max_retries": 3},
    });
    Some(match operation {
        "submit_tasks" => json!({
            "name": "echo", "parameters": {"customer": 42, "hello": "world"}, "max_retries": 5, "retry_delay": "10s",
        }),
        "lease_tasks" => json!({"worker": "python-1", "queues": ["mail", "default"], "limit": 10, "lease": "30s"}),
        "extend_leases" => json!({
            "worker": "python-1", "lease": "30s",
            "leases": [{"id": "order-7", "token": "1795406275123456", "progress": {"fraction": 0.5, "message": "half"}}],
        }),
        "return_leases" => json!({
            "worker": "python-1",
            "leases": [
                {"id": "order-7", "token": "1795406275123456", "outcome": "completed", "result": {"sent": true}},
                {"id": "order-8", "token": "1795406275123457", "outcome": "failed",
                    "error": {"message": "the server is busy", "kind": "rate_limited"}},
            ],
        }),
        "cancel_tasks" => json!({"filter": {"queue": "mail", "status": ["submitted", "scheduled"]}, "limit": 100}),
        "reschedule_task" => json!({"delay": "10m"}),
        "reschedule_tasks" => json!({"filter": {"queue": "mail"}, "limit": 100, "run_at": "2026-11-30T06:00:00Z"}),
        "add_dependencies_to_task" => json!({"depends_on": [{"id": "order-6", "policy": "run_with_failures"}]}),
        "add_dependencies" => json!({"dependencies": [{"run": "order-7", "after": "order-6"}]}),
        "delete_tasks" => json!({"ids": ["order-9"], "cascade": true}),
        "task_statuses" => {
            json!({"queues": ["mail", "default"], "ids": ["order-7"], "status": ["submitted", "started"]})
        }
        "signal_task" => json!({"name": "approved"}),
        "resubmit_task" => json!({"reset_retry_count": true}),
        "resubmit_tasks" => json!({"filter": {"queue": "mail", "error": "timeout"}, "limit": 100}),
        "resubmit_dead_letters" => json!({"name": "echo", "error": "timeout", "limit": 100, "dry_run": true}),
        "delete_dead_letters" => json!({"name": "echo", "error": "timeout", "limit": 100, "dry_run": true}),
        "create_queue" | "put_queue" => queue,
        "create_role" | "put_role" => role,
        "create_key" => json!({"name": "ci", "role": "submitter", "queues": ["mail", "team-a.*"], "expires_in": "90d"}),
        "rotate_key" => json!({"keep": "1d"}),
        "create_schedule" => schedule,
        "put_schedule" => json!({
            "name": "nightly", "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "overlap": "buffer_one",
            "workflow": {"nodes": [
                {"id": "extract", "name": "echo", "parameters": {"step": "extract"}, "max_retries": 3},
                {"id": "load", "name": "echo", "parameters": {"step": "load"}, "depends_on": ["extract"]},
            ]},
        }),
        "submit_workflow" => json!({
            "id": "nightly-1", "name": "nightly",
            "nodes": [
                {"id": "extract", "name": "echo", "parameters": {"step": "extract"}, "max_retries": 3},
                {"id": "load", "name": "echo", "parameters": {"step": "load"}, "depends_on": ["extract"]},
                {"id": "alarm", "name": "echo", "depends_on": [{"id": "load", "policy": "run_on_error"}]},
            ],
        }),
        "put_routing_rule" => json!({"name": "send_mail", "route": {"kind": "single", "queue": "mail"}}),
        "drain_workers" | "resume_workers" => json!({"role": "mailers"}),
        _ => return None,
    })
}

/// The query of an operation that needs one.
fn query(operation: &str) -> &'static [(&'static str, &'static str)] {
    match operation {
        "delete_routing_rule" => &[("name", "send_mail")],
        "preview_slots" => &[("cron", "0 2 * * *"), ("time_zone", "Europe/Berlin")],
        "history" | "queue_history" => &[("last", "1")],
        "list_board_tasks" | "delete_board_group" => &[("group", "mail")],
        _ => &[],
    }
}

/// Puts the examples into the document.
pub(crate) fn add_to(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        operations.into_iter().flatten().for_each(add_to_operation);
    }
}

fn add_to_operation(operation: &mut Operation) {
    let id = operation.operation_id.clone().unwrap_or_default();
    if let (Some(RefOr::T(request)), Some(example)) = (&mut operation.request_body, body(&id)) {
        for content in request.content.values_mut() {
            if let RefOr::T(content) = content {
                content.example = Some(example.clone());
            }
        }
    }
    if let Some(ExampleAnswer { status, body }) = ANSWERS.get(&id)
        && let Some(RefOr::T(response)) = operation.responses.responses.get_mut(&status.to_string())
        && let Some(RefOr::T(content)) = response.content.get_mut("application/json")
    {
        content.example = Some(body.clone());
    }
    let tags = operation.tags.clone().unwrap_or_default();
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            let in_path =
                IN_PATHS.iter().find(|(tag, name, _)| tags.iter().any(|it| it == tag) && parameter.name == *name);
            let in_query = query(&id).iter().find(|(name, _)| parameter.name == *name);
            if let Some(example) = in_path.map(|(.., example)| *example).or(in_query.map(|(_, example)| *example)) {
                let number = example.parse::<u64>().map(Value::from);
                let example = number.unwrap_or_else(|_| example.into());
                *parameter = ParameterBuilder::from(parameter.clone()).example(Some(example)).build();
            }
        }
    }
}
