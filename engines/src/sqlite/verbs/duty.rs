//! Duties: who holds them, and until when. A holder that renews its duty unchanged writes nothing ([`Heartbeats`]).

use jobbers_common::{
    engine::{Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
    time::Timestamp,
};
use rusqlite::Connection;

use crate::sqlite::{
    kernel::{row::Columns, step::Step, view::View},
    sql,
    store::{
        error::OrStore,
        heartbeats::{HeartbeatRecord, Heartbeats},
    },
};

/// Takes or renews a duty. Returns its holder.
pub(crate) fn claim(step: &Step<'_>, claim: &DutyClaim) -> Result<Duty> {
    let DutyClaim { duty, holder, note, ttl } = claim;
    let expires_at = step.now.after(*ttl);
    let record = HeartbeatRecord::of_duty(duty, holder);
    let had = |term, taken_from| Duty { holder: holder.clone(), note: note.clone(), term, expires_at, taken_from };
    let had = match find(step.conn, duty)? {
        Some(before) if before.holder == *holder => {
            if before.note == *note
                && before.expires_at <= expires_at
                && step.heartbeats.renew(record, step.now, expires_at)
            {
                return Ok(had(before.term, None));
            }
            had(before.term, None)
        }
        Some(before) => {
            let before = by_heartbeats(before, duty, step.heartbeats, step.now);
            if before.expires_at > step.now {
                return Ok(before);
            }
            had(before.term + 1, Some(before.note))
        }
        None => had(1, None),
    };
    let (term, until) = (had.term.cast_signed(), expires_at.as_micros());
    step.prepare(sql::PUT_DUTY)?.execute((duty.as_str(), holder.as_str(), note, term, until)).or_store()?;
    step.heartbeats.renew(record, step.now, expires_at);
    Ok(had)
}

/// The holder of a duty.
pub(crate) fn read(view: &View<'_>, duty: &DutyName) -> Result<Option<Duty>> {
    let found = find(view.conn, duty)?.map(|found| by_heartbeats(found, duty, view.heartbeats, view.now));
    Ok(found.filter(|duty| duty.expires_at > view.now))
}

/// Gives a duty back.
pub(crate) fn release(step: &Step<'_>, duty: &DutyName, holder: &HolderId) -> Result<()> {
    step.prepare(sql::END_DUTY)?.execute((duty.as_str(), holder.as_str(), step.now_micros())).or_store()?;
    step.heartbeats.end(HeartbeatRecord::of_duty(duty, holder));
    Ok(())
}

/// A duty, with the end that its holder's heartbeats give it.
fn by_heartbeats(found: Duty, duty: &DutyName, heartbeats: &Heartbeats, now: Timestamp) -> Duty {
    let renewed = heartbeats.until(HeartbeatRecord::of_duty(duty, &found.holder), now);
    Duty { expires_at: renewed.map_or(found.expires_at, |renewed| renewed.max(found.expires_at)), ..found }
}

/// A duty as it was written last.
fn find(conn: &Connection, duty: &DutyName) -> Result<Option<Duty>> {
    let mut statement = conn.prepare_cached(sql::FIND_DUTY).or_store()?;
    let mut rows = statement.query([duty.as_str()]).or_store()?;
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = Columns::of(found);
    Ok(Some(Duty {
        holder: columns.name("holder", HolderId::new)?,
        note: columns.take("note")?,
        term: columns.take::<i64>("term")?.unsigned_abs(),
        expires_at: Timestamp::from_micros(columns.take("expires_at")?),
        taken_from: None,
    }))
}
