//! Operations: letters that are sent again together, each once.
//!
//! An operation takes its letters when it begins, so no two operations share a letter. It notes its progress item by
//! item; a process that finds it unfinished continues with the items that are left. The store prevents that a letter is
//! sent twice, by the receipt it keeps until the operation is finished.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{DeadKey, DeadTask},
    name::TaskId,
    task::dead_letter::{LetterState, OperationState},
    time::Timestamp,
};
use rusqlite::{OptionalExtension, Row, Transaction};
use ulid::Ulid;

use crate::{
    Archive,
    error::{Error, Result, corrupt},
    filter::Filter,
    letters::{name, read_copy, word},
    sql,
};

mod item;
mod listing;
mod take;

pub use self::{
    item::{Item, ItemOutcome, MAX_ITEMS},
    listing::OperationPage,
};

/// Which letters an operation takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The latest letters of these tasks.
    Tasks(Vec<TaskId>),
    /// Those that match and are dead, the oldest first, up to this number.
    Matching(Box<Filter>, usize),
}

/// An operation to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperation {
    /// The client's key, so that the client can safely repeat the request.
    pub key: Option<String>,
    /// A digest of that request. It distinguishes another request under the same key.
    pub digest: u64,
    /// How the letters are to be sent, in the caller's format; kept for the process that continues the operation.
    pub request: String,
    /// The letters.
    pub selection: Selection,
}

/// An operation and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: String,
    /// See [`NewOperation::request`].
    pub request: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was finished.
    pub finished_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// The number of tasks not yet sent.
    pub pending: u64,
    /// The number of tasks per result.
    pub outcomes: BTreeMap<ItemOutcome, u64>,
}

impl Operation {
    /// The number of its tasks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.pending + self.outcomes.values().sum::<u64>()
    }

    /// Its state.
    #[must_use]
    pub const fn state(&self) -> OperationState {
        match (self.finished_at, self.cancelled_at) {
            (None, None) => OperationState::Running,
            (None, Some(_)) => OperationState::Cancelling,
            (Some(_), Some(_)) => OperationState::Cancelled,
            (Some(_), None) => OperationState::Done,
        }
    }
}

/// An unfinished operation, as its executor sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningOperation {
    /// Its id.
    pub id: String,
    /// See [`NewOperation::request`].
    pub request: String,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
}

impl Archive {
    /// Begins an operation. If the client's key began one before, returns that one.
    ///
    /// # Errors
    /// [`Error::KeyReused`]; those of the file. Safe to repeat with a key.
    pub fn begin(&self, new: &NewOperation, now: Timestamp) -> Result<Operation> {
        self.write(|transaction| {
            if let Some(key) = &new.key {
                let known: Option<(String, i64)> = transaction
                    .prepare_cached(sql::FIND_BY_KEY)?
                    .query_row([key], |row| Ok((row.get("id")?, row.get("digest")?)))
                    .optional()?;
                match known {
                    Some((id, digest)) if digest == new.digest.cast_signed() => return required(transaction, &id),
                    Some(_) => return Err(Error::KeyReused),
                    None => {}
                }
            }
            let id = next_id(transaction)?;
            let (digest, now_micros) = (new.digest.cast_signed(), now.as_micros());
            transaction.prepare_cached(sql::INSERT_OPERATION)?.execute((
                &id,
                &new.key,
                digest,
                &new.request,
                now_micros,
            ))?;
            match &new.selection {
                Selection::Tasks(tasks) => take::tasks(transaction, &id, tasks)?,
                Selection::Matching(filter, limit) => take::matching(transaction, &id, filter, *limit)?,
            }
            required(transaction, &id)
        })
    }

    /// One operation.
    ///
    /// # Errors
    /// Those of the file.
    pub fn operation(&self, id: &str) -> Result<Option<Operation>> {
        self.read(|transaction| find(transaction, id))
    }

