//! What is said where a task is defined: its queue, its backoff function, and that another program has its body.

use jobbers_common::{
    engine::PutMode,
    queue::{
        QueueConfig,
        routing::{ExplicitQueue, Route, RouteKey, RouteRule, Versions},
    },
    schedule::Target,
};
use jobbers_worker::{
    AttemptFailure, FailureKind, SubmitError,
    canvas::{ResultOf, chain, group, join},
    policy::{Backoff, PolicyOverrides},
    prelude::*,
    testing::{TestBench, TestError},
};

#[task(name = "deliver-mail", unlisted, queue = "mail", priority = 7, labels = ["team=post"], cron = "0 2 * * *")]
async fn deliver() -> Result<(), TaskError> {
    Ok(())
}

async fn with_queues(bench: &TestBench, queues: &[&str]) {
    let queues: Vec<_> = queues.iter().map(|queue| queue.parse().unwrap()).collect();
    bench.engine().create_queues(&queues).await.unwrap();
}

/// A rule that sends `deliver-mail` to the queue `ruled` and forbids to name another.
async fn rule(bench: &TestBench) {
    let key = RouteKey { name: "deliver-mail".parse().unwrap(), versions: Versions::ALL };
    let rule = RouteRule {
        route: Route::RoundRobin { queues: vec!["ruled".parse().unwrap()] },
        explicit_queue: ExplicitQueue::Forbid,
    };
    bench.engine().put_route(key, rule).await.unwrap();
}

#[tokio::test]
async fn the_queue_of_a_task_is_below_the_rules_and_above_the_default() {
    let bench = TestBench::builder().task(&deliver).build().await.unwrap();
    with_queues(&bench, &["mail", "ruled", "other"]).await;
    deliver.delay(bench.client(), NoParameters).await.unwrap();
    assert_eq!(bench.enqueued(&deliver).await.unwrap()[0].queue.as_str(), "mail");
    deliver.with(NoParameters).queue("other").submit(bench.client()).await.unwrap();
    bench.assert_enqueued_with(&deliver, |found| found.queue.as_str() == "other").await;

    rule(&bench).await;
    let fresh = Client::new(bench.engine().clone());
    deliver.delay(&fresh, NoParameters).await.unwrap();
    bench.assert_enqueued_with(&deliver, |found| found.queue.as_str() == "ruled").await;
    let forbidden = deliver.with(NoParameters).queue("mail").submit(&fresh).await.unwrap_err();
    assert!(matches!(forbidden, SubmitError::QueueForbidden(_)), "{forbidden}");
}

#[tokio::test]
async fn a_queue_of_a_task_that_does_not_exist_refuses_and_one_that_is_paused_waits() {
    let bench = TestBench::builder().task(&deliver).build().await.unwrap();
    let unknown = deliver.delay(bench.client(), NoParameters).await.unwrap_err();
    assert_eq!(unknown.code(), "unknown_queue");
    assert!(unknown.to_string().contains("mail"), "{unknown}");
    with_queues(&bench, &["mail"]).await;
    let id = deliver.delay(bench.client(), NoParameters).await.unwrap().id;
    let mut mail = QueueConfig::new("mail".parse().unwrap());
    mail.paused = true;
    bench.engine().put_queue(mail.clone(), PutMode::Upsert).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().attempts(), 0);
    mail.paused = false;
    bench.engine().put_queue(mail, PutMode::Upsert).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 1);
    assert_eq!(bench.get(&id).await.unwrap().unwrap().queue.as_str(), "mail");
}

#[tokio::test]
async fn the_schedule_of_a_task_submits_what_the_task_says() {
    let bench = TestBench::builder().task(&deliver).schedules().build().await.unwrap();
    with_queues(&bench, &["mail"]).await;
    bench.fire(&deliver).await.unwrap();
    let found = bench.enqueued(&deliver).await.unwrap().remove(0);
    assert_eq!((found.queue.as_str(), found.priority.get(), found.label("team")), ("mail", 7, Some("post")));
    let stored = bench.engine().schedule(&"task:deliver-mail".parse().unwrap()).await.unwrap().unwrap();
    let Target::Task(template) = stored.entry.schedule.target else { panic!("a task") };
    assert_eq!((template.queue, template.default_queue.unwrap().as_str()), (None, "mail"));
}

/// 1 s, 5 s, 25 s, as long as the failure is the service's.
fn webhook_pause(attempt: u32, failure: &AttemptFailure) -> Duration {
    assert!(!failure.message.contains("broken"), "the function itself is broken");
    let busy = failure.error_kind.as_ref().is_some_and(|kind| kind.as_str() == "busy");
    if failure.kind == FailureKind::Panic || busy {
        return Duration::from_secs(600);
    }
    Duration::from_secs(5_u64.pow(attempt - 1))
}

#[task(unlisted, max_retries = 3, backoff = webhook_pause, retry_for = "1h", fatal_on = ["gone"])]
async fn call_webhook(ctx: Context, how: Vec<String>) -> Result<(), TaskError> {
    let how = how[ctx.attempt() as usize - 1].clone();
    match how.as_str() {
        "panic" => panic!("it fell over"),
        "busy" | "gone" => Err(TaskError::retry("no").kind(how)),
        _ => Err(TaskError::retry(how)),
    }
}

