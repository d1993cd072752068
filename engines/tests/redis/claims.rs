//! Claims: the lane they take from, the slots they take, and the batches in which they lease.

mod batches;
mod lane;
mod slots;
