//! What MassTasker's clients do, over gRPC.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use jobbers_boards::masstasker::proto::{QueryRequest, Task, TaskRef, UpdateRequest, task_ref::Sel};
use prost_types::{Any, Duration};

use super::{crowd::at_once, grpc};
use crate::bench::load::PAYLOAD;

/// Tasks of one `Update` while a group is filled.
const BATCH: usize = 1_000;
/// The group that is worked off.
const WORK: &str = "work";

fn task(group: &str) -> Task {
    let data = Any { type_url: "type.googleapis.com/bench.Noop".to_owned(), value: PAYLOAD.into() };
    Task { group: group.to_owned(), data: Some(data), ..Task::default() }
}

/// Creates tasks in a group.
pub(super) async fn fill(address: SocketAddr, group: &str, tasks: usize) -> Result<()> {
    let mut client = grpc::connect(address).await?;
    let mut left = tasks;
    while left > 0 {
        let created = vec![task(group); left.min(BATCH)];
        left -= created.len();
        client.update(UpdateRequest { created, ..UpdateRequest::default() }).await?;
    }
    Ok(())
}

/// Lets workers claim and delete tasks that were created before; per second.
pub(super) async fn claim_all(address: SocketAddr, workers: usize, tasks: usize) -> Result<f64> {
    let tasks = tasks / workers * workers;
    fill(address, WORK, tasks).await?;
    let mut connected = Vec::with_capacity(workers);
    for _ in 0..workers {
        connected.push(grpc::connect(address).await?);
    }
    let query = QueryRequest { own_for: Some(Duration { seconds: 60, nanos: 0 }), ..of(WORK) };
    at_once(workers, tasks, |share| {
        let client = connected.pop();
        let query = query.clone();
        async move {
            let mut client = client.context("a connection for each")?;
            for _ in 0..share {
                let taken = client.query(query.clone()).await?.into_inner().task.context("an answer without a task")?;
                let deleted = vec![TaskRef { sel: Some(Sel::Id(taken.id)) }];
                client.update(UpdateRequest { deleted, ..UpdateRequest::default() }).await?;
            }
            Ok(())
        }
    })
    .await
}

/// Takes tasks of a group, for a nanosecond each, one after the other; per second.
pub(super) async fn take(address: SocketAddr, group: &str, times: usize) -> Result<f64> {
    let client = grpc::connect(address).await?;
    let query = QueryRequest { own_for: Some(Duration { seconds: 0, nanos: 1 }), ..of(group) };
    at_once(1, times, |times| {
        let (mut client, query) = (client.clone(), query.clone());
        async move {
            for _ in 0..times {
                ensure!(client.query(query.clone()).await?.into_inner().task.is_some(), "an answer without a task");
            }
            Ok(())
        }
    })
    .await
}

fn of(group: &str) -> QueryRequest {
    QueryRequest { group: group.to_owned(), ..QueryRequest::default() }
}
