//! The typed client over HTTP, against a real manager and real workers.

use std::time::Duration;

use jobbers_common::{engine::SubmittedHow, lifecycle::Status, task::Progress};
use jobbers_test_support::fault_proxy::FaultProxy;
use jobbers_worker::{
    Cancelled, Client, Payload, ResultError, RunState, SubmitError, TaskDeletion, TaskId,
    canvas::{chain, group},
    client::{Claim, Extended, Extension, LeaseClient, Outcome, Return},
    policy::{DependencyPolicy, NewDependency, OnDuplicate},
    stock,
};
use serde_json::json;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    a_result_is_awaited_over_http,
    a_submission_whose_answer_was_lost_is_repeated_by_the_client,
    the_manager_s_word_reaches_the_client,
    a_canvas_is_a_workflow_whichever_way_it_goes,
    stored_tasks_are_changed_alike_whichever_way_it_goes,
    a_client_leases_keeps_and_returns_tasks,
);

const SOON: Duration = Duration::from_secs(20);

fn sleep(millis: u64) -> stock::Sleep {
    stock::Sleep { seconds: Duration::from_millis(millis), heartbeat_every: None, ignore_cancel: false }
}

async fn a_result_is_awaited_over_http(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.stock_worker().await;
    let client = Client::http(&format!("http://{}", manager.address)).unwrap();
    let slept = stock::sleep.with(sleep(5)).id("nap/1").priority(9).submit(&client).await.unwrap();
    assert_eq!(slept.id.as_str(), "nap/1");
    assert!(slept.result(SOON).await.unwrap().seconds >= 0.005);
    let fails = stock::fail.with(stock::Fail { message: Some("no".to_owned()), ..stock::Fail::default() });
    let failed = fails.max_retries(0).submit(&client).await.unwrap().result(SOON).await.unwrap_err();
    assert!(matches!(&failed, ResultError::NotCompleted { error: Some(error), .. } if error == "no"), "{failed}");
    let later = stock::sleep.with(sleep(0)).after(Duration::from_secs(3_600)).submit(&client).await.unwrap();
    let not_yet = later.result(Duration::from_millis(1)).await.unwrap_err();
    assert!(matches!(not_yet, ResultError::NotYet(_)), "{not_yet}");
    let unknown = client.task::<u8>("nobody".parse().unwrap()).wait(Duration::ZERO).await.unwrap_err();
    assert!(matches!(unknown, ResultError::Unknown), "{unknown}");
}

async fn a_submission_whose_answer_was_lost_is_repeated_by_the_client(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let proxy = FaultProxy::start(manager.address).await;
    let client = Client::http(&format!("http://{}", proxy.address())).unwrap();
    proxy.lose_answers(2);
    let batch = (0..50).map(|_| stock::sleep.with(sleep(0)));
    assert_eq!(client.submit_all(batch).await.unwrap().len(), 50);
    assert_eq!(proxy.still_to_lose(), 0);
    let queue = manager.api.get("/queues/default").await.ok();
    assert_eq!(queue["tasks"], json!({"submitted": 50}), "fifty tasks, not a hundred and fifty: {queue}");
}

