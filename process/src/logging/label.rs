//! Marks log lines with the attempt they come from.
//!
//! The code that runs a task function sets the label while the function is polled ([`Labelled`], or [`enter`] for one
//! that blocks). Every line written meanwhile, by any crate, carries the task's id, name, attempt and trace. A span
//! around each attempt would do the same at a hundred times the cost for a task that logs nothing.

use std::{
    cell::RefCell,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use serde::Serialize;

/// The attempt, as log lines show it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AttemptLabel<'a> {
    /// The task's id.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Which attempt, 1 for the first.
    pub attempt: u32,
    /// The trace it belongs to, 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<&'a str>,
    /// Whether the task is sensitive: then the words of a panic are not logged.
    #[serde(skip)]
    pub is_sensitive: bool,
}

/// A value that log lines can be labelled with.
pub trait Labels: Send + Sync {
    /// The label.
    fn label(&self) -> AttemptLabel<'_>;
}

type Shared = Arc<dyn Labels>;

thread_local! {
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Restores the previous label when it is dropped.
struct Entered<'a>(&'a mut Option<Shared>);

impl<'a> Entered<'a> {
    fn new(slot: &'a mut Option<Shared>) -> Self {
        swap(slot);
        Self(slot)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        swap(self.0);
    }
}

/// Exchanges the thread's label. A thread that is ending has none.
fn swap(slot: &mut Option<Shared>) {
    CURRENT
        .try_with(|current| {
            if let Ok(mut current) = current.try_borrow_mut() {
                std::mem::swap(&mut *current, slot);
            }
        })
        .ok();
}

/// The label of the task this thread runs; `None` between two tasks and on a thread that is ending.
pub(crate) fn current() -> Option<Shared> {
    let current = CURRENT.try_with(|current| current.try_borrow().ok().and_then(|current| current.clone()));
    current.ok().flatten()
}

/// Whether this thread runs a sensitive task.
pub(crate) fn is_sensitive() -> bool {
    current().is_some_and(|current| current.label().is_sensitive)
}

/// The same for a function that blocks.
pub fn enter<T>(labels: Shared, span: Option<opentelemetry::Context>, run: impl FnOnce() -> T) -> T {
    let mut slot = Some(labels);
    let _entered = Entered::new(&mut slot);
    let _attached = span.map(opentelemetry::Context::attach);
    run()
}

/// A future that labels the lines logged while it is polled. Its span, if it has one, is the current one meanwhile.
pub struct Labelled<F> {
    labels: Option<Shared>,
    span: Option<opentelemetry::Context>,
    future: F,
}

impl<F> Labelled<F> {
    /// Labels `future`.
    pub const fn new(labels: Shared, span: Option<opentelemetry::Context>, future: F) -> Self {
        Self { labels: Some(labels), span, future }
    }
}

impl<F: Future + Unpin> Future for Labelled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { labels, span, future } = self.get_mut();
        let _entered = Entered::new(labels);
        let _attached = span.clone().map(opentelemetry::Context::attach);
        Pin::new(future).poll(context)
    }
}

impl<F> fmt::Debug for Labelled<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labelled")
    }
}
