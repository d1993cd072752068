//! The pages below `/ui`, as a browser without script uses them: on both engines, each page answers, each link leads
//! somewhere, each form does what it says, and what clients send stays text.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Outcome, boards::task::When},
    policy::{CrashPolicy, PolicyOverrides},
    task::failure::{AttemptFailure, FailureKind},
    worker::{
        WorkerReport, WorkerState,
        registry::{Catalogue, TaskSpec},
    },
};
use jobbers_engines::{OpenOptions, open};
use jobbers_manager::Config;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};
use reqwest::{Client, Method, RequestBuilder, Url, redirect::Policy};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    boards,
    server::{Answer, Server, soon},
};

mod actions;
mod browser;
mod kinds;
mod large;
mod links;
pub(crate) mod live;
mod schedules;
mod texts;
mod traces;
mod trouble;

use browser::drive;

/// A name as long as names may be.
const LONG: &str = "a/very.long-name:with_all/of.the-odd:letters_that/names.may-hold:and_as/long.as-they:may_be/which.is-one:hundred_and/twenty-8-xy";
/// What a client may send where any text may be.
const ODD: &str = "<img src=x onerror=alert(1)>\"'&\u{202e}gnp.\u{200b}x";

/// A manager whose pages are looked at, on a store of one of the engines.
struct Site {
    server: Server,
    _folder: TempDir,
    store: SiteStore,
}

/// Where the tasks of a site are.
enum SiteStore {
    Sqlite(TempDir),
    Redis(RedisServer),
}

impl std::ops::Deref for Site {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Site {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("pages.db").display());
        Self::at(&url, SiteStore::Sqlite(folder)).await
    }

    async fn on_redis() -> Self {
        let server = RedisServer::start(RedisOptions::default());
        Self::at(&server.url(), SiteStore::Redis(server)).await
    }

    async fn at(url: &str, store: SiteStore) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine: Arc<dyn Engine> = open(url, OpenOptions::default()).await.unwrap();
        let config = Config {
            dlq_path: folder.path().join("dead.db").display().to_string(),
            tick: Duration::from_millis(20),
            ..Config::default()
        };
        let server = Server::with(engine, config).await;
        let site = Self { server, _folder: folder, store };
        site.until("/dead-letter-queue", |answer| answer.status == 200).await;
        site
    }

    /// Asks until the answer is as it should be: what a chore does, it does within a tick or two.
    async fn until(&self, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
        soon(async {
            loop {
                let answer = self.get(path).await;
                if is_so(&answer) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// The HTML of a page that is there.
    async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        answer.text
    }

    /// Sends a form as a browser on this page does. The path of the page to which it is sent on.
    async fn act(&self, page: &str, fields: &[(&str, &str)]) -> String {
        let answer = unfollowed(self.form(page, fields)).await;
        assert_eq!(answer.status, 303, "{page} {fields:?}: {}", answer.text);
        let here = Url::parse(&format!("http://{}{page}", self.address)).unwrap();
        let next = here.join(answer.headers["location"].to_str().unwrap()).unwrap();
        assert_eq!(next.origin(), here.origin());
        format!("{}?{}", next.path(), next.query().unwrap_or_default())
    }

    fn form(&self, page: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut url = Url::parse("http://form").unwrap();
        url.query_pairs_mut().extend_pairs(fields);
        self.request(Method::POST, page)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", format!("http://{}", self.address))
            .header("sec-fetch-site", "same-origin")
            .body(url.query().unwrap_or_default().to_owned())
    }

    /// A task that fails for good and is kept as a dead letter.
    async fn fail(&self, id: &str, message: &str) {
        self.post("/tasks", json!({"id": id, "name": "resize", "queue": "dying", "parameters": {"text": ODD}}))
            .await
            .expect(201);
        let claimed = self.claim("dying", 1).await;
        let failure = AttemptFailure::new(FailureKind::Fatal, message);
        self.settle(&claimed[0], Outcome::Failed { failure, dead_letter: true }).await;
    }

    /// A worker that can run `greet@2`, whose parameters have a schema with each kind of field.
    async fn register_greeter(&self, id: &str, host: &str) {
        let schema = json!({
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "A name"}, "times": {"type": "integer", "maximum": 9},
                "tone": {"enum": ["kind", "short"]}, "aloud": {"type": "boolean"}, "words": {"type": "array"},
            },
            "required": ["to"],
        });
        let spec = TaskSpec {
            name: "greet".parse().unwrap(),
            version: 2,
            parameters: Some(schema),
            description: format!("Greets. {ODD}"),
            on_crash: CrashPolicy::default(),
            policy: PolicyOverrides::default(),
            sensitive: false,
        };
        let lifetime = Duration::from_secs(60);
        let catalogue = self.engine.keep_catalogue(&Catalogue { tasks: vec![spec] }, lifetime).await.unwrap();
        let report = WorkerReport { catalogue: Some(catalogue), tasks: vec!["greet@2".to_owned()], ..report(id, host) };
        self.engine.register_worker(report, lifetime).await.unwrap();
    }

    async fn status(&self, id: &str) -> Value {
        self.get(&jobbers_api::wire::path::path(["tasks", id])).await.expect(200)["status"].clone()
    }

    /// Fills the store with something of everything.
    async fn fill(&self) {
        for queue in ["mail", "paused", "dying", LONG] {
            self.post("/queues", json!({"name": queue, "max_concurrent": 3})).await.expect(201);
        }
        self.post("/queues/paused/pause", "").await.expect(200);
        self.register_greeter("worker-1", ODD).await;
        for (id, queue) in [("runs", "mail"), ("ready", "mail"), ("waits/for", "paused"), (LONG, LONG)] {
            let body = json!({"id": id, "name": "echo", "queue": queue, "parameters": {"text": ODD}, "labels": {"team": "a<b"}});
            self.post("/tasks", body).await.expect(201);
        }
        self.post("/tasks", json!({"id": "later", "name": "echo", "queue": "mail", "delay": "1h"})).await.expect(201);
        self.claim("mail", 1).await;
        for n in 0..3 {
            self.fail(&format!("failed-{n}"), &format!("{ODD} {n}")).await;
        }
        self.until("/dead-letter-queue", |answer| {
            answer.json()["dead_letters"].as_array().is_some_and(|all| all.len() == 3)
        })
        .await;
        self.post("/dead-letter-queue/resubmit", json!({"ids": ["failed-0"]})).await;
        let task = json!({"name": "echo", "queue": "mail"});
        self.post("/schedules", json!({"name": "nightly/run", "cron": "0 3 * * *", "task": task})).await.expect(201);
        self.post("/schedules/nightly%2Frun/run", "").await.expect(201);
        let nodes = json!([
            {"id": "a", "name": "echo", "queue": "mail"}, {"id": "b", "name": "echo", "queue": "mail", "depends_on": ["a"]},
            {"id": "c", "name": "echo", "queue": "mail", "depends_on": ["a"]},
            {"id": "d", "name": "echo", "queue": "mail", "depends_on": ["b", "c"]},
        ]);
        self.post("/workflows", json!({"id": "w", "name": "etl", "nodes": nodes})).await.expect(201);
        boards::put(self, "mail", ODD.as_bytes(), When::NOW).await;
    }

    /// Makes something in the store of [`Self::fill`] disagree, which a repair mends.
    fn damage(&self) {
        match &self.store {
            SiteStore::Sqlite(folder) => {
                let store = Connection::open(folder.path().join("pages.db")).unwrap();
                store.execute_batch("PRAGMA foreign_keys = OFF; INSERT INTO dependency VALUES (1, 1, 99, 0)").unwrap();
            }
            SiteStore::Redis(server) => assert_eq!(server.command("ZREM jobbers:{0}:q:mail:s later"), ":1\r\n"),
        }
    }
}

