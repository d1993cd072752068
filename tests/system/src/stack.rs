//! A store, and the programs that run on it, for one test.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use jobbers_test_support::{
    api::Api,
    effects::Effects,
    program::Program,
    redis_server::{Persistence, RedisOptions, RedisServer},
    shims::Disk,
    small_disk::SmallDisk,
};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engines::Kind;

/// A store of one test's own. Programs started on it end when they are dropped, before it.
pub(crate) struct Stack {
    folder: TempDir,
    url: String,
    /// The server, when the store is one.
    pub(crate) redis: Option<RedisServer>,
    /// What the tasks of the test worker did.
    pub(crate) effects: Effects,
}

/// A running manager.
pub(crate) struct Manager {
    pub(crate) program: Program,
    pub(crate) api: Api,
    pub(crate) address: SocketAddr,
}

impl Stack {
    /// A new store.
    pub(crate) async fn on(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::on_sqlite(""),
            Kind::Redis => Self::on_redis(Persistence::None).await,
        }
    }

    /// An SQLite file; `options` is the query of its URL, e.g. `?max_bytes=1000000`.
    pub(crate) fn on_sqlite(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}{options}", folder.path().join("tasks.db").display());
        Self::with(folder, url, None)
    }

    /// An SQLite file on a disk of its own, with the programs' other files elsewhere.
    pub(crate) fn on_disk(disk: &SmallDisk) -> Self {
        let url = format!("sqlite://{}", disk.path().join("tasks.db").display());
        Self::with(tempfile::tempdir().unwrap(), url, None)
    }

    /// A Redis server.
    pub(crate) async fn on_redis(persistence: Persistence) -> Self {
        Self::on_redis_with(RedisOptions { persistence, ..RedisOptions::default() }).await
    }

    /// A Redis server that is started like this.
    pub(crate) async fn on_redis_with(options: RedisOptions) -> Self {
        let redis = tokio::task::spawn_blocking(|| RedisServer::start(options)).await.unwrap();
        Self::with(tempfile::tempdir().unwrap(), redis.url(), Some(redis))
    }

    /// A store that is there already.
    pub(crate) fn at(url: &str) -> Self {
        Self::with(tempfile::tempdir().unwrap(), url.to_owned(), None)
    }

    fn with(folder: TempDir, url: String, redis: Option<RedisServer>) -> Self {
        let effects = Effects::at(folder.path().join("effects"));
        Self { folder, url, redis, effects }
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its folder: the working directory of every program on it.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Kills the server as a crash would, and starts it again with what it wrote down. A file needs neither.
    pub(crate) async fn crash_store(&mut self) {
        let Some(mut redis) = self.redis.take() else { return };
        let restarted = tokio::task::spawn_blocking(move || {
            redis.kill_9();
            redis.restart();
            redis
        });
        self.redis = Some(restarted.await.unwrap());
    }

    /// Crashes Redis, and it comes back without the last `bytes` that it wrote. Does nothing on SQLite.
    pub(crate) async fn crash_store_losing(&mut self, bytes: u64) {
        let Some(mut redis) = self.redis.take() else { return };
        let restarted = tokio::task::spawn_blocking(move || {
            redis.restart_without_the_last(bytes);
            redis
        });
        self.redis = Some(restarted.await.unwrap());
    }

    /// The power fails where Redis runs: what it synced to this disk is left.
    pub(crate) async fn lose_power_of_redis(&mut self, disk: &Disk) {
        let mut redis = self.redis.take().unwrap();
        tokio::task::block_in_place(|| redis.lose_power(disk));
        self.redis = Some(redis);
    }

    /// Freezes a worker, unless that stops the store: of those that share a file one may be in a transaction just then,
    /// and holds its lock. Returns whether it is frozen.
    pub(crate) async fn freeze(&self, worker: &Program, manager: &Manager) -> bool {
        // No process recovers tasks meanwhile: this time is added to all that a storm measures.
        const AT_ONCE: Duration = Duration::from_millis(500);
        worker.signal(Signal::SIGSTOP);
        let body = json!({"max_length": worker.pid()});
        let write = manager.api.send(Method::PUT, "/queues/unused", &[], Some(&body));
        let is_taken = tokio::time::timeout(AT_ONCE, write).await.is_ok_and(|answer| answer.is_ok());
        if !is_taken {
            worker.signal(Signal::SIGCONT);
        }
        is_taken
    }

    /// Lets a frozen worker go on for as long as it takes to notice that its leases are lost, and to leave in good order.
    pub(crate) async fn thaw(worker: &mut Program) {
        worker.signal(Signal::SIGCONT);
        worker.signal(Signal::SIGTERM);
        worker.exit().await;
    }

    /// A manager on a free port that answers requests.
    pub(crate) async fn manager(&self) -> Manager {
        self.manager_with(&[]).await
    }

    /// The same with further environment variables.
    pub(crate) async fn manager_with(&self, environment: &[(&str, &str)]) -> Manager {
        self.manager_at("127.0.0.1:0", environment).await
    }

    /// The same at an address.
    pub(crate) async fn manager_at(&self, address: &str, environment: &[(&str, &str)]) -> Manager {
        let arguments = ["--engine-url", self.url(), "--listen", address];
        Manager::ready(Program::start("manager", self.folder(), &arguments, environment)).await
    }

    /// A worker with the test tasks that asks for work.
    pub(crate) async fn worker(&self) -> Program {
        self.worker_with(&[]).await
    }

    /// The same with further environment variables.
    pub(crate) async fn worker_with(&self, environment: &[(&str, &str)]) -> Program {
        self.worker_program("test-worker", environment).await
    }

    /// A worker with the stock tasks that asks for work.
    pub(crate) async fn stock_worker(&self) -> Program {
        self.worker_program("worker", &[]).await
    }

    /// `worker` or `test-worker`, with further environment variables, when it asks for work.
    pub(crate) async fn worker_program(&self, name: &str, environment: &[(&str, &str)]) -> Program {
        let (effects, gate) = (self.effects.path().to_str().unwrap(), self.gate());
        let gate = gate.to_str().unwrap();
        let mut all = vec![("ENGINE_URL", self.url()), ("TEST_EFFECTS", effects), ("TEST_GATE", gate)];
        all.extend(environment);
        let worker = Program::start::<&str>(name, self.folder(), &[], &all);
        worker.line("worker started").await;
        worker
    }

    /// Has the doctor look the whole store over, and answers its word on what agrees: everything must.
    pub(crate) async fn examined(&self) -> String {
        let report = self.examination().await;
        assert_eq!((&report["found"], &report["findings"]), (&json!(0), &json!([])), "{report}");
        // What the store promises is not the question here: a test's Redis need not keep a file.
        for check in ["queues", "records"] {
            let check = report["checks"].as_array().unwrap().iter().find(|it| it["check"] == check).unwrap();
            assert_eq!(check["ok"], true, "{report}");
        }
        format!("the doctor looked at {} tasks and entries and found nothing", report["looked_at"])
    }

    /// What the doctor reports.
    pub(crate) async fn examination(&self) -> Value {
        let arguments = ["doctor", "--json", "--engine-url", self.url()];
        let mut doctor = Program::start("jobbers", self.folder(), &arguments, &[]);
        let line = doctor.line("\"healthy\":").await;
        doctor.exit().await;
        serde_json::from_str(&line).unwrap()
    }

    /// Opens the gate before which `hold` and `stubborn` wait.
    pub(crate) fn release(&self) {
        std::fs::write(self.gate(), "open").unwrap();
    }

    fn gate(&self) -> std::path::PathBuf {
        self.folder().join("gate")
    }
}

impl Manager {
    /// Waits until a manager listens.
    pub(crate) async fn ready(program: Program) -> Self {
        let address = address_in(&program.line("listening").await);
        Self { program, api: Api::at(address), address }
    }
}

/// The address that a line of a program's log names.
pub(crate) fn address_in(line: &str) -> SocketAddr {
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '=' | '/' | '"'));
    words.find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("no address in {line:?}"))
}

/// The ids of all tasks a list names; `query` has a question mark already.
pub(crate) async fn all_ids(api: &Api, query: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for task in all_tasks(api, query).await {
        assert!(ids.insert(task["id"].as_str().unwrap().to_owned()), "listed twice: {task}");
    }
    ids
}

/// All tasks a list names.
pub(crate) async fn all_tasks(api: &Api, query: &str) -> Vec<Value> {
    let mut tasks = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = api.get(&format!("{query}&limit=1000{cursor}")).await.ok();
        tasks.extend(page["tasks"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return tasks,
        }
    }
}
