//! The test kit itself: schedules that fire, faults, submissions that are looked at, single attempts.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use jobbers_common::{
    engine::PutSchedule,
    lifecycle::Status,
    schedule::{CatchUp, Overlap, Schedule, Target, Timing, entry::ScheduleEntry},
    submission::template::TaskTemplate,
};
use jobbers_worker::{
    Fence, Labels, Priority, SubmitError,
    prelude::*,
    testing::{Faults, LEASE, TestAttempt, TestBench, TestError},
};
use parking_lot::Mutex;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

type Times = Arc<Mutex<Vec<i64>>>;

#[task(unlisted, cron = "0 6 * * *", time_zone = "Europe/Berlin", max_retries = 0)]
async fn at_six(ctx: Context, times: State<Times>) -> Result<(), TaskError> {
    times.lock().push(ctx.submitted_at().as_micros());
    Ok(())
}

#[tokio::test]
async fn a_declared_schedule_fires_at_its_slots_as_the_clock_moves() {
    let times = Times::default();
    let bench = TestBench::builder().state(Arc::clone(&times)).task(&at_six).schedules().build().await.unwrap();
    let began = bench.now();
    bench.advance(5 * HOUR - Duration::from_secs(1)).await.unwrap();
    bench.refute_enqueued(&at_six).await;
    bench.advance(Duration::from_secs(1)).await.unwrap();
    let submitted = bench.enqueued(&at_six).await.unwrap();
    assert_eq!(submitted.len(), 1, "six o'clock in Berlin is five by UTC");
    assert_eq!(submitted[0].ready_at, bench.now());
    bench.advance(3 * DAY).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 4);
    let five = began.after(5 * HOUR).as_micros();
    let days = [0, 1, 2, 3].map(|day| five + day * i64::try_from(DAY.as_micros()).unwrap());
    assert_eq!(*times.lock(), days);
}

#[tokio::test]
async fn a_schedule_fires_only_where_it_is_wanted_and_at_once_by_hand() {
    let times = Times::default();
    let bench = TestBench::builder().state(Arc::clone(&times)).task(&at_six).build().await.unwrap();
    bench.advance(3 * DAY).await.unwrap();
    bench.refute_enqueued(&at_six).await;
    let (first, second) = (bench.fire(&at_six).await.unwrap(), bench.fire(&at_six).await.unwrap());
    assert_ne!(first, second);
    bench.advance(3 * DAY).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 2);
    let refused = bench.fire(&plain).await.unwrap_err();
    assert!(matches!(&refused, TestError::Schedule { .. }) && refused.to_string().contains("plain"), "{refused}");
    bench.fire_schedule("nowhere").await.unwrap_err();
}

#[task(unlisted)]
async fn plain() -> Result<(), TaskError> {
    Ok(())
}

/// A bench with a schedule each hour, as a test puts one for the API's users.
async fn hourly(overlap: Overlap) -> TestBench {
    let bench = TestBench::builder().task(&plain).build().await.unwrap();
    let template = TaskTemplate::new("plain".parse().unwrap(), serde_json::value::to_raw_value("{}").unwrap());
    let schedule = Schedule {
        name: "hourly".parse().unwrap(),
        timing: Timing::Every(HOUR),
        target: Target::Task(template),
        overlap,
        catch_up: CatchUp::default(),
        jitter: Duration::ZERO,
        paused: false,
    };
    let entry = ScheduleEntry::new(schedule, bench.now()).unwrap();
    bench.engine().put_schedule(entry, PutSchedule::Create).await.unwrap();
    bench
}

#[tokio::test]
async fn slots_that_overlap_do_what_the_schedule_says() {
    for (overlap, runs) in
        [(Overlap::Allow, 5), (Overlap::Skip, 1), (Overlap::BufferOne, 2), (Overlap::CancelPrevious, 1)]
    {
        let bench = hourly(overlap).await;
        bench.advance(5 * HOUR).await.unwrap();
        assert_eq!(bench.drain().await.unwrap().completed, runs, "{overlap:?}");
    }
}

