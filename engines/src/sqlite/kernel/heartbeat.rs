//! What a running attempt reports: that it makes progress, how far it is, and a checkpoint for the next attempt.

use jobbers_common::engine::{Heartbeat, Result};

use super::step::Step;
use crate::sqlite::{sql, store::error::OrStore};

/// Stores a heartbeat of the started task with this key.
pub(crate) fn note_heartbeat(step: &Step<'_>, key: i64, heartbeat: &Heartbeat) -> Result<()> {
    let Heartbeat { progress, checkpoint } = heartbeat;
    let (fraction, message) = match progress {
        Some(progress) => (Some(progress.fraction), Some(&progress.message)),
        None => (None, None),
    };
    step.prepare(sql::NOTE_HEARTBEAT)?.execute((key, step.now_micros(), fraction, message)).or_store()?;
    if let Some(checkpoint) = checkpoint {
        step.prepare(sql::SAVE_CHECKPOINT)?
            .execute((key, checkpoint.content_type.as_deref(), &checkpoint.bytes[..]))
            .or_store()?;
    }
    Ok(())
}
