//! The pace of a relay from a real Postgres, with the two tables that docs/guides/transactions.md shows.
//!
//! `bench/outbox/run` starts a Postgres and this program on it. It commits orders with the rows of their tasks, and prints how
//! many rows a second a relay moves into the store of `ENGINE_URL`, beside what the database and the store do alone.

use std::{error::Error, ops::Range};

use jobbers_worker::{
    outbox::{self, Moved, OutboxTable, Relay, Row},
    prelude::*,
};
use sqlx::PgPool;
use tokio::task::JoinSet;

mod cost;
mod tasks;
mod with_diesel;
mod with_sqlx;

use crate::{cost::Cost, tasks::charge, with_diesel::DieselOrders, with_sqlx::Orders};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// Rows of one statement that fills the table.
const CHUNK: usize = 1_000;
/// Rows of one step of a relay.
const STEP: usize = 500;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let variable = |name: &str| std::env::var(name).map_err(|_| format!("{name} is missing: start bench/outbox/run"));
    let (database, rows) = (variable("DATABASE_URL")?, std::env::args().nth(1).unwrap_or_else(|| "100000".to_owned()));
    let rows: usize = rows.parse()?;
    let client = Client::open(&variable("ENGINE_URL")?).await?;
    let pool = PgPool::connect(&database).await?;
    sqlx::raw_sql(outbox::POSTGRES).execute(&pool).await?;
    sqlx::raw_sql("CREATE TABLE orders (id bigint PRIMARY KEY, cents bigint NOT NULL)").execute(&pool).await?;

    let (sqlx, diesel) = (Orders::new(pool.clone()), DieselOrders::connect(&database)?);
    with_sqlx::take_order(&pool, &client, 1, 999).await?;
    diesel.take_order(&client, 2, 999).await?;
    let taken = Relay::new(sqlx.clone(), client.clone()).move_some().await?;
    if taken.stored != 2 {
        return Err(format!("two orders were taken, and {taken:?}").into());
    }

    println!("| {rows} rows | rows a second | µs of processors a row: this program | Postgres |\n|---|---|---|---|");
    let mut next = 10;
    let mut batch = || {
        let first = next;
        next += rows as u64;
        first..next
    };
    fill(&pool, &client, batch()).await?;
    show("the database alone: read and deleted", rows, drain(&sqlx).await?);
    show("the store alone: submitted by 500", rows, submit(&client, batch()).await?);
    for (name, relays) in [("a relay with sqlx", 1), ("two relays with sqlx", 2)] {
        fill(&pool, &client, batch()).await?;
        show(name, rows, relay(&sqlx, &client, relays).await?);
    }
    fill(&pool, &client, batch()).await?;
    show("a relay with diesel", rows, relay(&diesel, &client, 1).await?);
    Ok(())
}

/// Commits so many orders, a thousand in a transaction.
async fn fill(pool: &PgPool, client: &Client, orders: Range<u64>) -> Result<(), Failure> {
    let orders: Vec<u64> = orders.collect();
    for chunk in orders.chunks(CHUNK) {
        let rows: Vec<Row> = chunk.iter().map(|order| charge.with(*order).to_row(client)).collect::<Result<_, _>>()?;
        let (ids, submissions): (Vec<_>, Vec<_>) = rows.into_iter().map(|row| (row.id, row.submission)).unzip();
        let numbers: Vec<i64> = chunk.iter().map(|order| i64::try_from(*order)).collect::<Result<_, _>>()?;
        let mut transaction = pool.begin().await?;
        sqlx::query("INSERT INTO orders (id, cents) SELECT id, 999 FROM unnest($1::bigint[]) id")
            .bind(numbers)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("INSERT INTO jobbers_outbox (id, submission) SELECT * FROM unnest($1::text[], $2::text[])")
            .bind(ids)
            .bind(submissions)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
    }
    // As the server does by itself in time.
    sqlx::raw_sql("VACUUM ANALYZE jobbers_outbox").execute(pool).await?;
    Ok(())
}

/// Reads and deletes all rows as a relay does, without a store.
async fn drain(orders: &Orders) -> Result<Cost, Failure> {
    let began = Cost::begin()?;
    loop {
        let ids: Vec<String> = orders.oldest(STEP).await?.into_iter().map(|row| row.id).collect();
        if ids.is_empty() {
            return began.end();
        }
        orders.remove(&ids).await?;
    }
}

/// Submits tasks as a relay does, without a database.
async fn submit(client: &Client, orders: Range<u64>) -> Result<Cost, Failure> {
    let orders: Vec<u64> = orders.collect();
    let began = Cost::begin()?;
    for chunk in orders.chunks(STEP) {
        client.submit_all(chunk.iter().map(|order| charge.with(*order))).await?;
    }
    began.end()
}

/// Moves all rows by so many relays at once.
async fn relay<O: OutboxTable + Clone>(orders: &O, client: &Client, relays: usize) -> Result<Cost, Failure> {
    let began = Cost::begin()?;
    let mut running = JoinSet::new();
    for _ in 0..relays {
        let relay = Relay::new(orders.clone(), client.clone());
        running.spawn(async move {
            while relay.move_some().await? != Moved::default() {}
            Ok::<_, Failure>(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    began.end()
}

fn show(name: &str, rows: usize, cost: Cost) {
    let rows = rows as f64;
    let micros = |ticks: f64| ticks * 10_000.0 / rows;
    println!("| {name} | {:.0} | {:.1} | {:.1} |", rows / cost.seconds, micros(cost.own), micros(cost.postgres));
}