#[tokio::test]
async fn slots_come_in_their_order_while_the_clock_goes_to_the_next_task() {
    let bench = hourly(Overlap::Skip).await;
    // Two slots come before it, the second one after the run of the first.
    plain.with(NoParameters).after(HOUR * 5 / 2).submit(bench.client()).await.unwrap();
    assert_eq!(bench.drain_scheduled().await.unwrap().completed, 3);
}

/// How often the function got to its end.
#[derive(Default)]
struct Effects {
    count: AtomicU32,
}

#[task(unlisted)]
async fn pages(ctx: Context, effects: State<Effects>, faults: State<Faults>) -> Result<(u32, u32, u32), TaskError> {
    let from: u32 = ctx.last_checkpoint()?.unwrap_or_default();
    for page in from..4 {
        ctx.checkpoint(&(page + 1)).await?;
        if page == 1 && ctx.crashes() == 0 {
            faults.crash().await;
        }
    }
    effects.count.fetch_add(1, Ordering::SeqCst);
    Ok((from, ctx.attempt(), ctx.crashes()))
}

fn broken(faults: &Faults) -> jobbers_worker::testing::Builder {
    TestBench::builder().faults(faults).state(faults.clone()).state(Effects::default())
}

#[tokio::test]
async fn a_worker_that_dies_in_the_middle_leaves_its_checkpoint() {
    let faults = Faults::default();
    let bench = broken(&faults).task(&pages).build().await.unwrap();
    let id = pages.delay(bench.client(), NoParameters).await.unwrap().id;
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.crashed, drained.attempts()), (1, 1));
    bench.advance(LEASE - Duration::from_millis(1)).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().attempts(), 0, "its lease holds");
    bench.advance(Duration::from_millis(1)).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 1);
    assert_eq!(bench.result::<(u32, u32, u32)>(&id).await.unwrap(), (2, 1, 1), "no retry is used up");
}

#[task(name = "kit-counted", unlisted, max_retries = 0)]
async fn counted(ctx: Context, effects: State<Effects>) -> Result<u32, TaskError> {
    effects.count.fetch_add(1, Ordering::SeqCst);
    ctx.heartbeat().await?;
    Ok(effects.count.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_worker_that_dies_before_or_after_the_function_lets_it_run_again() {
    for (is_after, effects) in [(false, 1), (true, 2)] {
        let faults = Faults::default();
        let bench = broken(&faults).task(&counted).build().await.unwrap();
        if is_after {
            faults.crash_after(&counted);
        } else {
            faults.crash_before(&counted);
        }
        let id = counted.delay(bench.client(), NoParameters).await.unwrap().id;
        let drained = bench.drain_scheduled().await.unwrap();
        assert_eq!((drained.crashed, drained.completed), (1, 1));
        assert_eq!(bench.result::<u32>(&id).await.unwrap(), effects);
        let task = bench.get(&id).await.unwrap().unwrap();
        assert_eq!((task.crashes, task.attempt, task.status), (1, 1, Status::Completed));
    }
}

#[task(unlisted, max_retries = 0)]
async fn freezes(ctx: Context, effects: State<Effects>, faults: State<Faults>) -> Result<u32, TaskError> {
    let run = effects.count.fetch_add(1, Ordering::SeqCst) + 1;
    if run == 1 {
        faults.lose_lease();
        assert!(ctx.is_cancelled());
    }
    Ok(run)
}

#[tokio::test]
async fn an_attempt_that_has_lost_its_lease_settles_nothing() {
    let faults = Faults::default();
    let bench = broken(&faults).task(&freezes).build().await.unwrap();
    let id = freezes.delay(bench.client(), NoParameters).await.unwrap().id;
    let began = bench.now();
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.other, drained.completed), (1, 1));
    assert_eq!(bench.result::<u32>(&id).await.unwrap(), 2);
    assert_eq!(bench.now().since(began), LEASE);
    faults.leap(DAY);
    assert_eq!(bench.now().since(began), LEASE + DAY, "nothing ran");
}

