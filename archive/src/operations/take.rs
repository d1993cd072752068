//! Assigns letters to an operation when it begins.

use jobbers_common::name::TaskId;
use rusqlite::Transaction;

use super::item::{ItemOutcome, MAX_ITEMS};
use crate::{
    LetterState,
    error::Result,
    filter::{Filter, bind},
    letters::latest,
    sql,
};

/// Takes the latest letters of these tasks; a task without a letter to send gets its result at once.
pub(super) fn tasks(transaction: &Transaction<'_>, operation: &str, tasks: &[TaskId]) -> Result<()> {
    for (place, task) in (0_i64..).zip(tasks) {
        let found = latest(transaction, task)?.map(|letter| letter.summary);
        let (letter, outcome, detail) = match &found {
            None => (None, Some(ItemOutcome::Unknown), Some("this task has no dead letter".to_owned())),
            Some(letter) => match letter.state {
                LetterState::Dead | LetterState::Superseded => (Some(letter), None, None),
                LetterState::Resubmitting | LetterState::Resubmitted => {
                    let by = letter.operation.as_deref().unwrap_or("?");
                    (None, Some(ItemOutcome::AlreadyResubmitted), Some(format!("by operation {by}")))
                }
            },
        };
        transaction.prepare_cached(sql::INSERT_ITEM)?.execute((
            operation,
            place,
            task.as_str(),
            letter.map(|letter| letter.key),
            letter.map(|letter| letter.revision.cast_signed()),
            outcome.map(ItemOutcome::as_str),
            detail,
        ))?;
        if let Some(letter) = letter {
            transaction.prepare_cached(sql::TAKE_LETTER)?.execute((letter.key, operation))?;
        }
    }
    Ok(())
}

/// Takes the letters that match and are dead.
pub(super) fn matching(transaction: &Transaction<'_>, operation: &str, filter: &Filter, limit: usize) -> Result<()> {
    let mut statement = filter.prepare(transaction, sql::TAKE_MATCHING)?;
    bind(&mut statement, ":operation", operation)?;
    bind(&mut statement, ":limit", sql::count(limit.min(MAX_ITEMS)))?;
    statement.raw_execute()?;
    transaction.prepare_cached(sql::TAKE_ITEMS)?.execute([operation])?;
    Ok(())
}
