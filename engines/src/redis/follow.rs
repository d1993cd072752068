//! Features of tasks that follow their moves: dependencies, predecessors, unique keys, tombstones, dead letters, the
//! history of queues. What they do
//! in a move is in `scripts/lib/follow`.

pub(super) mod dependencies;
pub(super) mod history;
pub(super) mod letters;
pub(super) mod parents;
pub(super) mod tombstones;
pub(super) mod unique;
