//! Calls that are carried out to their end, whether or not their caller waits for it.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::Handle;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

/// A call to the store. It runs within its caller, which costs no switch between tasks; once that is dropped, the rest of
/// it runs in a task of its own. The tracker waits for it in both cases. `None` when it panicked.
pub(super) struct DetachedCall<T: Send + 'static> {
    call: Option<BoxFuture<'static, Option<T>>>,
    calls: TaskTracker,
    /// Dropped after the rest was handed to the tracker, which so never seems empty meanwhile.
    _tracked: TaskTrackerToken,
}

impl<T: Send + 'static> DetachedCall<T> {
    pub(super) fn new(calls: &TaskTracker, call: impl Future<Output = T> + Send + 'static) -> Self {
        let call = AssertUnwindSafe(call).catch_unwind().map(Result::ok).boxed();
        Self { call: Some(call), calls: calls.clone(), _tracked: calls.token() }
    }
}

impl<T: Send + 'static> Future for DetachedCall<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(call) = &mut self.call else { return Poll::Ready(None) };
        let polled = call.as_mut().poll(context);
        if polled.is_ready() {
            self.call = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachedCall<T> {
    fn drop(&mut self) {
        // Without a runtime the process is ending.
        if let Some(call) = self.call.take()
            && Handle::try_current().is_ok()
        {
            self.calls.spawn(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_call_whose_caller_is_dropped_is_carried_out() {
        let (calls, go_on) = (TaskTracker::new(), Arc::new(Notify::new()));
        let (told, done) = tokio::sync::oneshot::channel();
        let waited_for = Arc::clone(&go_on);
        let mut call = DetachedCall::new(&calls, async move {
            waited_for.notified().await;
            told.send(7).unwrap();
        });
        assert!((&mut call).now_or_never().is_none());
        drop(call);
        assert_eq!(calls.len(), 1);
        go_on.notify_one();
        assert_eq!(done.await, Ok(7));
    }

    #[tokio::test]
    async fn a_call_that_is_awaited_answers_and_starts_no_task() {
        let calls = TaskTracker::new();
        let call = DetachedCall::new(&calls, async { 7 });
        assert_eq!(calls.len(), 1, "a stop waits for it");
        assert_eq!(call.await, Some(7));
        assert!(calls.is_empty());
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    }

    #[tokio::test]
    async fn a_call_that_panics_answers_nothing() {
        let calls = TaskTracker::new();
        assert_eq!(DetachedCall::new(&calls, async { panic!("a defect") }).await, None::<()>);
        assert!(calls.is_empty());
    }
}
