//! Grace for the leases of HTTP workers after an outage.
//!
//! A worker that speaks HTTP extends its leases through managers. While no manager answers, or the managers' store does not,
//! it can't, however healthy it is. So the first thing a manager does after its start, and after its store was away, is to
//! extend those of their leases that have ended or are about to: before it takes expired leases back, and before it claims for a
//! worker. Native workers need none: they extend their leases at the store by themselves.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Engine, Error, Extension, ListRequest, Result, TaskFilter},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::WorkerId,
    task::Task,
    time::Timestamp,
};
use tokio::sync::Mutex;
use ulid::Ulid;

/// How long such a lease lasts from the moment the manager is back. Clients try again every second or two.
const GRACE: Duration = Duration::from_secs(5);
/// A lease with less than this left is about to end. Shorter than [`GRACE`], so that a manager that starts again and again
/// does not keep the lease of a dead worker.
const ABOUT_TO_END: Duration = Duration::from_secs(2);
/// At most this many lists of leases are read.
const MOST_PAGES: usize = 20;

/// Whether leases are due to be extended.
#[derive(Debug)]
pub(crate) struct Grace {
    engine: Arc<dyn Engine>,
    /// Held while they are, so that no lease is taken back meanwhile.
    is_due: Mutex<bool>,
}

impl Grace {
    /// For a manager that starts.
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, is_due: Mutex::new(true) }
    }

    /// Notes an error of the store: while it was away no worker could extend a lease.
    pub(crate) async fn note(&self, error: &Error) {
        if error.is_transient() {
            *self.is_due.lock().await = true;
        }
    }

    /// Extends leases if that is due. Call it before leases are taken back.
    ///
    /// # Errors
    /// Those of the store. Then it stays due.
    pub(crate) async fn grant(&self) -> Result<()> {
        let mut is_due = self.is_due.lock().await;
        if *is_due {
            let leases = self.extend().await?;
            if leases > 0 {
                tracing::info!(leases, "extended leases of HTTP workers, which could not do so during the outage");
            }
            *is_due = false;
        }
        Ok(())
    }

    /// Returns how many leases it extended.
    async fn extend(&self) -> Result<usize> {
        let until = self.engine.health().await?.now.after(ABOUT_TO_END);
        let filter = TaskFilter { statuses: vec![Status::Started], ..TaskFilter::default() };
        let (mut cursor, mut extended) = (None, 0);
        for _ in 0..MOST_PAGES {
            let request = ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor };
            let page = self.engine.list(request).await?;
            let mut by_worker: BTreeMap<WorkerId, Vec<Extension>> = BTreeMap::new();
            for (worker, extension) in page.tasks.into_iter().filter_map(|task| extension(task, until)) {
                by_worker.entry(worker).or_default().push(extension);
            }
            for (worker, extensions) in by_worker {
                extended += extensions.len();
                self.engine.extend(&worker, GRACE, extensions).await?;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(extended)
    }
}

/// The extension of a task's lease if an HTTP worker holds it and it ends before `until`.
fn extension(task: Task, until: Timestamp) -> Option<(WorkerId, Extension)> {
    let lease = task.lease.filter(|lease| lease.expires_at <= until && is_http(&lease.worker))?;
    Some((lease.worker, Extension { id: task.id, fence: lease.fence, heartbeat: None }))
}

/// Native workers name themselves by a ULID.
fn is_http(worker: &WorkerId) -> bool {
    Ulid::from_string(worker.as_str()).is_err()
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::{Claims, Tasks, Upkeep};
    use jobbers_common::{
        engine::{ClaimRequest, Cycle, OnConflict, QueueClaim, Submit},
        name::{QueueName, TaskId, TaskName},
        payload::Payload,
        task::NewTask,
        time::ManualClock,
    };
    use jobbers_law::model::ModelEngine;

    use super::*;

    const LEASE: Duration = Duration::from_secs(8);

    /// A store in which a native worker and one over HTTP hold a task each.
    async fn store() -> (Arc<ManualClock>, Arc<ModelEngine>) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let engine = Arc::new(ModelEngine::new(clock.clone()));
        let queue = QueueName::new("default").unwrap();
        for (id, worker) in [("native", Ulid::generate().to_string()), ("http", "python-1".to_owned())] {
            let (id, name) = (TaskId::new(id).unwrap(), TaskName::new("t").unwrap());
            let tasks = vec![NewTask::new(id, name, queue.clone(), Payload::json(&b"1"[..]))];
            engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
            let queues = vec![QueueClaim { queue: queue.clone(), limit: 1 }];
            let claim = Some(ClaimRequest { queues, refused: Vec::new(), limit: 1, lease: LEASE });
            let cycle = Cycle { worker: WorkerId::new(worker).unwrap(), settlements: Vec::new(), claim };
            assert_eq!(engine.cycle(cycle).await.unwrap().claimed.len(), 1);
        }
        (clock, engine)
    }

    async fn crashes(engine: &ModelEngine) -> [u32; 2] {
        engine.reclaim_expired(10).await.unwrap();
        let mut crashes = [0; 2];
        for (place, id) in ["native", "http"].into_iter().enumerate() {
            crashes[place] = engine.get(&TaskId::new(id).unwrap()).await.unwrap().unwrap().crashes;
        }
        crashes
    }

    #[tokio::test]
    async fn leases_of_http_workers_that_ended_in_an_outage_last_a_moment_longer() {
        let (clock, engine) = store().await;
        let grace = Grace::new(Arc::clone(&engine) as Arc<dyn Engine>);
        clock.advance(LEASE);
        grace.grant().await.unwrap();
        assert_eq!(crashes(&engine).await, [1, 0]);
        clock.advance(GRACE);
        grace.grant().await.unwrap();
        assert_eq!(crashes(&engine).await, [1, 1], "once, and a worker that does not come back is lost");
    }

    #[tokio::test]
    async fn the_store_s_absence_gives_a_grace_as_the_manager_s_does() {
        let (clock, engine) = store().await;
        let grace = Grace::new(Arc::clone(&engine) as Arc<dyn Engine>);
        grace.grant().await.unwrap();
        clock.advance(LEASE);
        grace.note(&Error::Invalid("no outage".to_owned())).await;
        grace.note(&Error::unavailable("gone")).await;
        grace.grant().await.unwrap();
        assert_eq!(crashes(&engine).await, [1, 0]);
    }

    #[tokio::test]
    async fn a_manager_that_starts_again_and_again_keeps_no_lease_of_a_dead_worker() {
        let (clock, engine) = store().await;
        clock.advance(LEASE);
        for _ in 0..3 {
            Grace::new(Arc::clone(&engine) as Arc<dyn Engine>).grant().await.unwrap();
            crashes(&engine).await;
            clock.advance(GRACE - ABOUT_TO_END - Duration::from_millis(1));
            Grace::new(Arc::clone(&engine) as Arc<dyn Engine>).grant().await.unwrap();
            clock.advance(ABOUT_TO_END + Duration::from_millis(1));
            crashes(&engine).await;
        }
        assert_eq!(crashes(&engine).await, [1, 1]);
    }
}
