//! Codecs on the bench: what is stored of tasks of all kinds, and how those end that can't be encoded or decoded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jobbers_common::lifecycle::Status;
use jobbers_worker::{
    AttemptFailure, Codec, CodecProblem, Codecs, ContentKind, Hooks, Payload, ResultError, TaskId,
    canvas::{ResultsOf, group},
    prelude::*,
    testing::TestBench,
};
use parking_lot::Mutex;

/// Reverses bytes, and refuses results on demand.
#[derive(Default)]
struct Reverse {
    refuses: Arc<AtomicBool>,
}

impl Codec for Reverse {
    fn id(&self) -> &str {
        "reverse"
    }

    fn encode(&self, clear: &[u8], kind: ContentKind, _task: &str) -> Result<Vec<u8>, CodecProblem> {
        if self.refuses.load(Ordering::Relaxed) && kind == ContentKind::Result {
            return Err("the key is locked".into());
        }
        Ok(clear.iter().rev().copied().collect())
    }

    fn decode(&self, encoded: &[u8], _kind: ContentKind) -> Result<Vec<u8>, CodecProblem> {
        if encoded.is_empty() {
            return Err("it is empty".into());
        }
        Ok(encoded.iter().rev().copied().collect())
    }
}

#[task]
async fn encoding_double(n: u64) -> Result<u64, TaskError> {
    Ok(2 * n)
}

#[task]
async fn encoding_total(ctx: Context, of: ResultsOf<u64>) -> Result<u64, TaskError> {
    Ok(of.read(&ctx).await?.into_iter().sum())
}

#[task(max_retries = 1, retry_delay = "0s")]
async fn encoding_panics(secret: String) -> Result<(), TaskError> {
    panic!("{secret}")
}

/// Spawns, and fails once after that.
#[task(max_retries = 1, retry_delay = "0s")]
async fn encoding_spawns(ctx: Context) -> Result<(), TaskError> {
    ctx.spawn("child", encoding_double.with(4)).await?;
    if ctx.attempt() == 1 { Err(TaskError::retry("again")) } else { Ok(()) }
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

/// What a program learns of its tasks.
#[derive(Default, Clone)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Hooks for Seen {
    fn failed(&self, _context: &Context, failure: &AttemptFailure) {
        self.0.lock().push(failure.message.clone());
    }
}

#[tokio::test]
async fn a_workflow_hands_encoded_results_on() {
    let bench = TestBench::builder().codec(Reverse::default()).build().await.unwrap();
    let run = group([1, 2, 3].map(|n| encoding_double.with(n))).then(&encoding_total).workflow().id("run");
    let run = run.submit(bench.client()).await.unwrap();
    let enqueued = bench.enqueued(&encoding_double).await.unwrap();
    assert_eq!(enqueued.iter().map(|one| one.parameters).collect::<Vec<_>>(), [1, 2, 3]);
    for one in &enqueued {
        assert!(bench.get(&one.id).await.unwrap().unwrap().parameters.unwrap().is_encoded());
    }
    bench.drain().await.unwrap();
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), 12);
    let stored = bench.get(&id("run/encoding_total")).await.unwrap().unwrap();
    assert!(stored.result.unwrap().is_encoded());
    let without = Client::new(Arc::clone(bench.engine())).task::<u64>(id("run/encoding_total"));
    let error = without.wait(Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, ResultError::Undecodable(_)), "{error}");
}

#[tokio::test]
async fn an_attempt_that_is_repeated_spawns_the_same_tasks() {
    let bench = TestBench::builder().codec(Reverse::default()).build().await.unwrap();
    let spawning = encoding_spawns.with(NoParameters).id("t").submit(bench.client()).await.unwrap();
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.completed, drained.retried, drained.failed), (2, 1, 0));
    assert_eq!(spawning.status().await.unwrap(), Status::Completed);
}

