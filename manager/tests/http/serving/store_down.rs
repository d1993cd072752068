//! A store that fails: never a false success, always its own code.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::Error;
use jobbers_manager::Config;
use serde_json::json;

use crate::{
    fault::{Fault, FaultyEngine},
    server::Server,
};
use jobbers_law::double::Double;

async fn start() -> (Arc<Double<FaultyEngine>>, Server) {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    (engine, server)
}

#[tokio::test]
async fn each_trouble_has_its_code_and_a_time_to_come_back() {
    let (engine, server) = start().await;
    let down = Error::Unavailable { reason: "refused".to_owned(), retry_after: Duration::from_millis(2_500) };
    let schema = Error::Schema { found: "9".to_owned(), supported: "1".to_owned() };
    for (error, status, code, retry_after) in [
        (down, 503, "store_unavailable", Some("3")),
        (Error::Full("disk".to_owned()), 503, "store_full", Some("5")),
        (Error::ReadOnly("replica".to_owned()), 503, "store_read_only", Some("5")),
        (schema, 500, "store_schema", None),
        (Error::Corrupt("row".to_owned()), 500, "store_corrupt", None),
    ] {
        engine.set(Fault::Fails(error));
        let answer = server.post("/tasks", json!({"id": "x", "name": "t"})).await;
        answer.refused(status, code);
        assert_eq!(answer.headers.get("retry-after").map(|value| value.to_str().unwrap()), retry_after, "{code}");
    }
    engine.set(Fault::None);
    server.get("/tasks/x").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn everything_but_liveness_says_that_the_store_is_down() {
    let (engine, server) = start().await;
    engine.set(Fault::Fails(Error::unavailable("refused")));
    for path in [
        "/tasks",
        "/tasks/x",
        "/tasks/x?wait=30s",
        "/active-tasks",
        "/scheduled-tasks",
        "/queues",
        "/queues/default",
        "/workers",
        "/health/ready",
    ] {
        server.get(path).await.refused(503, "store_unavailable");
    }
    for path in ["/tasks/x/cancel", "/queues/default/purge"] {
        server.post(path, "").await.refused(503, "store_unavailable");
    }
    server.get("/health/live").await.expect(200);
}

#[tokio::test]
async fn a_damaged_store_is_not_ready_and_that_is_no_defect_of_the_manager() {
    let (engine, server) = start().await;
    engine.set(Fault::Fails(Error::Corrupt("a page".to_owned())));
    server.get("/health/ready").await.refused(503, "store_unavailable");
    engine.set(Fault::None);
    server.get("/health/ready").await.expect(200);
}

#[tokio::test]
async fn a_store_that_is_well_is_named_with_what_it_promises() {
    let (_, server) = start().await;
    let ready = server.get("/health/ready").await.expect(200);
    assert_eq!(
        (&ready["status"], &ready["engine"], &ready["warnings"]),
        (&json!("ready"), &json!("model"), &json!([]))
    );
    assert!(!ready["durability"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_defect_is_answered_and_the_server_goes_on() {
    let (engine, server) = start().await;
    engine.set(Fault::Panics);
    server.get("/tasks/x").await.refused(500, "internal");
    engine.set(Fault::None);
    server.get("/tasks/x").await.refused(404, "unknown_task");
}
