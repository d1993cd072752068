//! Typed submissions.

use std::{sync::atomic::Ordering, time::Duration};

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, PutMode, Queues, Settings, SubmittedHow, TaskFilter, Tasks, Upkeep},
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    queue::{
        QueueConfig,
        routing::{ExplicitQueue, Route, RouteKey, RouteRule, Versions},
    },
};
use jobbers_worker::{
    SubmitError,
    policy::{DependencyPolicy, NewDependency, OnDuplicate, OnTimeout},
    prelude::*,
};

use crate::bench::{Bench, json};

#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

/// Says hello.
#[task(name = "mail", version = 3)]
async fn mail(_ctx: Context, letter: Mail) -> Result<String, TaskError> {
    Ok(format!("hello, {}", letter.to))
}

/// Answers its labels.
#[task]
async fn labels_of(ctx: Context) -> Result<String, TaskError> {
    Ok(ctx.labels().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
}

fn to(name: &str) -> Mail {
    Mail { to: name.to_owned() }
}

#[tokio::test]
async fn a_task_sees_the_labels_of_its_submission() {
    let bench = Bench::new();
    let labelled = labels_of.with(NoParameters).label("team", "core").label("customer", "acme");
    let id = labelled.submit(&bench.client).await.unwrap().id;
    let worker = bench.worker();
    assert_eq!(bench.over(&id).await.result, Some(json(r#""customer=acme team=core""#)));
    worker.drain().await;
}

#[tokio::test]
async fn everything_said_of_a_submission_arrives() {
    let bench = Bench::new();
    bench.engine.put_queue(QueueConfig::new(QueueName::new("post").unwrap()), PutMode::Create).await.unwrap();
    let submission = mail.with(to("you")).id("letter-1").queue("post").priority(7).after(Duration::from_secs(9));
    let submitted = submission.clone().submit(&bench.client).await.unwrap();
    assert_eq!((submitted.status, submitted.how), (Status::Scheduled, SubmittedHow::Created));
    let task = bench.get(&submitted.id).await;
    assert_eq!((task.name.as_str(), task.version, task.queue.as_str()), ("mail", 3, "post"));
    assert_eq!((task.priority.get(), task.parameters), (7, Some(json(r#"{"to":"you"}"#))));
    assert_eq!(task.ready_at.since(task.submitted_at), Duration::from_secs(9));
    assert_eq!(submission.submit(&bench.client).await.unwrap().how, SubmittedHow::Existing);
}

/// As over HTTP: an id that this library made is sent by no client a second time.
#[tokio::test]
async fn a_pruned_task_is_remembered_if_its_client_chose_the_id() {
    let bench = Bench::new();
    let chosen = mail.with(to("you")).id("letter-1");
    let made = mail.with(to("you"));
    let mut ids = Vec::new();
    for submission in [&chosen, &made] {
        ids.push(submission.clone().submit(&bench.client).await.unwrap().id);
    }
    bench.engine.cancel(&ids).await.unwrap();
    let all = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let prune = PruneRequest { scope: all, limit: 10, dry_run: false, cursor: None };
    assert_eq!(bench.engine.prune(prune).await.unwrap().removed, 2);
    assert!(bench.engine.tombstone(&ids[0]).await.unwrap().is_some());
    assert_eq!(bench.engine.tombstone(&ids[1]).await.unwrap(), None);
    assert_eq!(chosen.submit(&bench.client).await.unwrap().how, SubmittedHow::Existing);
}

#[tokio::test]
async fn stored_tasks_are_made_to_wait_for_others() {
    let bench = Bench::new();
    let first = mail.delay(&bench.client, to("you")).await.unwrap();
    let second = mail.delay(&bench.client, to("them")).await.unwrap();
    let edge = |run: &TaskId, after: &TaskId| NewDependency {
        run: run.clone(),
        after: after.clone(),
        policy: DependencyPolicy::default(),
    };
    assert_eq!(bench.client.add_dependencies(&[edge(&first.id, &second.id)]).await.unwrap(), 1);
    assert_eq!(bench.get(&first.id).await.status, Status::Waiting);
    let circle = bench.client.add_dependencies(&[edge(&second.id, &first.id)]).await.unwrap_err();
    assert!(matches!(&circle, SubmitError::Engine(error) if error.kind() == "circular_dependency"), "{circle}");
}

#[tokio::test]
async fn a_task_waits_for_a_signal() {
    let bench = Bench::new();
    let gated = mail.with(to("you")).wait_for_signal("tested");
    let gated = gated.wait_for_signal_within("approved", Duration::from_secs(60), OnTimeout::Run);
    let submitted = gated.submit(&bench.client).await.unwrap();
    assert_eq!(submitted.status, Status::Waiting);
    let send = |name: &'static str| bench.client.signal(&submitted.id, name);
    assert_eq!((send("tested").await.unwrap(), send("tested").await.unwrap()), (true, false));
    assert_eq!(send("other").await.unwrap_err().code(), "unknown_signal");
    assert!(send("approved").await.unwrap());
    assert_eq!(bench.get(&submitted.id).await.status, Status::Submitted);
    let later = "later".parse().unwrap();
    assert!(bench.client.signal_early(&later, "tested", Duration::from_secs(60)).await.unwrap());
    let early = mail.with(to("you")).id("later").wait_for_signal("tested").submit(&bench.client).await.unwrap();
    assert_eq!(early.status, Status::Submitted);
}

#[tokio::test]
async fn there_is_one_task_of_a_key_at_a_time() {
    let bench = Bench::new();
    let first = mail.with(to("you")).unique_by_parameters().submit(&bench.client).await.unwrap();
    let again = || mail.with(to("you")).unique_by_parameters();
    let refused = again().submit(&bench.client).await.unwrap_err();
    assert!(
        matches!(&refused, SubmitError::Engine(Error::Duplicate { holder, .. }) if *holder == first.id),
        "{refused}"
    );
    let held = again().on_duplicate(OnDuplicate::Return).submit(&bench.client).await.unwrap();
    assert_eq!((&held.id, held.how), (&first.id, SubmittedHow::Existing));
    let other = mail.with(to("them")).unique_by_parameters().submit(&bench.client).await.unwrap();
    assert_eq!(other.how, SubmittedHow::Created);
    let last =
        mail.with(to("all")).unique_key("k").unique_for(Duration::from_secs(9)).on_duplicate(OnDuplicate::KeepLast);
    let kept = last.clone().unique_while([Status::Submitted]).submit(&bench.client).await.unwrap();
    let updated = last.after(Duration::from_secs(5)).submit(&bench.client).await.unwrap();
    assert_eq!((&updated.id, updated.how, updated.status), (&kept.id, SubmittedHow::Updated, Status::Scheduled));
    for bad in [mail.with(to("x")).unique_key(""), mail.with(to("x")).unique_for(Duration::from_secs(1))] {
        let invalid = bad.submit(&bench.client).await.unwrap_err();
        assert!(matches!(invalid, SubmitError::Invalid(_)), "{invalid}");
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Report {
    #[serde(rename = "customerId")]
    customer: Customer,
    month: u8,
    note: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Customer {
    id: u64,
}

/// One per customer and month, for ten minutes.
#[task(unique_by = ["customer.id", "month"], unique_for = "10m", unique_while = ["submitted", "completed"],
       on_duplicate = "return")]
async fn report(_job: Report) -> Result<(), TaskError> {
    Ok(())
}

/// One with the same parameters.
#[task(unique)]
async fn tidy(_job: std::collections::HashMap<String, u8>) -> Result<(), TaskError> {
    Ok(())
}

/// One in total.
#[task(unique, on_duplicate = "keep_last")]
async fn sweep() -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test]
async fn of_what_there_is_to_be_one_is_said_where_the_task_is_written() {
    let bench = Bench::new();
    let of = |id, month, note: &str| Report { customer: Customer { id }, month, note: note.to_owned() };
    let first = report.delay(&bench.client, of(7, 1, "a")).await.unwrap();
    let unique = bench.get(&first.id).await.unique.unwrap();
    assert_eq!((unique.key.as_str(), unique.span), ("customer.id=7,month=1", Some(Duration::from_secs(600))));
    assert_eq!(unique.on_duplicate, OnDuplicate::Return);
    assert_eq!(unique.statuses.iter().collect::<Vec<_>>(), [Status::Submitted, Status::Completed]);
    let again = report.delay(&bench.client, of(7, 1, "b")).await.unwrap();
    assert_eq!((&again.id, again.how), (&first.id, SubmittedHow::Existing), "the note is no part of the key");
    for other in [of(8, 1, "a"), of(7, 2, "a")] {
        assert_eq!(report.delay(&bench.client, other).await.unwrap().how, SubmittedHow::Created);
    }

    // The submission's settings win, and the others stay.
    let own = report.with(of(7, 1, "c")).unique_key("k").submit(&bench.client).await.unwrap();
    let unique = bench.get(&own.id).await.unique.unwrap();
    assert_eq!((unique.key.as_str(), unique.span), ("k", Some(Duration::from_secs(600))));
    let refused = report.with(of(7, 1, "c")).on_duplicate(OnDuplicate::Reject).submit(&bench.client).await;
    assert!(matches!(refused, Err(SubmitError::Engine(Error::Duplicate { holder, .. })) if holder == first.id));
    let free = report.with(of(7, 1, "c")).not_unique().submit(&bench.client).await.unwrap();
    assert_eq!((free.how, bench.get(&free.id).await.unique), (SubmittedHow::Created, None));

    let map = |pairs: &[(&str, u8)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let first = tidy.delay(&bench.client, map(&[("a", 1), ("b", 2)])).await.unwrap();
    let refused = tidy.delay(&bench.client, map(&[("b", 2), ("a", 1)])).await.unwrap_err();
    assert!(
        matches!(&refused, SubmitError::Engine(Error::Duplicate { holder, .. }) if *holder == first.id),
        "{refused}"
    );
    tidy.delay(&bench.client, map(&[("a", 1)])).await.unwrap();
    let first = sweep.delay(&bench.client, NoParameters).await.unwrap();
    let last = sweep.with(NoParameters).after(Duration::from_secs(5)).submit(&bench.client).await.unwrap();
    assert_eq!((&last.id, last.how), (&first.id, SubmittedHow::Updated));
}

#[tokio::test]
async fn a_batch_meets_the_keys_that_its_tasks_authors_said() {
    let bench = Bench::new();
    let of = |id| report.with(Report { customer: Customer { id }, month: 1, note: String::new() });
    let taken = bench.client.submit_all([of(1), of(2), of(1)]).await.unwrap();
    assert_eq!(
        taken.iter().map(|it| it.how).collect::<Vec<_>>(),
        [SubmittedHow::Created, SubmittedHow::Created, SubmittedHow::Existing]
    );
    assert_eq!(taken[0].id, taken[2].id);
}

#[tokio::test]
async fn a_task_goes_where_the_routing_sends_it() {
    let bench = Bench::new();
    let queue = QueueName::new("post").unwrap();
    bench.engine.put_queue(QueueConfig::new(queue.clone()), PutMode::Create).await.unwrap();
    let key = RouteKey { name: TaskName::new("mail").unwrap(), versions: Versions::ALL };
    let route = Route::Hash { parameter: "to".to_owned(), queues: vec![queue] };
    bench.engine.put_route(key, route.into()).await.unwrap();
    assert_eq!(mail.delay(&bench.client, to("you")).await.unwrap().queue.as_str(), "post");
}

#[tokio::test]
async fn a_queue_is_named_in_vain_where_a_rule_forbids_it() {
    let bench = Bench::new();
    let post = QueueName::new("post").unwrap();
    bench.engine.put_queue(QueueConfig::new(post.clone()), PutMode::Create).await.unwrap();
    let before = mail.with(to("you")).id("before").queue("default");
    assert_eq!(before.clone().submit(&bench.client).await.unwrap().how, SubmittedHow::Created);
    let key = RouteKey { name: TaskName::new("mail").unwrap(), versions: Versions::range(Some(2), Some(4)).unwrap() };
    let rule = RouteRule { route: Route::Single { queue: post }, explicit_queue: ExplicitQueue::Forbid };
    bench.engine.put_route(key.clone(), rule).await.unwrap();
    // A new client knows the rule from its first submission on; the other one within half a second.
    let client = Client::new(bench.engine.clone());
    let refused = mail.with(to("you")).queue("default").submit(&client).await.unwrap_err();
    assert!(matches!(&refused, SubmitError::QueueForbidden(forbidden) if forbidden.rule == key), "{refused}");
    assert!(refused.to_string().contains("mail@2-4") && refused.to_string().contains("post"), "{refused}");
    for submission in [mail.with(to("you")).queue("post"), mail.with(to("you"))] {
        assert_eq!(submission.submit(&client).await.unwrap().queue.as_str(), "post");
    }
    assert_eq!(before.submit(&client).await.unwrap().how, SubmittedHow::Existing, "taken in before there was a rule");
    bench.engine.delete_route(&key).await.unwrap();
    let named = mail.with(to("you")).queue("default").submit(&client).await.unwrap();
    assert_eq!(named.queue.as_str(), "default", "nothing is refused by a rule that is gone");
}

#[tokio::test(start_paused = true)]
async fn submissions_without_a_queue_do_not_each_read_the_configuration() {
    let bench = Bench::new();
    let client = Client::new(bench.engine.clone());
    let reads = || bench.engine.configs.load(Ordering::SeqCst);
    let at_once = (0..10).map(|_| mail.delay(&client, to("you")));
    futures_util::future::try_join_all(at_once).await.unwrap();
    assert_eq!(reads(), 1, "one read serves all that wait for it");
    for submission in [mail.with(to("you")), mail.with(to("you")).queue("default")] {
        for _ in 0..50 {
            submission.clone().submit(&client).await.unwrap();
        }
    }
    assert_eq!(reads(), 1);
    tokio::time::advance(Duration::from_millis(500)).await;
    for _ in 0..50 {
        mail.delay(&client, to("you")).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(reads(), 2, "half a second later it is read once more, beside the submissions");
}

/// A rule that sends `mail` to this queue, which it creates.
async fn send_mail_to(bench: &Bench, queue: &str) -> RouteKey {
    let queue = QueueName::new(queue).unwrap();
    bench.engine.put_queue(QueueConfig::new(queue.clone()), PutMode::Create).await.unwrap();
    let key = RouteKey { name: TaskName::new("mail").unwrap(), versions: Versions::ALL };
    bench.engine.put_route(key.clone(), Route::Single { queue }.into()).await.unwrap();
    key
}

#[tokio::test(start_paused = true)]
async fn a_changed_rule_is_followed_within_a_second() {
    let bench = Bench::new();
    let (busy, idle) = (Client::new(bench.engine.clone()), Client::new(bench.engine.clone()));
    let routed = async |client: &Client| mail.delay(client, to("you")).await.unwrap().queue.to_string();
    assert_eq!((routed(&busy).await, routed(&idle).await), ("default".to_owned(), "default".to_owned()));
    send_mail_to(&bench, "post").await;
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_eq!(routed(&busy).await, "default");
    tokio::task::yield_now().await;
    assert_eq!(routed(&busy).await, "post", "it was read beside the submission before");
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_eq!(routed(&idle).await, "post", "what is a second old is read before anything is routed by it");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_routed_again_if_its_queue_was_deleted_meanwhile() {
    let bench = Bench::new();
    let client = Client::new(bench.engine.clone());
    let key = send_mail_to(&bench, "post").await;
    tidy.delay(&client, std::collections::HashMap::new()).await.unwrap();
    bench.engine.delete_route(&key).await.unwrap();
    bench.engine.delete_queue(&QueueName::new("post").unwrap(), None).await.unwrap();
    assert_eq!(mail.delay(&client, to("you")).await.unwrap().queue.as_str(), "default");
    let named = mail.with(to("you")).queue("post").submit(&client).await;
    assert!(
        matches!(named, Err(SubmitError::Engine(Error::UnknownQueue(_)))),
        "a queue that was named is not replaced"
    );
}

#[tokio::test]
async fn what_can_not_be_submitted_is_refused_with_a_sentence() {
    let bench = Bench::new();
    let unknown = mail.with(to("you")).queue("nowhere").submit(&bench.client).await.unwrap_err();
    assert!(matches!(unknown, SubmitError::Engine(Error::UnknownQueue(_))));
    for (submission, part) in [
        (mail.with(to("you")).priority(10), "a priority is 0 to 9"),
        (mail.with(to("you")).id("two words"), "task id"),
        (mail.with(to(&"x".repeat(300 * 1024))), "at most 262144"),
    ] {
        let error = submission.submit(&bench.client).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_task_is_scheduled_for_a_time_of_the_system() {
    let bench = Bench::new();
    let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let handle = mail.schedule_at(&bench.client, to("you"), at).await.unwrap();
    let task = bench.get(&handle.id).await;
    assert_eq!((task.status, task.ready_at.as_micros()), (Status::Scheduled, 4_000_000_000_000_000));
    let before_all = std::time::SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    assert_eq!(jobbers_common::time::Timestamp::from(before_all).as_micros(), -1_000_000);
}

#[tokio::test]
async fn who_waits_for_as_long_as_it_takes_waits_for_the_result() {
    let bench = Bench::new();
    let handle = mail.delay(&bench.client, to("you")).await.unwrap();
    let worker = bench.worker();
    assert_eq!(handle.result(Duration::MAX).await.unwrap(), "hello, you");
    worker.drain().await;
}

#[tokio::test]
async fn the_plain_function_can_be_called_without_a_worker() {
    let context = Context::detached(Payload::json(&b"{}"[..]));
    assert_eq!(mail.call(context, to("you")).await, Ok("hello, you".to_owned()));
    let context = Context::detached_with_state(Payload::json(&b"{}"[..]), 7_u8);
    assert_eq!(context.state::<u8>(), Ok(&7));
    assert!(matches!(context.state::<u16>(), Err(TaskError::Retry(_))), "another worker may have it");
}

#[task]
async fn parent(ctx: Context, name: String) -> Result<String, TaskError> {
    let child = mail.delay(ctx.client()?, to(&name)).await?;
    Ok(child.id.to_string())
}

#[tokio::test]
async fn a_task_can_submit_another() {
    let bench = Bench::new();
    let id = bench.submit(&parent, "me".to_owned()).await;
    let _worker = bench.worker();
    let child: String = bench.over(&id).await.result.unwrap().decode().unwrap();
    let child = bench.over(&child.parse().unwrap()).await;
    assert_eq!(child.result, Some(json(r#""hello, me""#)));
}
