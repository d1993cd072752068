//! The outbox: submissions that a program stores in its own database, in the transaction of what they belong to.
//!
//! A program writes a row ([`Submission::to_row`]) beside its own rows, and commits. A [`Relay`] submits the rows of committed
//! transactions and removes them. So a task exists if and only if its transaction was committed, whatever dies in between.
//!
//! The database, its library and its transactions are the program's: it implements [`OutboxTable`], three statements on the table that
//! [`POSTGRES`], [`MYSQL`] or [`SQLITE`] creates. Each row has its task's id, so a row that is sent twice is one task.

use std::{collections::HashSet, future::Future, time::Duration};

use jobbers_api::problem::Code;
use jobbers_common::{
    dependency::Dependency,
    engine::OnConflict,
    name::TaskId,
    policy::CrashPolicy,
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::{Start, unique::Unique},
    time::Timestamp,
    values::text::excerpt,
};
use jobbers_process::shutdown::Shutdown;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::{Client, Submission, SubmitError};

/// Creates the table in Postgres.
pub const POSTGRES: &str = "\
CREATE TABLE jobbers_outbox (
    place bigint GENERATED ALWAYS AS IDENTITY,
    id varchar(255) PRIMARY KEY,
    submission text NOT NULL,
    problem text
);
CREATE INDEX jobbers_outbox_pending ON jobbers_outbox (place) WHERE problem IS NULL;
";
/// Creates the table in MySQL and MariaDB.
pub const MYSQL: &str = "\
CREATE TABLE jobbers_outbox (
    place bigint NOT NULL AUTO_INCREMENT UNIQUE,
    id varchar(255) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    submission longtext NOT NULL,
    problem text
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
";
/// Creates the table in SQLite.
pub const SQLITE: &str = "\
CREATE TABLE jobbers_outbox (
    place integer PRIMARY KEY AUTOINCREMENT,
    id text NOT NULL UNIQUE,
    submission text NOT NULL,
    problem text
);
CREATE INDEX jobbers_outbox_pending ON jobbers_outbox (place) WHERE problem IS NULL;
";

/// How many rows go into the store in one step.
const BATCH: usize = 500;
/// The pause of a relay that found no rows.
const EVERY: Duration = Duration::from_millis(500);
/// The pauses after errors double from a second up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Refusals that are about a row itself. For any other, such as a wrong access key, the row waits.
const ABOUT_ROWS: [Code; 11] = [
    Code::InvalidRequest,
    Code::UnknownQueue,
    Code::QueueForbidden,
    Code::TaskExists,
    Code::TaskStarted,
    Code::Duplicate,
    Code::UnknownPredecessor,
    Code::SchemaMismatch,
    Code::NoWorker,
    Code::PayloadTooLarge,
    Code::JsonTooDeep,
];

fn is_about_rows(error: &SubmitError) -> bool {
    !error.is_transient() && ABOUT_ROWS.iter().any(|code| code.as_str() == error.code())
}

fn problem_of(error: &SubmitError) -> String {
    format!("{error} ({})", error.code())
}

/// An error of the program's database.
pub type OutboxError = Box<dyn std::error::Error + Send + Sync>;

/// A submission as a row of the table.
///
/// ```
/// use jobbers_worker::{SubmitError, outbox::Row, prelude::*};
///
/// #[task]
/// async fn charge(cents: u64) -> Result<u64, TaskError> { Ok(cents) }
///
/// /// What a transaction stores beside the order.
/// fn row_of(order: &str, cents: u64, client: &Client) -> Result<Row, SubmitError> {
///     charge.with(cents).idempotency_key(order).to_row(client)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The task's id, the table's unique key: at most 255 bytes.
    pub id: String,
    /// The submission, as JSON.
    pub submission: String,
}

