//! Jobbers as a program of its users: a task, a worker with the default settings, a typed client on the store, and the manager
//! and the cleaner as they ship. `../../run` says what each verb does.

use std::{sync::Arc, time::Instant};

use clap::{Parser, Subcommand};
use deliveries::{Deliveries, NOTE, now_micros};
use jobbers_worker::{Config, Engine, QueueName, prelude::*};

/// As the programs of Jobbers have it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tasks in one call.
const BATCH: usize = 1_000;
/// Calls under way at once when tasks are submitted in bulk.
const CALLERS: usize = 4;

#[derive(Serialize, Deserialize)]
struct Job {
    number: usize,
    sent: u64,
    note: String,
}

impl Job {
    fn new(number: usize) -> Self {
        Self { number, sent: now_micros(), note: NOTE.to_owned() }
    }
}

#[task(name = "bench.noop")]
async fn noop(deliveries: State<Arc<Deliveries>>, job: Job) -> Result<(), TaskError> {
    deliveries.note(job.number, job.sent);
    Ok(())
}

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Bulk { store: String, jobs: usize },
    Single { store: String, jobs: usize },
    Idle { store: String, jobs: usize },
    Work { store: String, jobs: usize },
    Manager(Box<jobbers_manager::config::Args>),
    Cleaner(Box<jobbers_cleaner::Args>),
}

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Bulk { store, jobs } => submit_in_bulk(&store, jobs).await,
        Verb::Single { store, jobs } => submit_one_by_one(&store, jobs, Duration::ZERO).await,
        Verb::Idle { store, jobs } => submit_one_by_one(&store, jobs, deliveries::PAUSE).await,
        Verb::Work { store, jobs } => work(&store, jobs).await,
        Verb::Manager(args) => return jobbers_manager::program::run(*args).await,
        Verb::Cleaner(args) => return jobbers_cleaner::program::run(*args).await,
    }
    ExitCode::SUCCESS
}

async fn submit_in_bulk(store: &str, jobs: usize) {
    let client = Client::open(store).await.unwrap();
    let began = Instant::now();
    let callers = (0..CALLERS).map(|caller| {
        let client = client.clone();
        tokio::spawn(async move {
            for batch in (0..jobs).step_by(BATCH).skip(caller).step_by(CALLERS) {
                let batch = (batch..jobs.min(batch + BATCH)).map(|number| noop.with(Job::new(number)));
                client.submit_all(batch).await.unwrap();
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    deliveries::print_submitted(jobs, began.elapsed());
}

async fn submit_one_by_one(store: &str, jobs: usize, pause: Duration) {
    let client = Client::open(store).await.unwrap();
    let began = Instant::now();
    for number in 0..jobs {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        noop.delay(&client, Job::new(number)).await.unwrap();
    }
    deliveries::print_submitted(jobs, began.elapsed());
}

async fn work(store: &str, jobs: usize) {
    let client = Client::open(store).await.unwrap();
    let deliveries = Arc::new(Deliveries::of(jobs));
    let config = Config { engine_url: store.to_owned(), ..Config::default() };
    let worker = Worker::open(config).state(Arc::clone(&deliveries));
    tokio::spawn(worker.run());
    let engine = client.engine().unwrap();
    while engine.workers().await.unwrap().is_empty() {
        tokio::time::sleep(deliveries::TICK).await;
    }
    deliveries::print_ready();
    while !(deliveries.are_nearly_over() && left(&**engine).await == 0 && deliveries.are_over()) {
        tokio::time::sleep(deliveries::TICK).await;
    }
    println!("{}", deliveries.report());
}

/// How many tasks wait or run.
async fn left(engine: &dyn Engine) -> u64 {
    let stats = engine.queue_stats(&QueueName::new("default").unwrap()).await.unwrap();
    stats.tasks.iter().filter(|(status, _)| !status.is_finished()).map(|(_, tasks)| tasks).sum()
}
