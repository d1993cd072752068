//! How MassTasker behaves, point by point.

use std::sync::Arc;

use jobbers_boards::masstasker::{
    Settings,
    proto::{QueryRequest, Task, UpdateRequest},
};
use tonic::Code;

use crate::{
    server::{
        Server, asked, at, by_group, by_id, by_label, connected, in_future, labelled, payload, refused, said, saying,
        seconds, task,
    },
    stores::Kind,
};

async fn the_first_two_tasks_get_ids_1_and_2(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    assert_eq!(api.create(vec![task("a"), task("b")]).await, [1, 2]);
}

async fn a_task_is_deleted_once(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let ids = api.create(vec![task("a")]).await;
    api.delete(vec![by_id(ids[0])]).await.unwrap();
    refused(api.delete(vec![by_id(ids[0])]).await, Code::NotFound);
}

async fn an_update_gives_a_new_id_and_may_change_the_group(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    assert_eq!(api.replace(1, vec![task("b")]).await.unwrap(), [2]);
    assert_eq!((api.count("a").await, api.count("b").await), (0, 1));
}

async fn a_look_keeps_the_id_and_a_lease_gives_a_new_one(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("a", "x")]).await;
    assert_eq!(api.peek("a").await.unwrap().id, 1);
    for own_for in [seconds(0), seconds(-5)] {
        assert_eq!(api.query(QueryRequest { own_for, ..asked("a") }).await.unwrap().id, 1);
    }
    let owned = api.own("a").await.unwrap();
    assert_eq!((owned.id, said(&owned).as_str(), owned.group.as_str()), (2, "x", "a"));
}

async fn a_renewal_an_hour_later_moves_the_time_by_exactly_an_hour(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![Task { not_before: Some(at(1_000, 0)), ..task("a") }]).await;
    let own = |now| QueryRequest { own_for: seconds(7_200), now: Some(now), ..asked("a") };
    let owned = api.query(own(at(10_000, 7))).await.unwrap();
    assert_eq!(owned.not_before, Some(at(17_200, 7)));
    let renewed = Task { not_before: Some(at(20_800, 7)), ..owned.clone() };
    let id = api.replace(owned.id, vec![renewed.clone()]).await.unwrap()[0];
    assert_eq!(api.debug("a", 0).await.tasks, [Task { id, ..renewed }]);
}

async fn a_lease_begins_at_the_callers_present(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let t0 = 1_700_000_000;
    api.create(vec![Task { not_before: Some(at(t0, 0)), ..task("a") }]).await;
    let own = QueryRequest { own_for: seconds(3_600), now: Some(at(t0 + 5, 0)), ..asked("a") };
    assert_eq!(api.query(own).await.unwrap().not_before, Some(at(t0 + 3_605, 0)));
}

async fn a_client_whose_clock_says_1970_takes_and_takes_again(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![Task { not_before: Some(at(10, 0)), ..task("a") }]).await;
    let own = |now| QueryRequest { own_for: seconds(30), now: Some(at(now, 0)), ..asked("a") };
    refused(api.query(own(9)).await, Code::NotFound);
    let first = api.query(own(11)).await.unwrap();
    refused(api.query(own(40)).await, Code::NotFound);
    let second = api.query(own(42)).await.unwrap();
    assert!(second.id > first.id);
    assert_eq!(second.not_before, Some(at(72, 0)));
}

async fn two_deletions_and_a_creation_are_one_step(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("a", "x"), saying("a", "y")]).await;
    let request =
        UpdateRequest { deleted: vec![by_id(1), by_id(2)], created: vec![saying("a", "z")], ..Default::default() };
    assert_eq!(api.update(request).await.unwrap(), [3]);
    let tasks = api.debug("a", 0).await.tasks;
    assert_eq!(tasks.iter().map(said).collect::<Vec<_>>(), ["z"]);
}

async fn a_missing_predicate_changes_nothing(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a"), saying("a", "c")]).await;
    api.delete(vec![by_id(1)]).await.unwrap();
    let request = UpdateRequest { deleted: vec![by_id(2)], created: vec![saying("a", "changed")], predicates: vec![1] };
    let status = refused(api.update(request).await, Code::FailedPrecondition);
    assert_eq!(status.message(), "predicate id 1 doesn't exist");
    let tasks = api.debug("a", 0).await.tasks;
    assert_eq!((tasks[0].id, said(&tasks[0]).as_str(), tasks.len()), (2, "c", 1));
}

