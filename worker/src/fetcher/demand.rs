//! Whether the worker wants a call to the store, and until when it leaves tasks to others.

use std::time::{Duration, Instant};

use jobbers_common::engine::CycleReply;

/// How long a worker that found only kinds it refuses leaves them to others, who take hundreds in that time. Setting a short
/// task aside and taking it back more than doubles what it costs the store.
const LEAVING: Duration = Duration::from_millis(20);

/// The wish for a call.
#[derive(Debug)]
pub(super) struct Demand {
    /// Whether the queues held something when last asked.
    pub(super) hungry: bool,
    /// Whether something may have changed since the last call.
    pub(super) woken: bool,
    /// Whether the last claim refused the kinds of blocking tasks, because the blocking queue was full.
    pub(super) refuses_blocking: bool,
    /// When the store has something next, as of the last claim.
    pub(super) next_due: Option<Duration>,
    /// Until when it leaves to others what its last claim refused; a wake does not end that.
    pub(super) leaves_until: Option<Instant>,
}

impl Default for Demand {
    fn default() -> Self {
        Self { hungry: true, woken: false, refuses_blocking: false, next_due: None, leaves_until: None }
    }
}

impl Demand {
    /// What can be claimed may be more than before.
    pub(super) const fn renew(&mut self) {
        self.hungry = true;
        self.woken = true;
    }

    /// Notes the answer of a claim; `refused`: whether it refused kinds of tasks.
    pub(super) fn answered(&mut self, reply: &CycleReply, refused: bool) {
        self.hungry = reply.more;
        self.next_due = reply.next_due;
        let has_more = reply.claimed.is_empty() && reply.next_due == Some(Duration::ZERO);
        self.leaves_until = (has_more && refused).then(|| Instant::now() + LEAVING);
    }

    /// Whether it has left to others what it refused, and for long enough.
    pub(super) fn ends_leaving(&mut self, now: Instant) -> bool {
        self.leaves_until.take_if(|until| *until <= now).is_some()
    }
}