    /// Operations that are not finished, the oldest first.
    ///
    /// # Errors
    /// Those of the file.
    pub fn running_operations(&self) -> Result<Vec<RunningOperation>> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::RUNNING_OPERATIONS)?;
            let mut rows = statement.query([])?;
            let mut running = Vec::new();
            while let Some(row) = rows.next()? {
                running.push(RunningOperation {
                    id: row.get("id")?,
                    request: row.get("request")?,
                    is_cancelled: row.get("is_cancelled")?,
                });
            }
            Ok(running)
        })
    }

    /// Notes that an operation is to stop; its executor then calls [`Archive::free`]. Returns its state; a finished
    /// operation stays finished.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn cancel(&self, operation: &str, now: Timestamp) -> Result<Option<Operation>> {
        self.write(|transaction| {
            transaction.prepare_cached(sql::CANCEL_OPERATION)?.execute((operation, now.as_micros()))?;
            find(transaction, operation)
        })
    }

    /// Whether an operation was cancelled.
    ///
    /// # Errors
    /// Those of the file.
    pub fn is_cancelled(&self, operation: &str) -> Result<bool> {
        self.read(|transaction| {
            Ok(transaction.prepare_cached(sql::IS_CANCELLED)?.query_row([operation], |row| row.get(0))?)
        })
    }

    /// Gives back the letters that an operation has not sent: they are dead as before. Call it only when no letter of
    /// the operation is on its way.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn free(&self, operation: &str) -> Result<()> {
        self.write(|transaction| {
            transaction.prepare_cached(sql::FREE_LETTERS)?.execute([operation])?;
            transaction.prepare_cached(sql::CANCEL_ITEMS)?.execute([operation])?;
            Ok(())
        })
    }

    /// The first tasks of an operation, in its order.
    ///
    /// # Errors
    /// Those of the file.
    pub fn items(&self, operation: &str, limit: usize) -> Result<Vec<Item>> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::ITEMS)?;
            let mut rows = statement.query((operation, sql::count(limit)))?;
            let mut items = Vec::new();
            while let Some(row) = rows.next()? {
                let outcome: Option<String> = row.get("outcome")?;
                items.push(Item {
                    task: name(row, "task", TaskId::new)?,
                    outcome: outcome.map(|outcome| word(&outcome)).transpose()?,
                    detail: row.get("detail")?,
                });
            }
            Ok(items)
        })
    }

    /// The next items of an operation to send: place and copy; no task twice.
    ///
    /// # Errors
    /// Those of the file.
    pub fn pending(&self, operation: &str, limit: usize) -> Result<Vec<(i64, DeadTask)>> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::PENDING_ITEMS)?;
            let mut rows = statement.query((operation, sql::count(limit)))?;
            let mut pending: Vec<(i64, DeadTask)> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            while let Some(row) = rows.next()? {
                let copy = read_copy(row)?;
                if !seen.insert(copy.task.id.clone()) {
                    break;
                }
                pending.push((row.get("place")?, copy));
            }
            Ok(pending)
        })
    }

    /// Notes the results of items, by their places.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn settle(
        &self,
        operation: &str,
        results: &[(i64, ItemOutcome, Option<String>)],
        now: Timestamp,
    ) -> Result<()> {
        self.write(|transaction| {
            for (place, outcome, detail) in results {
                let letter: Option<i64> = transaction
                    .prepare_cached(sql::SETTLE_ITEM)?
                    .query_row((operation, place, outcome.as_str(), detail), |row| row.get(0))
                    .optional()?
                    .flatten();
                let state = outcome.state();
                let sent_at = (state == LetterState::Resubmitted).then_some(now.as_micros());
                transaction.prepare_cached(sql::SETTLE_LETTER)?.execute((letter, state.as_str(), sent_at))?;
            }
            Ok(())
        })
    }

    /// The letters an operation has sent again, from a place on, and the place after them; includes letters deleted
    /// since.
    ///
    /// # Errors
    /// Those of the file.
    pub fn sent(&self, operation: &str, from: i64, limit: usize) -> Result<(Vec<DeadKey>, i64)> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::SENT_LETTERS)?;
            let mut rows = statement.query((operation, from, sql::count(limit)))?;
            let (mut keys, mut next) = (Vec::new(), from);
            while let Some(row) = rows.next()? {
                next = row.get::<_, i64>("place")? + 1;
                let revision = row.get::<_, i64>("revision")?.unsigned_abs();
                keys.push(DeadKey { id: name(row, "task", TaskId::new)?, revision });
            }
            Ok((keys, next))
        })
    }

    /// Marks an operation as finished.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn finish(&self, operation: &str, now: Timestamp) -> Result<()> {
        self.write(|transaction| {
            transaction.prepare_cached(sql::FINISH_OPERATION)?.execute((operation, now.as_micros()))?;
            Ok(())
        })
    }

    /// Forgets operations that were finished before a point in time. Returns how many.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn prune_operations(&self, finished_before: Timestamp) -> Result<u64> {
        self.write(|transaction| {
            let forgotten =
                transaction.prepare_cached(sql::PRUNE_OPERATIONS)?.execute([finished_before.as_micros()])?;
            Ok(forgotten as u64)
        })
    }
}

/// An id greater than all others, even if many operations begin at once or the clock jumps.
fn next_id(transaction: &Transaction<'_>) -> Result<String> {
    let latest: Option<String> = transaction.prepare_cached(sql::LATEST_OPERATION)?.query_row([], |row| row.get(0))?;
    let latest = latest.map(|id| Ulid::from_string(&id)).transpose().map_err(|error| corrupt("an operation", error))?;
    let new = Ulid::generate();
    let id = match latest {
        Some(latest) if latest >= new => latest.increment().map_err(|error| corrupt("an operation", error))?,
        _ => new,
    };
    Ok(id.to_string())
}

fn required(transaction: &Transaction<'_>, id: &str) -> Result<Operation> {
    find(transaction, id)?.ok_or_else(|| corrupt("an operation", id))
}

fn find(transaction: &Transaction<'_>, id: &str) -> Result<Option<Operation>> {
    let mut statement = transaction.prepare_cached(sql::FIND_OPERATION)?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(|row| read_operation(transaction, row)).transpose()
}

fn read_operation(transaction: &Transaction<'_>, row: &Row<'_>) -> Result<Operation> {
    let id: String = row.get("id")?;
    let mut statement = transaction.prepare_cached(sql::OUTCOMES)?;
    let mut rows = statement.query([&id])?;
    let (mut pending, mut outcomes) = (0, BTreeMap::new());
    while let Some(counted) = rows.next()? {
        let count = counted.get::<_, i64>("items")?.unsigned_abs();
        match counted.get::<_, Option<String>>("outcome")? {
            None => pending = count,
            Some(outcome) => drop(outcomes.insert(word(&outcome)?, count)),
        }
    }
    Ok(Operation {
        id,
        request: row.get("request")?,
        created_at: Timestamp::from_micros(row.get("created_at")?),
        finished_at: row.get::<_, Option<i64>>("finished_at")?.map(Timestamp::from_micros),
        cancelled_at: row.get::<_, Option<i64>>("cancelled_at")?.map(Timestamp::from_micros),
        pending,
        outcomes,
    })
}
