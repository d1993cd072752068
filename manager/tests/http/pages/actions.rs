//! Each form, and its effect as the API reports it.

use jobbers_common::{
    engine::Outcome,
    failure::{AttemptFailure, FailureKind},
};
use serde_json::{Value, json};

use super::Site;

pub(super) async fn a_queue_is_paused_resumed_and_limited(site: Site) {
    let before = json!({"name": "mail", "max_bytes": 5_000, "key_parameter": "/customer", "retention": {"age": "2h", "count": 7}, "strict": true});
    site.post("/queues", before).await.expect(201);
    let page = "/ui/queue?name=mail";
    let next = site.act(page, &[("act", "pause")]).await;
    assert_eq!(site.get("/queues/mail").await.json()["paused"], true);
    let html = site.page(&next).await;
    assert!(html.contains("Queue mail is paused.") && html.contains("jobbers queues pause mail"), "{html}");
    let limits =
        [("act", "limits"), ("max_concurrent", "4"), ("max_per_worker", ""), ("rate_tasks", "10"), ("rate_per", "1m")];
    site.act(page, &limits).await;
    let queue = site.get("/queues/mail").await.json();
    assert_eq!((&queue["max_concurrent"], &queue["max_per_worker"]), (&json!(4), &Value::Null));
    assert_eq!(queue["rate_limit"], json!({"tasks": 10, "per": "1m"}));
    assert_eq!(
        (&queue["max_bytes"], &queue["paused"], &queue["strict"]),
        (&json!(5_000), &json!(true), &json!(true)),
        "all else stays"
    );
    assert_eq!(
        (&queue["key_parameter"], &queue["retention"]),
        (&json!("/customer"), &json!({"age": "2h", "count": 7}))
    );
    let html = site.page(&site.act(page, &[("act", "resume")]).await).await;
    assert!(html.contains("gives tasks out again"), "{html}");
    assert_eq!(site.get("/queues/mail").await.json()["paused"], false);
    let refused = site.send(site.form(page, &[("act", "limits"), ("max_concurrent", "many")])).await;
    assert_eq!(
        (refused.status.as_u16(), refused.text.contains("is no number of tasks")),
        (422, true),
        "{}",
        refused.text
    );
}

pub(super) async fn a_queue_is_purged_of_what_was_shown_and_typed(site: Site) {
    for id in ["a", "b"] {
        site.post("/tasks", json!({"id": id, "name": "echo"})).await.expect(201);
    }
    let page = "/ui/queue?name=default";
    assert!(site.page(page).await.contains("name=\"shown\" value=\"2\""));
    let left = async || site.get("/queues/default").await.json()["tasks"]["submitted"].clone();
    let next = site.act(page, &[("act", "purge"), ("shown", "2"), ("typed", "1")]).await;
    assert!(site.page(&next).await.contains("Nothing was deleted"));
    site.post("/tasks", json!({"id": "c", "name": "echo"})).await.expect(201);
    site.act(page, &[("act", "purge"), ("shown", "2"), ("typed", "2")]).await;
    assert_eq!(left().await, 3, "one more came than was shown");
    let next = site.act(page, &[("act", "purge"), ("shown", "3"), ("typed", "3")]).await;
    assert_eq!(left().await, Value::Null);
    assert!(site.page(&next).await.contains("3 tasks deleted from queue default."));
}

pub(super) async fn a_task_is_cancelled_and_sent_again(site: Site) {
    site.post("/tasks", json!({"id": "a/b", "name": "echo"})).await.expect(201);
    let page = "/ui/task?id=a%2Fb";
    let html = site.page(page).await;
    assert!(html.contains("jobbers cancel a/b") && html.contains("<h2>Why</h2>"), "{html}");
    let next = site.act(page, &[("act", "cancel")]).await;
    assert_eq!(site.status("a/b").await, "cancelled");
    assert!(site.page(&next).await.contains("1 task cancelled, or asked to stop."));
    site.act(page, &[("act", "resubmit")]).await;
    assert_eq!(site.status("a/b").await, "submitted");
    let again = site.send(site.form(page, &[("act", "resubmit")])).await;
    assert_eq!(
        (again.status.as_u16(), again.text.contains("<h1>")),
        (409, true),
        "a refusal is a page: {}",
        again.text
    );
    let task = site.claim("default", 1).await.remove(0);
    let failure = AttemptFailure::new(FailureKind::Fatal, "no such user");
    site.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
    let html = site.page(page).await;
    assert!(html.contains("no such user") && html.contains("Attempt 1: fatal"), "{html}");
}

