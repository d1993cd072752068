//! Sessions of people who have signed in at the pages.

use std::time::Duration;

use jobbers_common::{
    access::{Digest, Session},
    engine::{Error, Result},
    limits::MAX_SESSIONS,
};
use rusqlite::OptionalExtension;

use crate::sqlite::{
    kernel::{step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// Stores a session. Those that have ended are forgotten, and of too many those that end first.
pub(crate) fn put(step: &Step<'_>, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
    let text = serde_json::to_string(session).map_err(|error| Error::Corrupt(error.to_string()))?;
    let until = step.now.after(ttl).as_micros();
    step.prepare(sql::PUT_SESSION)?.execute((id.to_string(), text, until)).or_store()?;
    let most = i64::try_from(MAX_SESSIONS).unwrap_or(i64::MAX);
    step.prepare(sql::FORGET_SESSIONS)?.execute((step.now_micros(), most)).or_store()?;
    Ok(())
}

/// A session that has not ended.
pub(crate) fn read(view: &View<'_>, id: &Digest) -> Result<Option<Session>> {
    let mut statement = view.conn.prepare_cached(sql::FIND_SESSION).or_store()?;
    let found: Option<String> =
        statement.query_row((id.to_string(), view.now.as_micros()), |row| row.get(0)).optional().or_store()?;
    found.map(|text| serde_json::from_str(&text).map_err(|error| Error::Corrupt(error.to_string()))).transpose()
}

/// Ends a session.
pub(crate) fn end(step: &Step<'_>, id: &Digest) -> Result<()> {
    step.prepare(sql::END_SESSION)?.execute([id.to_string()]).or_store()?;
    Ok(())
}
