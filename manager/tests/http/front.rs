//! The pages for people: `/`, and those that the `type` of an error leads to.

use std::time::Duration;

use jobbers_api::problem::Code;
use jobbers_common::{
    board::When,
    engine::Outcome,
    failure::{AttemptFailure, FailureKind},
};
use serde_json::json;

use crate::{boards, server::Server};

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
    for shown in ["href=\"docs/\"", "href=\"queues/media%2Fvideo\"", "href=\"tasks/a%2Fb\"", "No worker is alive"] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    assert!(!page.text.contains("Boards"), "it has none: {}", page.text);
    boards::put(&server, "mail", b"x", When::NOW).await;
    let page = server.get("/").await;
    assert!(page.text.contains("href=\"boards/masstasker/groups\""), "{}", page.text);
    assert!(page.text.contains("&lt;script&gt;") && !page.text.contains("<script>"), "{}", page.text);
}

#[tokio::test]
async fn the_first_page_shows_tasks_that_were_dropped_or_stalled_as_failures() {
    let server = Server::start().await;
    for id in ["first-dropped", "then-stalled"] {
        server.post("/tasks", json!({"id": id, "name": "echo"})).await.expect(201);
    }
    let tasks = server.claim("default", 2).await;
    let failure = AttemptFailure::new(FailureKind::Unknown, "no worker knows it");
    let (delay, patience) = (Duration::ZERO, Duration::ZERO);
    server.settle(&tasks[0], Outcome::Unknown { delay, patience, failure, dead_letter: false }).await;
    let failure = AttemptFailure::new(FailureKind::Stall, "no heartbeat");
    server.settle(&tasks[1], Outcome::Stalled { failure, dead_letter: false }).await;
    let page = server.get("/").await.text;
    for heading in ["dropped", "stalled", "aborted"] {
        assert!(page.contains(&format!("<th class=\"number\">{heading}</th>")), "{heading}: {page}");
    }
    let failures = page.split("Latest failures").nth(1).unwrap();
    let (stalled, dropped) = (failures.find("then-stalled"), failures.find("first-dropped"));
    assert!(stalled.is_some() && dropped > stalled, "the latest first: {failures}");
    assert!(failures.contains("<td>dropped</td>") && failures.contains("no heartbeat"), "{failures}");
}

#[tokio::test]
async fn the_type_of_every_error_leads_to_a_page_that_says_what_to_do() {
    let server = Server::start().await;
    let all = server.get("/problems").await;
    assert_eq!(all.status, 200);
    for code in Code::ALL {
        let page = server.get(&code.page()).await;
        assert_eq!(page.status, 200, "{code:?}");
        assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{code:?}");
        assert!(page.text.contains(&format!("<code>{}</code>", code.as_str())), "{code:?}: {}", page.text);
        // The start of the help, up to what is set as code.
        let help = code.help().split('`').next().unwrap();
        assert!(page.text.contains(help), "{code:?}: {}", page.text);
        let link = format!("href=\"problems/{}\"", code.as_str());
        assert!(all.text.contains(&link), "{code:?} is not listed");
    }
    // From an error to its page as a client finds it.
    let problem = server.get("/tasks/none").await.refused(404, "unknown_task");
    assert_eq!(server.get(problem["type"].as_str().unwrap()).await.status, 200);
    server.get("/problems/nonsense").await.refused(404, "not_found");
}