async fn the_manager_s_word_reaches_the_client(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let client = Client::http(&format!("http://{}", manager.address)).unwrap();
    let refused = stock::sleep.with(sleep(0)).queue("nowhere").submit(&client).await.unwrap_err();
    assert!(matches!(&refused, SubmitError::Refused { status: 404, code, .. } if code == "unknown_queue"), "{refused}");
    stock::sleep.with(sleep(1)).id("a").submit(&client).await.unwrap();
    let conflict = stock::sleep.with(sleep(2)).id("a").submit(&client).await.unwrap_err();
    assert!(matches!(&conflict, SubmitError::Refused { code, .. } if code == "task_exists"), "{conflict}");
    let unique = |id: &str| stock::sleep.with(sleep(1)).id(id).unique_key("nap").unique_for(Duration::from_secs(90));
    unique("b").submit(&client).await.unwrap();
    let duplicate = unique("c").submit(&client).await.unwrap_err();
    assert!(matches!(&duplicate, SubmitError::Refused { status: 409, code, .. } if code == "duplicate"), "{duplicate}");
    let holder = duplicate.holder().map(TaskId::as_str);
    assert_eq!((holder, duplicate.is_duplicate(), duplicate.is_transient()), (Some("b"), true, false), "{duplicate}");
    let last = unique("c").on_duplicate(OnDuplicate::KeepLast).unique_while([Status::Submitted]);
    let updated = last.submit(&client).await.unwrap();
    assert_eq!((updated.id.as_str(), updated.how), ("b", SubmittedHow::Updated));
    let edge = |run: &str, after: &str| NewDependency {
        run: run.parse().unwrap(),
        after: after.parse().unwrap(),
        policy: DependencyPolicy::RunWithFailures,
    };
    stock::sleep.with(sleep(1)).id("d/1").submit(&client).await.unwrap();
    for new in [1, 0] {
        assert_eq!(client.add_dependencies(&[edge("d/1", "a")]).await.unwrap(), new);
    }
    stock::sleep.with(sleep(1)).id("gate/1").wait_for_signal("approved").submit(&client).await.unwrap();
    for is_new in [true, false] {
        assert_eq!(client.signal(&"gate/1".parse().unwrap(), "approved").await.unwrap(), is_new);
    }
    assert!(client.signal_early(&"gate/2".parse().unwrap(), "approved", Duration::from_secs(60)).await.unwrap());
    let gate = stock::sleep.with(sleep(1)).id("gate/2").wait_for_signal("approved").submit(&client).await.unwrap();
    assert_eq!(gate.status, Status::Submitted);
    let circle = client.add_dependencies(&[edge("a", "d/1")]).await.unwrap_err();
    assert!(
        matches!(&circle, SubmitError::Refused { status: 422, code, .. } if code == "circular_dependency"),
        "{circle}"
    );
    let strict = manager.api.put("/queues/default", &json!({"strict": true})).await;
    assert_eq!(strict.status, 200, "{}", strict.body);
    let lonely = stock::sleep.with(sleep(0)).queue("default").submit(&client).await.unwrap_err();
    assert!(matches!(&lonely, SubmitError::Refused { code, .. } if code == "no_worker"), "{lonely}");
}

