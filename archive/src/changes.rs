//! The audit log: inserting changes, finding and pruning them.
//!
//! No call alters what a change says, except that a known outcome follows an unknown one, and none deletes a chosen one.

use std::{fmt, str::FromStr};

use jobbers_common::{
    audit_log::{AuditEntry, ChangeResult},
    name::{ChangeId, KeyId},
    time::Timestamp,
};
use rusqlite::{Row, ToSql};

use crate::{
    Archive,
    error::{Error, Result, corrupt},
    filter::bind,
    letters::MAX_PAGE,
    sql,
    whole::LetterReader,
};

/// Which changes to select; a field that is `None` does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeFilter {
    /// By this access key.
    pub key: Option<KeyId>,
    /// Of this operation.
    pub operation: Option<String>,
    /// Of this object.
    pub object: Option<String>,
    /// With this result.
    pub result: Option<ChangeResult>,
    /// Logged at this time or later.
    pub from: Option<Timestamp>,
    /// Logged before this time.
    pub to: Option<Timestamp>,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangePage {
    /// The changes, the latest first.
    pub entries: Vec<AuditEntry>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A place in the order of changes: that of one of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangePlace {
    at: Timestamp,
    id: ChangeId,
}

impl ChangePlace {
    /// That of a change.
    #[must_use]
    pub fn of(entry: &AuditEntry) -> Self {
        Self { at: entry.at, id: entry.id.clone() }
    }
}

impl fmt::Display for ChangePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.as_micros(), self.id)
    }
}

impl FromStr for ChangePlace {
    type Err = Error;

    fn from_str(cursor: &str) -> Result<Self> {
        let place = cursor.split_once('.').and_then(|(at, id)| {
            Some(Self { at: Timestamp::from_micros(at.parse().ok()?), id: ChangeId::new(id).ok()? })
        });
        place.ok_or(Error::ForeignCursor)
    }
}

/// Greater than every id.
const LAST_ID: &str = "~";

impl ChangeFilter {
    /// Whether a change matches.
    #[must_use]
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let Self { key, operation, object, result, from, to } = self;
        (key.is_none() || *key == entry.record.key)
            && operation.as_ref().is_none_or(|operation| *operation == entry.record.operation)
            && object.as_deref().is_none_or(|object| entry.object() == Some(object))
            && result.is_none_or(|result| entry.result() == result)
            && from.is_none_or(|from| entry.at >= from)
            && to.is_none_or(|to| entry.at < to)
    }

    fn parameters(&self) -> Vec<(&'static str, Box<dyn ToSql>)> {
        fn given<T: ToSql + 'static>(name: &'static str, value: Option<T>) -> Option<(&'static str, Box<dyn ToSql>)> {
            value.map(|value| (name, Box::new(value) as Box<dyn ToSql>))
        }
        let parameters = [
            given(":key", self.key.as_ref().map(ToString::to_string)),
            given(":operation", self.operation.clone()),
            given(":object", self.object.clone()),
            given(":result", self.result.map(ChangeResult::as_str)),
            given(":from", self.from.map(Timestamp::as_micros)),
            given(":to", self.to.map(Timestamp::as_micros)),
        ];
        parameters.into_iter().flatten().collect()
    }
}

impl Archive {
    /// Inserts changes, each once. One that is here with an unknown outcome takes the outcome of the new one. Returns how
    /// many changed something.
    ///
    /// # Errors
    /// [`Error::Full`]; those of the file. All are inserted or none. Safe to repeat.
    pub fn put_changes(&self, entries: &[AuditEntry]) -> Result<u64> {
        self.write(|transaction| {
            let mut added = 0;
            for entry in entries {
                let text = serde_json::to_string(entry).map_err(|error| corrupt("a change can't be written", error))?;
                self.quota.check(transaction, text.len() as u64)?;
                added += transaction.prepare_cached(sql::PUT_CHANGE)?.execute((
                    entry.id.as_str(),
                    entry.at.as_micros(),
                    entry.record.key.as_ref().map(KeyId::as_str),
                    &entry.record.operation,
                    entry.object(),
                    entry.result().as_str(),
                    text,
                ))?;
            }
            Ok(added as u64)
        })
    }

