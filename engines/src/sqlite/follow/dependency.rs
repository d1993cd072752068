//! Dependencies: the edges between tasks, and the effect of one task's end on those that wait for it.
//!
//! A task that ends, or is removed before its end, is noted in the step ([`ends`]). When the verb has finished, or
//! before it claims, its edges are signalled and it lets its own predecessors go ([`signals`]), a bounded number. The
//! claims and ticks that follow do the rest ([`backlog`]). Only `linked` tasks reach this module.

pub(crate) mod add;
pub(crate) mod backlog;
mod edges;
pub(crate) mod ends;
pub(crate) mod external;
pub(crate) mod inspect;
mod leave;
pub(crate) mod link;
pub(crate) mod pieces;
pub(crate) mod signals;
