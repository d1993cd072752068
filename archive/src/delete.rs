//! Deletes letters: by task, by filter, or by age and number.

use jobbers_common::{name::TaskId, time::Timestamp};

use crate::{
    Archive, LetterState,
    error::Result,
    filter::{Filter, bind},
    sql,
};

impl Archive {
    /// Deletes the letters of these tasks, and their histories. Letters that are being sent again stay. Returns how
    /// many were deleted.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn delete(&self, ids: &[TaskId]) -> Result<u64> {
        self.write(|transaction| {
            let mut deleted = 0;
            for id in ids {
                deleted += transaction.prepare_cached(sql::DELETE_OF_TASK)?.execute([id.as_str()])?;
            }
            Ok(deleted as u64)
        })
    }

    /// Deletes up to `limit` letters that match, the oldest first. Letters that are being sent again stay. Returns how
    /// many were deleted.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn delete_matching(&self, filter: &Filter, limit: usize) -> Result<u64> {
        self.write(|transaction| {
            let mut statement = filter.prepare(transaction, sql::DELETE_MATCHING)?;
            bind(&mut statement, ":limit", sql::count(limit))?;
            Ok(statement.raw_execute()? as u64)
        })
    }

    /// How many letters these tasks have, and how many of them [`Archive::delete`] would delete.
    ///
    /// # Errors
    /// Those of the file.
    pub fn count_of(&self, ids: &[TaskId]) -> Result<(u64, u64)> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::COUNT_OF_TASK)?;
            let (mut all, mut deletable) = (0, 0);
            for id in ids {
                let counts: (i64, i64) =
                    statement.query_row([id.as_str()], |row| Ok((row.get("letters")?, row.get("deletable")?)))?;
                all += counts.0.unsigned_abs();
                deletable += counts.1.unsigned_abs();
            }
            Ok((all, deletable))
        })
    }

    /// Deletes up to `limit` letters that failed before `failed_before`, or that exceed `keep`. Of the latter, letters
    /// that were handled go before dead ones, the oldest first. Letters that are being sent again stay. Returns how
    /// many were deleted; if that is `limit`, more may be left.
    ///
    /// # Errors
    /// Those of the file. Safe to repeat.
    pub fn prune(&self, failed_before: Option<Timestamp>, keep: Option<u64>, limit: usize) -> Result<u64> {
        self.write(|transaction| {
            let mut deleted = 0;
            if let Some(before) = failed_before {
                let mut statement = transaction.prepare_cached(sql::PRUNE_BY_AGE)?;
                deleted = statement.execute((before.as_micros(), sql::count(limit)))?;
            }
            let Some(keep) = keep else { return Ok(deleted as u64) };
            let total: i64 = transaction.prepare_cached(sql::TOTAL)?.query_row([], |row| row.get(0))?;
            let surplus = usize::try_from(total.unsigned_abs().saturating_sub(keep)).unwrap_or(usize::MAX);
            let goal = limit.min(deleted.saturating_add(surplus));
            for state in [LetterState::Superseded, LetterState::Resubmitted, LetterState::Dead] {
                if deleted < goal {
                    let mut statement = transaction.prepare_cached(sql::PRUNE_OF_STATE)?;
                    deleted += statement.execute((state.as_str(), sql::count(goal - deleted)))?;
                }
            }
            Ok(deleted as u64)
        })
    }
}
