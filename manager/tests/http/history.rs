//! What happened in queues, over HTTP: every slot, of one queue and of all.

use jobbers_common::engine::Outcome;
use serde_json::{Value, json};

use crate::server::Server;

/// A count of all slots together.
fn sum(history: &Value, count: &str) -> u64 {
    history["slots"].as_array().unwrap().iter().map(|slot| slot[count].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn what_happened_is_answered_by_queue_and_for_all_together() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    for (id, queue) in [("a", "mail"), ("b", "mail"), ("c", "default")] {
        server.post("/tasks", json!({"id": id, "name": "t", "queue": queue})).await.expect(201);
    }
    let claimed = server.claim("mail", 1).await;
    server.settle(&claimed[0], Outcome::Completed { result: None }).await;
    for by in ["minute", "hour"] {
        let mail = server.get(&format!("/queues/mail/history?by={by}")).await.expect(200);
        let counts = ["accepted", "started", "completed", "failed", "other", "retried"].map(|count| sum(&mail, count));
        assert_eq!((counts, &mail["queue"]), ([2, 1, 1, 0, 0, 0], &json!("mail")));
        let all = server.get(&format!("/history?by={by}")).await.expect(200);
        assert_eq!((sum(&all, "accepted"), sum(&all, "completed"), all.get("queue")), (3, 1, None));
        assert_eq!(
            (all["slots"].as_array().unwrap().len(), &all["by"]),
            (if by == "hour" { 192 } else { 120 }, &json!(by))
        );
    }
    let hours = server.get("/queues/mail/history?by=hour&last=2").await.expect(200);
    let slots = hours["slots"].as_array().unwrap();
    assert_eq!((slots.len(), hours["bounds"].as_array().unwrap().len()), (2, 15));
    let of = |what: &str| {
        slots.iter().filter_map(|slot| slot[what].as_array()).flatten().filter_map(Value::as_u64).sum::<u64>()
    };
    assert_eq!((of("waited"), of("ran")), (1, 1));
    server.stop().await;
}

#[tokio::test]
async fn a_history_that_is_not_kept_and_a_queue_that_does_not_exist_are_refused() {
    let server = Server::start().await;
    for query in ["last=0", "last=121", "by=hour&last=193", "by=day", "last=x"] {
        server.get(&format!("/history?{query}")).await.refused(400, "invalid_parameter");
        server.get(&format!("/queues/default/history?{query}")).await.refused(400, "invalid_parameter");
    }
    server.get("/queues/nowhere/history").await.refused(404, "unknown_queue");
    let quiet = server.get("/queues/default/history?by=hour&last=192").await.expect(200);
    assert_eq!((sum(&quiet, "accepted"), quiet["slots"].as_array().unwrap().len()), (0, 192));
    server.stop().await;
}