pub(super) async fn chosen_tasks_are_asked_about_first(site: Site) {
    for id in ["a", "b", "c"] {
        site.post("/tasks", json!({"id": id, "name": "echo"})).await.expect(201);
    }
    let page = "/ui/tasks?queue=default";
    let chosen = [("id", "a"), ("id", "b")];
    let question = site.send(site.form(page, &[[("act", "cancel")].as_slice(), chosen.as_slice()].concat())).await;
    assert_eq!(question.status, 200);
    assert!(question.text.contains("Cancel 2 tasks?") && question.text.contains("name=\"sure\""), "{}", question.text);
    assert_eq!(site.status("a").await, "submitted", "nothing is done yet");
    let sure = |act: &'static str| [[("act", act), ("sure", "yes")].as_slice(), chosen.as_slice()].concat();
    let next = site.act(page, &sure("cancel")).await;
    assert!(next.contains("queue=default") && site.page(&next).await.contains("2 tasks cancelled"), "{next}");
    assert_eq!((site.status("a").await, site.status("c").await), (json!("cancelled"), json!("submitted")));
    site.act(page, &sure("resubmit")).await;
    assert_eq!(site.status("b").await, "submitted");
    site.act(page, &sure("delete")).await;
    assert!(site.get("/tasks/a").await.status.is_client_error(), "it is gone");
    assert_eq!(site.status("c").await, "submitted");
    assert!(site.send(site.form(page, &[("act", "delete")])).await.text.contains("No task is chosen"));
}

pub(super) async fn all_tasks_that_match_are_cancelled(site: Site) {
    for (id, team) in [("a", "x"), ("b", "x"), ("c", "y")] {
        site.post("/tasks", json!({"id": id, "name": "echo", "labels": {"team": team}})).await.expect(201);
    }
    assert!(!site.page("/ui/tasks").await.contains("Cancel all that match"), "not all tasks there are");
    let page = "/ui/tasks?label=team%3Dx";
    assert!(site.page(page).await.contains("jobbers cancel --label team=x"));
    let next = site.act(page, &[("act", "cancel_all")]).await;
    assert!(site.page(&next).await.contains("2 tasks cancelled"), "{next}");
    assert_eq!((site.status("b").await, site.status("c").await), (json!("cancelled"), json!("submitted")));
}

pub(super) async fn dead_letters_are_sent_again_and_deleted(site: Site) {
    site.post("/queues", json!({"name": "dying"})).await.expect(201);
    for (id, message) in [("a", "no user 1"), ("b", "no user 2"), ("c", "timeout"), ("d", "gone")] {
        site.fail(id, message).await;
    }
    let dead = |count: u64| move |answer: &crate::server::Answer| answer.json()["total"] == count;
    site.until("/dead-letter-queue/stats", dead(4)).await;
    let html = site.page("/ui/letters").await;
    assert!(html.contains("By cause") && html.contains("timeout"), "{html}");
    let page = "/ui/letters?error=no%20user";
    assert!(site.page(page).await.contains("<b>2 dead letters</b>"));
    let next = site.act(page, &[("act", "resubmit"), ("rate", "1000")]).await;
    assert!(next.starts_with("/ui/operation?"), "{next}");
    site.until("/tasks/b", |answer| answer.json()["status"] == "submitted").await;
    assert_eq!((site.status("a").await, site.status("c").await), (json!("submitted"), json!("failed")));
    site.page(&next).await;
    site.until("/dead-letter-queue/stats", dead(2)).await;
    site.act("/ui/letter?id=c", &[("act", "resubmit")]).await;
    assert_eq!(site.status("c").await, "submitted");
    site.until("/dead-letter-queue/stats", dead(1)).await;
    let next = site.act("/ui/letters", &[("act", "delete"), ("shown", "1"), ("typed", "2")]).await;
    assert!(site.page(&next).await.contains("Nothing was deleted"));
    let next = site.act("/ui/letters", &[("act", "delete"), ("shown", "1"), ("typed", "1")]).await;
    assert!(site.page(&next).await.contains("1 dead letter deleted."));
    assert_eq!(site.get("/dead-letter-queue/stats").await.json()["total"], 0);
}

