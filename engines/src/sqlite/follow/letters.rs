//! Dead letters: copies of tasks that failed for good, on the outbox until an archive has them.

use std::sync::Arc;

use jobbers_common::{
    engine::{DeadKey, DeadTask, Outbox, Result, Unreadable},
    limits::DEAD_LETTERS_BYTES,
    name::TaskId,
    task::Task,
};
use serde::Serialize;

use crate::sqlite::{
    kernel::{step::Step, view::View},
    read::tasks,
    sql,
    store::error::{OrStore, corrupt},
};

/// Puts a copy of a task that has just ended on the outbox.
pub(crate) fn keep(step: &Step<'_>, id: &TaskId) -> Result<()> {
    let catalog = Arc::clone(&step.ledger.catalog);
    let view = View { conn: step.conn, catalog, now: step.now, heartbeats: step.heartbeats };
    let task = tasks::get(&view, id)?.ok_or_else(|| corrupt("the index of ids", id))?;
    let task = Task { dependencies: None, ..task };
    let fingerprint: [u8; 16] =
        step.prepare(sql::FIND_SUBMISSION)?.query_row([id.as_str()], |row| row.get("fingerprint")).or_store()?;
    let copy = DeadTask { task, fingerprint: u128::from_be_bytes(fingerprint) };
    let mut bytes = Vec::new();
    copy.serialize(&mut rmp_serde::Serializer::new(&mut bytes).with_struct_map())
        .map_err(|error| corrupt("a dead letter", error))?;
    step.prepare(sql::PUT_IN_OUTBOX)?.execute((copy.task.revision.cast_signed(), id.as_str(), bytes)).or_store()?;
    Ok(())
}

/// The oldest copies after a revision.
pub(crate) fn letters(view: &View<'_>, after: u64, limit: usize) -> Result<Outbox> {
    let mut statement = view.prepare(sql::OUTBOX_COPIES)?;
    let mut rows = statement.query((i64::try_from(after).unwrap_or(i64::MAX), sql::count(limit))).or_store()?;
    let (mut outbox, mut bytes) = (Outbox::default(), 0);
    while let Some(found) = rows.next().or_store()? {
        let revision = found.get::<_, i64>("revision").or_store()?.unsigned_abs();
        let copy = found.get_ref("copy").or_store()?.as_blob().map_err(|error| corrupt("a dead letter", error))?;
        bytes += copy.len();
        if outbox.last.is_some() && bytes > DEAD_LETTERS_BYTES {
            break;
        }
        match rmp_serde::from_slice(copy) {
            Ok(copy) => outbox.copies.push(copy),
            Err(error) => {
                let (id, why) = (found.get("id").or_store()?, error.to_string());
                outbox.unreadable.push(Unreadable { id, revision, why });
            }
        }
        outbox.last = Some(revision);
    }
    Ok(outbox)
}

/// How many copies there are.
pub(crate) fn outbox_size(view: &View<'_>) -> Result<u64> {
    let size: i64 = view.prepare(sql::OUTBOX_SIZE)?.query_row([], |row| row.get(0)).or_store()?;
    Ok(size.unsigned_abs())
}

/// Deletes copies or receipts with the given statement.
pub(crate) fn forget(step: &Step<'_>, keys: &[DeadKey], statement: &'static str) -> Result<()> {
    for DeadKey { id, revision } in keys {
        let revision = i64::try_from(*revision).unwrap_or(-1);
        step.prepare(statement)?.execute((id.as_str(), revision)).or_store()?;
    }
    Ok(())
}
