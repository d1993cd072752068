//! Calls that wait.

use std::time::{Duration, Instant};

use jobbers_boards::masstasker::{
    Settings,
    proto::{QueryRequest, Task},
};
use tonic::Code;

use crate::{
    gone::Watched,
    server::{Server, asked, at, by_id, connected, in_future, refused, seconds, task},
    stores::Kind,
};

fn waiting(group: &str) -> QueryRequest {
    QueryRequest { wait: true, own_for: seconds(3_600), ..asked(group) }
}

async fn a_call_waits_for_the_time_of_a_task(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let due = in_future(Duration::from_millis(300));
    api.create(vec![Task { not_before: Some(due), ..task("a") }]).await;
    let owned = api.query(waiting("a")).await.unwrap();
    let present = in_future(Duration::ZERO);
    assert!((present.seconds, present.nanos) >= (due.seconds, due.nanos), "it came early: {present:?}");
    assert_eq!(owned.id, 2);
}

async fn the_time_slept_is_added_to_the_callers_present(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![Task { not_before: Some(at(100, 0)), ..task("a") }]).await;
    let began = Instant::now();
    let ask = QueryRequest { now: Some(at(99, 800_000_000)), ..waiting("a") };
    let until = api.query(ask).await.unwrap().not_before.unwrap();
    let most = began.elapsed();
    let slept = Duration::new(u64::try_from(until.seconds - 3_699).unwrap(), u32::try_from(until.nanos).unwrap())
        .checked_sub(Duration::from_millis(800))
        .unwrap();
    assert!(slept >= Duration::from_millis(200) && slept <= most, "{slept:?} of {most:?}");
}

async fn a_call_on_an_empty_group_waits_for_a_bounded_time(kind: Kind) {
    let empty_wait = Duration::from_millis(200);
    let server = Server::start_with(kind, Settings { empty_wait, ..Settings::default() }).await;
    let began = Instant::now();
    refused(server.client().await.query(waiting("a")).await, Code::NotFound);
    assert!(began.elapsed() >= empty_wait);
}

async fn a_waiting_call_wakes_when_a_task_comes(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    let later = Some(in_future(Duration::from_secs(3_600)));
    api.create(vec![Task { not_before: later, ..task("a") }]).await;
    let mut other = server.client().await;
    let call = tokio::spawn(async move { other.query(waiting("a")).await });
    watched.waiting(1).await;
    let ids = api.create(vec![task("a")]).await;
    assert!(call.await.unwrap().unwrap().id > ids[0]);
}

async fn a_waiting_call_wakes_when_a_task_moves_to_an_earlier_time(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    let later = Some(in_future(Duration::from_secs(3_600)));
    api.create(vec![Task { not_before: later, ..task("a") }]).await;
    let mut other = server.client().await;
    let call = tokio::spawn(async move { other.query(waiting("a")).await });
    watched.waiting(1).await;
    api.bulk_set(vec![by_id(1)], Task { not_before: Some(at(5, 0)), ..Default::default() }).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().id, 3);
}

async fn two_waiting_calls_never_get_one_task(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let server = Server::over(watched.clone(), Settings::default()).await;
    let calls: Vec<_> = [server.client().await, server.client().await]
        .into_iter()
        .map(|mut api| tokio::spawn(async move { api.query(waiting("a")).await }))
        .collect();
    watched.waiting(2).await;
    let mut api = server.client().await;
    api.create(vec![task("a")]).await;
    api.create(vec![task("a")]).await;
    let mut ids = Vec::new();
    for call in calls {
        ids.push(call.await.unwrap().unwrap().id);
    }
    assert_ne!(ids[0], ids[1]);
    assert_eq!(api.count("a").await, 2);
}

async fn a_server_that_stops_ends_waiting_calls(kind: Kind) {
    let (boards, _store) = kind.open().await;
    let watched = Watched::new(boards);
    let mut server = Server::over(watched.clone(), Settings::default()).await;
    let mut api = server.client().await;
    api.create(vec![Task { not_before: Some(in_future(Duration::from_secs(3_600))), ..task("a") }]).await;
    let call = tokio::spawn(async move { api.query(waiting("a")).await });
    watched.waiting(1).await;
    server.shutdown.drain.cancel();
    refused(call.await.unwrap(), Code::Unavailable);
    (&mut server.serving).await.unwrap();
}

on_every_store!(
    a_call_waits_for_the_time_of_a_task,
    the_time_slept_is_added_to_the_callers_present,
    a_call_on_an_empty_group_waits_for_a_bounded_time,
    a_waiting_call_wakes_when_a_task_comes,
    a_waiting_call_wakes_when_a_task_moves_to_an_earlier_time,
    two_waiting_calls_never_get_one_task,
    a_server_that_stops_ends_waiting_calls,
);
