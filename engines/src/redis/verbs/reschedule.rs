//! Scheduled tasks that get another time.

use jobbers_common::{
    engine::{Rescheduled, Result, work::validate_reschedule},
    lifecycle::Status,
    name::TaskId,
    task::Start,
};
use redis::Cmd;

use super::submit::start_argument;
use crate::redis::{
    kernel::{reply::bytes, script, values::status_of},
    server::store::Store,
};

/// The most tasks that one script moves, so that none holds the server for long.
const RESCHEDULED_A_PIECE: usize = 300;

/// Gives scheduled tasks another time from which they may start.
pub(crate) async fn reschedule(store: &Store, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>> {
    validate_reschedule(ids)?;
    let mut rescheduled = Vec::with_capacity(ids.len());
    for piece in ids.chunks(RESCHEDULED_A_PIECE) {
        let add = |command: &mut Cmd| {
            command.arg(start_argument(start));
            piece.iter().for_each(|id| {
                command.arg(id.as_str());
            });
        };
        for letter in bytes(store.run(&store.work, &script::RESCHEDULE, add).await?)? {
            rescheduled.push(read_rescheduled(letter)?);
        }
    }
    Ok(rescheduled)
}

fn read_rescheduled(letter: u8) -> Result<Rescheduled> {
    match letter {
        b'd' => Ok(Rescheduled::Done(Status::Scheduled)),
        b'n' => Ok(Rescheduled::Done(Status::Submitted)),
        b'u' => Ok(Rescheduled::Unknown),
        digit => Ok(Rescheduled::NotScheduled(status_of(&[digit])?)),
    }
}
