//! What a verb uses while it runs inside the writer's transaction.

use std::sync::Arc;

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::{Move, Status, is_legal},
    name::{QueueName, TaskId},
    task::tombstone::TombstonePolicy,
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    catalog::Catalog,
    chore::Chore,
    ledger::{Ledger, Notification},
    row,
    view::View,
};
use crate::sqlite::{
    sql,
    store::{
        error::OrStore,
        heartbeats::Heartbeats,
        statements::{HeldStatement, Statements},
    },
    threads::waiters::Waiters,
};

/// What follows the moves of tasks. The kernel calls it, and knows none of the features behind it (`follow.rs`).
pub(crate) trait Hooks {
    /// A new task is stored, with all its side records.
    fn entered(&self, step: &mut Step<'_>, key: i64, queue: i64, to: Status) -> Result<()>;
    /// A task has moved within its queue.
    fn moved(&self, step: &mut Step<'_>, key: i64, queue: i64, moved: MovedTask) -> Result<()>;
    /// A task leaves its queue; its side records are still there.
    fn left(&self, step: &mut Step<'_>, key: i64, queue: i64, from: Status) -> Result<()>;
    /// Tasks are about to be deleted, some of which have predecessors: their keys as a JSON array.
    fn removing(&self, step: &mut Step<'_>, keys: &str) -> Result<()>;
    /// A task is about to end, or to go back to its queue.
    fn leaving(&self, step: &mut Step<'_>, key: i64, queue: i64, from: Status) -> Result<()>;
    /// A task has ended.
    fn ended(&self, step: &mut Step<'_>, end: &TaskEnd<'_>) -> Result<()>;
    /// A verb has done its work.
    fn done(&self, step: &mut Step<'_>) -> Result<()>;
    /// The counts gathered so far are written.
    fn written(&self, step: &mut Step<'_>) -> Result<()>;
}

/// A move of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MovedTask {
    pub(crate) from: Status,
    pub(crate) event: Move,
    pub(crate) to: Status,
}

/// The end of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskEnd<'a> {
    pub(crate) id: &'a TaskId,
    pub(crate) key: i64,
    pub(crate) from: Status,
    pub(crate) to: Status,
    /// The revision of the end.
    pub(crate) revision: i64,
    /// Whether the task has dependencies, or others depend on it.
    pub(crate) is_linked: bool,
    /// Whether a dead letter is kept of it.
    pub(crate) dead_letter: bool,
}

/// The turn of one verb.
pub(crate) struct Step<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) statements: &'a Statements<'a>,
    pub(crate) now: Timestamp,
    pub(crate) waiters: &'a Waiters,
    pub(crate) heartbeats: &'a Heartbeats,
    pub(crate) tombstones: TombstonePolicy,
    pub(crate) hooks: &'a dyn Hooks,
    pub(crate) ledger: Ledger,
}

impl<'a> Step<'a> {
    /// A statement, ready to run.
    pub(crate) fn prepare(&self, sql: &'static str) -> Result<HeldStatement<'a>> {
        self.statements.prepare(sql)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.ledger.catalog
    }

    pub(crate) fn now_micros(&self) -> i64 {
        self.now.as_micros()
    }

    /// A revision that no change had before.
    pub(crate) fn next_revision(&mut self) -> i64 {
        self.ledger.revision += 1;
        self.ledger.revision
    }

    /// Counts a new task, with all its side records.
    pub(crate) fn note_entered(&mut self, key: i64, queue: i64, to: Status) -> Result<()> {
        self.arrive(queue, to);
        self.hooks.entered(self, key, queue, to)
    }

    fn arrive(&mut self, queue: i64, to: Status) {
        self.count(queue, to, 1);
        if to == Status::Submitted {
            self.ledger.notifications.push(Notification::Ready(queue));
        }
    }

    /// Counts a task that moved. Every change of a status passes here.
    pub(crate) fn note_moved(&mut self, key: i64, queue: i64, from: Status, event: Move, to: Status) -> Result<()> {
        if !is_legal(from, event, to) {
            return Err(Error::Defect(format!("a task was to be moved from {from} by {event:?} to {to}")));
        }
        self.count(queue, from, -1);
        self.arrive(queue, to);
        if from == Status::Started && self.catalog().limited.get(&queue).is_some_and(|it| it.limits_running()) {
            self.ledger.notifications.push(Notification::Freed(queue));
        }
        self.hooks.moved(self, key, queue, MovedTask { from, event, to })
    }

    /// How many tasks of a queue have one of these statuses.
    pub(crate) fn tally(&self, queue: i64, statuses: &[Status]) -> Result<i64> {
        let mut stored = self.prepare(sql::QUEUE_TALLY)?;
        let mut sum = 0;
        for status in statuses {
            let written: Option<i64> =
                stored.query_row((queue, status.code()), |row| row.get(0)).optional().or_store()?;
            sum += written.unwrap_or_default() + self.ledger.tallies.get(&(queue, status.code())).unwrap_or(&0);
        }
        Ok(sum)
    }

    /// Counts a task that left this queue.
    pub(crate) fn note_left(&mut self, key: i64, queue: i64, from: Status) -> Result<()> {
        self.count(queue, from, -1);
        *self.ledger.removed.entry(queue).or_default() += 1;
        self.hooks.left(self, key, queue, from)
    }

    /// Adds to the bytes that wait in a queue.
    pub(crate) fn count_bytes(&mut self, queue: i64, change: i64) {
        if change != 0 {
            *self.ledger.bytes.entry(queue).or_default() += change;
        }
    }

    /// The part of it that is not written yet.
    pub(crate) fn bytes_to_write(&self, queue: i64) -> i64 {
        self.ledger.bytes.get(&queue).copied().unwrap_or(0)
    }

    /// Notes that a chore has work in a queue from a time on.
    pub(crate) fn note_due(&mut self, chore: Chore, queue: i64, at: i64) {
        let earliest = self.ledger.due.entry((chore, queue)).or_insert(at);
        *earliest = at.min(*earliest);
    }

    /// Notifies, after the commit, that a task is over.
    pub(crate) fn note_finished(&mut self, id: TaskId) {
        self.ledger.notifications.push(Notification::Finished(id));
    }

    fn count(&mut self, queue: i64, status: Status, change: i64) {
        *self.ledger.tallies.entry((queue, status.code())).or_default() += change;
    }

    /// Writes the counts gathered so far.
    pub(crate) fn write_tallies(&mut self) -> Result<()> {
        let tallies = std::mem::take(&mut self.ledger.tallies);
        let mut ended_in = None;
        for ((queue, status), change) in tallies.into_iter().filter(|(_, change)| *change != 0) {
            if self.prepare(sql::UPDATE_TALLY)?.execute((queue, status, change)).or_store()? == 0 {
                self.prepare(sql::INSERT_TALLY)?.execute((queue, status, change)).or_store()?;
            }
            // The statuses of a queue come together, those of finished tasks last.
            if ended_in.is_some_and(|known| known != queue) {
                self.note_ends(ended_in.take())?;
            }
            if change > 0 && row::status(status)?.is_finished() {
                ended_in = Some(queue);
            }
        }
        self.note_ends(ended_in)?;
        for ((chore, queue), at) in std::mem::take(&mut self.ledger.due) {
            self.prepare(sql::NOTE_DUE)?.execute((chore.code(), queue, at)).or_store()?;
        }
        for (queue, removed) in std::mem::take(&mut self.ledger.removed) {
            self.prepare(sql::COUNT_REMOVED)?.execute((queue, removed)).or_store()?;
        }
        for (queue, change) in std::mem::take(&mut self.ledger.bytes).into_iter().filter(|(_, change)| *change != 0) {
            self.prepare(sql::COUNT_BYTES)?.execute((queue, change)).or_store()?;
        }
        self.hooks.written(self)
    }

    /// Tasks of this queue ended, and are counted: notes when its retention has something to delete.
    fn note_ends(&mut self, queue: Option<i64>) -> Result<()> {
        let Some(queue) = queue else { return Ok(()) };
        let retention = self.catalog().retention(queue);
        let held: i64 = self.prepare(sql::COUNT_FINISHED)?.query_row([queue], |row| row.get(0)).or_store()?;
        let is_over = held.unsigned_abs() > retention.count;
        let at = if is_over { 0 } else { self.now.after(retention.age).as_micros() };
        self.note_due(Chore::Prune, queue, at);
        Ok(())
    }

    /// The view that readers get, from within this transaction.
    pub(crate) fn view(&mut self) -> Result<View<'a>> {
        self.write_tallies()?;
        let catalog = Arc::clone(&self.ledger.catalog);
        Ok(View { conn: self.conn, catalog, now: self.now, heartbeats: self.heartbeats })
    }

    /// The keys of those queues that exist, each once.
    pub(crate) fn known<'q>(&self, queues: impl IntoIterator<Item = &'q QueueName>) -> Result<Vec<i64>> {
        let keys = queues.into_iter().map(|queue| self.find_queue(queue)).collect::<Result<Vec<_>>>()?;
        let mut keys: Vec<i64> = keys.into_iter().flatten().collect();
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// A queue's key.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    pub(crate) fn queue(&self, name: &QueueName) -> Result<i64> {
        self.catalog().key(self.conn, name)
    }

    /// The same; `None` for a queue that does not exist.
    pub(crate) fn find_queue(&self, name: &QueueName) -> Result<Option<i64>> {
        self.catalog().find_key(self.conn, name)
    }

    /// The name of the queue a task is in.
    pub(crate) fn queue_name(&self, key: i64) -> Result<QueueName> {
        self.catalog().name(self.conn, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, sqlite::SqliteEngine};

    #[tokio::test]
    async fn a_move_that_is_not_in_the_table_is_refused() {
        let engine = SqliteEngine::open("sqlite::memory:", OpenOptions::default()).await.unwrap();
        let moved = |from, event, to| engine.writer.run(1, move |step| step.note_moved(1, 1, from, event, to));
        assert_eq!(moved(Status::Submitted, Move::Claim, Status::Started).await, Ok(()));
        for (from, event, to) in [
            (Status::Completed, Move::Retry, Status::Submitted),
            (Status::Submitted, Move::Claim, Status::Completed),
            (Status::Completed, Move::Resubmit, Status::Submitted),
        ] {
            assert!(matches!(moved(from, event, to).await, Err(Error::Defect(_))), "{from} {event:?} {to}");
        }
    }
}
