//! A store of tasks for one test, and a client for it.

use std::{any::Any, sync::Arc, time::Duration};

use axum::Router;
use jobbers_boards::taskstore::{Unit, router};
use jobbers_common::engine::boards::Boards;
use jobbers_engines::{OpenOptions, redis::RedisEngine, sqlite::SqliteEngine};
use jobbers_law::model::ModelEngine;
use jobbers_process::server::memory::ClientMemory;
use jobbers_test_support::{
    http_client,
    redis_server::{RedisOptions, RedisServer},
};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// The most bytes of a task's data here.
pub(crate) const MAX_DATA: usize = 4_096;
/// What the front may hold for clients.
const MEMORY: usize = 64 * 1024 * 1024;
/// A minute in nanoseconds.
pub(crate) const MINUTE: i64 = 60_000_000_000;
/// Whose tasks most are.
pub(crate) const OWNER: i64 = 7;
/// Another owner.
pub(crate) const OTHER: i64 = 8;

/// What keeps the tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Model,
    Sqlite,
    Redis,
}

/// Makes a test of each `async fn NAME(store: Store)`, one per kind of store.
macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        mod on_the_model {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::store::Store::on($crate::store::Kind::Model).await).await;
                }
            )+
        }
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::store::Store::on($crate::store::Kind::Sqlite).await).await;
                }
            )+
        }
        mod on_redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::store::Store::on($crate::store::Kind::Redis).await).await;
                }
            )+
        }
    };
}

/// A front on a store, at the address of nanoseconds; [`Store::milliseconds`] is the other one.
#[derive(Clone)]
pub(crate) struct Store {
    client: Client,
    base: String,
    _serving: Arc<Serving>,
}

/// Serves, and keeps the store, until it is dropped.
struct Serving {
    task: JoinHandle<()>,
    _store: Box<dyn Any + Send + Sync>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

/// An answer of the address of nanoseconds, with the keys of the document: what tests compare is the same for both.
fn as_in_the_document(answer: Value) -> Value {
    let Value::Object(fields) = answer else { return answer };
    let fields = fields.into_iter().filter(|(name, value)| name != "Bugs" || *value != json!([]));
    let lower = fields.map(|(name, value)| match name.as_str() {
        "Error" => ("error".to_owned(), as_in_the_document(value)),
        _ => (name.to_lowercase(), value),
    });
    Value::Object(lower.collect())
}

impl Answer {
    /// The JSON of a success.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!((self.status.as_u16(), self.content_type.as_str()), (200, "application/json"), "{}", self.text);
        as_in_the_document(serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text)))
    }

    /// The line of a refusal.
    #[track_caller]
    pub(crate) fn refused(&self) -> &str {
        assert_eq!((self.status.as_u16(), self.content_type.as_str()), (400, "text/plain; charset=utf-8"), "{self:?}");
        let line = self.text.strip_suffix('\n').expect("a refusal is a line");
        assert!(!line.is_empty());
        line
    }
}

