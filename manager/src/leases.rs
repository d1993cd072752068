//! Leases of workers that use HTTP: claimed, settled, and given back if their answer can't be delivered.
//!
//! A claim runs in a tokio task of its own, so that it is never abandoned halfway when the client goes away. Its leases
//! are [`Undelivered`] until the connection has written the answer. If that is dropped before, the leases go back to
//! their places, as if they had not been claimed. Bytes that the client's machine accepted count as delivered; if the
//! client dies before it reads them, the leases return when they expire.
//!
//! [`http_workers`] keeps the registrations of these workers, [`grace`] their leases after an outage, and [`resting`] the kinds of
//! tasks that no worker knows.

use std::{
    panic::resume_unwind,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, CycleReply, Engine, Error, Outcome, Result, SettleAnswer, Settlement},
    name::{TaskId, WorkerId},
    task::{ClaimedTask, Fence},
};
use jobbers_process::{server::connections::Delivery, telemetry::SCOPE};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use ulid::Ulid;

mod counts;
pub(crate) mod grace;
pub(crate) mod http_workers;
mod resting;

use self::{counts::LeaseCounts, grace::Grace, http_workers::HttpWorkers, resting::Resting};

/// The leases that this manager handles.
#[derive(Debug)]
pub(crate) struct Leases {
    engine: Arc<dyn Engine>,
    /// Settles in the name of all: a settlement is judged by its fence, and the worker's own name may be in use for
    /// waiting.
    settler: WorkerId,
    /// Claims and give-backs under way.
    calls: TaskTracker,
    /// Callers that wait for tasks.
    pub(crate) waiting: AtomicUsize,
    pub(crate) workers: HttpWorkers,
    /// What these workers do, as they would count it themselves.
    pub(crate) counts: LeaseCounts,
    pub(crate) grace: Grace,
    pub(crate) resting: Resting,
}

impl Leases {
    pub(crate) fn new(engine: Arc<dyn Engine>) -> Self {
        #[expect(clippy::expect_used, reason = "letters, digits and a colon, far below the bound")]
        let settler = WorkerId::new(format!("manager:{}", Ulid::generate())).expect("a legal worker id");
        let counts = LeaseCounts::new(&opentelemetry::global::meter(SCOPE));
        let (workers, grace) = (HttpWorkers::new(Arc::clone(&engine)), Grace::new(Arc::clone(&engine)));
        let resting = Resting::default();
        Self {
            workers,
            counts,
            grace,
            resting,
            engine,
            settler,
            calls: TaskTracker::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Claims tasks for a worker. They are given back unless the answer is kept and delivered, even if this future is
    /// dropped.
    ///
    /// # Errors
    /// Those of [`Claims::cycle`](jobbers_common::engine::Claims::cycle).
    pub(crate) async fn claim(
        self: &Arc<Self>,
        worker: WorkerId,
        claim: ClaimRequest,
    ) -> Result<(CycleReply, Undelivered)> {
        let leases = Arc::clone(self);
        let call = self.calls.spawn(async move {
            let cycle = Cycle { worker, settlements: Vec::new(), claim: Some(claim) };
            // The claim takes expired leases back.
            leases.grace.grant().await?;
            let reply = leases.noted(leases.engine.cycle(cycle).await).await?;
            let undelivered = Undelivered::new(leases, &reply.claimed);
            Ok((reply, undelivered))
        });
        match call.await {
            Ok(answer) => answer,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(Error::unavailable("the manager is stopping")),
            },
        }
    }

    /// Settles tasks, whatever worker leased them.
    ///
    /// # Errors
    /// Those of [`Claims::cycle`](jobbers_common::engine::Claims::cycle).
    pub(crate) async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<SettleAnswer>> {
        let cycle = Cycle { worker: self.settler.clone(), settlements, claim: None };
        Ok(self.noted(self.engine.cycle(cycle).await).await?.settled)
    }

    /// Notes an error of the store.
    pub(crate) async fn noted<T>(&self, answer: Result<T>) -> Result<T> {
        if let Err(error) = &answer {
            self.grace.note(error).await;
        }
        answer
    }

    /// Settles tasks even if the caller goes away meanwhile. A refusal is logged: the leases then return when they
    /// expire.
    pub(crate) fn settle_detached(self: &Arc<Self>, settlements: Vec<Settlement>) -> impl Future<Output = ()> + use<> {
        let leases = Arc::clone(self);
        let count = settlements.len();
        let call = self.calls.spawn(async move {
            if let Err(error) = leases.settle(settlements).await {
                tracing::warn!(%error, leases = count, "leases could not be given back; they come back when they end");
            }
        });
        async move {
            call.await.ok();
        }
    }

    /// Waits until undelivered leases are given back, at most this long. Call it after the last request.
    pub(crate) async fn finish(&self, at_most: Duration) {
        self.calls.close();
        tokio::time::timeout(at_most, self.calls.wait()).await.ok();
    }
}

/// Leases whose answer has not been written yet. When the last copy is dropped, those left go back to their places.
#[derive(Debug, Clone)]
pub(crate) struct Undelivered(Arc<UndeliveredLeases>);

#[derive(Debug)]
struct UndeliveredLeases {
    leases: Arc<Leases>,
    tasks: Mutex<Vec<(TaskId, Fence)>>,
}

impl Undelivered {
    fn new(leases: Arc<Leases>, claimed: &[ClaimedTask]) -> Self {
        let tasks = claimed.iter().map(|task| (task.id.clone(), task.fence)).collect();
        Self(Arc::new(UndeliveredLeases { leases, tasks: Mutex::new(tasks) }))
    }

