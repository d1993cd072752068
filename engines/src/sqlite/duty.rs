//! Duties: who holds them, and until when.

use jobbers_common::{
    engine::{Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
    time::Timestamp,
};
use rusqlite::Connection;

use super::{error::OrStore, row::Columns, sql, step::Step, view::View};

/// Takes or renews a duty. Returns its holder.
pub(super) fn claim(step: &Step<'_>, claim: &DutyClaim) -> Result<Duty> {
    let DutyClaim { duty, holder, note, ttl } = claim;
    let before = find(step.conn, duty)?;
    let (term, taken_from) = match before {
        Some(before) if before.holder == *holder => (before.term, None),
        Some(before) if before.expires_at > step.now => return Ok(before),
        Some(before) => (before.term + 1, Some(before.note)),
        None => (1, None),
    };
    let expires_at = step.now.after(*ttl);
    let had = Duty { holder: holder.clone(), note: note.clone(), term, expires_at, taken_from };
    let (term, expires_at) = (term.cast_signed(), had.expires_at.as_micros());
    step.prepare(sql::PUT_DUTY)?.execute((duty.as_str(), holder.as_str(), note, term, expires_at)).or_store()?;
    Ok(had)
}

/// The holder of a duty.
pub(super) fn look(view: &View<'_>, duty: &DutyName) -> Result<Option<Duty>> {
    Ok(find(view.conn, duty)?.filter(|duty| duty.expires_at > view.now))
}

/// Gives a duty back.
pub(super) fn release(step: &Step<'_>, duty: &DutyName, holder: &HolderId) -> Result<()> {
    step.prepare(sql::END_DUTY)?.execute((duty.as_str(), holder.as_str(), step.now_micros())).or_store()?;
    Ok(())
}

fn find(conn: &Connection, duty: &DutyName) -> Result<Option<Duty>> {
    let mut statement = conn.prepare_cached(sql::FIND_DUTY).or_store()?;
    let mut rows = statement.query([duty.as_str()]).or_store()?;
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = Columns::of(found);
    Ok(Some(Duty {
        holder: columns.name(HolderId::new)?,
        note: columns.take()?,
        term: columns.take::<i64>()?.unsigned_abs(),
        expires_at: Timestamp::from_micros(columns.take()?),
        taken_from: None,
    }))
}
