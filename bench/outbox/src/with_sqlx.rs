//! The outbox with sqlx, as docs/guides/transactions.md shows it.

use jobbers_worker::{
    outbox::{OutboxError, OutboxTable, Row},
    prelude::*,
};
use sqlx::PgPool;

use crate::tasks::charge;

/// The shop's database.
#[derive(Clone)]
pub struct Orders(PgPool);

impl Orders {
    /// The database behind this pool.
    pub fn new(pool: PgPool) -> Self {
        Self(pool)
    }
}

/// Stores an order and the task that follows from it, both or neither.
pub async fn take_order(pool: &PgPool, client: &Client, order: i64, cents: i64) -> Result<(), OutboxError> {
    let row = charge.with(order.try_into()?).idempotency_key(order.to_string()).to_row(client)?;
    let mut transaction = pool.begin().await?;
    sqlx::query("INSERT INTO orders (id, cents) VALUES ($1, $2)")
        .bind(order)
        .bind(cents)
        .execute(&mut *transaction)
        .await?;
    sqlx::query("INSERT INTO jobbers_outbox (id, submission) VALUES ($1, $2)")
        .bind(&row.id)
        .bind(&row.submission)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

impl OutboxTable for Orders {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        let rows = sqlx::query_as::<_, (String, String)>(
            "SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER BY place LIMIT $1",
        );
        let rows = rows.bind(i64::try_from(limit)?).fetch_all(&self.0).await?;
        Ok(rows.into_iter().map(|(id, submission)| Row { id, submission }).collect())
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        sqlx::query("DELETE FROM jobbers_outbox WHERE id = ANY($1)").bind(ids).execute(&self.0).await?;
        Ok(())
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        sqlx::query("UPDATE jobbers_outbox SET problem = $2 WHERE id = $1")
            .bind(id)
            .bind(problem)
            .execute(&self.0)
            .await?;
        Ok(())
    }
}
