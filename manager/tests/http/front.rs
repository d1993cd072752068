//! The page at `/`.

use jobbers_common::{
    engine::Outcome,
    failure::{AttemptFailure, FailureKind},
};
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn the_first_page_shows_queues_failures_and_where_to_go() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "media/video"})).await.expect(201);
    server.post("/tasks", json!({"id": "a/b", "name": "echo"})).await.expect(201);
    let task = server.claim("default", 1).await.remove(0);
    let failure = AttemptFailure::new(FailureKind::Fatal, "<script>alert(1)</script>");
    server.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
    let page = server.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    for shown in ["href=\"/docs\"", "href=\"/queues/media%2Fvideo\"", "href=\"/tasks/a%2Fb\"", "No worker is alive"] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    assert!(page.text.contains("&lt;script&gt;") && !page.text.contains("<script>"), "{}", page.text);
}
