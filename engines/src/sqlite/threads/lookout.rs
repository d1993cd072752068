//! Notices what other processes commit to the same file.
//!
//! The [`commit_listener`](super::commit_listener) signals each commit. After a signal, and once a second in case one was
//! missed, a cheap read shows whether another process committed; only then the waiting callers it concerns are woken. While
//! no caller waits, nothing is watched.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    name::WorkerId,
};
use jobbers_sqlite_file::{copy_log, cut_log, is_log_at_rest};
use rusqlite::{Connection, OptionalExtension};

use super::{commit_listener::CommitListener, readers, shared::Shared, waiters::SetAside};
use crate::sqlite::{
    boards,
    follow::unknown,
    kernel::view::View,
    sql,
    store::{
        connection,
        error::{OrStore, corrupt},
        meta::Meta,
    },
};

/// How long another process's commit can go unnoticed if the operating system does not signal it.
const FALLBACK: Duration = Duration::from_secs(1);
/// How long no process may have written before the log is written back, and how often this is checked.
const WRITTEN_BACK_AFTER: Duration = Duration::from_secs(10);
const LOOK_AT_REST: Duration = Duration::from_secs(5);
/// The pause after a look, so that a burst of commits costs one look and not one each.
const PAUSE: Duration = Duration::from_micros(500);
/// Checking awaited tasks and groups takes at most one part in this many of this thread's time, however many they are.
const REST_PER_LOOK: u32 = 20;

/// The watching thread.
pub(crate) struct Lookout {
    conn: Connection,
    path: PathBuf,
    shared: Arc<Shared>,
    /// The commits that have been checked.
    seen: i64,
    config_version: i64,
    /// Whether awaited tasks may have ended, or awaited groups changed, since they were last checked.
    tasks_are_due: bool,
    /// The earliest time to check them again.
    tasks_at: Instant,
    /// When to check whether the log rests.
    rest_at: Instant,
}

impl Lookout {
    /// Starts the thread for the store at `path`.
    pub(crate) fn start(path: &Path, shared: Arc<Shared>, signals: Receiver<()>) -> Result<JoinHandle<()>> {
        let conn = connection::open_reader(path)?;
        let (path, now) = (path.to_owned(), Instant::now());
        let (tasks_at, rest_at) = (now, now + LOOK_AT_REST);
        let (seen, config_version, tasks_are_due) = (0, 0, false);
        let mut lookout = Self { conn, path, shared, seen, config_version, tasks_are_due, tasks_at, rest_at };
        thread::Builder::new()
            .name("jobbers-sqlite-watch".to_owned())
            .spawn(move || {
                while !lookout.is_stopped() {
                    let signalled = signals.recv_timeout(LOOK_AT_REST);
                    if signalled == Err(RecvTimeoutError::Disconnected) || lookout.is_stopped() {
                        break;
                    }
                    if signalled.is_ok() {
                        lookout.keep_watch(&signals);
                    }
                    lookout.look_after_file();
                }
                lookout.shared.files.before_closing(&lookout.conn);
            })
            .map_err(|error| Error::unavailable(format!("the store's watch can't be started: {error}")))
    }

    /// Makes the reserve whole as soon as the disk has room again. Copies the log into the database and cuts it, once no
    /// process has written for a while, so that a store at rest is wholly in its own file.
    fn look_after_file(&mut self) {
        let now = Instant::now();
        if now < self.rest_at || self.shared.files.check().is_err() {
            return;
        }
        self.rest_at = now + LOOK_AT_REST;
        let is_disk_full = self.shared.reserve.is_in_use() && self.shared.reserve.is_used_up();
        if is_log_at_rest(&self.path, WRITTEN_BACK_AFTER) {
            // On a full disk it keeps its room, which another program would take.
            let copy = if is_disk_full { copy_log } else { cut_log };
            let cut = copy(&self.conn, Duration::ZERO);
            tracing::debug!(?cut, "the store rests; its log is written back");
        }
    }

    fn is_stopped(&self) -> bool {
        self.shared.watch.is_stopped()
    }

    /// Watches until no caller has waited for a while.
    fn keep_watch(&mut self, signals: &Receiver<()>) {
        let is_awake = |shared: &Shared, awake| shared.watch.is_awake.store(awake, Ordering::SeqCst);
        is_awake(&self.shared, true);
        let (mut listener, mut listened_at) = (self.listen(), Instant::now());
        let mut last_needed = Instant::now();
        loop {
            if let Err(error) = self.look() {
                tracing::debug!(%error, "looking for other processes' commits failed");
            }
            self.look_after_file();
            // A mark that was removed is there again after the next commit, and not before.
            if listened_at.elapsed() >= FALLBACK {
                listened_at = Instant::now();
                if listener.as_ref().is_none_or(CommitListener::is_outdated) {
                    listener = self.listen();
                }
            }
            thread::sleep(PAUSE);
            if signals.recv_timeout(self.next_look()) == Err(RecvTimeoutError::Disconnected) || self.is_stopped() {
                return;
            }
            if self.shared.waiters.is_anybody_blocked() {
                last_needed = Instant::now();
            } else if last_needed.elapsed() > FALLBACK {
                is_awake(&self.shared, false);
                // A caller that came before this point has not signalled; a later one does.
                if !self.shared.waiters.is_anybody_blocked() {
                    return;
                }
                is_awake(&self.shared, true);
            }
        }
    }

