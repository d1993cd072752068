//! The worker's loop: leases taken, extended and settled.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    engine::{Cycle, CycleReply, ExtendAnswer, Extension, Result},
    name::WorkerId,
};

/// What a worker does with the tasks that it leases.
#[async_trait]
pub trait Claims: Send + Sync {
    /// Settles finished tasks and claims new ones in one step. The worker's whole loop.
    ///
    /// Settlements come first, in order. Each is compared by its fence and answered independently, so a lost lease does
    /// not affect the others. Repeating a settlement that ended its task returns the first result. Then due tasks of
    /// the claimed queues are promoted and expired leases reclaimed (a bounded number), and up to
    /// [`ClaimRequest::limit`](crate::engine::ClaimRequest::limit) tasks are leased to the caller: queue by queue as listed, in each by priority and then
    /// in the order they became ready. Paused and unknown queues give no task, and a queue gives no more than its
    /// `max_concurrent` and its `rate_limit` allow now; the other tasks keep their places. A queue also does not give a
    /// task whose key or name has a limit that allows none: that task waits, and those behind it pass. A task of a kind
    /// that the claim refuses ([`ClaimRequest::refused`](crate::engine::ClaimRequest::refused)) is set aside at its place, still `submitted`: claims that
    /// refuse it do not walk past it again, and the next claim that does not refuse it takes it in its turn. A waiting
    /// worker that does not refuse it is woken. For a queue with such limits, or such a claim, one call checks a
    /// bounded number of tasks (of refused kinds few at first, since others may take them meanwhile); if all of these were
    /// held back, `next_due` is zero: call again. A task that has expired
    /// ([`Task::expires_at`](crate::task::Task::expires_at)) is dropped instead of leased. One call drops a bounded number; if it dropped any, `more` is
    /// set or `next_due` is zero. If nothing is claimed, the caller is registered as waiting, in the same step, so that
    /// the next submission, or the end of a task in a queue that was at one of its limits, wakes its [`Waiting::wait`](crate::engine::Waiting::wait).
    /// The reply contains the time when a rate allows more ([`CycleReply::next_due`]).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. After a transient error, repeat the settlements; tasks leased by a lost
    /// answer return when their lease expires.
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply>;

    /// Renews leases and notes heartbeats, progress and checkpoints. A lease is renewed while its fence and its worker agree;
    /// an expired one too, unless it was reclaimed. Heartbeat and progress belong to the attempt and are forgotten when
    /// the task goes back to its queue; its checkpoint stays. Returns results in the order given.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn extend(&self, worker: &WorkerId, lease: Duration, extensions: Vec<Extension>)
    -> Result<Vec<ExtendAnswer>>;
}
