//! The one thread that writes, and its group commit.
//!
//! Callers send it their verbs over a bounded channel. It takes the waiting verbs, runs all of them in one transaction,
//! each in its own savepoint so that a failing verb undoes only itself, commits once, and then answers. No caller gets
//! an answer before the commit; if the commit fails, no verb has happened. The same holds if the file is no longer in
//! its place (`jobbers_sqlite_file::OpenFiles`).
//!
//! A panic is a defect, but ends neither the thread nor another verb. The verb that panicked is undone and answered
//! with [`Error::Defect`]. After a panic outside any verb, the whole transaction is undone, and all its callers get a
//! transient error.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, Result},
    limits::MAX_BATCH,
    panic::words_of,
    time::Timestamp,
};
use jobbers_sqlite_file::{LOG_BYTES, Quota, cut_log};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, warn};

use super::{
    Shared,
    catalog::Catalog,
    commit_notifier::CommitNotifier,
    connection::CUT_WITHIN,
    dependency,
    error::{OrStore, in_words_of_the_store},
    log_length::log_is_whole,
    prune, quota,
    result_slot::ResultSlot,
    sql,
    step::{Ledger, Notification, Step},
    waiters::SetAside,
};

/// How many verbs may wait in the channel; further callers wait outside.
const WAITING: usize = 1_024;
/// How many tasks' worth of verbs share a commit: enough to pay for it, and few enough for short waits.
const GROUP_WEIGHT: usize = 2_000;
/// How many batches of finished tasks are deleted early for one verb: some milliseconds' worth.
const EARLY_PRUNINGS: usize = 4;
/// How often the length of the log is checked, and how soon again after it could not be cut, because trying delays
/// writers.
const LOG_LOOK: Duration = Duration::from_secs(1);
const LOG_LOOK_AGAIN: Duration = Duration::from_secs(30);

/// A verb on its way through the writer.
trait Job: Send {
    /// About how many tasks it touches, at least 1.
    fn weight(&self) -> usize;
    /// How many bytes it adds to the store; `None` for a verb that must work even when the store is full.
    fn growth(&self) -> Option<u64>;
    /// Runs it. May be called again if the transaction was lost for a reason outside the verb.
    fn run(&mut self, step: &mut Step<'_>) -> Result<()>;
    /// Tells the caller that it has happened, or why it was undone.
    fn answer(self: Box<Self>, fate: Result<()>);
}

struct Call<F> {
    weight: usize,
    growth: Option<u64>,
    verb: F,
    caller: oneshot::Sender<Result<()>>,
}

impl<F> Job for Call<F>
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
pub(super) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(conn: Connection, shared: Arc<Shared>, quota: Quota, notifier: CommitNotifier) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(WAITING);
        let look_at_log_at = Instant::now();
        let committer = Committer { conn, shared, quota, notifier, commits: None, log_bytes: None, look_at_log_at };
        let thread = thread::Builder::new()
            .name("jobbers-sqlite-writer".to_owned())
            .spawn(move || committer.run(waiting))
            .map_err(|error| Error::unavailable(format!("the store's writer can't be started: {error}")))?;
        Ok(Self { jobs, thread: Some(thread) })
    }

    /// Takes no more verbs, and waits until the waiting ones are done and the connection is closed.
    pub(super) fn stop(&mut self) {
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.jobs, closed));
        if let Some(thread) = self.thread.take() {
            // A panic there was logged.
            thread.join().ok();
        }
    }

    /// Runs a verb that frees or moves records; it works even when the store's quota is used up.
    pub(super) async fn run<T, F>(&self, weight: usize, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    {
        self.send(weight, None, verb).await
    }

    /// Runs a verb that adds about `growth` bytes.
    pub(super) async fn grow<T, F>(&self, weight: usize, growth: u64, verb: F) -> Result<T>
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
        self.hand_over(Box::new(Call { weight, growth, verb, caller }), answer).await?;
        result.take()
    }

    /// Waits until the writer has answered.
    async fn hand_over(&self, job: Box<dyn Job>, answer: oneshot::Receiver<Result<()>>) -> Result<()> {
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Whether the thread is alive.
    pub(super) fn is_running(&self) -> bool {
        !self.jobs.is_closed()
    }
}