async fn a_canvas_is_a_workflow_whichever_way_it_goes(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.stock_worker().await;
    let over_http = Client::http(&format!("http://{}", manager.address)).unwrap();
    let over_the_store = Client::open(stack.url()).await.unwrap();
    for (id, client) in [("http", over_http), ("store", over_the_store)] {
        let members = group((0..3).map(|_| stock::sleep.with(sleep(1))));
        let chord = members.then(stock::sleep.with(sleep(2)).id("collect"));
        let alarm = stock::sleep.with(sleep(0)).id("alarm");
        let run = chain![chord, stock::sleep.with(sleep(3)).id("last")].on_error(alarm).workflow().id(id);
        let run = run.name("naps").submit(&client).await.unwrap();
        assert!(run.result(SOON).await.unwrap().seconds >= 0.003, "{id}");
        let graph = manager.api.get(&format!("/workflows/{id}")).await.ok();
        let names: Vec<&str> = graph["graph"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(names, ["sleep-1", "sleep-2", "sleep-3", "collect", "last", "alarm"], "{id}");
        assert_eq!((&graph["state"], &graph["name"]), (&json!("completed"), &json!("naps")), "{id}: {graph}");
        assert_eq!(run.state().await.unwrap(), Some(RunState::Completed), "{id}");
    }
    let wrong = Client::http(&format!("http://{}", manager.address)).unwrap();
    let refused = chain![stock::sleep.with(sleep(0)).queue("nowhere")].workflow().submit(&wrong).await.unwrap_err();
    assert!(matches!(&refused, SubmitError::Refused { code, .. } if code == "unknown_queue"), "{refused}");
}

async fn stored_tasks_are_changed_alike_whichever_way_it_goes(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let over_http = Client::http(&format!("http://{}", manager.address)).unwrap();
    let over_the_store = Client::open(stack.url()).await.unwrap();
    let claimer = LeaseClient::new(&format!("http://{}", manager.address), "claimer".parse().unwrap()).unwrap();
    for (way, client) in [("http", over_http), ("store", over_the_store)] {
        let name = |name: &str| format!("{way}/{name}");
        let ids = |names: &[&str]| names.iter().map(|it| name(it).parse().unwrap()).collect::<Vec<TaskId>>();
        for id in ["running", "ready", "first"] {
            stock::sleep.with(sleep(0)).id(name(id)).submit(&client).await.unwrap();
            if id == "running" {
                let claimed = claimer.claim(&Claim::of(["default".parse().unwrap()])).await.unwrap();
                assert_eq!(claimed.tasks[0].id.as_str(), name(id), "{claimed:?}");
            }
        }
        stock::sleep.with(sleep(0)).id(name("second")).depends_on(name("first")).submit(&client).await.unwrap();

        let replaced = stock::sleep.with(sleep(7)).id(name("ready")).priority(9);
        let replaced = client.replace_all([replaced]).await.unwrap();
        assert_eq!(replaced[0].how, SubmittedHow::Replaced, "{way}");
        let refused = client.replace_all([stock::sleep.with(sleep(7)).id(name("running"))]).await.unwrap_err();
        assert_eq!(refused.code(), "task_started", "{way}");

        let cancelled = client.cancel(&ids(&["ready", "running", "missing"])).await.unwrap();
        assert_eq!(cancelled, [Cancelled::Done, Cancelled::Requested, Cancelled::Unknown], "{way}");
        let again = client.cancel(&ids(&["ready"])).await.unwrap();
        assert_eq!(again, [Cancelled::AlreadyOver(Status::Cancelled)], "{way}");

        let deleted = client.delete(&ids(&["first", "running", "missing"]), true).await.unwrap();
        assert_eq!(deleted, [TaskDeletion::Deleted, TaskDeletion::Running, TaskDeletion::Unknown], "{way}");
        let left = client.statuses(&ids(&["first", "second", "running", "ready"])).await.unwrap();
        assert_eq!(left, [None, None, Some(Status::Started), Some(Status::Cancelled)], "{way}");
    }
}

async fn a_client_leases_keeps_and_returns_tasks(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let url = format!("http://{}", manager.address);
    let client = Client::http(&url).unwrap();
    let worker = LeaseClient::new(&url, "rust/1".parse().unwrap()).unwrap();
    let claim = Claim { limit: 10, wait: SOON, ..Claim::of(["default".parse().unwrap()]) };
    let lease = claim.lease;
    let unknown = worker.claim(&Claim::of(["nowhere".parse().unwrap()])).await.unwrap_err();
    assert!(matches!(&unknown, SubmitError::Refused { code, .. } if code == "unknown_queue"), "{unknown}");

    for id in ["a", "b", "c", "d"] {
        stock::sleep.with(sleep(1)).id(id).max_retries(0).submit(&client).await.unwrap();
    }
    let leased = worker.claim(&claim).await.unwrap().tasks;
    let found: Vec<_> = leased.iter().map(|task| (task.id.as_str(), task.attempt)).collect();
    assert_eq!(found, [("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    assert!(leased.windows(2).all(|pair| pair[0].fence < pair[1].fence), "{leased:?}");
    let parameters: serde_json::Value = serde_json::from_slice(&leased[0].parameters.bytes).unwrap();
    assert_eq!(parameters["seconds"], "1ms");

    let mut news = Extension::of(&leased[0]);
    news.progress = Some(Progress { fraction: 0.5, message: "half".to_owned() });
    news.checkpoint = Some(Payload { content_type: Some("image/png".into()), bytes: vec![0, 255].into() });
    let answers = worker.extend(lease, &[news.clone(), Extension::of(&leased[1])]).await.unwrap();
    assert_eq!(answers, [Extended { extended: true, cancel_requested: false }; 2]);

    let ends = [
        Outcome::Released(Duration::ZERO),
        Outcome::Completed(Some(Payload::json(&b"[1]"[..]))),
        Outcome::Failed { message: "no".to_owned(), fatal: true },
        Outcome::Aborted("given up".to_owned()),
    ];
    let returns: Vec<_> = leased.iter().zip(ends).map(|(task, end)| Return::new(task, end)).collect();
    let first = worker.finish(&returns).await.unwrap();
    assert_eq!(first, [Status::Submitted, Status::Completed, Status::Failed, Status::Aborted].map(Some));
    let again = worker.finish(&returns).await.unwrap();
    assert_eq!(again, [None, Some(Status::Completed), Some(Status::Failed), Some(Status::Aborted)]);
    let lost = worker.extend(lease, &[news]).await.unwrap();
    assert_eq!(lost, [Extended { extended: false, cancel_requested: false }]);

    let leased = worker.claim(&claim).await.unwrap().tasks;
    assert_eq!((leased[0].id.as_str(), leased[0].attempt), ("a", 1), "a release counts no attempt");
    assert_eq!(
        leased[0].checkpoint.as_ref().map(|it| (it.content_type(), &it.bytes[..])),
        Some(("image/png", &[0, 255][..]))
    );
    client.cancel(&[leased[0].id.clone()]).await.unwrap();
    let told = worker.extend(lease, &[Extension::of(&leased[0])]).await.unwrap();
    assert_eq!(told, [Extended { extended: true, cancel_requested: true }]);
    let end = worker.finish(&[Return::new(&leased[0], Outcome::Cancelled)]).await.unwrap();
    assert_eq!(end, [Some(Status::Cancelled)]);
}
