//! The threads of synchronous tasks: the pool, how many tasks may wait for it, and the threads that were written off.
//!
//! It knows no attempt: it runs closures.

pub(crate) mod hung;
pub(crate) mod pool;
pub(crate) mod queue;
