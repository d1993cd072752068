//! A verb as the writing thread sees it.

use jobbers_common::engine::Result;

use crate::sqlite::kernel::step::Step;

/// A verb on its way through the writer.
pub(super) trait Job: Send {
    /// About how many tasks it touches, at least 1.
    fn weight(&self) -> usize;
    /// How many bytes it adds to the store; `None` for a verb that must work even when the store is full.
    fn growth(&self) -> Option<u64>;
    /// Runs it. May be called again if the transaction was lost for a reason outside the verb.
    fn run(&mut self, step: &mut Step<'_>) -> Result<()>;
    /// Tells the caller that it has happened, or why it was undone.
    fn answer(self: Box<Self>, fate: Result<()>);
}