async fn an_update_replaces_what_a_task_says(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("a", "x")]).await;
    api.replace(1, vec![saying("a", "y")]).await.unwrap();
    let all = api.debug("a", 0).await;
    assert_eq!((said(&all.tasks[0]).as_str(), all.num_tasks), ("y", 1));
}

async fn a_moved_task_is_in_one_group(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    api.replace(1, vec![task("b")]).await.unwrap();
    let all = api.debug("", 0).await;
    assert_eq!((all.num_tasks, all.tasks[0].group.as_str()), (1, "b"));
}

async fn an_empty_server_lists_nothing(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    for group in ["", "none"] {
        let all = api.debug(group, 0).await;
        assert_eq!((all.tasks.len(), all.num_tasks), (0, 0));
    }
    assert_eq!(api.update(UpdateRequest::default()).await.unwrap(), [0; 0]);
}

async fn an_owned_task_is_hidden(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    refused(api.own("a").await, Code::NotFound);
    api.create(vec![task("a")]).await;
    api.own("a").await.unwrap();
    refused(api.own("a").await, Code::NotFound);
    refused(api.peek("a").await, Code::NotFound);
}

async fn an_owned_task_is_deleted_by_its_new_id(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    let owned = api.own("a").await.unwrap();
    refused(api.delete(vec![by_id(1)]).await, Code::NotFound);
    api.delete(vec![by_id(owned.id)]).await.unwrap();
    assert_eq!(api.count("a").await, 0);
    let request = UpdateRequest { predicates: vec![owned.id], ..Default::default() };
    refused(api.update(request).await, Code::FailedPrecondition);
}

async fn a_task_comes_back_as_it_was_created(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let there = Task {
        id: 1,
        data: Some(prost_types::Any { type_url: "example.org/anything".to_owned(), value: bytes }),
        not_before: Some(at(1_700_000_000, 123_456_789)),
        error: "it broke: ü".to_owned(),
        ..labelled("grüße", &[("a", "1"), ("b", "")])
    };
    api.create(vec![there.clone()]).await;
    assert_eq!(api.peek("grüße").await.unwrap(), there);
    api.create(vec![task("empty"), Task { data: Some(payload("")), ..task("typed") }]).await;
    assert_eq!(api.peek("empty").await.unwrap().data, None);
    assert_eq!(api.peek("typed").await.unwrap().data, Some(payload("")));
}

async fn a_failed_update_consumes_no_id_and_changes_nothing(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    let request = UpdateRequest { created: vec![task("a")], deleted: vec![by_id(1), by_id(77)], ..Default::default() };
    refused(api.update(request).await, Code::NotFound);
    assert_eq!(api.ids("a").await, [1]);
    assert_eq!(api.create(vec![task("a")]).await, [2]);
}

async fn a_missing_predicate_is_reported_before_a_missing_task(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    for (deleted, predicates) in [(76, 77), (77, 77)] {
        let request =
            UpdateRequest { deleted: vec![by_id(deleted)], predicates: vec![predicates], ..Default::default() };
        refused(api.update(request).await, Code::FailedPrecondition);
    }
}

async fn a_live_task_may_be_required_and_deleted_in_one_step(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![task("a")]).await;
    let request = UpdateRequest { deleted: vec![by_id(1)], predicates: vec![1], created: vec![task("a")] };
    assert_eq!(api.update(request).await.unwrap(), [2]);
}

async fn tasks_are_taken_by_time_and_id(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let of = |seconds, nanos| Task { not_before: Some(at(seconds, nanos)), ..task("a") };
    api.create(vec![of(9, 0), of(5, 1), of(5, 0), of(5, 0), of(-3, 999_999_999)]).await;
    assert_eq!(api.ids("a").await, [5, 3, 4, 2, 1]);
    let mut taken = Vec::new();
    while let Ok(owned) = api.own("a").await {
        taken.push(owned.id);
    }
    assert_eq!(taken, [6, 7, 8, 9, 10]);
    assert_eq!(api.ids("a").await, [6, 7, 8, 9, 10], "each lease ends after the one before");
}

