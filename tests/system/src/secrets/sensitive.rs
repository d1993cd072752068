//! Sensitive tasks: a word that they are given, and say in every way that a task has, is looked for wherever a program shows
//! something. Tasks that are not sensitive show where it would be found.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use jobbers_test_support::{program::Program, wait::until};
use jobbers_worker::{
    Client,
    client::{Claim, LeaseClient},
};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    secrets::captures::collector,
    stack::{Manager, Stack},
    watching::telemetry::end,
};

on_both_engines!(
    what_a_sensitive_task_holds_is_shown_by_a_reveal_alone,
    what_a_task_holds_that_its_submission_calls_sensitive_is_shown_by_a_reveal_alone,
    what_an_open_task_holds_is_found,
);

const SOON: Duration = Duration::from_secs(30);
const MARKER: &str = "marker-5a105e8b9d40e132";

/// A system whose tasks said the word: `held` runs, `good` completed, `bad` and `panicked` are dead letters, `later` waits for
/// its time, `after` waited for `good` and runs.
struct System {
    stack: Stack,
    manager: Manager,
    worker: Program,
    is_flagged: bool,
}

impl System {
    /// With tasks of this name; `is_flagged` if their submissions call them sensitive.
    async fn start(kind: Kind, name: &str, is_flagged: bool, endpoint: &str) -> Self {
        let stack = Stack::on(kind).await;
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("JOBBERS_LOG", "trace")];
        let keeper = [variables.as_slice(), &[("DLQ_PATH", "letters.db"), ("MANAGER_ACCESS_LOG", "true")]].concat();
        let manager = stack.manager_with(&keeper).await;
        let worker = stack.worker_with(&variables).await;
        let system = Self { stack, manager, worker, is_flagged };
        until(SOON, "the worker is known", async || {
            let registry = system.manager.api.get("/tasks/registry").await.ok();
            registry.to_string().contains(name).then_some(())
        })
        .await;
        for (id, ends) in [("held", "gate"), ("good", "well"), ("bad", "error"), ("panicked", "panic")] {
            system.submit(name, id, ends, &["--max-retries", "0"]).await;
        }
        system.submit(name, "later", "well", &["--delay", "1h"]).await;
        system.submit(name, "after", "gate", &["--depends-on", "good"]).await;
        system.put_templates(name).await;
        let api = &system.manager.api;
        until(SOON, "two of them run and two are dead letters", async || {
            let letters = api.get("/dead-letter-queue").await.ok()["dead_letters"].as_array().map_or(0, Vec::len);
            let running = api.get("/active-tasks").await.ok()["tasks"].as_array().unwrap().clone();
            let said = running.iter().filter(|task| task["progress"]["fraction"] == 0.5).count();
            (letters == 2 && said == 2).then_some(())
        })
        .await;
        system
    }

    async fn submit(&self, name: &str, id: &str, ends: &str, flags: &[&str]) {
        let (words, ends) = (format!("words={}", words()), format!("ends={ends}"));
        let sensitive: &[&str] = if self.is_flagged { &["--sensitive"] } else { &[] };
        let said = self.run(&[&["submit", name, &words, &ends, "--id", id], flags, sensitive].concat()).await;
        assert!(said.contains(id), "{said}");
    }

    /// A schedule that does not fire and a workflow that waits.
    async fn put_templates(&self, name: &str) {
        let mut task = json!({"name": name, "parameters": {"words": words(), "ends": "well"}});
        if self.is_flagged {
            task["sensitive"] = json!(true);
        }
        let schedule = json!({"name": "nightly", "every": "366d", "task": task});
        self.manager.api.post("/schedules", &schedule).await.ok();
        (task["id"], task["signals"]) = (json!("node"), json!(["approved"]));
        self.manager.api.post("/workflows", &json!({"id": "flow", "nodes": [task]})).await.ok();
    }

    /// What a command of the client prints.
    async fn run(&self, arguments: &[&str]) -> String {
        let url = format!("http://{}", self.manager.address);
        let environment = [("JOBBERS_URL", url.as_str())];
        let mut command = Program::start("jobbers", self.stack.folder(), arguments, &environment);
        let code = command.exit().await;
        assert!(code.success(), "{arguments:?}: {}", command.said());
        command.said()
    }

    /// The places at which the word is shown.
    async fn places(&self) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        self.look_at_operations(&mut places).await;
        self.look_at_pages(&mut places).await;
        for command in COMMANDS {
            if self.run(command).await.contains(MARKER) {
                places.insert(format!("jobbers {}", command.join(" ")));
            }
        }
        for (place, program) in
            [("the log of the manager", &self.manager.program), ("that of the worker", &self.worker)]
        {
            let said = program.said();
            assert!(said.lines().count() > 10, "{said}");
            if said.contains(MARKER) {
                places.insert(place.to_owned());
            }
        }
        places
    }

    /// Each `GET` of the API's description, with each name that its path can have here.
    async fn look_at_operations(&self, places: &mut BTreeSet<String>) {
        let document = self.manager.api.get("/openapi.json").await.ok();
        let gets = document["paths"].as_object().unwrap().iter().filter(|(_, item)| item.get("get").is_some());
        let mut count = 0;
        for (path, _) in gets {
            for address in addresses_of(path) {
                let text = self.first_part(&address).await;
                count += 1;
                if text.contains(MARKER) {
                    places.insert(path.clone());
                }
            }
        }
        assert!(count > 60, "{count} addresses");
    }

    /// The first part of an answer: that of a stream is its first event.
    async fn first_part(&self, address: &str) -> String {
        let mut answer = reqwest::get(format!("http://{}{address}", self.manager.address)).await.unwrap();
        let is_stream = answer.headers()["content-type"] == "text/event-stream";
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.unwrap() {
            bytes.extend_from_slice(&part);
            if is_stream {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Each page that a link leads to.
    async fn look_at_pages(&self, places: &mut BTreeSet<String>) {
        let root = Url::parse(&format!("http://{}/ui/", self.manager.address)).unwrap();
        let (mut seen, mut left) = (BTreeSet::new(), VecDeque::from([root.clone()]));
        while let Some(url) = left.pop_front() {
            let is_page = url.origin() == root.origin() && url.path().starts_with("/ui/");
            if !is_page || !seen.insert((url.path().to_owned(), url.query().map(str::to_owned))) {
                continue;
            }
            let text = reqwest::get(url.clone()).await.unwrap().text().await.unwrap();
            if text.contains(MARKER) {
                places.insert(url.path().to_owned());
            }
            let links = text.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            left.extend(links.filter_map(|link| url.join(&link.replace("&amp;", "&")).ok()));
        }
        assert!(seen.len() > 30, "{} pages", seen.len());
    }

    /// What the programs say at their ends, and what they sent as spans, metrics and log lines, is not to have the word.
    async fn end(mut self) -> String {
        self.stack.release();
        for id in ["held", "after"] {
            until(SOON, id, async || {
                let task = self.manager.api.get(&format!("/tasks/{id}")).await.ok();
                (task["status"] == "completed").then_some(())
            })
            .await;
        }
        end(&mut self.worker).await;
        end(&mut self.manager.program).await;
        self.worker.said() + &self.manager.program.said()
    }
}

/// The words that are said: a search for the first must not find the second.
fn words() -> String {
    format!("hush {MARKER}")
}

/// Commands that show tasks, dead letters, schedules and workflows.
const COMMANDS: [&[&str]; 20] = [
    &["status", "held"],
    &["status", "good"],
    &["status", "bad", "--json"],
    &["status", "panicked"],
    &["status", "later"],
    &["explain", "held"],
    &["explain", "later"],
    &["list"],
    &["list", "--json"],
    &["active"],
    &["active", "--json"],
    &["scheduled"],
    &["dlq", "list"],
    &["dlq", "show", "bad"],
    &["dlq", "show", "panicked", "--json"],
    &["dlq", "stats"],
    &["schedules", "show", "nightly"],
    &["workflow", "show", "flow"],
    &["audit"],
    &["top", "--once"],
];

/// The addresses of an operation: each name for the parameter of its path, and queries that show more.
fn addresses_of(path: &str) -> Vec<String> {
    let tasks = ["held", "good", "bad", "panicked", "later", "after", "flow:node"].as_slice();
    let names = match path {
        path if path.contains("{queue}") => &["default"],
        path if path.contains("{schedule}") => &["nightly"],
        path if path.contains("{workflow}") => &["flow"],
        path if path.contains('{') => tasks,
        _ => &[""],
    };
    let queries: &[&str] = match path {
        "/tasks" => &["", "?include=parameters,result,errors", "?where=ends=gate&include=parameters"],
        "/dead-letter-queue" => &["", "?state=all", "?error=hush"],
        "/workflows/{workflow}" => &["", "?format=mermaid"],
        "/schedule-preview" => &["?every=1d"],
        _ => &[""],
    };
    let fill = |name: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { name } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    names.iter().flat_map(|name| queries.iter().map(move |query| fill(name) + query)).collect()
}

/// What tasks of this name leave to be seen, with what the programs said at their ends and sent to a collector.
async fn shown_of(kind: Kind, name: &str, is_flagged: bool) -> (BTreeSet<String>, String, Vec<String>) {
    let (_collector, proxy) = collector().await;
    let system = System::start(kind, name, is_flagged, &format!("http://localhost:{}", proxy.port())).await;
    let places = system.places().await;
    let mut revealed = Vec::new();
    if name == "whisper" || is_flagged {
        revealed = reveal_all(&system).await;
    }
    let said = system.end().await;
    let telemetry = String::from_utf8_lossy(&proxy.recorded()).into_owned();
    assert!(telemetry.contains("jobbers.tasks.submitted"), "nothing was sent");
    (places, said + &telemetry, revealed)
}

/// Reveals a task and a dead letter by every way there is. Returns the places that did not show the word.
async fn reveal_all(system: &System) -> Vec<String> {
    let (api, mut without) = (&system.manager.api, Vec::new());
    let mut look = |place: &str, text: &str, holds: &[&str]| {
        let missing = holds.iter().filter(|part| !text.contains(*part));
        without.extend(missing.map(|part| format!("{place}: {part}: {text}")));
    };
    let held = api.post("/tasks/held/reveal", &Value::Null).await.ok();
    for part in [&held["parameters"]["words"], &held["progress"]["message"], &held["checkpoint"]] {
        assert_eq!(*part, words(), "{held}");
    }
    let letter = api.post("/dead-letter-queue/bad/reveal", &Value::Null).await.ok();
    for part in [&letter["error"], &letter["task"]["errors"][0]["message"], &letter["task"]["parameters"]["words"]] {
        assert_eq!(*part, words(), "{letter}");
    }
    let url = format!("http://{}", system.manager.address);
    let client = Client::http(&url).unwrap();
    let result: String = client.task("good".parse().unwrap()).wait(SOON).await.unwrap();
    look("the client", &result, &[MARKER]);
    let error = client.task::<String>("bad".parse().unwrap()).wait(SOON).await.unwrap_err();
    look("the error of the client", &error.to_string(), &[MARKER]);
    look("status", &system.run(&["status", "good", "--reveal"]).await, &[MARKER]);
    look("dlq show", &system.run(&["dlq", "show", "panicked", "--reveal"]).await, &[MARKER]);
    for (page, id) in [("task", "held"), ("letter", "bad")] {
        let form = [("content-type", "application/x-www-form-urlencoded"), ("origin", url.as_str())];
        let request = reqwest::Client::new().post(format!("{url}/ui/{page}?id={id}")).body("act=reveal");
        let request = form.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        look(page, &request.send().await.unwrap().text().await.unwrap(), &[MARKER]);
    }
    // Each of them is in the audit log once.
    let log = api.get("/audit?limit=1000").await.ok();
    let changes = log["changes"].as_array().unwrap();
    let count = |operation: &str, object: &str| {
        changes
            .iter()
            .filter(|it| it["operation"] == operation && it["object"] == object && it["outcome"] == "done")
            .count()
    };
    let counts = [("reveal_task", "held"), ("reveal_task", "good"), ("reveal_task", "bad")].map(|(a, b)| count(a, b));
    assert_eq!(counts, [2, 2, 1], "{log}");
    let counts = ["bad", "panicked"].map(|id| count("reveal_dead_letter", id));
    assert_eq!(counts, [2, 1], "{log}");
    leases_show(system, &url).await;
    without
}

/// A worker in another language gets what it is to work with.
async fn leases_show(system: &System, url: &str) {
    let api = &system.manager.api;
    api.post("/queues", &json!({"name": "elsewhere"})).await.ok();
    let parameters = json!({"words": words(), "ends": "well"});
    let task =
        json!({"id": "leased", "name": "whisper", "queue": "elsewhere", "sensitive": true, "parameters": parameters});
    api.post("/tasks", &task).await.ok();
    let lessor = LeaseClient::new(url, "lessor".parse().unwrap()).unwrap();
    let claim = Claim { wait: SOON, ..Claim::of(["elsewhere".parse().unwrap()]) };
    let leased = lessor.claim(&claim).await.unwrap().tasks.remove(0);
    assert_eq!(leased.parameters.decode::<Value>().unwrap(), parameters);
    let cancel = api.send(Method::POST, "/tasks/leased/cancel", &[], None).await.unwrap();
    assert!(cancel.status.is_success());
}

async fn nothing_is_shown(kind: Kind, name: &str, is_flagged: bool) {
    let (places, said, without) = shown_of(kind, name, is_flagged).await;
    assert_eq!((places, without), (BTreeSet::new(), Vec::new()));
    let lines: Vec<&str> = said.lines().filter(|line| line.contains(MARKER)).take(3).collect();
    assert!(lines.is_empty(), "{lines:#?}");
}

async fn what_a_sensitive_task_holds_is_shown_by_a_reveal_alone(kind: Kind) {
    nothing_is_shown(kind, "whisper", false).await;
}

async fn what_a_task_holds_that_its_submission_calls_sensitive_is_shown_by_a_reveal_alone(kind: Kind) {
    nothing_is_shown(kind, "speak", true).await;
}

async fn what_an_open_task_holds_is_found(kind: Kind) {
    let (places, said, _) = shown_of(kind, "speak", false).await;
    let expected = [
        "/active-tasks",
        "/dead-letter-queue",
        "/dead-letter-queue/stats",
        "/dead-letter-queue/{task_id}",
        "/dead-letter-queue/{task_id}/history",
        "/schedules",
        "/schedules/{schedule}",
        "/tasks",
        "/tasks/{id}",
        "/tasks/{id}/events",
        "/tasks/{id}/predecessors",
        "/workflows/{workflow}",
        "/ui/",
        "/ui/letter",
        "/ui/letters",
        "/ui/task",
        "/ui/submit",
        "jobbers active",
        "jobbers dlq list",
        "jobbers dlq show bad",
        "jobbers status good",
        "jobbers status held",
        "jobbers status panicked",
        "that of the worker",
    ];
    let missing: Vec<&str> = expected.into_iter().filter(|place| !places.contains(*place)).collect();
    assert_eq!(missing, [""; 0], "it is shown at {places:#?}");
    assert!(said.contains(MARKER));
}
