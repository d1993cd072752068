//! The places that a picture can be of, and their lists.

/// A list of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum List {
    Queues,
    Workers,
    Failures,
    /// The tasks of a queue or of a worker.
    Tasks,
}

/// What the picture is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Overview,
    Queue(String),
    Worker(String),
    Task(String),
}
