//! The one thread that writes, and its group commit.
//!
//! Callers send it their verbs over a bounded channel. It takes the waiting verbs, runs all of them in one transaction,
//! commits once, and then answers. A failing verb undoes only itself: all of them then run again, each in a savepoint of its own.
//! No caller gets an answer before the commit; if the commit fails, no verb has happened. The same holds if the file is no longer in
//! its place (`jobbers_sqlite_file::OpenFiles`).
//!
//! A panic is a defect, but ends neither the thread nor another verb. The verb that panicked is undone and answered
//! with [`Error::Defect`]. After a panic outside any verb, the whole transaction is undone, and all its callers get a
//! transient error.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use jobbers_common::engine::{Error, Result};
use jobbers_sqlite_file::Quota;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use self::job::Job;
use super::{result_slot::ResultSlot, shared::Shared};
use crate::sqlite::{kernel::step::Step, store::log_length::LogFile};

mod committer;
mod job;
mod notify;

/// How many verbs may wait in the channel; further callers wait outside.
const WAITING: usize = 1_024;

struct VerbCall<F> {
    weight: usize,
    growth: Option<u64>,
    verb: F,
    caller: oneshot::Sender<Result<()>>,
}

impl<F> Job for VerbCall<F>
where
    F: FnMut(&mut Step<'_>) -> Result<()> + Send,
{
    fn weight(&self) -> usize {
        self.weight.max(1)
    }

    fn growth(&self) -> Option<u64> {
        self.growth
    }

    fn run(&mut self, step: &mut Step<'_>) -> Result<()> {
        (self.verb)(step)
    }

    fn answer(self: Box<Self>, fate: Result<()>) {
        // A caller that has gone away needs no answer; its verb has still happened.
        self.caller.send(fate).ok();
    }
}

fn gone() -> Error {
    Error::unavailable("the store's writer has stopped")
}

/// The handle on the writer's thread. The thread ends when this is dropped and all waiting verbs are done.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(conn: Connection, shared: Arc<Shared>, quota: Quota, log: LogFile) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(WAITING);
        let thread = thread::Builder::new()
            .name("jobbers-sqlite-writer".to_owned())
            .spawn(move || committer::serve(&conn, &shared, quota, log, waiting))
            .map_err(|error| Error::unavailable(format!("the store's writer can't be started: {error}")))?;
        Ok(Self { jobs, thread: Some(thread) })
    }

    /// Takes no more verbs, and waits until the waiting ones are done and the connection is closed.
    pub(crate) fn stop(&mut self) {
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.jobs, closed));
        if let Some(thread) = self.thread.take() {
            // A panic there was logged.
            thread.join().ok();
        }
    }

    /// Runs a verb that frees or moves records; it works even when the store's quota is used up.
    pub(crate) async fn run<T, F>(&self, weight: usize, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    {
        self.send(weight, None, verb).await
    }

    /// Runs a verb that adds about `growth` bytes.
    pub(crate) async fn grow<T, F>(&self, weight: usize, growth: u64, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    {
        self.send(weight, Some(growth), verb).await
    }

    async fn send<T, F>(&self, weight: usize, growth: Option<u64>, mut verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let result = ResultSlot::default();
        let filled = result.clone();
        let verb = move |step: &mut Step<'_>| {
            filled.put(verb(step)?);
            Ok(())
        };
        self.hand_over(Box::new(VerbCall { weight, growth, verb, caller }), answer).await?;
        result.take()
    }

    /// Waits until the writer has answered.
    async fn hand_over(&self, job: Box<dyn Job>, answer: oneshot::Receiver<Result<()>>) -> Result<()> {
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Whether the thread is alive.
    pub(crate) fn is_running(&self) -> bool {
        !self.jobs.is_closed()
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{
        OpenOptions,
        sqlite::{SqliteEngine, store::error::OrStore},
    };
    use jobbers_common::engine::Upkeep;

    fn put(name: &'static str) -> impl FnMut(&mut Step<'_>) -> Result<()> {
        move |step| {
            step.conn.execute("INSERT INTO worker VALUES (?1, '', 1, 1, 1)", [name]).or_store()?;
            Ok(())
        }
    }

    async fn is_there(engine: &SqliteEngine, name: &'static str) -> bool {
        let count = "SELECT count(*) FROM worker WHERE id = ?1";
        let count =
            move |step: &mut Step<'_>| step.conn.query_row(count, [name], |row| row.get::<_, i64>(0)).or_store();
        engine.writer.run(1, count).await == Ok(1)
    }

    fn panics(step: &mut Step<'_>) -> Result<()> {
        put("half done")(step)?;
        panic!("a verb's mistake")
    }

    #[tokio::test]
    async fn a_verb_that_panics_is_undone_and_told_and_the_writer_goes_on() {
        let engine = SqliteEngine::open("sqlite::memory:", OpenOptions::default()).await.unwrap();
        let alone = engine.writer.run(1, panics).await;
        assert_eq!(alone, Err(Error::Defect("a verb's mistake".to_owned())));
        // Holds the writer until the three wait for it, so that they share a transaction.
        let (open_gate, gate) = std::sync::mpsc::channel::<()>();
        let hold = move |_: &mut Step<'_>| Ok(gate.recv().err());
        let (_, before, panicked, after, ()) = tokio::join!(
            engine.writer.run(1, hold),
            engine.writer.run(1, put("before")),
            engine.writer.run(1, panics),
            engine.writer.run(1, put("after")),
            async { drop(open_gate) },
        );
        assert_eq!((before, after), (Ok(()), Ok(())));
        assert!(matches!(panicked, Err(Error::Defect(_))), "{panicked:?}");
        assert!(is_there(&engine, "before").await && is_there(&engine, "after").await);
        assert!(!is_there(&engine, "half done").await);
        assert!(engine.health().await.is_ok());
    }

    /// Panics outside any verb.
    struct Faulty;

    impl Job for Faulty {
        fn weight(&self) -> usize {
            1
        }

        fn growth(&self) -> Option<u64> {
            panic!("a defect beside the verbs")
        }

        fn run(&mut self, _: &mut Step<'_>) -> Result<()> {
            Ok(())
        }

        fn answer(self: Box<Self>, _: Result<()>) {}
    }

    #[tokio::test]
    async fn a_panic_outside_the_verbs_undoes_the_transaction_and_the_writer_goes_on() {
        let engine = SqliteEngine::open("sqlite::memory:", OpenOptions::default()).await.unwrap();
        let (open_gate, gate) = std::sync::mpsc::channel::<()>();
        let hold = move |_: &mut Step<'_>| Ok(gate.recv().err());
        let (_, neighbour, sent, ()) = tokio::join!(
            engine.writer.run(1, hold),
            engine.writer.run(1, put("undone")),
            engine.writer.jobs.send(Box::new(Faulty)),
            async { drop(open_gate) },
        );
        assert!(sent.is_ok());
        assert!(matches!(neighbour, Err(Error::Unavailable { .. })), "{neighbour:?}");
        assert!(!is_there(&engine, "undone").await);
        assert_eq!(engine.writer.run(1, put("next")).await, Ok(()));
        assert!(is_there(&engine, "next").await);
    }

    #[tokio::test]
    async fn a_verb_that_loses_the_transaction_takes_no_other_with_it() {
        let engine = SqliteEngine::open("sqlite::memory:", OpenOptions::default()).await.unwrap();
        let worker = |name: &str| jobbers_common::name::WorkerId::new(name).unwrap();
        let note = |name: &'static str| {
            move |step: &mut Step<'_>| {
                step.conn.execute("INSERT INTO worker VALUES (?1, '', 1, 1, 1)", [name]).or_store()?;
                Ok(())
            }
        };
        // What SQLite does by itself when the disk is full.
        let lose = |step: &mut Step<'_>| -> Result<()> {
            step.conn.execute_batch("ROLLBACK").or_store()?;
            Err(Error::Full("the disk".to_owned()))
        };
        // Holds the writer until the three wait for it, so that they share a transaction.
        let (open_gate, gate) = std::sync::mpsc::channel::<()>();
        let hold = move |_: &mut Step<'_>| Ok(gate.recv().err());
        let (_, before, lost, after, ()) = tokio::join!(
            engine.writer.run(1, hold),
            engine.writer.run(1, note("before")),
            engine.writer.run(1, lose),
            engine.writer.run(1, note("after")),
            async { drop(open_gate) },
        );
        assert_eq!((before, after), (Ok(()), Ok(())));
        assert!(matches!(lost, Err(Error::Full(_))));
        for name in ["before", "after"] {
            let id = worker(name);
            let is_there = move |step: &mut Step<'_>| {
                let count = "SELECT count(*) FROM worker WHERE id = ?1";
                step.conn.query_row(count, [id.as_str()], |row| row.get::<_, i64>(0)).or_store()
            };
            assert_eq!(engine.writer.run(1, is_there).await, Ok(1));
        }
    }
}
