//! apalis, on Redis and on SQLite. By default an idle worker looks for jobs every 30 s, with its heartbeat; it takes ten at once,
//! locks each in a step of its own and announces it. Here it looks every 10 ms (50 ms on SQLite),
//! takes a thousand, and does neither.
//!
//! Its timer is not set again when a look takes longer than the interval. The heartbeat, here every second, ends such a pause.

use std::{str::FromStr, sync::OnceLock, time::Duration, time::Instant};

use apalis::prelude::*;
use apalis_redis::{ConnectionManager, RedisStorage};
use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use deliveries::{Deliveries, NOTE, now_micros};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};

const BATCH: usize = 1_000;
const TAKEN_AT_ONCE: usize = 1_000;
const OFTEN_IN_REDIS: Duration = Duration::from_millis(10);
const OFTEN_IN_SQLITE: Duration = Duration::from_millis(50);
const HEARTBEAT: Duration = Duration::from_secs(1);
const QUEUE: &str = "bench";

static DELIVERIES: OnceLock<Deliveries> = OnceLock::new();

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Noop {
    number: usize,
    sent: u64,
    note: String,
}

impl Noop {
    fn new(number: usize) -> Self {
        Self { number, sent: now_micros(), note: NOTE.to_owned() }
    }
}

async fn noop(job: Noop) -> Result<(), BoxDynError> {
    DELIVERIES.get().unwrap().note(job.number, job.sent);
    Ok(())
}

/// What the verbs are carried out on, since the two storages have no type in common.
macro_rules! carry_out {
    ($verb:expr, $jobs:expr, $storage:expr, $often:expr, $left:expr) => {{
        let (verb, jobs, mut storage) = ($verb, $jobs, $storage);
        let began = Instant::now();
        match verb {
            "bulk" => {
                for first in (0..jobs).step_by(BATCH) {
                    storage.push_bulk((first..jobs.min(first + BATCH)).map(Noop::new).collect()).await.unwrap();
                }
                deliveries::print_submitted(jobs, began.elapsed());
            }
            "single" | "idle" => {
                for number in 0..jobs {
                    if verb == "idle" {
                        tokio::time::sleep(deliveries::PAUSE).await;
                    }
                    storage.push(Noop::new(number)).await.unwrap();
                }
                deliveries::print_submitted(jobs, began.elapsed());
            }
            "work" => {
                let deliveries = DELIVERIES.get_or_init(|| Deliveries::of(jobs));
                let backend = storage.poll_with_interval($often);
                let worker = WorkerBuilder::new(worker_name()).backend(backend).concurrency(TAKEN_AT_ONCE).build(noop);
                tokio::spawn(async move { worker.run().await.unwrap() });
                deliveries::print_ready();
                while !(deliveries.are_nearly_over() && $left.await == 0 && deliveries.are_over()) {
                    tokio::time::sleep(deliveries::TICK).await;
                }
                println!("{}", deliveries.report());
            }
            _ => panic!("no such verb"),
        }
    }};
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, verb, store, jobs] = args.as_slice() else { panic!("apalis VERB STORE JOBS") };
    let (verb, jobs) = (verb.as_str(), jobs.parse().unwrap());
    if store.starts_with("redis://") {
        let connection = apalis_redis::connect(store.as_str()).await.unwrap();
        let config =
            apalis_redis::Config::default().queue(QUEUE).batch_size(TAKEN_AT_ONCE).heartbeat_interval(HEARTBEAT);
        let storage = RedisStorage::new(connection.clone()).with_config(config.lock_tasks(false).emit_events(false));
        carry_out!(verb, jobs, storage, OFTEN_IN_REDIS, left_in_redis(connection.clone()));
    } else {
        let pool = open(store).await;
        let config = apalis_sqlite::Config::default()
            .queue(QUEUE)
            .batch_size(TAKEN_AT_ONCE)
            .heartbeat_interval(HEARTBEAT)
            .lock_tasks(false);
        let storage = SqliteStorage::new(&pool).with_config(config);
        carry_out!(verb, jobs, storage, OFTEN_IN_SQLITE, left_in_sqlite(&pool));
    }
    std::process::exit(0);
}

/// As durable as the other stores on SQLite: `SqliteStorage::setup` would switch off syncs on one of the pool's connections.
async fn open(store: &str) -> SqlitePool {
    let options = SqliteConnectOptions::from_str(store)
        .unwrap()
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new().connect_with(options.clone()).await.unwrap();
    SqliteStorage::migrations().run(&pool).await.unwrap();
    // Without statistics SQLite looks for the jobs to settle among all that their worker ever finished, and with the samples of
    // a time when it had finished none as well. A connection reads both when it is opened.
    for statement in ["ANALYZE", "DELETE FROM sqlite_stat4"] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    pool.close().await;
    SqlitePoolOptions::new().connect_with(options).await.unwrap()
}

/// A second worker of the same name would not start while the first one may live.
fn worker_name() -> String {
    format!("bench-{}", std::process::id())
}

/// How many jobs wait or run.
async fn left_in_redis(mut connection: ConnectionManager) -> u64 {
    let mut asked = redis::pipe();
    asked
        .llen(format!("{QUEUE}:active"))
        .zcard(format!("{QUEUE}:scheduled"))
        .scard(format!("{QUEUE}:inflight:{}", worker_name()));
    let counts: (u64, u64, u64) = asked.query_async(&mut connection).await.unwrap();
    counts.0 + counts.1 + counts.2
}

/// How many jobs wait or run.
async fn left_in_sqlite(pool: &SqlitePool) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM Jobs WHERE status <> 'Done'").fetch_one(pool).await.unwrap()
}
