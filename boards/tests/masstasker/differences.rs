//! Where this server differs from the original on purpose: what crashed it works, and what was lost is kept.

use jobbers_boards::masstasker::proto::{QueryRequest, Task, TaskRef, UpdateRequest};
use tonic::Code;

use crate::{
    server::{
        asked, at, by_group, by_id, by_label, connected, labelled, payload, refused, said, saying, seconds, task,
    },
    stores::Kind,
};

async fn an_id_that_is_deleted_twice_in_a_step_counts_once(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![labelled("a", &[("x", "1"), ("y", "1")]), task("a")]).await;
    // By its id, by both labels and by its group: in the original each pair of these ended the process.
    let deleted = vec![by_id(1), by_id(1), by_label(&[("x", "1"), ("y", "1")]), by_group("a")];
    api.delete(deleted).await.unwrap();
    assert_eq!(api.count("").await, 0);
}

async fn a_task_whose_time_is_now_is_returned(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![Task { not_before: Some(at(100, 5)), ..task("a") }]).await;
    let ask = |nanos| QueryRequest { now: Some(at(100, nanos)), own_for: seconds(1), ..asked("a") };
    refused(api.query(ask(4)).await, Code::NotFound);
    assert_eq!(api.query(ask(5)).await.unwrap().not_before, Some(at(101, 5)));
}

async fn bulk_set_moves_tasks_to_a_new_group(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("a", "x"), saying("a", "y"), saying("b", "z")]).await;
    assert_eq!(api.bulk_set(vec![by_group("a")], task("new")).await.unwrap(), 2);
    assert_eq!((api.count("a").await, api.ids("new").await), (0, vec![4, 5]));
    let owned = api.own("new").await.unwrap();
    assert_eq!((owned.id, said(&owned).as_str()), (6, "x"));
}

async fn bulk_set_gives_tasks_another_time_and_nothing_else(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![Task { error: "e".to_owned(), ..labelled("a", &[("x", "1")]) }, saying("a", "y")]).await;
    let prototype = Task {
        not_before: Some(at(50, 1)),
        data: Some(payload("ignored")),
        labels: crate::server::pairs(&[("ignored", "1")]),
        error: "ignored".to_owned(),
        ..Default::default()
    };
    assert_eq!(api.bulk_set(vec![by_label(&[("x", "1")]), by_id(2), by_id(2)], prototype).await.unwrap(), 2);
    let tasks = api.debug("a", 0).await.tasks;
    let expected = [
        Task { id: 3, not_before: Some(at(50, 1)), error: "e".to_owned(), ..labelled("a", &[("x", "1")]) },
        Task { id: 4, not_before: Some(at(50, 1)), ..saying("a", "y") },
    ];
    assert_eq!(tasks, expected);
}

async fn bulk_set_is_refused_whole(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![labelled("a", &[("x", "1")])]).await;
    refused(api.bulk_set(vec![by_group("a"), by_id(77)], task("b")).await, Code::NotFound);
    assert_eq!((api.ids("a").await, api.count("b").await), (vec![1], 0));
    let overlapping = api.bulk_set(vec![by_group("a"), by_id(1), by_label(&[("x", "1")])], task("b")).await;
    assert_eq!(overlapping.unwrap(), 1, "a task that is selected twice counts once");
    assert_eq!((api.count("a").await, api.count("b").await), (0, 1));
    assert_eq!(api.bulk_set(Vec::new(), task("b")).await.unwrap(), 0);
}

async fn a_reference_that_says_nothing_is_refused(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    let request = UpdateRequest {
        deleted: vec![by_id(1), TaskRef { sel: None }],
        created: vec![task("b")],
        ..Default::default()
    };
    refused(api.update(request).await, Code::InvalidArgument);
    refused(api.bulk_set(vec![TaskRef { sel: None }], task("b")).await, Code::InvalidArgument);
    assert_eq!(api.ids("").await, [1]);
}

async fn a_list_of_all_groups_is_in_the_order_of_time_and_id(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let of = |group: &str, second| Task { not_before: Some(at(second, 0)), ..task(group) };
    let created = (0..30).map(|n| of(["a", "b", "c"][n % 3], [7, 3, 9, 3, 1][n % 5])).collect();
    api.create(created).await;
    let all = api.debug("", 0).await;
    let order: Vec<(i64, u64)> = all.tasks.iter().map(|task| (task.not_before.unwrap().seconds, task.id)).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!((order.len(), order), (30, sorted.clone()));
    let few = api.debug("", 4).await;
    assert_eq!(
        (few.tasks.iter().map(|task| task.id).collect::<Vec<_>>(), few.num_tasks),
        (sorted[..4].iter().map(|(_, id)| *id).collect(), 30)
    );
}

async fn moments_outside_1677_to_2262_become_the_first_and_the_last(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let of = |second| Task { not_before: Some(at(second, 0)), ..task("a") };
    api.create(vec![of(253_402_300_799), of(-62_135_596_800), of(i64::MAX), of(i64::MIN)]).await;
    let tasks = api.debug("a", 0).await.tasks;
    let seconds: Vec<i64> = tasks.iter().map(|task| task.not_before.unwrap().seconds).collect();
    assert_eq!(seconds, [-9_223_372_037, -9_223_372_037, 9_223_372_036, 9_223_372_036]);
    let own = QueryRequest { own_for: self::seconds(i64::MAX), ..asked("a") };
    assert_eq!(api.query(own).await.unwrap().not_before, Some(at(9_223_372_036, 854_775_807)));
}

on_every_store!(
    an_id_that_is_deleted_twice_in_a_step_counts_once,
    a_task_whose_time_is_now_is_returned,
    bulk_set_moves_tasks_to_a_new_group,
    bulk_set_gives_tasks_another_time_and_nothing_else,
    bulk_set_is_refused_whole,
    a_reference_that_says_nothing_is_refused,
    a_list_of_all_groups_is_in_the_order_of_time_and_id,
    moments_outside_1677_to_2262_become_the_first_and_the_last,
);
