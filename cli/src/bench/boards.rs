//! The fronts of boards: what clients of MassTasker and TaskStore get from a manager with the settings that ship.
//!
//! A claim with its deletion is what a MassTasker worker does for each task: one `Query` and one `Update`. Each worker has
//! a connection of its own. The figures beside them come from the same round: a bare exchange with the store, the same
//! work by one client, the same request in a small group. A large group is there all the while.

mod crowd;
mod grpc;
mod masstasker;

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::{
    figures::{Rate, Spread, as_f64},
    http,
    load::PAYLOAD,
    profile::BuildProfile,
    report::{Row, fact, heading, micros, rate},
    services::Services,
    store::BenchStore,
};
use crate::terminal::output::thousands;

/// Clients at once.
const CLIENTS: usize = 16;
/// Tasks of the small group.
const SMALL: usize = 1_000;

/// How much is measured.
struct Size {
    rounds: usize,
    /// Tasks that many workers claim and delete, and updates of many clients; a single client does a fourth of it.
    tasks: usize,
    /// Tasks of the large group.
    large: usize,
    /// Queries of each group.
    queries: usize,
}

/// The figures of one round, per second unless noted otherwise.
struct Round {
    /// Bare exchanges with the store, one after the other.
    exchange: f64,
    claims_one: f64,
    claims_many: f64,
    /// The store's processor time for one claim and its deletion, in microseconds.
    store_us: f64,
    updates_one: f64,
    updates_many: f64,
    takes_small: f64,
    takes_large: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoardsReport {
    /// `sqlite` or `redis`.
    pub engine: String,
    /// How the program was built.
    pub build: BuildProfile,
    /// How many rounds each rate is the middle of.
    pub rounds: usize,
    /// MassTasker: tasks that one worker claims and deletes; the limit is bare exchanges with the store.
    pub claims_one: Rate,
    /// The same by sixteen workers.
    pub claims_many: Rate,
    /// The store's processor time for one claim and its deletion by sixteen workers, in microseconds.
    pub store_us_per_claim: f64,
    /// TaskStore: updates that add a task, by one client; the limit is bare exchanges with the store.
    pub updates_one: Rate,
    /// The same by sixteen clients; the limit is that of one client, so the ratio says what sharing commits brings.
    pub updates_many: Rate,
    /// MassTasker: `Query` with a lease, by one worker, in the large group; the limit is the same in a small one.
    pub takes_large: Rate,
    /// Tasks of the large group.
    pub large: usize,
}

/// Measures.
///
/// # Errors
/// When the manager's process can't be had, or an answer is wrong.
pub(super) async fn measure(store: &BenchStore, quick: bool) -> Result<BoardsReport> {
    let size = match quick {
        false => Size { rounds: 3, tasks: 40_000, large: 1_000_000, queries: 4_000 },
        true => Size { rounds: 1, tasks: 2_000, large: 10_000, queries: 200 },
    };
    let services = Services::start_with(store, &["--masstasker"]).await?;
    let grpc = services.masstasker.context("the manager's process answers no gRPC")?;
    masstasker::fill(grpc, "small", SMALL).await?;
    masstasker::fill(grpc, "large", size.large).await?;
    let mut rounds = Vec::with_capacity(size.rounds);
    for _ in 0..size.rounds {
        rounds.push(round(store, &services, grpc, &size).await?);
    }
    services.stop().await?;
    let engine = store.scratch.engine.health().await?.engine.to_owned();
    Ok(BoardsReport::new(engine, &rounds, size.large))
}

async fn round(store: &BenchStore, services: &Services, grpc: SocketAddr, size: &Size) -> Result<Round> {
    let limits = store.limits(PAYLOAD, size.tasks).await?;
    let claims_one = masstasker::claim_all(grpc, 1, size.tasks / 4).await?;
    let before = store.cpu(&[services.cpu()?]).await?;
    let claims_many = masstasker::claim_all(grpc, CLIENTS, size.tasks).await?;
    let store_us = (store.cpu(&[services.cpu()?]).await? - before) / as_f64(size.tasks);
    let updates_one = add(services.address, 1, size.tasks / 4).await?;
    let updates_many = add(services.address, CLIENTS, size.tasks).await?;
    let takes_small = masstasker::take(grpc, "small", size.queries).await?;
    let takes_large = masstasker::take(grpc, "large", size.queries).await?;
    Ok(Round {
        exchange: 1e3 / limits.round_trip,
        claims_one,
        claims_many,
        store_us,
        updates_one,
        updates_many,
        takes_small,
        takes_large,
    })
}

/// Adds tasks as TaskStore's clients do, one an update.
async fn add(address: SocketAddr, clients: usize, tasks: usize) -> Result<f64> {
    let body = r#"{"clientid":1,"adds":[{"group":"bench","data":"YSBodW5kcmVkIGJ5dGVz"}]}"#;
    http::rate(address, &http::request("POST", "/taskstore-ns/update", body), clients, tasks).await
}

impl BoardsReport {
    fn new(engine: String, rounds: &[Round], large: usize) -> Self {
        let rate = |pair: fn(&Round) -> (f64, f64)| Rate::of(rounds.iter().map(pair));
        Self {
            engine,
            build: BuildProfile::own(),
            rounds: rounds.len(),
            claims_one: rate(|round| (round.claims_one, round.exchange)),
            claims_many: rate(|round| (round.claims_many, round.exchange)),
            store_us_per_claim: Spread::of(rounds.iter().map(|round| round.store_us).collect(), 1).median,
            updates_one: rate(|round| (round.updates_one, round.exchange)),
            updates_many: rate(|round| (round.updates_many, round.updates_one)),
            takes_large: rate(|round| (round.takes_large, round.takes_small)),
            large,
        }
    }

    /// The line above the table: what was measured, and how.
    #[must_use]
    pub fn heading(&self) -> String {
        heading(&self.engine, &self.build, &format!("{} tasks beside", thousands(self.large as u64)), self.rounds)
    }

    /// The table.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let exchange = match self.engine.as_str() {
            "redis" => "bare PING, each awaited",
            _ => "bare inserts, each committed",
        };
        vec![
            rate("MassTasker: claim and delete, 16 workers", exchange, self.claims_many),
            rate("MassTasker: claim and delete, 1 worker", exchange, self.claims_one),
            fact("store CPU per claim and delete", micros(self.store_us_per_claim, 1)),
            rate("TaskStore: updates, 16 clients", "the same of 1 client: what sharing brings", self.updates_many),
            rate("TaskStore: updates, 1 client", exchange, self.updates_one),
            rate("MassTasker: Query in the large group", "the same in a group of 1,000", self.takes_large),
        ]
    }
}