/// The table, in the program's database.
///
/// Several relays may work on one table: each row is submitted under its id, so they are one task.
///
/// ```
/// use std::sync::Mutex;
///
/// use jobbers_worker::outbox::{OutboxError, OutboxTable, Row};
/// use rusqlite::Connection;
///
/// /// The program's SQLite, in which [`SQLITE`](jobbers_worker::outbox::SQLITE) created the table.
/// struct Orders(Mutex<Connection>);
///
/// impl OutboxTable for Orders {
///     async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
///         let database = self.0.lock().unwrap();
///         let mut oldest = database.prepare_cached(
///             "SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER BY place LIMIT ?1",
///         )?;
///         let rows = oldest.query_map([i64::try_from(limit)?], |row| {
///             Ok(Row { id: row.get("id")?, submission: row.get("submission")? })
///         })?;
///         Ok(rows.collect::<Result<_, _>>()?)
///     }
///
///     async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
///         let mut database = self.0.lock().unwrap();
///         let transaction = database.transaction()?;
///         for id in ids {
///             transaction.execute("DELETE FROM jobbers_outbox WHERE id = ?1", [id])?;
///         }
///         Ok(transaction.commit()?)
///     }
///
///     async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
///         self.0.lock().unwrap().execute("UPDATE jobbers_outbox SET problem = ?2 WHERE id = ?1", [id, problem])?;
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the table of an outbox",
    label = "not a table",
    note = "implement `OutboxTable` for a type with your database's connection: three statements on the table of `jobbers outbox create`"
)]
pub trait OutboxTable: Send + Sync + 'static {
    /// The oldest rows without a problem, at most `limit`: `SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER
    /// BY place LIMIT …`.
    fn oldest(&self, limit: usize) -> impl Future<Output = Result<Vec<Row>, OutboxError>> + Send;

    /// Removes rows whose tasks are stored: `DELETE FROM jobbers_outbox WHERE id = …`. Ids that are gone are no error.
    fn remove(&self, ids: &[String]) -> impl Future<Output = Result<(), OutboxError>> + Send;

    /// Notes why a row can't be submitted, so that it is not tried again before a person has cleared its problem: `UPDATE
    /// jobbers_outbox SET problem = … WHERE id = …`.
    fn refuse(&self, id: &str, problem: &str) -> impl Future<Output = Result<(), OutboxError>> + Send;
}

/// Moves rows from an [`OutboxTable`] into the store of a client.
///
/// ```no_run
/// use jobbers_worker::{Shutdown, outbox::{OutboxTable, Relay}, prelude::*};
///
/// /// Runs beside the service until that stops.
/// async fn move_rows(orders: impl OutboxTable, shutdown: Shutdown) -> Result<(), Box<dyn std::error::Error>> {
///     let client = Client::http("http://127.0.0.1:8000")?;
///     Relay::new(orders, client).every(Duration::from_millis(200)).run(shutdown).await;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Relay<O> {
    outbox: O,
    client: Client,
    every: Duration,
}

/// What one step of a relay moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Moved {
    /// Rows whose tasks are stored.
    pub stored: usize,
    /// Rows that can't be submitted and have a problem now.
    pub refused: usize,
}

