//! River on SQLite. It fetches at most once a `fetch_cooldown`, which is 100 ms by default and 1 ms here; with that and a
//! thousand slots it drains 25 times as fast.

use std::{str::FromStr, sync::OnceLock, time::Duration, time::Instant};

use deliveries::{Deliveries, NOTE, now_micros};
use riverqueue::{
    Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers,
    migrate::SqliteMigrator,
    sqlx::{
        self, SqlitePool,
        sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
    },
};
use serde::{Deserialize, Serialize};

const BATCH: usize = 1_000;
const SLOTS: usize = 1_000;
const OFTEN: Duration = Duration::from_millis(1);

static DELIVERIES: OnceLock<Deliveries> = OnceLock::new();

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "noop")]
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

async fn noop(_: WorkContext, job: Job<Noop>) -> Result<WorkOutcome, std::io::Error> {
    DELIVERIES.get().unwrap().note(job.args.number, job.args.sent);
    Ok(WorkOutcome::Complete)
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, verb, store, jobs] = args.as_slice() else { panic!("river VERB STORE JOBS") };
    let jobs = jobs.parse().unwrap();
    let options = SqliteConnectOptions::from_str(store)
        .unwrap()
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new().connect_with(options).await.unwrap();
    SqliteMigrator::new(pool.clone()).migrate_up().await.unwrap();
    match verb.as_str() {
        "bulk" => submit_in_bulk(pool, jobs).await,
        "single" => submit_one_by_one(pool, jobs, Duration::ZERO).await,
        "idle" => submit_one_by_one(pool, jobs, deliveries::PAUSE).await,
        "work" => work(pool, jobs).await,
        _ => panic!("no such verb"),
    }
    std::process::exit(0);
}

async fn submit_in_bulk(pool: SqlitePool, jobs: usize) {
    let client = Client::builder(pool).build().unwrap();
    let began = Instant::now();
    for first in (0..jobs).step_by(BATCH) {
        let batch = (first..jobs.min(first + BATCH)).map(Noop::new);
        client.insert_many(batch).await.unwrap();
    }
    deliveries::print_submitted(jobs, began.elapsed());
}

async fn submit_one_by_one(pool: SqlitePool, jobs: usize, pause: Duration) {
    let client = Client::builder(pool).build().unwrap();
    let began = Instant::now();
    for number in 0..jobs {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        client.insert(Noop::new(number)).await.unwrap();
    }
    deliveries::print_submitted(jobs, began.elapsed());
}

async fn work(pool: SqlitePool, jobs: usize) {
    let deliveries = DELIVERIES.get_or_init(|| Deliveries::of(jobs));
    let mut workers = Workers::new();
    workers.add_fn(noop).unwrap();
    let queue = QueueConfig::new(SLOTS).with_fetch_poll_interval(OFTEN);
    let client =
        Client::builder(pool.clone()).workers(workers).fetch_cooldown(OFTEN).queue("default", queue).build().unwrap();
    let _run = client.start().unwrap();
    deliveries::print_ready();
    while !(deliveries.are_nearly_over() && left(&pool).await == 0 && deliveries.are_over()) {
        tokio::time::sleep(deliveries::TICK).await;
    }
    println!("{}", deliveries.report());
}

/// How many jobs wait or run.
async fn left(pool: &SqlitePool) -> i64 {
    let text = "SELECT count(*) FROM river_job WHERE state <> 'completed'";
    sqlx::query_scalar(text).fetch_one(pool).await.unwrap()
}
