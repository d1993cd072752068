//! Each form, and its effect as the API reports it.

use std::process::Stdio;

use jobbers_common::{
    engine::{
        Outcome,
        boards::task::{BoardTime, When},
    },
    task::failure::{AttemptFailure, FailureKind},
};
use serde_json::{Value, json};

use super::Site;
use crate::boards;

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

pub(super) async fn a_scheduled_task_gets_another_time(site: Site) {
    site.post("/tasks", json!({"id": "a", "name": "echo", "delay": "1h"})).await.expect(201);
    let page = "/ui/task?id=a";
    assert!(site.page(page).await.contains("jobbers reschedule a"));
    assert_eq!(site.send(site.form(page, &[("act", "run_later"), ("delay", "")])).await.status, 400);
    for wrong in ["soon", "-1s", "900d", "<b>"] {
        let refused = site.send(site.form(page, &[("act", "run_later"), ("delay", wrong)])).await;
        assert_eq!((refused.status.as_u16(), refused.text.contains("<h1>")), (422, true), "{wrong}: {}", refused.text);
    }
    assert_eq!(site.status("a").await, "scheduled");
    let next = site.act(page, &[("act", "run_later"), ("delay", "2h")]).await;
    assert!(site.page(&next).await.contains("It starts at another time."));
    assert_eq!(site.status("a").await, "scheduled");
    site.act(page, &[("act", "run_now")]).await;
    assert_eq!(site.status("a").await, "submitted");
    // A second tab still has the button.
    assert_eq!(site.send(site.form(page, &[("act", "run_now")])).await.status, 409);
    assert!(!site.page(page).await.contains("Run it now"));
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

/// What the page says when a form is sent: the question of an act.
async fn question(site: &Site, page: &str, fields: &[(&str, &str)]) -> String {
    let answer = site.send(site.form(page, fields)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text
}

pub(super) async fn all_tasks_that_match_are_cancelled_sent_again_and_deleted(site: Site) {
    for (id, team) in [("a", "x"), ("b", "x"), ("c", "y")] {
        site.post("/tasks", json!({"id": id, "name": "echo", "labels": {"team": team}})).await.expect(201);
    }
    assert!(!site.page("/ui/tasks").await.contains("all that match"), "not all tasks there are");
    let page = "/ui/tasks?label=team%3Dx";
    let shown = site.page(page).await;
    assert!(["Cancel", "Send", "Delete"].iter().all(|act| shown.contains(&format!("{act} all that match"))), "{shown}");
    assert!(
        !site.page("/ui/tasks?where=n%3D1&queue=default").await.contains("all that match"),
        "no filter finds these"
    );
    let asked = question(&site, page, &[("act", "cancel_all")]).await;
    assert!(asked.contains("Cancel 2 tasks?") && asked.contains("jobbers cancel --label team=x"), "{asked}");
    assert_eq!(site.status("a").await, "submitted", "nothing is done yet");
    let next = site.act(page, &[("act", "cancel_all"), ("sure", "yes")]).await;
    assert!(site.page(&next).await.contains("2 tasks cancelled"), "{next}");
    assert_eq!((site.status("b").await, site.status("c").await), (json!("cancelled"), json!("submitted")));
    assert!(question(&site, page, &[("act", "cancel_all")]).await.contains("No task matches"));

    let asked = question(&site, page, &[("act", "resubmit_all")]).await;
    assert!(asked.contains("Send 2 tasks again?") && asked.contains("jobbers resubmit --label team=x"), "{asked}");
    let again = site.act(page, &[("act", "resubmit_all"), ("sure", "yes")]).await;
    let said = site.page(&again).await;
    assert!(said.contains("2 tasks sent again") && said.contains("jobbers resubmit --label team=x"), "{said}");
    assert_eq!(site.status("a").await, "submitted");
    let twice = site.act(page, &[("act", "resubmit_all"), ("sure", "yes")]).await;
    assert!(site.page(&twice).await.contains("0 tasks sent again"), "they wait already");

    let both = "/ui/tasks?label=team%3Dx&status=submitted%2Cstarted";
    // The latest was sent again first, behind the task of the other team.
    assert_eq!(site.claim("default", 2).await[1].id.as_str(), "b");
    let asked = question(&site, both, &[("act", "delete_all")]).await;
    assert!(asked.contains("Delete 1 task?") && asked.contains("jobbers delete --status submitted"), "{asked}");
    let next = site.act(both, &[("act", "delete_all"), ("sure", "yes")]).await;
    let said = site.page(&next).await;
    assert!(said.contains("1 task deleted") && said.contains("jobbers delete --status submitted"), "{said}");
    assert_eq!((site.status("b").await, site.status("c").await), (json!("started"), json!("started")));
    assert!(site.get("/tasks/a").await.status.is_client_error(), "it is gone");
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

pub(super) async fn what_a_worker_runs_longest_is_shown(site: Site) {
    for id in ["first", "second"] {
        site.post("/tasks", json!({"id": id, "name": "echo"})).await.expect(201);
        site.claim("default", 1).await;
    }
    for id in ["w", "idle"] {
        site.engine.register_worker(super::report(id, "h1"), std::time::Duration::from_secs(60)).await.unwrap();
    }
    let html = site.page("/ui/workers").await;
    let row = |id: &str| {
        let row = html.split(&format!("worker?id={id}\"")).nth(1).and_then(|rest| rest.split_once("</tr>"));
        row.unwrap_or_else(|| panic!("{id}: {html}")).0
    };
    assert!(row("w").contains("task?id=first\"") && !row("w").contains("second"), "{html}");
    assert!(!row("idle").contains("task?id="), "{html}");
    assert!(row("w").contains("12,345</td><td class=\"n wide\">12,345<"), "settled, and a minute: {html}");
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
    let first = site.claim("default", 1).await.remove(0);
    site.settle(&first, Outcome::Completed { result: None }).await;
    for _ in 0..9 {
        site.act(page, &[("act", "run")]).await;
    }
    let last_runs = async || {
        let html = site.page(page).await;
        html.split("<h2>Last runs</h2>").nth(1).and_then(|rest| rest.split_once("</table>")).unwrap().0.to_owned()
    };
    let shown = last_runs().await;
    let ends = |status: &str| shown.matches(&format!(">{status}</span>")).count();
    assert_eq!((ends("submitted"), ends("completed")), (9, 1), "{shown}");
    assert!(
        shown.rfind(">submitted<") < shown.find(">completed<") && shown.contains(&run),
        "the latest first: {shown}"
    );
    site.act(page, &[("act", "run")]).await;
    let schedule = site.get("/schedules/nightly").await.json();
    assert_eq!(schedule["earlier_runs"].as_array().map(Vec::len), Some(9), "{schedule}");
    assert!(!last_runs().await.contains(&run), "ten of them");
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
    assert!(site.page("/ui/tasks?status=scheduled").await.contains(">in 59 min</time>"), "when it is due");
    let refused = site.send(site.form("/ui/submit", &[("name", "echo"), ("parameters", "{")])).await;
    assert_eq!((refused.status.as_u16(), refused.text.contains("no JSON")), (422, true), "{}", refused.text);
}

pub(super) async fn a_task_is_edited_and_sent_again(site: Site) {
    site.register_greeter("w1", "h1").await;
    let parameters =
        json!({"to": "Ada\n\u{202e}", "times": 3, "tone": "kind", "aloud": true, "words": ["a"], "more": null});
    let task = json!({
        "id": "a/b", "name": "greet", "version": 2, "queue": "default", "parameters": parameters, "priority": 7,
        "labels": {"team": "x"}, "concurrency_key": "c", "max_retries": 2, "timeout": "5s",
    });
    site.post("/tasks", task).await.expect(201);
    assert!(site.page("/ui/task?id=a%2Fb").await.contains("href=\"submit?from=a%2Fb\""));
    let form = site.page("/ui/submit?from=a%2Fb").await;
    for filled in [
        r#"<textarea name="j.to" required placeholder="JSON">&quot;Ada\n\u202e&quot;</textarea>"#,
        r#"name="p.times" value="3""#,
        r#"<option value="kind" selected>"#,
        r#"<option value="true" selected>"#,
        r#"<textarea name="p.words" placeholder="JSON">[&quot;a&quot;]</textarea>"#,
        r#"<textarea name="j.more" placeholder="JSON">null</textarea>"#,
        r#"name="queue" placeholder="as the rules say" value="default""#,
        r#"name="priority" placeholder="5" value="7""#,
    ] {
        assert!(form.contains(filled), "{filled}: {form}");
    }
    let fields = [
        ("name", "greet"),
        ("version", "2"),
        ("from", "a/b"),
        ("j.to", r#""Ada\n\u202e""#),
        ("p.times", "4"),
        ("p.words", "[1.50]"),
        ("id", "new"),
    ];
    let next = site.act("/ui/submit", &fields).await;
    assert!(next.starts_with("/ui/task?id=new"), "{next}");
    let new = site.get("/tasks/new").await;
    assert!(new.text.contains("[1.50]"), "a number stays as it was typed: {}", new.text);
    let new = new.json();
    assert_eq!(new["parameters"], json!({"to": "Ada\n\u{202e}", "times": 4, "words": [1.5]}));
    assert_eq!((&new["labels"], &new["concurrency_key"]), (&json!({"team": "x"}), &json!("c")));
    assert_eq!((&new["policy"]["max_retries"], &new["policy"]["timeout"]), (&json!(2), &json!("5s")));
    assert_eq!(site.get("/tasks/a%2Fb").await.json()["parameters"]["times"], 3, "the other one stays as it is");
    // The task that was edited is gone meanwhile: the form comes back, and can be sent without it.
    site.post("/tasks/delete", json!({"ids": ["a/b"]})).await.expect(200);
    let refused = site.send(site.form("/ui/submit", &fields)).await;
    assert!(matches!(refused.status.as_u16(), 404 | 410) && refused.text.contains("task a/b"), "{}", refused.text);
    assert!(refused.text.contains("name=\"p.times\" value=\"4\"") && !refused.text.contains("name=\"from\""));
    // What a page can't edit can be downloaded.
    let image = json!({"id": "image", "name": "t", "parameters": "aGk=", "parameters_content_type": "image/png"});
    site.post("/tasks", image).await.expect(201);
    let page = site.page("/ui/submit?from=image").await;
    assert!(
        page.contains("Download the parameters") && page.contains("image/png") && !page.contains("name=\"parameters\"")
    );
}

/// In Python and with curl: a program in Rust is made of the same request.
pub(super) async fn the_same_task_is_submitted_by_what_its_page_shows(site: Site) {
    let parameters = json!({"to": "O'Hara \"<&>\" \\n \u{202e}gnp. 東京 \"### \t", "n": [1.5, null, true]});
    let task = json!({"id": "old", "name": "greet", "version": 3, "queue": "default", "parameters": parameters});
    site.post("/tasks", task).await.expect(201);
    let page = site.page("/ui/task?id=old").await;
    let shown: Vec<String> = page
        .split("<pre tabindex=\"0\">")
        .filter_map(|rest| rest.split_once("</pre>"))
        .map(|(text, _)| text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        .collect();
    let of = |start: &str| {
        let text = shown.iter().find(|text| text.starts_with(start)).unwrap_or_else(|| panic!("{start}: {page}"));
        text.clone()
    };
    assert!(!page.contains("127.0.0.1:8000"), "{page}");
    assert!(of("use jobbers_api").contains(&format!("Client::new(\"http://{}\"", site.address)));
    let proxied = site.request(reqwest::Method::GET, "/ui/task?id=old").header("x-forwarded-proto", "https");
    let proxied = site.send(proxied).await.text;
    assert!(proxied.contains(&format!("curl -s -X POST https://{}/tasks ", site.address)), "{proxied}");
    for (program, text) in [("sh", of("curl ")), ("python3", of("import "))] {
        let run =
            tokio::process::Command::new(program).arg("-c").arg(&text).stdin(Stdio::null()).output().await.unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let answer: Value =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{text}: {error}: {said}{wrong}"));
        let new = site.get(&jobbers_api::wire::path::path(["tasks", answer["id"].as_str().unwrap()])).await.expect(200);
        assert_eq!(
            (&new["name"], &new["version"], &new["queue"], &new["parameters"]),
            (&json!("greet"), &json!(3), &json!("default"), &parameters),
            "{text}"
        );
    }
    assert!(of("use jobbers_api").contains("let task = r####\"{"), "no quote in it ends the text");
    assert!(of("jobbers submit").starts_with("jobbers submit greet --task-version 3 --queue default '{"));
}

pub(super) async fn what_is_refused_comes_back_as_it_was_typed(site: Site) {
    site.register_greeter("w1", "h1").await;
    let fields = |times: &'static str, words: &'static str, queue: &'static str| {
        [
            ("name", "greet"),
            ("version", "2"),
            ("p.to", "<Ada> \"&"),
            ("p.times", times),
            ("p.words", words),
            ("queue", queue),
        ]
    };
    for (times, words, queue, status, says, marked) in [
        ("12", "[]", "default", 422, "9", "p.times"),
        ("1", "[", "default", 422, "parameter words is no JSON", "p.words"),
        ("1", "[]", "none", 404, "queue none does not exist", ""),
    ] {
        let refused = site.send(site.form("/ui/submit", &fields(times, words, queue))).await;
        let page = &refused.text;
        assert_eq!((refused.status.as_u16(), page.contains(says)), (status, true), "{page}");
        assert!(page.contains("role=\"alert\"") && page.contains("Nothing was submitted"), "{page}");
        assert!(page.contains("name=\"p.to\" required value=\"&lt;Ada&gt; &quot;&amp;\""), "{page}");
        assert!(
            page.contains(&format!("value=\"{times}\"")) && page.contains(&format!(">{words}</textarea>")),
            "{page}"
        );
        assert!(page.contains(&format!("value=\"{queue}\"")), "{page}");
        let field = page.split('<').find(|tag| tag.contains("aria-invalid")).unwrap_or_default();
        assert_eq!(field.contains(&format!("name=\"{marked}\"")), !marked.is_empty(), "{field}");
    }
    assert_eq!(site.get("/tasks").await.json()["tasks"], json!([]), "nothing was submitted");
}

pub(super) async fn a_task_of_a_board_is_released_and_deleted(site: Site) {
    let group = "a/b c&d";
    let leased = boards::put(&site, group, b"<b>leased</b>", When::At(BoardTime(i64::MAX))).await;
    let free = boards::put(&site, group, b"free", When::NOW).await;
    let list = site.page("/ui/boards").await;
    assert!(list.contains("href=\"board?name=masstasker\""), "{list}");
    let groups = site.page("/ui/board?name=masstasker").await;
    let of_group = "board?name=masstasker&amp;group=%7Ea%2Fb+c%26d";
    assert!(groups.contains(of_group), "{groups}");
    let tasks = site.page(&format!("/ui/{}", of_group.replace("&amp;", "&"))).await;
    assert!(tasks.contains("&lt;b&gt;leased&lt;/b&gt;") && tasks.contains("leased or delayed"), "{tasks}");
    let page = format!("/ui/board-task?board=masstasker&revision={leased}");
    assert!(site.page(&page).await.contains("jobbers boards release masstasker"));
    let next = site.act(&page, &[("act", "release")]).await;
    assert!(site.page(&next).await.contains("It may be taken now."), "{next}");
    assert_eq!(site.get(&format!("/boards/masstasker/tasks/{leased}")).await.status, 404, "it has a new revision");
    let next = site.act(&format!("/ui/board-task?board=masstasker&revision={free}"), &[("act", "delete")]).await;
    assert!(site.page(&next).await.contains("1 task of the board deleted."), "{next}");
    assert_eq!(site.get("/boards").await.json()["boards"][0]["tasks"], 1);
    let gone = site.send(site.form(&page, &[("act", "delete")])).await;
    assert_eq!(gone.status, 404, "a second tab deletes nothing: {}", gone.text);
}

pub(super) async fn a_group_of_a_board_is_deleted_as_it_was_shown_and_typed(site: Site) {
    for group in ["", "", "other"] {
        boards::put(&site, group, b"x", When::NOW).await;
    }
    let page = "/ui/board?name=masstasker&group=~";
    assert!(site.page(page).await.contains("name=\"shown\" value=\"2\""));
    let next = site.act(page, &[("act", "delete"), ("shown", "2"), ("typed", "1")]).await;
    assert!(site.page(&next).await.contains("Nothing was deleted"), "{next}");
    boards::put(&site, "", b"x", When::NOW).await;
    site.act(page, &[("act", "delete"), ("shown", "2"), ("typed", "2")]).await;
    assert_eq!(site.get("/boards").await.json()["boards"][0]["tasks"], 4, "one more came than was shown");
    let next = site.act(page, &[("act", "delete"), ("shown", "3"), ("typed", "3")]).await;
    assert!(site.page(&next).await.contains("3 tasks of the board deleted."), "{next}");
    assert_eq!(site.get("/boards").await.json()["boards"][0]["tasks"], 1);
}

pub(super) async fn what_is_typed_into_a_refused_action_is_shown_to_be_sent_again(site: Site) {
    let queue = "/ui/queue?name=default";
    let limits = |most| [("act", "limits"), ("max_concurrent", most), ("max_length", "7"), ("rate_per", "<b>&\"")];
    let refused = site.send(site.form(queue, &limits("many"))).await;
    let page = &refused.text;
    assert_eq!(refused.status, 422, "{page}");
    for kept in [
        "max concurrent<input name=\"max_concurrent\" value=\"many\">",
        "name=\"max_length\" value=\"7\"",
        "name=\"rate_per\" value=\"&lt;b&gt;&amp;&quot;\"",
        "name=\"act\" value=\"limits\">Send it again<",
    ] {
        assert!(page.contains(kept), "{kept} in {page}");
    }
    site.act(queue, &[("act", "limits"), ("max_concurrent", "3"), ("max_length", "7")]).await;
    assert_eq!(site.get("/queues/default").await.json()["max_length"], 7);
    // What was carried is carried again, where a person does not see it.
    let schedule = json!({"name": "s", "cron": "0 1 * * *", "task": {"name": "echo"}});
    site.post("/schedules", schedule).await.expect(201);
    let edit = |cron, tag| [("act", "edit"), ("cron", cron), ("overlap", "skip"), ("tag", tag)];
    let refused = site.send(site.form("/ui/schedule?name=s", &edit("every full moon", ""))).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("name=\"cron\" value=\"every full moon\""), "{}", refused.text);
    assert!(refused.text.contains("type=\"hidden\" name=\"tag\""), "{}", refused.text);
    // What has changed since is not overwritten by pressing once more.
    let late = site.send(site.form("/ui/schedule?name=s", &edit("0 2 * * *", "\"old\""))).await;
    assert_eq!(late.status, 412, "{}", late.text);
    assert!(late.text.contains("value=\"0 2 * * *\"") && !late.text.contains("Send it again"), "{}", late.text);
    // Nothing is typed into a button.
    let refused = site.send(site.form("/ui/schedule?name=none", &[("act", "pause"), ("tag", "1")])).await;
    assert_eq!((refused.status.as_u16(), refused.text.contains("What you typed")), (404, false), "{}", refused.text);
}
