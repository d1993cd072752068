//! Registered workers: who is alive. A worker that reports the same again writes nothing ([`Heartbeats`]).

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Result},
    name::WorkerId,
    time::Timestamp,
    worker::{RegisteredWorker, WorkerReport},
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::{
    kernel::{step::Step, view::View},
    sql,
    store::{
        error::{OrStore, corrupt},
        heartbeats::{HeartbeatRecord, Heartbeats},
    },
};

/// Notes a worker's report, and forgets workers without a recent one. Returns the configuration's version.
pub(crate) fn register(step: &Step<'_>, report: &WorkerReport, ttl: Duration) -> Result<u64> {
    let version = step.catalog().config.version;
    let (now, expires_at) = (step.now, step.now.after(ttl));
    let (record, text) = (HeartbeatRecord::of_worker(&report.id), encode(report)?);
    let known = find(step.conn, &report.id)?;
    let is_the_same = known
        .as_ref()
        .is_some_and(|known| known.report == text && known.ttl() == ttl && known.expires_at <= expires_at);
    let known = known.map(|known| known.by_heartbeats(&report.id, step.heartbeats, now));
    let alive = known.filter(|known| known.expires_at > now);
    if is_the_same && alive.is_some() && step.heartbeats.renew(record, now, expires_at) {
        return Ok(version);
    }
    // One that was forgotten, or is new, starts now.
    let started_at = alive.map_or(now, |known| known.started_at);
    let times = [started_at, now, expires_at].map(Timestamp::as_micros);
    let values = (report.id.as_str(), text, times[0], times[1], times[2]);
    step.prepare(sql::PUT_WORKER)?.execute(values).or_store()?;
    step.heartbeats.renew(record, now, expires_at);
    forget_silent(step)?;
    Ok(version)
}

fn encode(report: &WorkerReport) -> Result<String> {
    serde_json::to_string(report).map_err(|error| Error::Invalid(error.to_string()))
}

/// Forgets workers without a recent report.
fn forget_silent(step: &Step<'_>) -> Result<()> {
    let mut silent = step.prepare(sql::SILENT_WORKERS)?;
    let ids = silent.query_map([step.now_micros()], |row| row.get::<_, String>(0)).or_store()?;
    let ids: Vec<String> = ids.collect::<rusqlite::Result<_>>().or_store()?;
    for id in ids {
        let id = worker_id(&id)?;
        if step.heartbeats.until(HeartbeatRecord::of_worker(&id), step.now).is_none_or(|until| until <= step.now) {
            step.prepare(sql::DELETE_WORKER)?.execute([id.as_str()]).or_store()?;
        }
    }
    Ok(())
}

/// Forgets a worker.
pub(crate) fn forget(step: &Step<'_>, worker: &WorkerId) -> Result<()> {
    step.prepare(sql::DELETE_WORKER)?.execute([worker.as_str()]).or_store()?;
    step.heartbeats.end(HeartbeatRecord::of_worker(worker));
    Ok(())
}

/// Whether a worker has a recent report.
pub(crate) fn is_alive(step: &Step<'_>, worker: &WorkerId) -> Result<bool> {
    let known = find(step.conn, worker)?.map(|known| known.by_heartbeats(worker, step.heartbeats, step.now));
    Ok(known.is_some_and(|known| known.expires_at > step.now))
}

/// The workers with a recent report, in the order of their ids.
pub(crate) fn all(view: &View<'_>) -> Result<Vec<RegisteredWorker>> {
    let mut statement = view.prepare(sql::ALL_WORKERS)?;
    let read = |row: &Row<'_>| Ok((row.get::<_, String>("id")?, StoredRegistration::read(row)?));
    let rows = statement.query_map([], read).or_store()?;
    let mut workers = Vec::new();
    for row in rows {
        let (id, stored) = row.or_store()?;
        let stored = stored.by_heartbeats(&worker_id(&id)?, view.heartbeats, view.now);
        if stored.expires_at > view.now {
            workers.push(stored.decode()?);
        }
    }
    Ok(workers)
}

fn worker_id(stored: &str) -> Result<WorkerId> {
    WorkerId::new(stored).map_err(|error| corrupt("worker", error))
}

/// A registration.
struct StoredRegistration {
    report: String,
    started_at: Timestamp,
    seen_at: Timestamp,
    expires_at: Timestamp,
}

impl StoredRegistration {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let time = |column: &str| row.get(column).map(Timestamp::from_micros);
        let (started_at, seen_at, expires_at) = (time("started_at")?, time("seen_at")?, time("expires_at")?);
        Ok(Self { report: row.get("report")?, started_at, seen_at, expires_at })
    }

    /// For how long a report counts as recent.
    fn ttl(&self) -> Duration {
        self.expires_at.since(self.seen_at)
    }

    /// The registration with the times of the worker's heartbeats.
    fn by_heartbeats(self, worker: &WorkerId, heartbeats: &Heartbeats, now: Timestamp) -> Self {
        match heartbeats.until(HeartbeatRecord::of_worker(worker), now).filter(|until| *until > self.expires_at) {
            Some(expires_at) => Self { seen_at: expires_at.before(self.ttl()), expires_at, ..self },
            None => self,
        }
    }

    fn decode(self) -> Result<RegisteredWorker> {
        let Self { report, started_at, seen_at, expires_at } = self;
        let report = serde_json::from_str(&report).map_err(|error| corrupt("a worker's report", error))?;
        Ok(RegisteredWorker { report, started_at, seen_at, expires_at })
    }
}

/// A worker's registration as it was written last.
fn find(conn: &Connection, worker: &WorkerId) -> Result<Option<StoredRegistration>> {
    let mut statement = conn.prepare_cached(sql::FIND_WORKER).or_store()?;
    statement.query_row([worker.as_str()], StoredRegistration::read).optional().or_store()
}
