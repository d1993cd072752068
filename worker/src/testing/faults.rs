//! What can go wrong outside a program, at the moment a test chooses.

use std::{
    future::pending,
    sync::{Arc, OnceLock},
    time::Duration,
};

use jobbers_common::{limits::DEFAULT_LEASE, time::ManualClock};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    attempts::attempt::{Attempt, Stop},
    client::Client,
    tasks::task_fn::TaskFn,
};

/// How long a lease of a bench lasts, by its clock: a task whose worker died runs again after this.
pub const LEASE: Duration = DEFAULT_LEASE;

/// Makes happen what the guarantees allow: a task is run again after its worker died, an answer is lost, a lease ends.
///
/// A bench gets it from [`Builder::faults`](super::Builder::faults). Clones break the same bench, so a double of an outside
/// service, in the program's state, can break it in the middle of a task:
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::{Faults, LEASE, TestBench}};
///
/// /// The card network of the tests: the worker dies between the charge and its report.
/// struct Cards { faults: Faults, charged: std::sync::Mutex<Vec<String>> }
///
/// impl Cards {
///     async fn charge(&self, key: &str) {
///         if self.is_new(key) {
///             self.faults.crash().await;
///         }
///     }
///
///     fn is_new(&self, key: &str) -> bool {
///         let mut charged = self.charged.lock().unwrap();
///         let new = !charged.iter().any(|known| known == key);
///         if new {
///             charged.push(key.to_owned());
///         }
///         new
///     }
/// }
///
/// #[task]
/// async fn charge(cards: State<Cards>, order: String) -> Result<(), TaskError> {
///     cards.charge(&order).await;
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let faults = Faults::default();
/// let cards = Cards { faults: faults.clone(), charged: Default::default() };
/// let bench = TestBench::builder().faults(&faults).state(cards).build().await?;
/// charge.delay(bench.client(), "order-1".to_owned()).await?;
/// assert_eq!(bench.drain().await?.crashed, 1);
/// bench.advance(LEASE).await?;
/// assert_eq!(bench.drain().await?.completed, 1, "run again, and charged once");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    planned: Mutex<Vec<PlannedDeath>>,
    running: Mutex<Option<Running>>,
    bench: OnceLock<(Arc<ManualClock>, Client)>,
}

/// The attempt that runs.
#[derive(Debug, Clone)]
struct Running {
    attempt: Arc<Attempt>,
    /// Notified when its worker dies.
    killed: Arc<Notify>,
}

/// When a worker dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crash {
    /// Before the function runs.
    Before,
    /// After it, before the store learns about it.
    After,
}

/// The worker's death at the next attempt of a task.
#[derive(Debug)]
struct PlannedDeath {
    name: &'static str,
    version: u32,
    crash: Crash,
}

impl Faults {
    /// The worker dies when the next attempt of this task begins: its function does not run. May be called several times,
    /// for as many attempts.
    pub fn crash_before<P, R>(&self, task: &TaskFn<P, R>) {
        self.plan(task, Crash::Before);
    }

    /// The worker dies after the function of the next attempt of this task has returned, before the store learns about it. What
    /// the function did happened, and the task runs again.
    pub fn crash_after<P, R>(&self, task: &TaskFn<P, R>) {
        self.plan(task, Crash::After);
    }

    /// The worker dies now, in the middle of an async task, and this never returns. What the task has reported up to here is
    /// stored. Without a running attempt, nothing happens.
    pub async fn crash(&self) {
        let Some(Running { killed, .. }) = self.0.running.lock().clone() else { return };
        killed.notify_one();
        pending::<()>().await;
    }

    /// The attempt that runs loses its lease now, as if its worker had been frozen for that long: another attempt begins
    /// afterwards, and what this one answers does not count. The clock moves by [`LEASE`]. Without a running attempt, only the
    /// clock moves.
    pub fn lose_lease(&self) {
        self.leap(LEASE);
    }

    /// The store's clock leaps forward by this much while an attempt runs. From [`LEASE`] on, the attempt loses its lease.
    /// Schedules are not fired before the next call of the bench.
    pub fn leap(&self, by: Duration) {
        if let Some((clock, _)) = self.0.bench.get() {
            clock.advance(by);
        }
        if by >= LEASE
            && let Some(running) = &*self.0.running.lock()
        {
            running.attempt.stop(Stop::LeaseLost);
        }
    }

    /// The store takes the next submission in, and its answer is lost: the client returns
    /// [`SubmitError::Unreachable`](crate::SubmitError::Unreachable). May be called several times, for as many submissions.
    pub fn lose_answer(&self) {
        if let Some((_, client)) = self.0.bench.get() {
            client.lose_answer();
        }
    }

    fn plan<P, R>(&self, task: &TaskFn<P, R>, crash: Crash) {
        self.0.planned.lock().push(PlannedDeath { name: task.name(), version: task.version(), crash });
    }

    /// Breaks this bench from now on.
    pub(super) fn bind(&self, clock: &Arc<ManualClock>, client: &Client) {
        // A second bench would be broken by the same calls; the first one keeps them.
        self.0.bench.set((Arc::clone(clock), client.clone())).ok();
    }

    /// Notes which attempt runs. Returns what is notified when its worker dies, and whether that is planned.
    pub(super) fn begin(&self, attempt: &Arc<Attempt>) -> (Arc<Notify>, Option<Crash>) {
        let killed = Arc::new(Notify::new());
        *self.0.running.lock() = Some(Running { attempt: Arc::clone(attempt), killed: Arc::clone(&killed) });
        let mut planned = self.0.planned.lock();
        let is_meant =
            |one: &PlannedDeath| one.name == attempt.task.name.as_str() && one.version == attempt.task.version;
        let place = planned.iter().position(is_meant);
        (killed, place.map(|place| planned.remove(place).crash))
    }

    /// Notes that no attempt runs.
    pub(super) fn end(&self) {
        *self.0.running.lock() = None;
    }
}