/// The text for a panic without a message.
const WORDLESS: &str = "it said nothing";

/// Verbs that share a commit.
type Group = Vec<Box<dyn Job>>;

/// The result for a group.
enum Outcome {
    /// Committed; for each verb whether it succeeded.
    Committed(Vec<Result<()>>),
    /// This verb's failure rolled back the whole transaction; the others have not happened and may be retried.
    Torn(usize, Error),
}

struct Committer {
    conn: Connection,
    shared: Arc<Shared>,
    quota: Quota,
    notifier: CommitNotifier,
    /// The commit counter of the store after our last commit; `None` before the first transaction.
    commits: Option<i64>,
    /// The length of the log after our last transaction; `None` before the first.
    log_bytes: Option<u64>,
    /// When to check the length of the log next.
    look_at_log_at: Instant,
}

impl Committer {
    fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
        while let Some(first) = waiting.blocking_recv() {
            let mut weight = first.weight();
            let mut group = vec![first];
            while weight < GROUP_WEIGHT
                && let Ok(job) = waiting.try_recv()
            {
                weight += job.weight();
                group.push(job);
            }
            self.commit_guarded(group);
            self.keep_log_short();
        }
        self.shared.files.before_closing_writer(&self.conn);
        if !self.shared.files.is_adrift() {
            // Other processes may have the store open; then the last one writes the rest back.
            let cut = cut_log(&self.conn, CUT_WITHIN);
            debug!(?cut, "the store is closed; its log is written back");
        }
    }

    /// Refuses to write to a file that is not in its place, and logs it at the first notice.
    fn check_in_place(&self) -> Result<()> {
        self.shared.files.check_writer(&self.conn).map_err(|adrift| {
            let error = in_words_of_the_store(adrift.error);
            if let Some(saved) = adrift.cut.map(OrStore::or_store) {
                tracing::error!(%error, ?saved, "the store takes nothing more in");
            }
            error
        })
    }

    /// Cuts a log that readers have prevented from starting again, unless it may be another store's by now.
    fn keep_log_short(&mut self) {
        if self.shared.files.is_adrift() || Instant::now() < self.look_at_log_at {
            return;
        }
        let bytes = self.notifier.log_bytes();
        let mut pause = LOG_LOOK;
        if i64::try_from(bytes).is_ok_and(|bytes| bytes > LOG_BYTES) {
            match cut_log(&self.conn, CUT_WITHIN).or_store() {
                Ok(true) => debug!(bytes, "the log was cut"),
                outcome => {
                    let why = outcome.err().map_or_else(|| "a reader holds it".to_owned(), |error| error.to_string());
                    warn!(bytes, why, "the log can't be cut");
                    pause = LOG_LOOK_AGAIN;
                }
            }
        }
        self.look_at_log_at = Instant::now() + pause;
    }

    /// Commits, and survives a panic outside the verbs: their callers then get an error that nothing has happened.
    fn commit_guarded(&mut self, group: Group) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.commit(group))) {
            tracing::error!(
                panic = words_of(&*panic).unwrap_or(WORDLESS),
                "the store's writer met a defect and goes on"
            );
            self.roll_back();
        }
    }

    /// Ends a transaction that is still open. If the rollback fails, it was rolled back already.
    fn roll_back(&self) {
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK").ok();
        }
    }

    fn commit(&mut self, mut group: Group) {
        match self.attempt(&mut group) {
            Ok(Outcome::Committed(fates)) => {
                for (job, fate) in group.into_iter().zip(fates) {
                    job.answer(fate);
                }
            }
            Ok(Outcome::Torn(culprit, error)) => {
                group.remove(culprit).answer(Err(error));
                for job in group {
                    self.commit(vec![job]);
                }
            }
            Err(error) => {
                for job in group {
                    job.answer(Err(error.clone()));
                }
            }
        }
    }

    /// One transaction. On an error nothing of it has happened.
    fn attempt(&mut self, group: &mut Group) -> Result<Outcome> {
        self.check_in_place()?;
        self.check_log()?;
        self.shared.stall.begin();
        self.conn.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([])).or_store()?;
        let attempt = self.attempt_within(group);
        self.roll_back();
        self.shared.stall.end();
        self.shared.damage.note(&attempt);
        self.log_bytes = Some(self.notifier.log_bytes());
        attempt
    }

    /// Fails if the log was cut from outside. SQLite would go on behind the gap, and nothing that is behind a gap is
    /// found when the store is opened again.
    fn check_log(&self) -> Result<()> {
        let bytes = self.notifier.log_bytes();
        if self.log_bytes.is_some_and(|before| bytes >= before)
            || log_is_whole(&self.conn, || self.notifier.log_bytes())?
        {
            return Ok(());
        }
        let why = "the log (-wal) was cut from outside while it was in use: what it held is lost, except what the database \
                   file has. Nothing more is taken in. Stop every process that uses the store, then look at it with \
                   `jobbers doctor`";
        let damage = Err(Error::Corrupt(why.to_owned()));
        self.shared.damage.note(&damage);
        damage
    }

    fn attempt_within(&mut self, group: &mut Group) -> Result<Outcome> {
        let meta = Meta::read(&self.conn)?;
        let is_foreign = self.commits.is_some_and(|commits| commits != meta.commits);
        let mut catalog = self.shared.catalog.load_full();
        if catalog.version() != meta.config_version {
            catalog = Arc::new(Catalog::load(&self.conn, meta.config_version)?);
            self.shared.catalog.store(Arc::clone(&catalog));
        }
        let now = self.shared.clock.now_since(meta.clock);
        let changes = self.conn.total_changes();
        let ledger = Ledger::new(meta.revision.max(least_revision(now)), catalog);
        let Shared { waiters, heartbeats, tombstones, .. } = &*self.shared;
        let mut step = Step { conn: &self.conn, now, waiters, heartbeats, tombstones: *tombstones, ledger };
        let quota = self.quota;
        let mut fates = Vec::with_capacity(group.len());
        let is_alone = group.len() == 1;
        for (place, job) in group.iter_mut().enumerate() {
            let has_pruned = make_room(job.as_ref(), &mut step, quota)?;
            if is_alone && !has_pruned {
                // Its failure may roll back the whole transaction, so it needs no savepoint.
                run_within(job.as_mut(), &mut step, quota)?;
                fates.push(Ok(()));
                continue;
            }
            match run_apart(job.as_mut(), &mut step, quota) {
                Err(error) if self.conn.is_autocommit() => return Ok(Outcome::Torn(place, error)),
                fate => fates.push(fate),
            }
        }
        let mut commits = meta.commits;
        if self.conn.total_changes() != changes {
            step.write_tallies()?;
            commits += 1;
            Meta {
                revision: step.ledger.revision,
                config_version: step.ledger.catalog.version(),
                clock: now.as_micros().max(meta.clock),
                commits,
            }
            .write(&self.conn)?;
        }
        let Ledger { catalog, notifications, .. } = step.ledger;
        self.conn.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).or_store()?;
        if commits != meta.commits {
            // The file was taken away meanwhile: a process that opens the path may not see this commit, so it is not
            // reported.
            self.shared.files.check().or_store()?;
            // Not earlier: before our commit, this number may become another process's.
            self.shared.own_commits.store(commits, Ordering::SeqCst);
            self.shared.mark.note(commits);
            self.notifier.notify();
        }
        self.commits = Some(commits);
        self.shared.catalog.store(catalog);
        if is_foreign {
            self.shared.watch.look();
        }
        tell(&self.shared, notifications);
        Ok(Outcome::Committed(fates))
    }
}

