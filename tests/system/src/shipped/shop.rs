//! The example of a shop under faults: of its workers, one is killed, one is stopped, and all are replaced by those of a new version,
//! while orders come in.
//!
//! The shop's tasks note each effect in a journal, and its workers log each settlement that the store accepted; the
//! [books](books) compare both with the store's record of every task.

use std::{path::PathBuf, time::Duration};

use jobbers_test_support::{
    effects::{Effects, now_micros},
    program::Program,
    redis_server::Persistence,
    wait::until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    executions::{Executions, Killed, LOG, Record},
    shipped::shop::books::Books,
    stack::{Manager, Stack, all_tasks},
};

mod books;

/// Orders of the test that always runs: some 350 tasks.
const FEW: usize = 60;
/// Orders of the long test: more than 12,000 tasks.
const MANY: usize = 2_200;
const LONG: Duration = Duration::from_secs(300);

on_both_engines!(each_effect_happens_and_each_task_is_settled_once);

mod long {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: 12,000 tasks"]
    async fn of_12000_tasks_on_sqlite() {
        super::faults(super::Kind::Sqlite, super::MANY).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: 12,000 tasks"]
    async fn of_12000_tasks_on_redis() {
        super::faults(super::Kind::Redis, super::MANY).await;
    }
}

async fn each_effect_happens_and_each_task_is_settled_once(kind: Kind) {
    faults(kind, FEW).await;
}

/// A shop that takes orders.
struct Shop {
    manager: Manager,
    /// Those that run, and those that have ended, whose logs are read too.
    workers: Vec<Program>,
    ended: Vec<Program>,
    killed: Vec<Killed>,
    effects: Effects,
    stack: Stack,
}

impl Shop {
    async fn open(stack: Stack) -> Self {
        let manager = stack.manager().await;
        let effects = Effects::at(stack.folder().join("shop/journal"));
        Self { manager, workers: Vec::new(), ended: Vec::new(), killed: Vec::new(), effects, stack }
    }

    fn start(&self, arguments: &[&str], more: &[(&str, &str)]) -> Program {
        let environment = [&[("ENGINE_URL", self.stack.url())], more].concat();
        Program::start("examples/shop", self.stack.folder(), arguments, &environment)
    }

    async fn add_worker(&mut self, version: &str) {
        let worker = self.start(&[], &[&LOG[..], &[("WORKER_VERSION", version)]].concat());
        worker.line("worker started").await;
        self.workers.push(worker);
    }

    /// Waits until this many tasks had an effect.
    async fn happened(&self, effect: &str, tasks: usize) {
        until(LONG, &format!("{tasks} tasks {effect}"), async || {
            (self.effects.count(effect).len() >= tasks).then_some(())
        })
        .await;
    }

    /// Waits until this many tasks are accepted, so that workers find a backlog.
    async fn accepted(&self, tasks: usize) {
        until(LONG, &format!("{tasks} tasks are accepted"), async || {
            let queue = self.manager.api.get("/queues/default").await.ok();
            (queue["accepted"].as_u64()? >= tasks as u64).then_some(())
        })
        .await;
    }

    /// A worker dies in the middle of tasks: it is frozen, and killed if it holds some then.
    async fn kill(&mut self) {
        let mut victim = self.workers.remove(0);
        let started = victim.line("worker started").await;
        let started: Value = serde_json::from_str(&started).unwrap();
        let id = &started["fields"]["worker"];
        until(LONG, "a frozen worker holds tasks", async || {
            victim.signal(Signal::SIGSTOP);
            let page = self.manager.api.get("/active-tasks?limit=1000").await.ok();
            let holds = page["tasks"].as_array()?.iter().any(|task| task["worker"] == *id);
            if !holds {
                victim.signal(Signal::SIGCONT);
            }
            holds.then_some(())
        })
        .await;
        self.killed.push(Killed { pid: victim.pid(), at: now_micros() });
        victim.kill().await;
        self.ended.push(victim);
    }

    /// A worker gets SIGTERM, and leaves when it has finished its tasks.
    async fn stop(&mut self) {
        let mut worker = self.workers.remove(0);
        worker.signal(Signal::SIGTERM);
        let status = worker.exit().await;
        assert_eq!(status.code(), Some(0), "it leaves in good order: {}", worker.said());
        self.ended.push(worker);
    }

