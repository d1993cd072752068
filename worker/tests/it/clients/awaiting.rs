//! Batches, keys, and awaiting results.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, SubmittedHow, Tasks},
    lifecycle::Status,
};
use jobbers_worker::{Client, ResultError, SubmitError, prelude::*};

use crate::bench::{Bench, PATIENCE};

#[task]
async fn double(n: u32) -> Result<u64, TaskError> {
    if n == 13 { Err(TaskError::fatal("thirteen")) } else { Ok(u64::from(n) * 2) }
}

#[task]
async fn nothing_to_say() -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test]
async fn a_result_is_awaited_as_what_the_task_answers() {
    let bench = Bench::new();
    let four = double.delay(&bench.client, 2).await.unwrap();
    assert!(matches!(four.result(Duration::ZERO).await, Err(ResultError::NotYet(Status::Submitted))));
    let unlucky = double.submit(&bench.client, 13).await.unwrap();
    let unit = nothing_to_say.delay(&bench.client, NoParameters).await.unwrap();
    let _worker = bench.worker();
    assert_eq!(four.result(PATIENCE).await.unwrap(), 4);
    unit.result(PATIENCE).await.unwrap();
    let failed = unlucky.result(PATIENCE).await.unwrap_err();
    assert_eq!(failed.to_string(), "the task is failed: thirteen");
    let as_text = bench.client.task::<String>(four.id.clone()).wait(PATIENCE).await;
    assert!(matches!(as_text, Err(ResultError::Unreadable(_))), "{as_text:?}");
    let nobody = bench.client.task::<u64>("nobody".parse().unwrap()).wait(PATIENCE).await;
    assert!(matches!(nobody, Err(ResultError::Unknown)));
}

#[tokio::test]
async fn a_batch_goes_in_wholly_or_not_at_all() {
    let bench = Bench::new();
    let batch = [double.with(1).any(), nothing_to_say.with(NoParameters).id("n").any()];
    let taken = bench.client.submit_all(batch).await.unwrap();
    assert_eq!((taken.len(), taken[1].id.as_str()), (2, "n"));
    let refused = bench.client.submit_all([double.with(1).id("x"), double.with(2).queue("nowhere")]).await;
    assert!(matches!(refused, Err(SubmitError::Engine(Error::UnknownQueue(_)))));
    assert_eq!(bench.engine.get(&"x".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn a_key_makes_submitting_again_safe() {
    let bench = Bench::new();
    let once = |n| double.with(n).idempotency_key("order no. 7, «ü»").submit(&bench.client);
    let (first, again) = (once(1).await.unwrap(), once(1).await.unwrap());
    assert_eq!((first.how, again.how), (SubmittedHow::Created, SubmittedHow::Existing));
    assert_eq!(first.id, again.id);
    assert!(matches!(once(2).await, Err(SubmitError::Engine(Error::Conflict { .. }))));
}

#[tokio::test]
async fn a_manager_that_is_not_there_is_named_after_a_few_attempts() {
    let client = Client::http("http://127.0.0.1:1").unwrap();
    let refused = double.delay(&client, 1).await.unwrap_err();
    assert!(matches!(refused, SubmitError::Unreachable(_)), "{refused}");
    for wrong in ["ftp://x", "http://", "127.0.0.1:8000"] {
        assert!(matches!(Client::http(wrong), Err(Error::Config(_))), "{wrong}");
    }
}