/// Revisions count microseconds from here, in September 2020, as in the other engine.
const FIRST_REVISION_AT: i64 = 1_600_000_000_000_000;

/// The least revision to give out now. Revisions keep up with the clock, so that they and the fences keep growing even
/// after the file lost its last writes or was restored from a copy.
fn least_revision(now: Timestamp) -> i64 {
    now.as_micros().saturating_sub(FIRST_REVISION_AT)
}

/// Deletes the oldest finished tasks, a bounded number, for a verb that would exceed the quota: they go before the verb
/// is refused. Returns whether any were deleted; the deletion lasts even if the verb is refused.
fn make_room(job: &dyn Job, step: &mut Step<'_>, quota: Quota) -> Result<bool> {
    let mut has_pruned = false;
    if let Some(growth) = job.growth() {
        for _ in 0..EARLY_PRUNINGS {
            if quota.check(step.conn, growth).is_ok() || prune::prune_oldest(step, MAX_BATCH)? == 0 {
                break;
            }
            has_pruned = true;
        }
    }
    Ok(has_pruned)
}

/// Runs a verb so that its failure undoes only itself.
fn run_apart(job: &mut dyn Job, step: &mut Step<'_>, quota: Quota) -> Result<()> {
    let mark = step.ledger.mark();
    step.prepare("SAVEPOINT verb")?.execute([]).or_store()?;
    let fate = run_within(job, step, quota);
    if fate.is_err() {
        step.ledger.return_to(mark);
        if step.conn.is_autocommit() {
            return fate;
        }
        step.prepare("ROLLBACK TO verb")?.execute([]).or_store()?;
    }
    step.prepare("RELEASE verb")?.execute([]).or_store()?;
    fate
}