    /// Has each commit signal the thread, if the system can.
    fn listen(&self) -> Option<CommitListener> {
        let shared = Arc::clone(&self.shared);
        let listening = CommitListener::start(&self.path, move || shared.watch.signal());
        let said =
            listening.inspect_err(|error| tracing::debug!(%error, "the mark can't be watched; looking once a second"));
        said.ok()
    }

    /// When to look next although no commit was noticed.
    fn next_look(&self) -> Duration {
        match self.tasks_are_due {
            true => self.tasks_at.saturating_duration_since(Instant::now()).min(FALLBACK),
            false => FALLBACK,
        }
    }

    fn look(&mut self) -> Result<()> {
        let meta = Meta::read(&self.conn)?;
        let own = self.shared.own_commits.load(Ordering::SeqCst);
        let is_foreign = meta.commits > own.max(self.seen);
        if self.shared.watch.is_due.swap(false, Ordering::SeqCst) || is_foreign {
            self.tasks_are_due = true;
            if self.config_version != meta.config_version {
                self.shared.waiters.notify_workers();
            }
            readers::read(&self.conn, &self.shared, |view| notify_workers(view, &self.shared))?;
            self.seen = meta.commits;
            self.config_version = meta.config_version;
        }
        let start = Instant::now();
        if self.tasks_are_due && self.tasks_at <= start {
            readers::read(&self.conn, &self.shared, |view| {
                notify_groups(view, &self.shared)?;
                notify_finished(view, &self.shared)
            })?;
            self.tasks_are_due = false;
            self.tasks_at = start + start.elapsed() * REST_PER_LOOK;
        }
        Ok(())
    }
}

/// How many more tasks may run in queues that were full.
fn free_slots(view: &View<'_>, queues: &[i64]) -> Result<BTreeMap<i64, usize>> {
    let mut free = BTreeMap::new();
    for queue in queues {
        let tallies = view.tallies(Some(*queue))?;
        let running = tallies.iter().find(|(_, status, _)| *status == Status::Started).map_or(0, |(_, _, n)| *n);
        let slots = view.catalog.limited.get(queue).map_or(usize::MAX, |config| config.free_slots(running));
        free.insert(*queue, slots);
    }
    Ok(free)
}

/// Notifies the workers of this process of the tasks they can get now.
fn notify_workers(view: &View<'_>, shared: &Shared) -> Result<()> {
    let waiters = &shared.waiters;
    let (mut ready, mut set_aside) = (BTreeMap::new(), SetAside::new());
    for queue in waiters.wanted_queues() {
        for (_, status, tasks) in view.tallies(Some(queue))? {
            if status != Status::Submitted || tasks == 0 {
                continue;
            }
            let tasks = usize::try_from(tasks).unwrap_or(usize::MAX);
            if !waiters.is_any_refused(queue) || unknown::is_any_for_all(view, queue)? {
                ready.insert(queue, tasks);
            } else {
                set_aside.insert(queue, unknown::gates(view, queue)?.into_iter().map(|gate| (gate, tasks)).collect());
            }
        }
    }
    waiters.notify_ready(ready, set_aside);
    waiters.notify_freed(free_slots(view, &waiters.blocked_queues())?);
    let mut asked = view.prepare(sql::WORKERS_ASKED_TO_CANCEL)?;
    for worker in asked.query_map([], |row| row.get::<_, String>(0)).or_store()? {
        let worker = WorkerId::new(worker.or_store()?).map_err(|error| corrupt("worker", error))?;
        waiters.notify_worker(&worker);
    }
    Ok(())
}

/// Wakes the callers of this process that wait for a group that received a task.
fn notify_groups(view: &View<'_>, shared: &Shared) -> Result<()> {
    let groups = &shared.waiters.groups;
    for (board, group) in groups.awaited() {
        let woken_at = boards::woken_at(view.conn, &board, &group)?;
        groups.notify(board, group, woken_at);
    }
    Ok(())
}

/// Notifies the callers of this process whose tasks are over.
fn notify_finished(view: &View<'_>, shared: &Shared) -> Result<()> {
    let waiters = &shared.waiters;
    let mut is_finished = view.prepare(sql::IS_FINISHED)?;
    for id in waiters.awaited_tasks() {
        let over: Option<bool> = is_finished.query_row([id.as_str()], |row| row.get(0)).optional().or_store()?;
        if over != Some(false) {
            waiters.notify_finished(&id);
        }
    }
    Ok(())
}
