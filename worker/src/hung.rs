//! Threads that were written off: each is still held by a task whose attempt is over.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{attempt::Attempt, blocking::Seat};

/// The threads that were written off and have not ended yet.
#[derive(Debug, Default)]
pub(crate) struct HungThreads(Mutex<Vec<Arc<Seat>>>);

impl HungThreads {
    /// Notes that the function of this attempt holds its thread, although the attempt is over.
    pub(crate) fn add(&self, attempt: &Attempt, seat: Arc<Seat>) {
        let task = &attempt.task;
        let ran = attempt.runs_for();
        tracing::error!(
            id = %task.id, name = %task.name, attempt = task.attempt, ?ran,
            "the task did not end when it was told to; its thread is written off"
        );
        self.0.lock().push(seat);
    }

    /// How many there are now.
    pub(crate) fn count(&self) -> usize {
        let mut seats = self.0.lock();
        seats.retain(|seat| !seat.is_left());
        seats.len()
    }
}
