//! The loop of the writing thread: takes verbs, runs them in one transaction, commits, answers.
//!
//! A full disk keeps no verb from settling or deleting: the log is copied into the database, so that it can be written
//! from its beginning again; if that is not enough, the reserve ([`crate::sqlite::store::reserve`]) gives up a piece; and the
//! transaction is tried again, without what adds to the store.

use std::{
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, Result},
    limits::MAX_BATCH,
    outcome::panic::words_of,
};
use jobbers_sqlite_file::{FileErrorKind, LOG_BYTES, Quota, copy_log, cut_log, free_bytes};
use rusqlite::Connection;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::{job::Job, notify::notify_waiting};
use crate::sqlite::{
    follow::Features,
    kernel::{catalog::Catalog, ledger::Ledger, step::Step},
    sql,
    store::{
        connection::CUT_WITHIN,
        error::{OrStore, in_words_of_the_store},
        log_length::{LogFile, log_is_whole},
        meta::{Meta, least_revision},
        quota,
        statements::Statements,
    },
    threads::shared::Shared,
    verbs::prune,
};

/// How many tasks' worth of verbs share a commit: enough to pay for it, and few enough for short waits.
const GROUP_WEIGHT: usize = 2_000;
/// How many batches of finished tasks are deleted early for one verb: some milliseconds' worth.
const EARLY_PRUNINGS: usize = 4;
/// How often the length of the log is checked, and how soon again after it could not be cut, because trying delays
/// writers.
const LOG_LOOK: Duration = Duration::from_secs(1);
const LOG_LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The text for a panic without a message.
const WORDLESS: &str = "it said nothing";

/// Verbs that share a commit.
type JobGroup = Vec<Box<dyn Job>>;

/// For each verb of a group whether it succeeded.
type Fates = Vec<Result<()>>;

/// How many groups run with savepoints after a verb has failed: where some are refused, more are likely to be.
const GUARDED_GROUPS: usize = 16;

/// The result for a group.
enum GroupOutcome {
    /// Committed; for each verb whether it succeeded.
    Committed(Fates),
    /// This verb's failure rolled back the whole transaction; the others have not happened and may be retried.
    Torn(usize, Error),
    /// A verb failed that had no savepoint; nothing of the group has happened.
    Unguarded,
}

/// What the writing thread works with.
pub(super) struct Committer<'c> {
    conn: &'c Connection,
    statements: &'c Statements<'c>,
    shared: &'c Shared,
    quota: Quota,
    log: LogFile,
    /// How many of the next groups run with savepoints.
    guarded: usize,
    /// The commit counter of the store after our last commit; `None` before the first transaction.
    commits: Option<i64>,
    /// The length of the log after our last transaction; `None` before the first.
    log_bytes: Option<u64>,
    /// When to check the length of the log next.
    look_at_log_at: Instant,
}

/// Serves the verbs until no caller is left and all waiting ones are done.
pub(super) fn serve(
    conn: &Connection,
    shared: &Shared,
    quota: Quota,
    log: LogFile,
    waiting: mpsc::Receiver<Box<dyn Job>>,
) {
    // Without a destructor it may be borrowed for as long as the statements in it borrow the connection.
    let statements = ManuallyDrop::new(Statements::of(conn));
    let committer = Committer {
        conn,
        statements: &statements,
        shared,
        quota,
        log,
        guarded: 0,
        commits: None,
        log_bytes: None,
        look_at_log_at: Instant::now(),
    };
    committer.run(waiting);
    statements.clear();
}

