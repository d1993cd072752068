//! What follows the moves of tasks, feature by feature, in one written order.
//!
//! The kernel (`step.rs`, `moves.rs`, `removal.rs`) moves tasks and calls these hooks. A feature that must know of a move is
//! named here, and nowhere in the kernel.

use jobbers_common::{engine::Result, lifecycle::Status};

use self::dependency::{ends, signals};
use super::kernel::step::{Hooks, MovedTask, Step, TaskEnd};

pub(super) mod dependency;
pub(super) mod expiry;
pub(super) mod gates;
pub(super) mod history;
pub(super) mod letters;
pub(super) mod limits;
pub(super) mod losses;
pub(super) mod parents;
pub(super) mod tombstones;
pub(super) mod unique;
pub(super) mod unknown;
pub(super) mod waiting_bytes;

/// All features that follow the moves of tasks.
#[derive(Debug)]
pub(super) struct Features;

impl Hooks for Features {
    fn entered(&self, step: &mut Step<'_>, key: i64, queue: i64, to: Status) -> Result<()> {
        history::note_accepted(step, queue);
        waiting_bytes::note(step, key, queue, None, Some(to))
    }

    fn moved(&self, step: &mut Step<'_>, key: i64, queue: i64, moved: MovedTask) -> Result<()> {
        let MovedTask { from, event, to } = moved;
        history::note_moved(step, queue, event, to);
        waiting_bytes::note(step, key, queue, Some(from), Some(to))
    }

    fn left(&self, step: &mut Step<'_>, key: i64, queue: i64, from: Status) -> Result<()> {
        waiting_bytes::note(step, key, queue, Some(from), None)
    }

    fn removing(&self, step: &mut Step<'_>, keys: &str) -> Result<()> {
        parents::note_removed(step, keys)
    }

    fn leaving(&self, step: &mut Step<'_>, key: i64, queue: i64, from: Status) -> Result<()> {
        gates::note_ended(step, key, queue, from)
    }

    fn ended(&self, step: &mut Step<'_>, end: &TaskEnd<'_>) -> Result<()> {
        if end.is_linked {
            ends::note_end(step, end)?;
        }
        if end.dead_letter {
            letters::keep(step, end.id)?;
        }
        Ok(())
    }

    fn done(&self, step: &mut Step<'_>) -> Result<()> {
        signals::signal_all(step)
    }

    fn written(&self, step: &mut Step<'_>) -> Result<()> {
        history::write(step)
    }
}
