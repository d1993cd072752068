//! Requests that a web page has a browser send.

use reqwest::Method;
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn a_page_of_another_site_steers_nothing() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "a", "name": "t"})).await.expect(201);
    let posts = [
        "/queues/default/pause",
        "/queues/default/resume",
        "/queues/default/purge",
        "/tasks/a/cancel",
        "/tasks/a/resubmit",
        "/workers/w/drain",
        "/roles/default/refresh",
        "/tasks",
    ];
    for path in posts {
        for (header, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
            let request = server.request(Method::POST, path).header(header, value);
            server.send(request).await.refused(403, "foreign_origin");
        }
    }
    let rebound = server.request(Method::POST, "/queues/default/purge").header("host", "evil.example");
    let answer = server.send(rebound).await;
    answer.refused(403, "foreign_host");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert_eq!(answer.headers["x-request-id"].len(), 16, "a refusal can be found in the log too");
    let rebound = server.request(Method::GET, "/tasks/a").header("host", "evil.example:8000");
    server.send(rebound).await.refused(403, "foreign_host");
    let queue = server.get("/queues/default").await.expect(200);
    assert_eq!((&queue["paused"], &queue["tasks"]["submitted"]), (&json!(false), &json!(1)));

    let own = format!("http://{}", server.address);
    let request = server.request(Method::POST, "/tasks/a/cancel").header("origin", own);
    server.send(request.header("sec-fetch-site", "same-origin")).await.expect(200);
}