fn run_within(job: &mut dyn Job, step: &mut Step<'_>, quota: Quota) -> Result<()> {
    if let Some(growth) = job.growth() {
        quota.check(step.conn, growth).or_store()?;
    }
    let ran = catch_unwind(AssertUnwindSafe(|| job.run(step).and_then(|()| dependency::signal_all(step))));
    let ran = ran.unwrap_or_else(|panic| {
        let words = words_of(&*panic).unwrap_or(WORDLESS);
        tracing::error!(panic = words, "a verb panicked: a defect; it is undone");
        Err(Error::Defect(words.to_owned()))
    });
    ran.map_err(|error| quota::explain(quota, step.conn, error))
}

/// Notifies the waiting callers of what has happened.
fn tell(shared: &Shared, notifications: Vec<Notification>) {
    let (mut ready, mut set_aside, mut freed) = (BTreeMap::new(), SetAside::new(), BTreeMap::new());
    for item in notifications {
        match item {
            Notification::SetAside(queue, gate, tasks) => {
                *set_aside.entry(queue).or_default().entry(gate).or_default() += tasks;
            }
            Notification::Freed(queue) => *freed.entry(queue).or_default() += 1,
            Notification::Ready(queue) => *ready.entry(queue).or_default() += 1,
            Notification::Cancel(worker) => shared.waiters.tell_worker(&worker),
            Notification::Finished(id) => shared.waiters.tell_finished(&id),
            Notification::Board(board, group, woken_at) => shared.waiters.groups.tell(board, group, woken_at),
            Notification::Config => shared.waiters.tell_workers(),
        }
    }
    shared.waiters.tell_ready(ready, set_aside);
    shared.waiters.tell_freed(freed);
}

/// The counters every transaction reads first and writes last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    revision: i64,
    pub(super) config_version: i64,
    pub(super) clock: i64,
    pub(super) commits: i64,
}

impl Meta {
    pub(super) fn read(conn: &Connection) -> Result<Self> {
        let mut statement = conn.prepare_cached(sql::READ_META).or_store()?;
        let meta = statement.query_row([], |row| {
            Ok(Self { revision: row.get(0)?, config_version: row.get(1)?, clock: row.get(2)?, commits: row.get(3)? })
        });
        meta.or_store()
    }

    fn write(self, conn: &Connection) -> Result<()> {
        let mut statement = conn.prepare_cached(sql::WRITE_META).or_store()?;
        statement.execute((self.revision, self.config_version, self.clock, self.commits)).or_store()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::Engine;

    use super::*;
    use crate::{OpenOptions, sqlite::SqliteEngine};

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
