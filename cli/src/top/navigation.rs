//! The views of `jobbers top`, and their lists.

/// A list of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListTab {
    Queues,
    Workers,
    Failures,
    /// The tasks of a queue or of a worker.
    Tasks,
}

/// What `jobbers top` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TopView {
    Overview,
    Queue(String),
    Worker(String),
    Task(String),
}
