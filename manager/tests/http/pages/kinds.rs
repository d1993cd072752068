//! The kinds of tasks, and how the latest runs of one went.

use jobbers_common::{
    engine::Outcome,
    task::failure::{AttemptFailure, FailureKind},
};
use serde_json::json;

use super::Site;

pub(super) async fn a_kind_shows_how_its_latest_runs_went(site: Site) {
    site.post("/queues", json!({"name": "mail"})).await.expect(201);
    let none = site.page("/ui/kinds").await;
    assert!(none.contains("No live worker has said what it can run."), "{none}");
    site.register_greeter("worker-1", "host").await;
    let listed = site.page("/ui/kinds").await;
    assert!(listed.contains("<a href=\"kind?name=greet\">greet@2</a>"), "{listed}");

    for version in [1, 2, 2, 2] {
        let task = json!({"name": "greet", "version": version, "queue": "mail", "parameters": {"to": "x"}});
        site.post("/tasks", task).await.expect(201);
    }
    site.post("/tasks", json!({"name": "other", "queue": "mail"})).await.expect(201);
    let claimed = site.claim("mail", 5).await;
    let (last, others) = claimed.split_last().unwrap();
    site.settle(last, Outcome::Completed { result: None }).await;
    for task in &others[..3] {
        site.settle(task, Outcome::Completed { result: None }).await;
    }
    let failure = AttemptFailure::new(FailureKind::Fatal, "no such person");
    site.settle(&others[3], Outcome::Failed { failure, dead_letter: false }).await;

    let shown = site.page("/ui/kind?name=greet").await;
    let row = |version: u32| {
        let (_, rest) = shown.split_once(&format!("<tr><td>{version}</td>")).unwrap_or_else(|| panic!("{shown}"));
        rest.split_once("</tr>").unwrap().0
    };
    let figures = |version: u32| -> Vec<&str> {
        row(version).split("</td>").filter_map(|cell| cell.rsplit('>').next()).take(4).collect()
    };
    assert_eq!(figures(1), ["0", "1", "0", "0"], "workers, completed, failed, other ends: {shown}");
    assert_eq!(figures(2), ["1", "2", "1", "0"], "{shown}");
    assert!(row(2).contains(" ms</td>"), "how long they took: {shown}");
    for said in ["Greets.", "Of the latest 4 tasks", "no such person", "submit?name=greet", "letters?name=greet"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }

    let unknown = site.page("/ui/kind?name=none").await;
    assert!(unknown.contains("No live worker says that it can run it."), "{unknown}");
    assert!(unknown.contains("No task of it has ended that is still kept."), "{unknown}");
    for wrong in ["/ui/kind?name=a%20b", "/ui/kind?name=", "/ui/kind"] {
        let answer = site.get(wrong).await;
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.text);
    }
}