    /// Workers of the new version come, those of the old one are drained and leave.
    async fn deploy(&mut self, old: &str, new: &str) {
        let before = self.workers.len();
        for _ in 0..before {
            self.add_worker(new).await;
        }
        self.manager.api.post("/workers/drain", &json!({"version": old})).await.ok();
        for _ in 0..before {
            self.stop().await;
        }
    }

    /// Waits until all is over.
    async fn end(&self) {
        until(LONG, "every task is over", async || {
            let mut live = 0;
            for queue in ["default", "mail"] {
                let queue = self.manager.api.get(&format!("/queues/{queue}")).await.ok();
                let statuses = ["waiting", "submitted", "scheduled", "started"].iter();
                live += statuses.filter_map(|status| queue["tasks"][*status].as_u64()).sum::<u64>();
            }
            (live == 0).then_some(())
        })
        .await;
    }

    fn charges(&self) -> PathBuf {
        self.stack.folder().join("shop/charges")
    }

    /// The books as they are now.
    async fn books(&self) -> Books {
        let mut books = Books::default();
        for status in ["completed", "failed", "aborted", "stalled", "cancelled", "dropped"] {
            for task in all_tasks(&self.manager.api, &format!("/tasks?status={status}")).await {
                let id = task["id"].as_str().unwrap().to_owned();
                assert!(books.records.insert(id, Record::of(&task)).is_none(), "in two states at once: {task}");
            }
        }
        let logs: Vec<String> = self.ended.iter().chain(&self.workers).map(Program::said).collect();
        books.executions = Executions::new(&self.effects.all(), &logs, &self.killed);
        let charges = std::fs::read_dir(self.charges()).unwrap().map(Result::unwrap);
        let names = charges.map(|file| file.file_name().into_string().unwrap());
        // A worker that was killed may leave a half-written file beside it, which is no charge.
        books.charged = names.filter(|name| !name.ends_with(".partial")).collect();
        books
    }
}

async fn faults(kind: Kind, orders: usize) {
    let began = std::time::Instant::now();
    let mut shop = Shop::open(Stack::on(kind).await).await;
    let mut customers = shop.start(&["submit", &orders.to_string()], &[]);
    shop.accepted(2 * orders).await;
    for _ in 0..4 {
        shop.add_worker("1").await;
    }
    shop.happened("charged", orders / 4).await;
    shop.kill().await;
    shop.happened("closed", orders / 4).await;
    shop.stop().await;
    shop.happened("closed", orders / 2).await;
    shop.deploy("1", "2").await;
    assert_eq!(customers.exit_within(LONG).await.code(), Some(0), "{}", customers.said());
    assert!(customers.said().contains(&format!("submitted {orders} orders")), "{}", customers.said());
    shop.end().await;
    let books = shop.books().await;
    let report = books.report(&format!("{kind:?}, {orders} orders, {:.0?}", began.elapsed()));
    println!("{report}{}", shop.stack.examined().await);
    assert_eq!(books.complaints(orders), Vec::<String>::new(), "{report}");
    assert_ne!(books.reclaims(), 0, "the kill interrupted no task: {report}");
}

/// The books must not balance when a promise is broken: here by a server that writes nothing down, and dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_and_a_card_that_is_not_charged_are_noticed() {
    let mut shop = Shop::open(Stack::on_redis(Persistence::None).await).await;
    shop.add_worker("1").await;
    let mut customers = shop.start(&["submit", "10"], &[]);
    assert_eq!(customers.exit().await.code(), Some(0), "{}", customers.said());
    shop.end().await;
    assert_eq!(shop.books().await.complaints(10), Vec::<String>::new());

    std::fs::remove_file(shop.charges().join("3")).unwrap();
    assert_eq!(shop.books().await.complaints(10), ["order 3 is paid, and its card was not charged"]);
    let journal = std::fs::read_to_string(shop.effects.path()).unwrap();
    let without: String =
        journal.lines().filter(|line| !line.contains("order-5/ship")).map(|line| format!("{line}\n")).collect();
    std::fs::write(shop.effects.path(), without).unwrap();
    let complaints = shop.books().await.complaints(10);
    assert!(complaints.contains(&"order-5/ship is completed, and had no effect".to_owned()), "{complaints:?}");

    shop.stack.crash_store().await;
    until(LONG, "the manager is back", async || {
        shop.manager.api.get("/queues/default").await.status.is_success().then_some(())
    })
    .await;
    let complaints = shop.books().await.complaints(10);
    let lost = books::expected(10).len();
    assert_eq!(complaints.iter().filter(|it| it.ends_with("is lost")).count(), lost, "{complaints:?}");
}
