//! Hooks: what a program wants to know of its tasks' attempts.
//!
//! A [layer](crate::execution::layer) changes an attempt, and sees what its function answers. A hook changes nothing, and sees how the attempt
//! ended by the task's policy, for all ends alike: an error, a panic, a time limit. It runs before the end is settled.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use jobbers_common::{engine::Outcome, task::AttemptFailure};

use crate::tasks::context::Context;

/// What a program does when an attempt begins and ends: see [`Worker::hooks`](crate::Worker::hooks). All of it is optional.
///
/// A hook must not block. A panic of it is logged, and changes nothing about the attempt. Its ends are those that this worker will
/// settle: an attempt whose lease is lost before that runs again, and ends a second time.
///
/// ```
/// use jobbers_worker::{AttemptFailure, Hooks, prelude::*};
///
/// /// Sends what needs a person to the team's chat.
/// struct Chat;
///
/// impl Hooks for Chat {
///     fn dead_lettered(&self, ctx: &Context, failure: &AttemptFailure) {
///         eprintln!("{} {} needs you: {}", ctx.name(), ctx.id(), failure.message);
///     }
/// }
///
/// # fn example() -> Worker {
/// Worker::from_env().hooks(Chat)
/// # }
/// ```
pub trait Hooks: Send + Sync + 'static {
    /// An attempt is about to begin.
    fn started(&self, _context: &Context) {}

    /// It completed its task.
    fn completed(&self, _context: &Context) {}

    /// It failed, and its task will be retried after `delay`.
    fn retried(&self, _context: &Context, _failure: &AttemptFailure, _delay: Duration) {}

    /// Its task failed for good, or is stalled or aborted.
    fn failed(&self, _context: &Context, _failure: &AttemptFailure) {}

    /// The same, of a task that is kept as a dead letter. It is called after [`Hooks::failed`]. A task that becomes one because
    /// its workers died, or because no worker knows it, has no attempt that could report this: a monitor finds it among the dead
    /// letters.
    fn dead_lettered(&self, _context: &Context, _failure: &AttemptFailure) {}
}

/// The hooks of a worker.
#[derive(Clone, Default)]
pub(crate) struct AllHooks(Vec<Arc<dyn Hooks>>);

impl AllHooks {
    /// Adds some.
    pub(crate) fn add(&mut self, hooks: impl Hooks) {
        self.0.push(Arc::new(hooks));
    }

    /// Whether there are none, so that nothing need be prepared for them.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An attempt is about to begin.
    pub(crate) fn start(&self, context: &Context) {
        self.call(|hooks| hooks.started(context));
    }

    /// An attempt has this outcome.
    pub(crate) fn end(&self, context: &Context, outcome: &Outcome) {
        match outcome {
            Outcome::Completed { .. } => self.call(|hooks| hooks.completed(context)),
            Outcome::Retry { delay, failure } => self.call(|hooks| hooks.retried(context, failure, *delay)),
            Outcome::Failed { failure, dead_letter } | Outcome::Stalled { failure, dead_letter } => {
                self.call(|hooks| hooks.failed(context, failure));
                if *dead_letter {
                    self.call(|hooks| hooks.dead_lettered(context, failure));
                }
            }
            Outcome::Aborted { failure } => self.call(|hooks| hooks.failed(context, failure)),
            _ => {}
        }
    }

    fn call(&self, call: impl Fn(&dyn Hooks)) {
        for hooks in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| call(&**hooks))).is_err() {
                tracing::error!("a hook of this program panicked; the attempt is not affected");
            }
        }
    }
}

impl fmt::Debug for AllHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({})", self.0.len())
    }
}
