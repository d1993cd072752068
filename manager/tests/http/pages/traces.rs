//! The trace of a task on its page: its id, and the way to it where a viewer is configured.

use std::sync::Arc;

use jobbers_common::engine::Engine;
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::json;

use crate::server::Server;

const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The row with the trace of a task that was submitted within it.
async fn row(trace_url: &str) -> String {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let server = Server::with(engine, Config { trace_url: trace_url.to_owned(), ..Config::default() }).await;
    let submission = server
        .request(Method::POST, "/tasks")
        .header("traceparent", format!("00-{ID}-00f067aa0ba902b7-01"))
        .json(&json!({"id": "traced", "name": "echo"}));
    server.send(submission).await.expect(201);
    let page = server.get("/ui/task?id=traced").await.text;
    page.split("<th>Trace</th>").nth(1).and_then(|rest| rest.split_once("</tr>")).unwrap().0.to_owned()
}

#[tokio::test]
async fn a_task_links_its_trace_where_a_viewer_is_configured() {
    let linked = row("https://tempo.example/trace/{trace_id}?a=1&b=2").await;
    assert!(linked.contains(&format!("href=\"https://tempo.example/trace/{ID}?a=1&amp;b=2\"")), "{linked}");
    let alone = row("").await;
    assert!(alone.contains(&format!("<code>{ID}</code>")) && !alone.contains("href"), "{alone}");
}