    /// Takes over what another claim for the same answer leased.
    pub(crate) fn absorb(&self, other: &Self) {
        let tasks = std::mem::take(&mut *other.0.tasks.lock());
        self.0.tasks.lock().extend(tasks);
    }

    /// Excludes tasks that are settled otherwise.
    pub(crate) fn leave_out(&self, settled: &[Settlement]) {
        self.0.tasks.lock().retain(|(id, _)| settled.iter().all(|other| other.id != *id));
    }
}

impl Delivery for Undelivered {
    fn delivered(&self) {
        self.0.tasks.lock().clear();
    }
}

impl Drop for UndeliveredLeases {
    fn drop(&mut self) {
        let tasks = std::mem::take(self.tasks.get_mut());
        // Without a runtime the manager is gone, and the leases return when they expire.
        if tasks.is_empty() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        tracing::debug!(leases = tasks.len(), "an answer could not be delivered; its leases are given back");
        let release = |(id, fence)| Settlement::new(id, fence, Outcome::Unstarted { delay: Duration::ZERO });
        drop(self.leases.settle_detached(tasks.into_iter().map(release).collect()));
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::Tasks;
    use jobbers_common::{
        engine::{OnConflict, QueueClaim, Submit},
        lifecycle::Status,
        name::{QueueName, TaskName},
        payload::Payload,
        task::NewTask,
    };
    use jobbers_law::model::ModelEngine;

    use super::*;

    async fn claimed() -> (Arc<ModelEngine>, Arc<Leases>, Undelivered) {
        let engine = Arc::new(ModelEngine::with_system_clock());
        let (id, name) = (TaskId::new("x").unwrap(), TaskName::new("t").unwrap());
        let queue = QueueName::new("default").unwrap();
        let tasks = vec![NewTask::new(id, name, queue.clone(), Payload::json(&b"1"[..]))];
        engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
        let leases = Arc::new(Leases::new(Arc::clone(&engine) as Arc<dyn Engine>));
        let queues = vec![QueueClaim { queue, limit: 5 }];
        let claim = ClaimRequest { queues, refused: Vec::new(), limit: 5, lease: Duration::from_secs(60) };
        let (reply, undelivered) = leases.claim(WorkerId::new("w").unwrap(), claim).await.unwrap();
        assert_eq!(reply.claimed.len(), 1);
        (engine, leases, undelivered)
    }

    async fn standing(engine: &ModelEngine) -> (Status, u32, u32) {
        let task = engine.get(&TaskId::new("x").unwrap()).await.unwrap().unwrap();
        (task.status, task.attempt, task.crashes)
    }

    #[tokio::test]
    async fn what_was_not_delivered_goes_back_unharmed() {
        let (engine, leases, undelivered) = claimed().await;
        drop(undelivered.clone());
        assert_eq!(standing(&engine).await, (Status::Started, 1, 0), "a copy is left");
        drop(undelivered);
        leases.finish(Duration::from_secs(10)).await;
        assert_eq!(standing(&engine).await, (Status::Submitted, 0, 0));
    }

    #[tokio::test]
    async fn what_was_delivered_stays_leased() {
        let (engine, leases, undelivered) = claimed().await;
        undelivered.delivered();
        drop(undelivered);
        leases.finish(Duration::from_secs(10)).await;
        assert_eq!(standing(&engine).await, (Status::Started, 1, 0));
    }
}