impl Committer<'_> {
    /// Serves the verbs until no caller is left and all waiting ones are done.
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
        self.shared.files.before_closing_writer(self.conn);
        if !self.shared.files.is_adrift() {
            // Other processes may have the store open; then the last one writes the rest back.
            let cut = cut_log(self.conn, CUT_WITHIN);
            debug!(?cut, "the store is closed; its log is written back");
        }
    }

    /// Refuses to write to a file that is not in its place, and logs it at the first notice.
    fn check_in_place(&self) -> Result<()> {
        self.shared.files.check_writer(self.conn).map_err(|adrift| {
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
        let bytes = self.log.bytes();
        let mut pause = LOG_LOOK;
        if i64::try_from(bytes).is_ok_and(|bytes| bytes > LOG_BYTES) {
            match cut_log(self.conn, CUT_WITHIN).or_store() {
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
    fn commit_guarded(&mut self, group: JobGroup) {
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

    fn commit(&mut self, mut group: JobGroup) {
        match self.attempt_with_reserve(&mut group) {
            Ok(GroupOutcome::Committed(fates)) => {
                for (job, fate) in group.into_iter().zip(fates) {
                    job.answer(fate);
                }
            }
            Ok(GroupOutcome::Torn(culprit, error)) => {
                group.remove(culprit).answer(Err(error));
                for job in group {
                    self.commit(vec![job]);
                }
            }
            Ok(GroupOutcome::Unguarded) => {
                self.guarded = GUARDED_GROUPS;
                self.commit(group);
            }
            Err(error) => {
                for job in group {
                    job.answer(Err(error.clone()));
                }
            }
        }
    }

    /// The same as [`Self::attempt`], and again for as long as a full disk can be given room.
    fn attempt_with_reserve(&mut self, group: &mut JobGroup) -> Result<GroupOutcome> {
        let mut is_first = true;
        loop {
            let attempt = self.attempt(group);
            let (Err(error) | Ok(GroupOutcome::Torn(_, error))) = &attempt else { return attempt };
            if !self.is_disk_full(error) || !self.find_room(is_first) {
                return attempt;
            }
            is_first = false;
        }
    }

    /// Whether the disk kept a verb from being carried out. Only SQLite reports it in a verb; what a quota or the reserve
    /// refuses is refused before.
    fn is_disk_full(&self, error: &Error) -> bool {
        matches!(error, Error::Full(_)) && matches!(self.quota.passed(self.conn), Ok(None))
    }

    /// Copies the log into the database, so that it is written from its beginning next, in the room it has. If that is
    /// not the first time, or the copy finds no room, the reserve gives up a piece. Returns whether there is hope.
    fn find_room(&self, is_first: bool) -> bool {
        let is_copied = || match copy_log(self.conn, CUT_WITHIN) {
            Err(error) => error.kind != FileErrorKind::Full,
            Ok(_) => true,
        };
        if is_copied() && is_first {
            return true;
        }
        while self.shared.reserve.release() {
            if is_copied() {
                return true;
            }
        }
        false
    }

    /// One transaction. On an error nothing of it has happened.
    fn attempt(&mut self, group: &mut JobGroup) -> Result<GroupOutcome> {
        self.check_in_place()?;
        self.check_log()?;
        self.shared.stall.begin();
        self.statements.prepare("BEGIN IMMEDIATE")?.execute([]).or_store()?;
        let attempt = self.attempt_within(group);
        self.roll_back();
        self.shared.stall.end();
        self.shared.damage.note(&attempt);
        self.log_bytes = Some(self.log.bytes());
        attempt
    }

    /// Fails if the log was cut from outside. SQLite would go on behind the gap, and nothing that is behind a gap is
    /// found when the store is opened again.
    fn check_log(&self) -> Result<()> {
        let bytes = self.log.bytes();
        if self.log_bytes.is_some_and(|before| bytes >= before) || log_is_whole(self.conn, || self.log.bytes())? {
            return Ok(());
        }
        let why = "the log (-wal) was cut from outside while it was in use: what it held is lost, except what the database \
                   file has. Nothing more is taken in. Stop every process that uses the store, then look at it with \
                   `jobbers doctor`";
        let damage = Err(Error::Corrupt(why.to_owned()));
        self.shared.damage.note(&damage);
        damage
    }

    fn attempt_within(&mut self, group: &mut JobGroup) -> Result<GroupOutcome> {
        let meta = Meta::read_by(&mut *self.statements.prepare(sql::READ_META)?)?;
        let is_foreign = self.commits.is_some_and(|commits| commits != meta.commits);
        let mut catalog = self.shared.catalog.load_full();
        if catalog.version() != meta.config_version {
            catalog = Arc::new(Catalog::load(self.conn, meta.config_version)?);
            self.shared.catalog.store(Arc::clone(&catalog));
        }
        let now = self.shared.clock.now_since(meta.clock);
        let changes = self.conn.total_changes();
        let ledger = Ledger::new(meta.revision.max(least_revision(now)), catalog);
        let Shared { waiters, heartbeats, tombstones, .. } = self.shared;
        let mut step = Step {
            conn: self.conn,
            statements: self.statements,
            now,
            waiters,
            heartbeats,
            tombstones: *tombstones,
            hooks: &Features,
            ledger,
        };
        let fates = match self.run_verbs(group, &mut step)? {
            GroupOutcome::Committed(fates) => fates,
            failed => return Ok(failed),
        };
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
            .write_by(&mut *self.statements.prepare(sql::WRITE_META)?)?;
        }
        let Ledger { catalog, notifications, .. } = step.ledger;
        self.statements.prepare("COMMIT")?.execute([]).or_store()?;
        if commits != meta.commits {
            // The file was taken away meanwhile: a process that opens the path may not see this commit, so it is not
            // reported.
            self.shared.files.check().or_store()?;
            // Not earlier: before our commit, this number may become another process's.
            self.shared.own_commits.store(commits, Ordering::SeqCst);
            // It notifies other processes of the commit.
            self.shared.mark.note(commits);
        }
        self.commits = Some(commits);
        if !Arc::ptr_eq(&catalog, &self.shared.catalog.load()) {
            self.shared.catalog.store(catalog);
        }
        if is_foreign {
            self.shared.watch.look();
        }
        notify_waiting(self.shared, notifications);
        Ok(GroupOutcome::Committed(fates))
    }

    /// Runs the verbs of a group. A savepoint costs a copy of each page that its verb changes, so at first the verbs have none:
    /// if one fails, they all run again with savepoints.
    fn run_verbs(&mut self, group: &mut JobGroup, step: &mut Step<'_>) -> Result<GroupOutcome> {
        let mut fates = Vec::with_capacity(group.len());
        let is_alone = group.len() == 1;
        let is_guarded = self.guarded > 0 && !is_alone;
        self.guarded -= usize::from(is_guarded);
        let is_full = group.iter().any(|job| job.growth().is_some()) && self.shared.reserve.is_used_up();
        for (place, job) in group.iter_mut().enumerate() {
            let mut has_pruned = false;
            if let Some(growth) = job.growth() {
                has_pruned = make_room(growth, step, self.quota)?;
                let admitted = self.admit(growth, is_full);
                if admitted.is_err() {
                    fates.push(admitted);
                    continue;
                }
            }
            if is_alone && !has_pruned {
                // Its failure may roll back the whole transaction, so it needs no savepoint.
                run_within(job.as_mut(), step, self.quota)?;
                fates.push(Ok(()));
                continue;
            }
            if !is_guarded && !is_alone {
                if run_within(job.as_mut(), step, self.quota).is_err() {
                    return Ok(GroupOutcome::Unguarded);
                }
                fates.push(Ok(()));
                continue;
            }
            match run_apart(job.as_mut(), step, self.quota) {
                Err(error) if self.conn.is_autocommit() || self.is_disk_full(&error) => {
                    return Ok(GroupOutcome::Torn(place, error));
                }
                fate => fates.push(fate),
            }
        }
        Ok(GroupOutcome::Committed(fates))
    }

    /// Refuses what would exceed the quota, and on a full disk what has no room in the file as it is.
    fn admit(&self, growth: u64, is_full: bool) -> Result<()> {
        if is_full {
            self.shared.reserve.check(growth, free_bytes(self.conn).or_store()?)?;
        }
        self.quota.check(self.conn, growth).or_store()
    }
}

/// Deletes the oldest finished tasks, a bounded number, for a verb that would exceed the quota: they go before the verb
/// is refused. Returns whether any were deleted; the deletion lasts even if the verb is refused.
fn make_room(growth: u64, step: &mut Step<'_>, quota: Quota) -> Result<bool> {
    let mut has_pruned = false;
    for _ in 0..EARLY_PRUNINGS {
        if quota.check(step.conn, growth).is_ok() || prune::prune_oldest(step, MAX_BATCH)? == 0 {
            break;
        }
        has_pruned = true;
    }
    Ok(has_pruned)
}

/// Runs a verb so that its failure undoes only itself.
fn run_apart(job: &mut dyn Job, step: &mut Step<'_>, quota: Quota) -> Result<()> {
    let savepoint = step.ledger.savepoint();
    step.prepare("SAVEPOINT verb")?.execute([]).or_store()?;
    let fate = run_within(job, step, quota);
    if fate.is_err() {
        step.ledger.return_to(savepoint);
        if step.conn.is_autocommit() {
            return fate;
        }
        step.prepare("ROLLBACK TO verb")?.execute([]).or_store()?;
    }
    step.prepare("RELEASE verb")?.execute([]).or_store()?;
    fate
}

fn run_within(job: &mut dyn Job, step: &mut Step<'_>, quota: Quota) -> Result<()> {
    let ran = catch_unwind(AssertUnwindSafe(|| job.run(step).and_then(|()| step.hooks.done(step))));
    let ran = ran.unwrap_or_else(|panic| {
        let words = words_of(&*panic).unwrap_or(WORDLESS);
        tracing::error!(panic = words, "a verb panicked: a defect; it is undone");
        Err(Error::Defect(words.to_owned()))
    });
    ran.map_err(|error| quota::explain(quota, step.conn, error))
}