#[tokio::test]
async fn a_lost_answer_hides_a_submission_that_was_taken_in() {
    let faults = Faults::default();
    let bench = broken(&faults).task(&plain).build().await.unwrap();
    for (key, waiting) in [(None, 2), (Some("order-1"), 3)] {
        faults.lose_answer();
        let submit = async || {
            let submission = plain.with(NoParameters);
            let submission = key.into_iter().fold(submission, |submission, key: &str| submission.idempotency_key(key));
            submission.submit(bench.client()).await
        };
        let lost = submit().await.unwrap_err();
        assert!(matches!(lost, SubmitError::Unreachable(_)) && lost.is_transient());
        submit().await.unwrap();
        assert_eq!(bench.enqueued(&plain).await.unwrap().len(), waiting, "{key:?}");
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u32,
    customer: String,
}

#[task(unlisted, version = 3, unique_by = "id", labels = ["team=shop"])]
async fn bill(order: Order) -> Result<(), TaskError> {
    drop(order);
    Ok(())
}

#[tokio::test]
async fn a_submission_is_found_by_all_that_it_says() {
    let bench = TestBench::builder().task(&bill).build().await.unwrap();
    bench.engine().create_queues(&["orders".parse().unwrap()]).await.unwrap();
    let order = |id| Order { id, customer: format!("customer-{id}") };
    let special = bill.with(order(1)).queue("orders").priority(9).concurrency_key("customer-1").label("tenant", "acme");
    let special = special.after(HOUR).submit(bench.client()).await.unwrap();
    bill.delay(bench.client(), order(2)).await.unwrap();
    let found = bench.assert_enqueued_with(&bill, |found| found.label("tenant") == Some("acme")).await;
    assert_eq!((&found.id, found.version, found.queue.as_str(), found.priority.get()), (&special.id, 3, "orders", 9));
    assert_eq!((found.ready_at.since(bench.now()), &found.parameters), (HOUR, &order(1)));
    assert_eq!((found.label("team"), found.concurrency_key.as_deref()), (Some("shop"), Some("customer-1")));
    let other = bench.assert_enqueued_with(&bill, |found| found.parameters.id == 2).await;
    assert!(found.unique_key.is_some() && other.unique_key != found.unique_key);
}

#[tokio::test]
#[should_panic(expected = "2 submissions of TaskFn(bill@3) are as expected, not 1, among [")]
async fn several_submissions_that_are_as_expected_are_shown() {
    let bench = TestBench::builder().task(&bill).build().await.unwrap();
    for id in [1, 2] {
        bill.delay(bench.client(), Order { id, customer: "same".to_owned() }).await.unwrap();
    }
    bench.assert_enqueued_with(&bill, |found| found.parameters.customer == "same").await;
}

#[task(unlisted, timeout = "1h")]
async fn limited(ctx: Context) -> Result<Option<Duration>, TaskError> {
    Ok(ctx.deadline().map(|end| end.saturating_duration_since(std::time::Instant::now())))
}

#[tokio::test]
async fn a_task_sees_when_its_timeout_ends() {
    let bench = TestBench::builder().task(&limited).build().await.unwrap();
    let submit = async |timeout: Option<Duration>| {
        let submission =
            timeout.into_iter().fold(limited.with(NoParameters), |submission, limit| submission.timeout(limit));
        let id = submission.submit(bench.client()).await.unwrap().id;
        bench.drain().await.unwrap();
        bench.result::<Option<Duration>>(&id).await.unwrap().unwrap()
    };
    let (declared, of_submission) = (submit(None).await, submit(Some(6 * HOUR)).await);
    assert!(declared <= HOUR && declared > HOUR / 2, "{declared:?}");
    assert!(of_submission <= 6 * HOUR && of_submission > 5 * HOUR, "{of_submission:?}");

    let alone = TestAttempt::of(&limited).run(NoParameters).await.unwrap().unwrap();
    assert!(alone <= HOUR && alone > HOUR / 2, "{alone:?}");
    assert_eq!(TestAttempt::of(&plain).context(&NoParameters).deadline(), None);
}

#[task(unlisted, max_retries = 4)]
async fn all_of_it(ctx: Context, effects: State<Effects>, order: Order) -> Result<Vec<String>, TaskError> {
    effects.count.fetch_add(1, Ordering::SeqCst);
    plain.delay(ctx.client()?, NoParameters).await.map_err(|error| TaskError::fatal(error.to_string()))?;
    Ok(vec![
        ctx.id().to_string(),
        ctx.name().to_string(),
        ctx.queue().to_string(),
        format!("{} of {} after {}", ctx.attempt(), ctx.max_retries() + 1, ctx.crashes()),
        format!("{} {}", ctx.priority().get(), ctx.concurrency_key().unwrap_or_default()),
        ctx.label("tenant").unwrap_or_default().to_owned(),
        ctx.last_checkpoint::<String>()?.unwrap_or_default(),
        order.customer,
        ctx.parameters().decode::<Order>().unwrap().customer,
    ])
}

#[task(unlisted)]
async fn labelled(fence: Fence, word: String, labels: Labels, ctx: Context) -> Result<(String, u64, bool), TaskError> {
    let all: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok((format!("{word} {}", all.join(" ")), fence.0, fence == ctx.fence() && &labels == ctx.labels()))
}

#[task(unlisted, blocking)]
fn labelled_blocking(labels: Labels, fence: Fence) -> Result<(usize, u64), TaskError> {
    Ok((labels.iter().count(), fence.0))
}

#[tokio::test]
async fn a_task_takes_its_labels_and_its_fence_as_arguments() {
    let bench = TestBench::builder().task(&labelled).task(&labelled_blocking).build().await.unwrap();
    let submission = labelled.with("hello".to_owned()).label("tenant", "acme").label("team", "shop");
    let id = submission.submit(bench.client()).await.unwrap().id;
    bench.drain().await.unwrap();
    let (words, fence, is_context_s) = bench.result::<(String, u64, bool)>(&id).await.unwrap();
    assert_eq!((words.as_str(), is_context_s), ("hello team=shop tenant=acme", true));
    let id = labelled_blocking.with(NoParameters).label("tenant", "acme").submit(bench.client()).await.unwrap().id;
    bench.drain().await.unwrap();
    let (labels, next_fence) = bench.result::<(usize, u64)>(&id).await.unwrap();
    assert!(labels == 1 && next_fence > fence, "{labels} {fence} {next_fence}");

    let attempt = TestAttempt::of(&labelled).label("tenant", "acme").fence(Fence(7));
    assert_eq!(attempt.run("alone".to_owned()).await.unwrap(), ("alone tenant=acme".to_owned(), 7, true));
}

#[tokio::test]
async fn an_attempt_has_all_that_a_test_gives_it() {
    let bench = TestBench::builder().task(&plain).build().await.unwrap();
    let order = || Order { id: 1, customer: "ada".to_owned() };
    let attempt = TestAttempt::of(&all_of_it)
        .id("order-1")
        .queue("orders")
        .attempt(3)
        .crashes(2)
        .priority(Priority::new(8).unwrap())
        .concurrency_key("customer:42")
        .label("tenant", "acme")
        .checkpoint("page 7")
        .state(Effects::default())
        .carry_labels(["tenant"])
        .client(bench.client());
    let seen = attempt.run(order()).await.unwrap();
    assert_eq!(
        seen,
        ["order-1", "all_of_it", "orders", "3 of 5 after 2", "8 customer:42", "acme", "page 7", "ada", "ada"]
    );
    let child = bench.assert_enqueued_with(&plain, |child| child.label("tenant") == Some("acme")).await;
    assert_eq!(child.labels.iter().count(), 1);
    let without_state = TestAttempt::of(&all_of_it).run(order()).await.unwrap_err();
    assert!(without_state.to_string().contains("Effects"), "{without_state}");
}