#[tokio::test]
async fn what_a_panic_says_is_encoded_for_the_store_and_clear_for_the_program() {
    let seen = Seen::default();
    let bench = TestBench::builder().codec(Reverse::default()).hooks(seen.clone()).build().await.unwrap();
    let secret = "card 4242".to_owned();
    let panics = encoding_panics.delay(bench.client(), secret.clone()).await.unwrap();
    bench.drain().await.unwrap();
    let stored = bench.get(&panics.id).await.unwrap().unwrap();
    assert_eq!(stored.errors.len(), 2);
    assert!(stored.errors.iter().all(|error| error.message.starts_with("jobbers:codec:reverse:")), "{stored:?}");
    assert!(seen.0.lock().iter().all(|message| message.starts_with(&secret)) && seen.0.lock().len() == 1);
    let error = panics.result(Duration::ZERO).await.unwrap_err().to_string();
    assert!(error.starts_with("the task is failed: card 4242"), "{error}");
}

#[tokio::test]
async fn a_result_that_can_t_be_encoded_is_not_stored_in_clear() {
    let codec = Reverse::default();
    let refuses = Arc::clone(&codec.refuses);
    let bench = TestBench::builder().codec(codec).build().await.unwrap();
    refuses.store(true, Ordering::Relaxed);
    let doubled = encoding_double.with(7).max_retries(1).submit(bench.client()).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().retried, 1);
    let stored = bench.get(&doubled.id).await.unwrap().unwrap();
    assert_eq!((stored.result, stored.errors[0].error_kind.as_ref().unwrap().as_str()), (None, "unencodable_result"));
    refuses.store(false, Ordering::Relaxed);
    bench.advance(Duration::from_secs(60)).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(doubled.result(Duration::ZERO).await.unwrap(), 14);
}

#[tokio::test]
async fn parameters_that_are_damaged_fail_their_task_and_stay() {
    let seen = Seen::default();
    let bench = TestBench::builder().codec(Reverse::default()).hooks(seen.clone()).build().await.unwrap();
    let plain = Client::new(Arc::clone(bench.engine()));
    let submit = async |id: &str, parameters: serde_json::Value| {
        let payload = Payload::encode(&parameters).unwrap();
        encoding_raw.with(Raw(payload)).id(id).submit(&plain).await.unwrap().id
    };
    let damaged = submit("damaged", serde_json::json!({"jobbers:codec": "reverse", "jobbers:data": "*"})).await;
    let refused = submit("refused", serde_json::json!({"jobbers:codec": "reverse", "jobbers:data": ""})).await;
    let unknown = submit("unknown", serde_json::json!({"jobbers:codec": "other", "jobbers:data": ""})).await;
    let clear = submit("clear", serde_json::json!(5)).await;
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.completed, drained.failed, drained.other), (1, 2, 1));
    for (id, said) in [(&damaged, "it is encoded, and damaged: "), (&refused, "can't decode it: it is empty")] {
        let stored = bench.get(id).await.unwrap().unwrap();
        let error = &stored.errors[0];
        assert_eq!(error.error_kind.as_ref().unwrap().as_str(), "undecodable_payload");
        assert!(error.message.contains(said) && stored.parameters.unwrap().is_encoded(), "{error:?}");
        assert!(stored.dead_letter, "the policy of a task does not lose it");
    }
    assert_eq!(seen.0.lock().len(), 2);
    let waits = bench.get(&unknown).await.unwrap().unwrap();
    assert_eq!((waits.status, waits.attempt, waits.errors.len()), (Status::Scheduled, 0, 0));
    assert_eq!(bench.get(&clear).await.unwrap().unwrap().status, Status::Completed);
}

/// Its policy keeps no dead letters.
#[task(dead_letter = "none", max_retries = 0)]
async fn encoding_raw(_any: Raw) -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test]
async fn a_worker_with_two_codecs_of_one_id_does_not_start() {
    let config = jobbers_worker::Config { engine_url: "sqlite::memory:".to_owned(), ..Default::default() };
    let twice = Codecs::new(Reverse::default()).reading(Reverse::default());
    let worker = Worker::open(config).codec(twice);
    let error = worker.run_until(jobbers_worker::Shutdown::new()).await.unwrap_err();
    assert!(error.to_string().contains("two codecs have the id"), "{error}");
}
