//! Embedded SQLite behind [`Engine`](jobbers_common::engine::Engine): one file, no server; several processes of one machine share it.
//!
//! All writes go through one thread that commits for all callers together (`writer`); reads use a few connections of
//! their own (`readers`). A verb is a function over one transaction ([`kernel::step::Step`]) or one state ([`kernel::view::View`]),
//! with its SQL in files under `sql/`. Waiting callers are notified after the commit (`waiters`), also after another
//! process's commit (`watch`).
//!
//! No verb is decided here, and no row is cached between transactions, because other processes write to the same file.
//!
//! Start reading at `sql/migrations/0001_tasks.sql`, then `writer`, then `cycle`.

use std::{sync::Arc, thread::JoinHandle};

use jobbers_common::{
    engine::{Reclaimed, Result, Tasks},
    limits::MAX_BATCH,
    name::TaskId,
    task::Task,
};
use jobbers_sqlite_file::Quota;

pub use self::store::steps::StepCounter;
use self::{
    kernel::view::View,
    store::address::Address,
    threads::{readers::Readers, result_slot::ResultSlot, shared::Shared, writer::Writer},
};

mod audit;
mod audit_log;
mod backup;
mod boards;
mod engine;
mod follow;
mod kernel;
mod open;
mod read;
mod schedules;
mod sql;
mod store;
mod threads;
mod verbs;
mod workflows;

/// A store in one file.
#[derive(Debug)]
pub struct SqliteEngine {
    address: Address,
    quota: Quota,
    shared: Arc<Shared>,
    writer: Writer,
    /// `None` for a store in memory, which only its writer's connection sees.
    readers: Option<Readers>,
    /// The watching thread; `None` for a store in memory.
    lookout: Option<JoinHandle<()>>,
    /// The thread that reads the pages of a store that was there; `None` for another.
    page_check: Option<JoinHandle<()>>,
}

/// A verb that only reads, and leaves its result elsewhere.
type ReadVerb = Box<dyn FnMut(&View<'_>) -> Result<()> + Send>;

impl SqliteEngine {
    /// Runs a verb that only reads.
    async fn read<T, F>(&self, mut verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&View<'_>) -> Result<T> + Send + 'static,
    {
        let result = ResultSlot::default();
        let filled = result.clone();
        let verb = move |view: &View<'_>| {
            filled.put(verb(view)?);
            Ok(())
        };
        self.run_reading(Box::new(verb)).await?;
        result.take()
    }

    async fn run_reading(&self, mut verb: ReadVerb) -> Result<()> {
        match &self.readers {
            Some(readers) => readers.run(move |view| verb(view)).await,
            None => self.writer.run(1, move |step| verb(&step.view()?)).await,
        }
    }

    /// Takes some expired leases back, in one transaction.
    async fn reclaim_piece(&self, limit: u64) -> Result<Reclaimed> {
        let limit = usize::try_from(limit).unwrap_or(MAX_BATCH);
        self.writer.run(limit, move |step| verbs::maintain::reclaim_all(step, limit)).await
    }

    /// Reads a task each time its end is signalled, until it is over or gone.
    async fn until_finished(&self, id: &TaskId) -> Result<Option<Task>> {
        let awaited = self.shared.waiters.await_task(id);
        loop {
            let over = awaited.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let task = self.get(id).await?;
            if task.as_ref().is_none_or(|task| task.status.is_finished()) {
                return Ok(task);
            }
            let _blocked = self.shared.waiters.enter();
            self.shared.watch.wake();
            over.await;
        }
    }
}

/// Waits until all connections are closed, so that a process that ends leaves everything in the store's own file. The
/// writer is the last: it writes the log back.
impl Drop for SqliteEngine {
    fn drop(&mut self) {
        self.shared.watch.stop();
        for thread in [self.lookout.take(), self.page_check.take()].into_iter().flatten() {
            // A panic there was logged, and the other connections are still to be closed.
            thread.join().ok();
        }
        drop(self.readers.take());
        self.writer.stop();
    }
}