    /// Changes that match, the latest first, up to `limit` of them, which is at most [`MAX_PAGE`]; of those before a place.
    ///
    /// # Errors
    /// Those of the file.
    pub fn changes(&self, filter: &ChangeFilter, limit: usize, before: Option<&ChangePlace>) -> Result<ChangePage> {
        let (before_at, before) = before.map_or((i64::MAX, LAST_ID), |it| (it.at.as_micros(), it.id.as_str()));
        let limit = limit.clamp(1, MAX_PAGE);
        self.read(|transaction| {
            let parameters = filter.parameters();
            let given: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
            let statement = sql::matching(sql::PAGE_OF_CHANGES, sql::OF_CHANGES, &given);
            let mut statement = transaction.prepare_cached(&statement)?;
            for (name, value) in parameters {
                bind(&mut statement, name, value)?;
            }
            bind(&mut statement, ":before_at", before_at)?;
            bind(&mut statement, ":before", before)?;
            bind(&mut statement, ":limit", sql::count(limit + 1))?;
            let mut rows = statement.raw_query();
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                entries.push(entry(row)?);
            }
            let has_more = entries.len() > limit;
            entries.truncate(limit);
            Ok(ChangePage { entries, has_more })
        })
    }

    /// How many changes there are.
    ///
    /// # Errors
    /// Those of the file.
    pub fn count_changes(&self) -> Result<u64> {
        self.read(|transaction| {
            let count: i64 = transaction.prepare_cached(sql::COUNT_CHANGES)?.query_row([], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        })
    }

    /// Deletes up to `limit` changes that were logged before `before`, or that exceed `keep`, the oldest first. Returns how
    /// many were deleted; if that is `limit`, more may be left.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn prune_changes(&self, before: Option<Timestamp>, keep: Option<u64>, limit: usize) -> Result<u64> {
        self.write(|transaction| {
            let mut deleted = 0;
            if let Some(before) = before {
                let mut statement = transaction.prepare_cached(sql::PRUNE_CHANGES_BY_AGE)?;
                deleted = statement.execute((before.as_micros(), sql::count(limit)))?;
            }
            let Some(keep) = keep else { return Ok(deleted as u64) };
            let total: i64 = transaction.prepare_cached(sql::COUNT_CHANGES)?.query_row([], |row| row.get(0))?;
            let surplus = usize::try_from(total.unsigned_abs().saturating_sub(keep)).unwrap_or(usize::MAX);
            let left = surplus.min(limit.saturating_sub(deleted));
            if left > 0 {
                deleted += transaction.prepare_cached(sql::PRUNE_CHANGES)?.execute([sql::count(left)])?;
            }
            Ok(deleted as u64)
        })
    }
}

impl LetterReader {
    /// The changes after a time and an id (`None`: from the start), in the order of time. Returns up to `limit`, at most
    /// [`MAX_PAGE`]; none at the end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn changes(&self, after: Option<(Timestamp, &ChangeId)>, limit: usize) -> Result<Vec<AuditEntry>> {
        let has_table: bool = self.conn.prepare_cached(sql::HAS_CHANGES)?.query_row([], |row| row.get(0))?;
        if !has_table {
            return Ok(Vec::new());
        }
        let mut statement = self.conn.prepare_cached(sql::WHOLE_CHANGES)?;
        let (at, id) = after.map_or((i64::MIN, ""), |(at, id)| (at.as_micros(), id.as_str()));
        let mut rows = statement.query((at, id, sql::count(limit.clamp(1, MAX_PAGE))))?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry(row)?);
        }
        Ok(entries)
    }
}

fn entry(row: &Row<'_>) -> Result<AuditEntry> {
    let text: String = row.get("entry")?;
    serde_json::from_str(&text).map_err(|error| corrupt("a change can't be read", error))
}
