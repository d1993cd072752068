//! The outbox with diesel, as docs/guides/transactions.md shows it.

use diesel::{
    Connection, ExpressionMethods, PgConnection, QueryDsl, RunQueryDsl,
    r2d2::{ConnectionManager, Pool},
};
use jobbers_worker::{
    outbox::{OutboxError, OutboxTable, Row},
    prelude::*,
};

use crate::tasks::charge;

diesel::table! {
    orders (id) {
        id -> BigInt,
        cents -> BigInt,
    }
}

diesel::table! {
    jobbers_outbox (id) {
        place -> BigInt,
        id -> Text,
        submission -> Text,
        problem -> Nullable<Text>,
    }
}

/// The shop's database.
#[derive(Clone)]
pub struct DieselOrders(Pool<ConnectionManager<PgConnection>>);

impl DieselOrders {
    /// The database at this address.
    pub fn connect(url: &str) -> Result<Self, OutboxError> {
        Ok(Self(Pool::builder().max_size(4).build(ConnectionManager::new(url))?))
    }

    /// Stores an order and the task that follows from it, both or neither.
    pub async fn take_order(&self, client: &Client, order: i64, cents: i64) -> Result<(), OutboxError> {
        let row = charge.with(order.try_into()?).idempotency_key(order.to_string()).to_row(client)?;
        self.run(move |connection| {
            connection.transaction(|connection| {
                diesel::insert_into(orders::table)
                    .values((orders::id.eq(order), orders::cents.eq(cents)))
                    .execute(connection)?;
                diesel::insert_into(jobbers_outbox::table)
                    .values((jobbers_outbox::id.eq(row.id), jobbers_outbox::submission.eq(row.submission)))
                    .execute(connection)
            })
        })
        .await?;
        Ok(())
    }

    /// Runs statements on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        statements: impl FnOnce(&mut PgConnection) -> diesel::QueryResult<T> + Send + 'static,
    ) -> Result<T, OutboxError> {
        let pool = self.0.clone();
        tokio::task::spawn_blocking(move || Ok(statements(&mut *pool.get()?)?)).await?
    }
}

impl OutboxTable for DieselOrders {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        use self::jobbers_outbox::dsl::{id, jobbers_outbox, place, problem, submission};
        let limit = i64::try_from(limit)?;
        let oldest = jobbers_outbox.filter(problem.is_null()).order(place).limit(limit).select((id, submission));
        let rows: Vec<(String, String)> = self.run(move |connection| oldest.load(connection)).await?;
        Ok(rows.into_iter().map(|(row, text)| Row { id: row, submission: text }).collect())
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        use self::jobbers_outbox::dsl::{id, jobbers_outbox};
        let ids = ids.to_vec();
        self.run(move |connection| diesel::delete(jobbers_outbox.filter(id.eq_any(ids))).execute(connection)).await?;
        Ok(())
    }

    async fn refuse(&self, refused: &str, why: &str) -> Result<(), OutboxError> {
        use self::jobbers_outbox::dsl::{jobbers_outbox, problem};
        let (row, why) = (refused.to_owned(), why.to_owned());
        self.run(move |connection| diesel::update(jobbers_outbox.find(row)).set(problem.eq(why)).execute(connection))
            .await?;
        Ok(())
    }
}
