//! The chores that time makes necessary.

/// A chore for tasks whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chore {
    /// Scheduled tasks join their queues.
    Promote,
    /// Expired leases are taken back.
    Reclaim,
    /// Finished tasks are deleted, by the retention of their queue.
    Prune,
}

impl Chore {
    /// All, in the order of their stored numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Promote, Self::Reclaim, Self::Prune];

    /// The stored number.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}
