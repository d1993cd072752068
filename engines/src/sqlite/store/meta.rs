//! The counters of a store that every transaction begins and ends with.

use jobbers_common::{engine::Result, time::Timestamp};
use rusqlite::{Connection, Statement};

use super::error::OrStore;
use crate::sqlite::sql;

/// The counters every transaction reads first and writes last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meta {
    pub(crate) revision: i64,
    pub(crate) config_version: i64,
    pub(crate) clock: i64,
    pub(crate) commits: i64,
}

impl Meta {
    pub(crate) fn read(conn: &Connection) -> Result<Self> {
        Self::read_by(&mut *conn.prepare_cached(sql::READ_META).or_store()?)
    }

    /// The same, by [`sql::READ_META`].
    pub(crate) fn read_by(statement: &mut Statement<'_>) -> Result<Self> {
        let meta = statement.query_row([], |row| {
            Ok(Self {
                revision: row.get("revision")?,
                config_version: row.get("config_version")?,
                clock: row.get("clock")?,
                commits: row.get("commits")?,
            })
        });
        meta.or_store()
    }

    /// Writes them, by [`sql::WRITE_META`].
    pub(crate) fn write_by(self, statement: &mut Statement<'_>) -> Result<()> {
        statement.execute((self.revision, self.config_version, self.clock, self.commits)).or_store()?;
        Ok(())
    }
}

/// Revisions count microseconds from here, in September 2020, as in the other engine.
const FIRST_REVISION_AT: i64 = 1_600_000_000_000_000;

/// The least revision to give out now. Revisions keep up with the clock, so that they and the fences keep growing even
/// after the file lost its last writes or was restored from a copy.
pub(crate) fn least_revision(now: Timestamp) -> i64 {
    now.as_micros().saturating_sub(FIRST_REVISION_AT)
}