/// The pauses after each attempt, until the task is over.
async fn pauses(how: &[&str], overrides: PolicyOverrides) -> Vec<u64> {
    let bench = TestBench::builder().task(&call_webhook).build().await.unwrap();
    let how: Vec<String> = how.iter().map(|&how| how.to_owned()).collect();
    let id = call_webhook.with(how).overrides(overrides).submit(bench.client()).await.unwrap().id;
    let mut pauses = Vec::new();
    while bench.drain().await.unwrap().retried == 1 {
        let pause = bench.get(&id).await.unwrap().unwrap().ready_at.since(bench.now());
        pauses.push(pause.as_secs());
        bench.advance(pause).await.unwrap();
    }
    pauses
}

#[tokio::test]
async fn a_backoff_function_says_how_long_to_wait() {
    let none = PolicyOverrides::default;
    assert_eq!(pauses(&["no", "no", "no", "no"], none()).await, [1, 5, 25]);
    assert_eq!(pauses(&["panic", "busy", "no", "no"], none()).await, [600, 600, 25]);
    assert_eq!(pauses(&["no", "gone"], none()).await, [1], "what is fatal stays so");
    let no_retries = PolicyOverrides { max_retries: Some(0), ..none() };
    assert_eq!(pauses(&["no"], no_retries).await, [0_u64; 0]);
    let said =
        PolicyOverrides { backoff: Some(Backoff::Constant), retry_delay: Some(Duration::from_secs(2)), ..none() };
    assert_eq!(pauses(&["no", "no", "no", "no"], said).await, [2, 2, 2], "a submission that says how wins");
    let short = PolicyOverrides { retry_for: Some(Duration::from_secs(10)), ..none() };
    assert_eq!(pauses(&["no", "no", "no", "no"], short).await, [1, 5], "no retry begins after its span");
}

#[tokio::test]
async fn a_backoff_function_that_panics_leaves_the_pause_to_the_policy() {
    let pauses = pauses(&["broken", "no", "no", "no"], PolicyOverrides::default()).await;
    assert_eq!((pauses.len(), &pauses[1..]), (3, &[5, 25][..]));
    assert!(pauses[0] <= 1, "{pauses:?}");
}

/// As a service sees it that only submits.
mod service {
    use super::*;

    #[task(remote, name = "total", queue = "sums")]
    pub(super) async fn total(numbers: Vec<u32>) -> Result<u32, TaskError>;

    #[task(remote, name = "show")]
    pub(super) fn show(sum: ResultOf<u32>) -> Result<String, TaskError>;

    #[task(remote, name = "close-the-day")]
    pub(super) fn close() -> Result<(), TaskError>;
}

#[task(name = "total", unlisted)]
async fn total(numbers: Vec<u32>) -> Result<u32, TaskError> {
    Ok(numbers.iter().sum())
}

#[task(name = "show", unlisted)]
async fn show(ctx: Context, sum: ResultOf<u32>) -> Result<String, TaskError> {
    Ok(format!("{} in all", sum.read(&ctx).await?))
}

#[tokio::test]
async fn a_task_of_another_program_is_submitted_by_its_signature() {
    let bench = TestBench::builder().task(&total).task(&show).build().await.unwrap();
    with_queues(&bench, &["sums"]).await;
    let handle = service::total.delay(bench.client(), vec![1, 2, 3]).await.unwrap();
    assert_eq!(handle.queue.as_str(), "sums");
    assert_eq!(bench.assert_enqueued(&service::total).await, [1, 2, 3]);
    let shown = chain![service::total.with(vec![4, 5]), &service::show].workflow();
    let run = shown.submit(bench.client()).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 3);
    assert_eq!(handle.result(Duration::ZERO).await.unwrap(), 6);
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), "9 in all");
    let called = service::total.call(Context::detached(jobbers_worker::Payload::json(&b"[]"[..])), vec![]).await;
    assert!(called.unwrap_err().to_string().contains("another program has its body"));
}

#[task(name = "close-the-day", unlisted)]
async fn close() -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test]
async fn a_task_of_another_program_without_parameters_follows_any_part() {
    let bench = TestBench::builder().task(&total).task(&close).build().await.unwrap();
    with_queues(&bench, &["sums"]).await;
    let sum = |numbers: [u32; 2]| service::total.with(numbers.to_vec());
    for canvas in [
        chain![sum([1, 2]), &service::close],
        group([sum([1, 2]), sum([3, 4])]).then(&service::close),
        join((sum([1, 2]), service::close.with(NoParameters))).then(&service::close),
    ] {
        let run = canvas.workflow().submit(bench.client()).await.unwrap();
        bench.drain().await.unwrap();
        run.result(Duration::ZERO).await.unwrap();
    }
}

#[tokio::test]
async fn a_program_without_the_body_says_so() {
    let bench = TestBench::new().await.unwrap();
    with_queues(&bench, &["sums"]).await;
    service::total.delay(bench.client(), vec![1]).await.unwrap();
    let error = bench.drain().await.unwrap_err();
    assert!(matches!(&error, TestError::NoSuchTask { name, .. } if name.as_str() == "total"), "{error}");
}