impl Store {
    pub(crate) async fn on(kind: Kind) -> Self {
        match kind {
            Kind::Model => Self::over(Arc::new(ModelEngine::with_system_clock())).await,
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite://{}", folder.path().join("tasks.db").display());
                let engine = SqliteEngine::open(&url, OpenOptions::default()).await.unwrap();
                Self::keeping(Arc::new(engine), Box::new(folder)).await
            }
            Kind::Redis => {
                let start = || RedisServer::start(RedisOptions::default());
                let server = tokio::task::spawn_blocking(start).await.unwrap();
                let engine = RedisEngine::open(&server.url(), OpenOptions::default()).await.unwrap();
                Self::keeping(Arc::new(engine), Box::new(server)).await
            }
        }
    }

    pub(crate) async fn over(boards: Arc<dyn Boards>) -> Self {
        Self::keeping(boards, Box::new(())).await
    }

    /// A front on boards whose store is kept with it.
    async fn keeping(boards: Arc<dyn Boards>, store: Box<dyn Any + Send + Sync>) -> Self {
        let routes = Router::new()
            .nest("/ms", router(Arc::clone(&boards), Unit::Milliseconds, MAX_DATA, ClientMemory::new(MEMORY)))
            .nest("/ns", router(boards, Unit::Nanoseconds, MAX_DATA, ClientMemory::new(MEMORY)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/ns", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let client = http_client().timeout(Duration::from_secs(30)).build().unwrap();
        Self { client, base, _serving: Arc::new(Serving { task, _store: store }) }
    }

    /// The same store at the address of milliseconds.
    pub(crate) fn milliseconds(&self) -> Self {
        Self { base: self.base.replace("/ns", "/ms"), ..self.clone() }
    }

    pub(crate) fn getting(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base))
    }

    pub(crate) fn posting(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base))
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let content_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status();
        Answer { status, content_type: content_type.unwrap_or_default(), text: response.text().await.unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(self.getting(path)).await.json()
    }

    /// Posts as the Go client does: raw JSON, without a content type.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        self.send(self.posting(path).body(body.to_string())).await.json()
    }

    /// An update by [`OWNER`], whatever comes of it.
    pub(crate) async fn update(&self, changes: Value) -> Value {
        self.update_as(OWNER, changes).await
    }

    pub(crate) async fn update_as(&self, client: i64, mut changes: Value) -> Value {
        changes["clientid"] = json!(client);
        let answer = self.post("/update", &changes).await;
        assert!(answer["tasks"].is_null() != answer["error"].is_null(), "one of both: {answer}");
        answer
    }

    /// The tasks of an update by [`OWNER`] that succeeds.
    pub(crate) async fn updated(&self, changes: Value) -> Vec<Value> {
        self.updated_as(OWNER, changes).await
    }

    pub(crate) async fn updated_as(&self, client: i64, changes: Value) -> Vec<Value> {
        let answer = self.update_as(client, changes).await;
        answer["tasks"].as_array().unwrap_or_else(|| panic!("it fails: {answer}")).clone()
    }

    /// The error of an update by [`OWNER`] that fails.
    pub(crate) async fn failed(&self, changes: Value) -> Value {
        let answer = self.update(changes).await;
        assert!(answer["error"].is_object(), "it succeeds: {answer}");
        answer["error"].clone()
    }

    /// Adds a task of [`OWNER`] to a group; its time is now.
    pub(crate) async fn add(&self, group: &str) -> Value {
        self.updated(json!({"adds": [{"group": group}]})).await.remove(0)
    }

    /// The one task that a claim by [`OWNER`] gets; `None` for none.
    pub(crate) async fn claim(&self, group: &str, duration: i64) -> Option<Value> {
        let answer = self.post("/claim", &json!({"clientid": OWNER, "group": group, "duration": duration})).await;
        assert!(answer["error"].is_null(), "{answer}");
        let tasks = answer["tasks"].as_array()?;
        assert_eq!(tasks.len(), 1, "{answer}");
        Some(tasks[0].clone())
    }

    /// The tasks of a group that is small.
    pub(crate) async fn group(&self, group: &str, query: &str) -> Vec<Value> {
        self.get(&format!("/group/{group}{query}")).await.as_array().unwrap().clone()
    }

    /// The tasks of a group, also those that are held.
    pub(crate) async fn all(&self, group: &str) -> Vec<Value> {
        self.group(group, "?owned=1").await
    }
}

/// The id of a task.
#[track_caller]
pub(crate) fn id(task: &Value) -> i64 {
    task["id"].as_i64().unwrap_or_else(|| panic!("no id: {task}"))
}

/// The ids of tasks, in their order.
#[track_caller]
pub(crate) fn ids(tasks: &[Value]) -> Vec<i64> {
    tasks.iter().map(id).collect()
}

/// The error that names these ids.
pub(crate) fn error(changes: &[i64], deletes: &[i64], depends: &[i64], owned: &[i64]) -> Value {
    json!({"changes": changes, "deletes": deletes, "depends": depends, "owned": owned})
}