pub(super) async fn workers_are_drained_and_let_claim_again(site: Site) {
    for (id, host) in [("one", "h1"), ("two", "h1"), ("three", "h2")] {
        site.engine.register_worker(super::report(id, host), std::time::Duration::from_secs(60)).await.unwrap();
    }
    let draining = async || {
        let workers = site.get("/workers").await.json()["workers"].as_array().unwrap().clone();
        let asked = workers.iter().filter(|worker| worker["draining_since"].is_string());
        asked.map(|worker| worker["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let next = site.act("/ui/workers", &[("act", "drain"), ("host", "h1"), ("version", "")]).await;
    assert_eq!(draining().await, ["one", "two"]);
    assert!(site.page(&next).await.contains("2 workers asked to drain"));
    site.act("/ui/worker?id=one", &[("act", "resume")]).await;
    assert_eq!(draining().await, ["two"]);
    site.act("/ui/worker?id=three", &[("act", "drain")]).await;
    assert_eq!(draining().await, ["three", "two"]);
}

pub(super) async fn a_schedule_is_run_paused_and_resumed(site: Site) {
    let task = json!({"name": "echo"});
    site.post("/schedules", json!({"name": "nightly", "cron": "0 3 * * *", "task": task})).await.expect(201);
    let page = "/ui/schedule?name=nightly";
    assert_eq!(site.page(page).await.matches("T03:00:00Z</td>").count(), 10, "its next slots");
    let next = site.act(page, &[("act", "pause")]).await;
    assert_eq!(site.get("/schedules/nightly").await.json()["paused"], true);
    assert!(site.page(&next).await.contains("Schedule nightly is paused."));
    site.act(page, &[("act", "resume")]).await;
    assert_eq!(site.get("/schedules/nightly").await.json()["paused"], false);
    site.act(page, &[("act", "run")]).await;
    let run = site.get("/schedules/nightly").await.json()["last_run"]["task"].as_str().unwrap().to_owned();
    assert_eq!(site.status(&run).await, "submitted");
    assert!(site.page(page).await.contains(&run));
}

pub(super) async fn a_workflow_is_cancelled_and_retried(site: Site) {
    let nodes = json!([{"id": "a", "name": "echo"}, {"id": "b", "name": "echo", "depends_on": ["a"]}]);
    site.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    let html = site.page("/ui/workflow?id=w").await;
    assert_eq!(
        (html.matches("<rect").count(), html.matches("<path").count()),
        (2, 1),
        "two boxes and an arrow: {html}"
    );
    site.act("/ui/workflow?id=w", &[("act", "cancel")]).await;
    site.until("/workflows/w", |answer| answer.json()["state"] == "cancelled").await;
    site.act("/ui/workflow?id=w", &[("act", "retry")]).await;
    site.until("/workflows/w", |answer| answer.json()["state"] == "running").await;
}

pub(super) async fn a_task_is_submitted_by_a_form(site: Site) {
    let fields = [
        ("name", "echo"),
        ("version", "1"),
        ("parameters", "{\"n\": 1.50}"),
        ("queue", "default"),
        ("id", "mine"),
        ("delay", "1h"),
    ];
    let next = site.act("/ui/submit", &fields).await;
    assert!(next.starts_with("/ui/task?id=mine"), "{next}");
    let task = site.get("/tasks/mine").await;
    assert!(task.text.contains("{\"n\": 1.50}") && task.json()["status"] == "scheduled", "{}", task.text);
    let refused = site.send(site.form("/ui/submit", &[("name", "echo"), ("parameters", "{")])).await;
    assert_eq!((refused.status.as_u16(), refused.text.contains("no JSON")), (422, true), "{}", refused.text);
}