async fn ids_in_a_request_are_ignored(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let asking = Task { id: 4_711, ..task("a") };
    assert_eq!(api.create(vec![asking.clone(), asking]).await, [1, 2]);
}

async fn labels_and_groups_select_within_the_step(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let hidden = Task { not_before: Some(at(4_000_000_000, 0)), ..task("b") };
    api.create(vec![
        labelled("a", &[("x", "1")]),
        labelled("a", &[("y", "1")]),
        labelled("a", &[("x", "2")]),
        task("b"),
        hidden,
    ])
    .await;
    let missing = UpdateRequest { deleted: vec![by_group("b"), by_id(77)], ..Default::default() };
    refused(api.update(missing).await, Code::NotFound);
    assert_eq!(api.count("").await, 5);
    api.delete(vec![by_label(&[("x", "1"), ("y", "1")])]).await.unwrap();
    assert_eq!(api.ids("").await, [3, 4, 5]);
    api.delete(vec![by_group("b"), by_group("none"), by_label(&[("none", "1")]), by_label(&[])]).await.unwrap();
    assert_eq!(api.ids("").await, [3]);
}

async fn a_list_is_bounded_and_counts_all(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create((0..5).map(|_| task("a")).collect()).await;
    let two = api.debug("a", 2).await;
    assert_eq!((two.tasks.len(), two.num_tasks), (2, 5));
    assert_eq!(api.debug("a", u64::MAX).await.tasks.len(), 5);
}

async fn a_group_may_have_an_empty_name(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("", "x")]).await;
    assert_eq!(said(&api.own("").await.unwrap()), "x");
    api.delete(vec![by_group("")]).await.unwrap();
    assert_eq!(api.count("").await, 0);
}

async fn a_task_in_the_future_is_not_seen(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let later = Some(in_future(std::time::Duration::from_secs(3_600)));
    api.create(vec![Task { not_before: later, ..task("a") }]).await;
    refused(api.own("a").await, Code::NotFound);
}

async fn the_bootstrap_group_gets_one_empty_task_once_per_store(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let settings = Settings { bootstrap_group: Some("bootstrap".to_owned()), ..Default::default() };
    let first = Server::over(Arc::clone(&boards), settings.clone()).await;
    let mut api = first.client().await;
    let task = api.own("bootstrap").await.unwrap();
    assert_eq!((task.data, task.labels.len(), task.error.as_str()), (None, 0, ""));
    api.delete(vec![by_id(task.id)]).await.unwrap();
    drop(first);
    let second = Server::over(Arc::clone(&boards), settings).await;
    assert_eq!(second.client().await.count("").await, 0);
    let other = Settings { bootstrap_group: Some("other".to_owned()), ..Default::default() };
    let third = Server::over(boards, other).await;
    assert_eq!(third.client().await.count("other").await, 1, "each group has one");
}

on_every_store!(
    the_first_two_tasks_get_ids_1_and_2,
    a_task_is_deleted_once,
    an_update_gives_a_new_id_and_may_change_the_group,
    a_look_keeps_the_id_and_a_lease_gives_a_new_one,
    a_renewal_an_hour_later_moves_the_time_by_exactly_an_hour,
    a_lease_begins_at_the_callers_present,
    a_client_whose_clock_says_1970_takes_and_takes_again,
    two_deletions_and_a_creation_are_one_step,
    a_missing_predicate_changes_nothing,
    an_update_replaces_what_a_task_says,
    a_moved_task_is_in_one_group,
    an_empty_server_lists_nothing,
    an_owned_task_is_hidden,
    an_owned_task_is_deleted_by_its_new_id,
    a_task_comes_back_as_it_was_created,
    a_failed_update_consumes_no_id_and_changes_nothing,
    a_missing_predicate_is_reported_before_a_missing_task,
    a_live_task_may_be_required_and_deleted_in_one_step,
    tasks_are_taken_by_time_and_id,
    ids_in_a_request_are_ignored,
    labels_and_groups_select_within_the_step,
    a_list_is_bounded_and_counts_all,
    a_group_may_have_an_empty_name,
    a_task_in_the_future_is_not_seen,
    the_bootstrap_group_gets_one_empty_task_once_per_store,
);
