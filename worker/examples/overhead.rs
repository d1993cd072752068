//! What layers and state cost: drains of tasks that do nothing, plain and with each of them.
//!
//! `cargo run --release -p jobbers-worker --example overhead -- 50000 15` drains so many tasks in so many rounds, each round once in
//! every way, on a store in memory. It prints the least of all rounds, which other work of the machine disturbed least: the processor
//! time of a task, its time by the clock, and what a way needs more of processors than the plain one.

#![expect(clippy::print_stdout, reason = "what the example is for")]

use std::{error::Error, fs, time::Instant};

use jobbers_worker::{Config, Shutdown, Start, prelude::*};

/// Shared by the tasks that name it.
struct Rates {
    cents: u64,
}

#[task(unlisted)]
async fn plain() -> Result<(), TaskError> {
    Ok(())
}

#[task(unlisted)]
async fn with_context(ctx: Context) -> Result<(), TaskError> {
    drop(ctx);
    Ok(())
}

#[task(unlisted)]
async fn with_state(rates: State<Rates>) -> Result<(), TaskError> {
    if rates.cents == 0 { Err(TaskError::fatal("no rates")) } else { Ok(()) }
}

fn nothing(_: &Context, attempt: Start) -> Start {
    attempt
}

fn answering(_: &Context, attempt: Start) -> Start {
    attempt.after(|answer| answer)
}

/// A way to run tasks.
struct Way {
    name: &'static str,
    task: &'static TaskFn<NoParameters, ()>,
    worker: fn(Worker) -> Worker,
}

const WAYS: [Way; 5] = [
    Way { name: "plain", task: &plain, worker: |worker| worker },
    Way { name: "one layer that does nothing", task: &plain, worker: |worker| worker.layer(nothing) },
    Way { name: "one layer with `after`", task: &plain, worker: |worker| worker.layer(answering) },
    Way { name: "an argument `Context`", task: &with_context, worker: |worker| worker },
    Way { name: "an argument `State<T>`", task: &with_state, worker: |worker| worker },
];

/// Drains so many tasks. Returns the microseconds of a task: of processors, and by the clock.
async fn drain(way: &Way, tasks: u64) -> Result<[f64; 2], Box<dyn Error>> {
    let client = Client::open("sqlite::memory:").await?;
    for _ in 0..tasks / 1_000 {
        client.submit_all((0..1_000).map(|_| way.task.with(NoParameters))).await?;
    }
    let engine = client.engine().ok_or("a client of a store")?;
    let config = Config { ttl: tasks / 1_000 * 1_000, ..Config::default() };
    let worker = Worker::new(config, engine.clone()).state(Rates { cents: 1 }).task(way.task);
    let (began, used) = (Instant::now(), processor_micros()?);
    let report = (way.worker)(worker).run_until(Shutdown::new()).await?;
    let (took, used) = (began.elapsed(), processor_micros()? - used);
    let settled = report.settled as f64;
    Ok([used / settled, took.as_secs_f64() * 1e6 / settled])
}

/// The processor time of this process, from `/proc/self/stat` (proc(5)), whose tick is 10 ms.
fn processor_micros() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("the name of the process")?;
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(ticks as f64 * 10_000.0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>());
    let (tasks, rounds) = (numbers.next().unwrap_or(Ok(2_000))?, numbers.next().unwrap_or(Ok(3))?);
    let mut figures = [const { Vec::new() }; WAYS.len()];
    for round in 0..=rounds as usize {
        for nth in 0..WAYS.len() {
            let nth = (round + nth) % WAYS.len();
            let measured = drain(&WAYS[nth], tasks).await?;
            // The first round fills caches and memory.
            if round > 0 {
                figures[nth].push(measured);
            }
        }
    }
    println!(
        "| {tasks} tasks, {rounds} rounds | µs of processors a task | µs a task | more than plain |\n|---|---|---|---|"
    );
    let least = |measured: &[[f64; 2]], which: usize| measured.iter().map(|it| it[which]).fold(f64::INFINITY, f64::min);
    let base = least(&figures[0], 0);
    for (way, measured) in WAYS.iter().zip(&figures) {
        let (used, took) = (least(measured, 0), least(measured, 1));
        println!("| {} | {used:.2} | {took:.2} | {:+.1} % |", way.name, (used / base - 1.0) * 100.0);
    }
    Ok(())
}