/// The answer itself, where it leads elsewhere.
pub(crate) async fn unfollowed(request: RequestBuilder) -> Answer {
    unfollowed_by(&unfollowing(), request).await
}

/// A client that goes nowhere by itself. To make one takes longer than a request.
fn unfollowing() -> Client {
    jobbers_api::client::http_client().redirect(Policy::none()).build().unwrap()
}

async fn unfollowed_by(client: &Client, request: RequestBuilder) -> Answer {
    let response = client.execute(request.build().unwrap()).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}

fn report(id: &str, host: &str) -> WorkerReport {
    WorkerReport {
        id: id.parse().unwrap(),
        host: host.to_owned(),
        pid: 7,
        version: "0.1.0".to_owned(),
        role: "default".parse().unwrap(),
        queues: vec!["mail".parse().unwrap()],
        slots: 4,
        running: 1,
        state: WorkerState::Running,
        tasks: Vec::new(),
        settled: 12_345,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    }
}

/// The addresses in a page, as a browser resolves them.
fn addresses(page: &Url, html: &str) -> Vec<Url> {
    let quoted =
        |attribute: &str| html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>();
    let found = [quoted(" href=\""), quoted(" src=\"")].concat();
    let entities =
        |text: &str| text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    found.into_iter().map(|link| page.join(&entities(link)).unwrap_or_else(|error| panic!("{link}: {error}"))).collect()
}

macro_rules! on_both_engines {
    ($($room:ident $case:ident)*) => {
        mod on_sqlite {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$room::$case(super::Site::on_sqlite().await).await;
                }
            )*
        }
        mod on_redis {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$room::$case(super::Site::on_redis().await).await;
                }
            )*
        }
    };
}

on_both_engines! {
    links every_link_of_every_page_leads_somewhere
    browser each_screen_opens_without_an_error
    browser what_changes_is_shown_without_a_reload
    browser keys_lead_everywhere
    drive every_action_of_every_screen_does_what_it_says
    live a_page_is_sent_when_it_has_changed
    kinds a_kind_shows_how_its_latest_runs_went
    texts what_clients_send_stays_text_on_every_page
    texts a_large_result_is_shown_in_part_and_downloaded_whole
    texts a_list_of_many_is_shown_in_pages
    actions a_queue_is_paused_resumed_and_limited
    actions a_queue_is_purged_of_what_was_shown_and_typed
    actions a_task_is_cancelled_and_sent_again
    actions a_scheduled_task_gets_another_time
    actions chosen_tasks_are_asked_about_first
    actions all_tasks_that_match_are_cancelled_sent_again_and_deleted
    actions dead_letters_are_sent_again_and_deleted
    actions workers_are_drained_and_let_claim_again
    actions what_a_worker_runs_longest_is_shown
    actions a_schedule_is_run_paused_and_resumed
    schedules a_schedule_is_created_by_a_form_and_deleted
    schedules what_is_refused_of_a_schedule_comes_back_as_it_was_typed
    schedules two_tabs_do_not_overwrite_each_other
    actions a_workflow_is_cancelled_and_retried
    actions a_task_is_submitted_by_a_form
    actions a_task_is_edited_and_sent_again
    actions the_same_task_is_submitted_by_what_its_page_shows
    actions what_is_refused_comes_back_as_it_was_typed
    actions what_is_typed_into_a_refused_action_is_shown_to_be_sent_again
    actions a_task_of_a_board_is_released_and_deleted
    actions a_group_of_a_board_is_deleted_as_it_was_shown_and_typed
}
