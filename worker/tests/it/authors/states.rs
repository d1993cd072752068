//! What a program shares with its tasks, and what happens without it.

use jobbers_common::lifecycle::Status;
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{
    WorkerError,
    prelude::*,
    testing::{TestBench, TestError},
};

use crate::bench::Bench;

struct Rates(u64);
struct Names(&'static str);

#[task(unlisted)]
async fn names_its_state(
    names: State<Names>,
    times: u64,
    ctx: Context,
    rates: State<Rates>,
) -> Result<String, TaskError> {
    Ok(format!("{} {} by attempt {}", names.0.0, times * rates.0.0, ctx.attempt()))
}

#[task(unlisted, blocking)]
fn blocks_with_state(State(rates): State<Rates>) -> Result<u64, TaskError> {
    Ok(rates.0)
}

#[task(unlisted)]
async fn asks_for_state(ctx: Context) -> anyhow::Result<u64> {
    Ok(ctx.state::<Rates>()?.0)
}

#[tokio::test]
async fn a_worker_without_state_that_a_task_names_does_not_start_and_claims_nothing() {
    let bench = Bench::new();
    let id = bench.submit(&names_its_state, 3).await;
    let worker = || Worker::new(bench.config.clone(), bench.engine.clone()).state(bench.probe());
    let worker = || worker().task(&names_its_state).task(&blocks_with_state);
    let error = worker().state(Names("ada")).run_until(Shutdown::new()).await.unwrap_err();
    let WorkerError::MissingState(missing) = &error else { panic!("{error}") };
    let rates = std::any::type_name::<Rates>();
    assert_eq!(missing.types, [(rates, vec!["blocks_with_state@1".to_owned(), "names_its_state@1".to_owned()])]);
    assert!(error.to_string().contains("Give each to Worker::state"), "{error}");
    assert_eq!((bench.get(&id).await.status, bench.get(&id).await.attempt), (Status::Submitted, 0));

    let shutdown = Shutdown::new();
    let running = worker().state(Names("ada")).state(Rates(7)).run_until(shutdown.clone());
    let running = tokio::spawn(running);
    assert_eq!(bench.over(&id).await.result, Some(crate::bench::json("\"ada 21 by attempt 1\"")));
    let id = bench.submit(&blocks_with_state, NoParameters).await;
    assert_eq!(bench.over(&id).await.result, Some(crate::bench::json("7")));
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_task_that_asks_for_state_its_worker_lacks_is_given_back_and_loses_no_attempt() {
    let bench = Bench::new();
    let id = bench.submit(&asks_for_state, NoParameters).await;
    let worker = || Worker::new(bench.config.clone(), bench.engine.clone()).state(bench.probe()).task(&asks_for_state);
    let shutdown = Shutdown::new();
    let running = tokio::spawn(worker().run_until(shutdown.clone()));
    let task = bench.until_status(&id, Status::Scheduled).await;
    assert_eq!((task.attempt, task.errors.len()), (0, 0));
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
    bench.clock.advance(Duration::from_secs(10));
    let shutdown = Shutdown::new();
    let running = tokio::spawn(worker().state(Rates(19)).run_until(shutdown.clone()));
    assert_eq!(bench.over(&id).await.result, Some(crate::bench::json("19")));
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_bench_without_state_says_so_when_a_task_needs_it() {
    let bench =
        TestBench::builder().task(&names_its_state).task(&asks_for_state).state(Names("ada")).build().await.unwrap();
    names_its_state.delay(bench.client(), 3).await.unwrap();
    let TestError::MissingState { task, types } = bench.drain().await.unwrap_err() else { panic!("it lacks state") };
    assert_eq!((task.as_str(), types), ("names_its_state@1", vec![std::any::type_name::<Rates>()]));
    let bench = TestBench::builder().task(&asks_for_state).build().await.unwrap();
    asks_for_state.delay(bench.client(), NoParameters).await.unwrap();
    assert!(matches!(bench.drain().await.unwrap_err(), TestError::MissingState { .. }));
}

#[tokio::test]
async fn a_second_state_of_one_type_replaces_the_first() {
    let builder = TestBench::builder().task(&blocks_with_state).task(&asks_for_state);
    let bench = builder.state(Rates(1)).state(Names("ada")).state(Rates(2)).build().await.unwrap();
    let named = blocks_with_state.delay(bench.client(), NoParameters).await.unwrap();
    let asked = asks_for_state.delay(bench.client(), NoParameters).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!((named.result(Duration::ZERO).await.unwrap(), asked.result(Duration::ZERO).await.unwrap()), (2, 2));
}

#[tokio::test]
async fn the_plain_function_gets_its_state_in_a_unit_test() {
    let context = Context::detached_with_state(jobbers_worker::Payload::json(&b"{}"[..]), Rates(5));
    assert_eq!(blocks_with_state.call(context, NoParameters).await, Ok(5));
}