/// Why a step of a relay did not succeed. It is repeated, and no row is lost or submitted twice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// The program's database.
    #[error("the outbox: {0}")]
    Outbox(#[source] OutboxError),
    /// The store or the manager, for now.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// A submission as the table holds it. Fields are only ever added, with a default: a relay reads rows of older programs.
#[derive(Serialize, Deserialize)]
struct StoredSubmission {
    task: TaskTemplate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unique: Option<Box<Unique>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<Dependency>,
    #[serde(default)]
    on_crash: CrashPolicy,
}

impl<R> Submission<R> {
    /// The submission as a row of an outbox, checked and stamped by the layers of `client`, which it does not use otherwise. A
    /// delay counts from now on, by this machine's clock.
    ///
    /// # Errors
    /// As [`Submission::submit`] before anything is sent, and [`SubmitError::Invalid`] for parameters that are not JSON.
    pub fn to_row(self, client: &Client) -> Result<Row, SubmitError> {
        let draft = self.check(client)?;
        let invalid = |problem: String| SubmitError::Invalid(format!("a row of an outbox: {problem}"));
        if !draft.parameters.is_json() {
            return Err(invalid(format!("the parameters are {}, not JSON", draft.parameters.content_type())));
        }
        let parameters: Box<RawValue> =
            serde_json::from_slice(&draft.parameters.bytes).map_err(|error| invalid(error.to_string()))?;
        let start_at = match draft.start {
            Start::Now => None,
            Start::After(delay) => Some(Timestamp::from(std::time::SystemTime::now()).after(delay)),
            Start::At(at) => Some(at),
        };
        let stored = StoredSubmission {
            task: TaskTemplate {
                version: draft.version,
                queue: draft.queue,
                default_queue: draft.default_queue,
                priority: draft.priority,
                concurrency_key: draft.concurrency_key,
                metadata: draft.metadata,
                signals: draft.signals,
                is_spontaneous: draft.is_spontaneous,
                overrides: draft.overrides,
                ..TaskTemplate::new(draft.name, parameters)
            },
            start_at,
            unique: draft.unique,
            depends_on: draft.depends_on,
            on_crash: draft.on_crash,
        };
        let submission = serde_json::to_string(&stored).map_err(|error| invalid(error.to_string()))?;
        Ok(Row { id: draft.id.to_string(), submission })
    }
}

impl Row {
    fn draft(&self) -> Result<TaskDraft, String> {
        let id = TaskId::new(self.id.clone()).map_err(|error| error.to_string())?;
        let read = serde_json::from_str(&self.submission);
        let StoredSubmission { task, start_at, unique, depends_on, on_crash } =
            read.map_err(|error| format!("the submission can't be read: {error}"))?;
        let start = start_at.map_or(Start::Now, Start::At);
        // Its id identifies the row, so the store remembers it for a day after the task was pruned.
        Ok(TaskDraft { id_is_chosen: true, unique, depends_on, on_crash, ..TaskDraft::of_template(&task, id, start) })
    }
}

impl<O: OutboxTable> Relay<O> {
    /// A relay from this table to the store of this client, whose layers it does not use: rows have passed through those.
    pub const fn new(outbox: O, client: Client) -> Self {
        Self { outbox, client, every: EVERY }
    }

    /// How often it looks for rows while it finds none; half a second without this. A row waits for this long at most.
    #[must_use]
    pub const fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Moves rows until `shutdown` requests a stop. After an error it tries again, first after a second and later after up to
    /// fifteen; it logs a warning when that begins and a line when it is over.
    pub async fn run(self, shutdown: Shutdown) {
        shutdown.drain.run_until_cancelled(self.repeat()).await;
    }

    async fn repeat(&self) {
        let mut failures: u32 = 0;
        loop {
            let pause = match self.move_some().await {
                Ok(moved) => {
                    if failures > 0 {
                        tracing::info!("the outbox is moved again");
                    }
                    failures = 0;
                    if moved == Moved::default() { self.every } else { Duration::ZERO }
                }
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(%error, "the outbox can't be moved; it is tried again");
                    }
                    failures += 1;
                    Duration::from_secs(1 << (failures - 1).min(5)).min(LONGEST_PAUSE)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Moves up to 500 of the oldest rows.
    ///
    /// # Errors
    /// [`RelayError`]. What was stored before is not stored again.
    pub async fn move_some(&self) -> Result<Moved, RelayError> {
        let rows = self.outbox.oldest(BATCH).await.map_err(RelayError::Outbox)?;
        let (mut ids, mut drafts, mut refused) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()), 0);
        let mut seen = HashSet::with_capacity(rows.len());
        for row in &rows {
            match row.draft() {
                Ok(draft) if seen.insert(row.id.as_str()) => {
                    ids.push(row.id.clone());
                    drafts.push(draft);
                }
                // A table without its key. The other row of this id counts for both.
                Ok(_) => {}
                Err(problem) => refused += self.refuse(&row.id, &problem).await?,
            }
        }
        if drafts.is_empty() {
            return Ok(Moved { stored: 0, refused });
        }
        let ids = match self.client.submit_drafts(drafts.clone(), OnConflict::Fail).await {
            Ok(_) => ids,
            Err(error) if !is_about_rows(&error) => return Err(error.into()),
            // One of them is refused, and with it all.
            Err(_) => self.send_each(ids, drafts, &mut refused).await?,
        };
        self.outbox.remove(&ids).await.map_err(RelayError::Outbox)?;
        Ok(Moved { stored: ids.len(), refused })
    }

    /// Sends each row alone, and one that waits for a later row again after that. Returns the ids of those that are stored.
    async fn send_each(
        &self,
        ids: Vec<String>,
        drafts: Vec<TaskDraft>,
        refused: &mut usize,
    ) -> Result<Vec<String>, RelayError> {
        let mut stored = Vec::with_capacity(ids.len());
        let mut rows: Vec<_> = ids.into_iter().zip(drafts).collect();
        while !rows.is_empty() {
            let (stored_before, mut early) = (stored.len(), Vec::new());
            for (id, draft) in rows {
                match self.client.submit_drafts(vec![draft.clone()], OnConflict::Fail).await {
                    Ok(_) => stored.push(id),
                    Err(error) if !is_about_rows(&error) => {
                        self.outbox.remove(&stored).await.map_err(RelayError::Outbox)?;
                        return Err(error.into());
                    }
                    Err(error) if error.code() == Code::UnknownPredecessor.as_str() => early.push((id, draft, error)),
                    Err(error) => *refused += self.refuse(&id, &problem_of(&error)).await?,
                }
            }
            if stored.len() == stored_before {
                for (id, _, error) in early {
                    *refused += self.refuse(&id, &problem_of(&error)).await?;
                }
                break;
            }
            rows = early.into_iter().map(|(id, draft, _)| (id, draft)).collect();
        }
        Ok(stored)
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<usize, RelayError> {
        // It may repeat a part of the row. The column has room for it, and Postgres takes no zero byte.
        let problem = &excerpt(problem.replace('\0', "\\0"));
        tracing::error!(id, problem, "a row of the outbox can't be submitted; it stays there with this problem");
        self.outbox.refuse(id, problem).await.map_err(RelayError::Outbox)?;
        Ok(1)
    }
}
