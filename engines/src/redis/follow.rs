//! Features of tasks that follow their moves: dependencies, predecessors, unique keys, tombstones, dead letters. What they do
//! in a move is in `scripts/lib/follow`.

pub(super) mod dependencies;
pub(super) mod letters;
pub(super) mod parents;
pub(super) mod tombstones;
pub(super) mod unique;
