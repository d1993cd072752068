//! Logged changes, until an archive has them.

use jobbers_common::{
    engine::{
        Error, LoggedChange, LoggedChanges, LoggedKey, Result,
        audit_log::{validate_forget, validate_record},
        reads::validate_limit,
    },
    limits::{LOGGED_CHANGES_BYTES, MAX_LOGGED_CHANGES},
    name::ChangeId,
};
use redis::{Cmd, Value};

use super::{
    kernel::{
        layout::LOGGED,
        reply::{array, bytes, digits, number, text},
        script,
        values::time,
    },
    server::store::Store,
};

/// Logs a change, unless it is logged.
pub(super) async fn begin(store: &Store, id: &ChangeId, record: &str) -> Result<()> {
    validate_record(record)?;
    let add = |command: &mut Cmd| {
        command.arg(id.as_str()).arg(record).arg(MAX_LOGGED_CHANGES);
    };
    match number(store.run(&store.bulk, &script::LOG_CHANGE, add).await?)? {
        0 => Err(Error::AuditLogFull { max: MAX_LOGGED_CHANGES }),
        _ => Ok(()),
    }
}

/// Notes the outcome of a change. Returns whether it is logged.
pub(super) async fn end(store: &Store, id: &ChangeId, outcome: &str) -> Result<bool> {
    validate_record(outcome)?;
    let add = |command: &mut Cmd| {
        command.arg(id.as_str()).arg(outcome);
    };
    Ok(number(store.run(&store.bulk, &script::LOG_OUTCOME, add).await?)? == 1)
}

/// Changes after a number, in the order in which they were logged.
pub(super) async fn read(store: &Store, after: u64, limit: usize) -> Result<LoggedChanges> {
    validate_limit(limit)?;
    let add = |command: &mut Cmd| {
        command.arg(after).arg(limit).arg(LOGGED_CHANGES_BYTES);
    };
    let mut answer = array(store.run(&store.bulk, &script::LOGGED_CHANGES, add).await?)?.into_iter();
    let now = time(&bytes(answer.next().unwrap_or(Value::Nil))?)?;
    let total = number(answer.next().unwrap_or(Value::Nil))?;
    let mut changes = Vec::new();
    while let (Some(id), Some(change), Some(outcome)) = (answer.next(), answer.next(), answer.next()) {
        changes.push(change_of(&text(id)?, &text(change)?, text(outcome)?)?);
    }
    Ok(LoggedChanges { now, changes, total })
}

fn change_of(id: &str, stored: &str, outcome: String) -> Result<LoggedChange> {
    let corrupt = || Error::Corrupt(format!("the logged change {id} can't be read"));
    let (fixed, record) = stored.split_at_checked(LOGGED.len()).ok_or_else(corrupt)?;
    Ok(LoggedChange {
        number: digits(&fixed.as_bytes()[const { LOGGED.range("number") }])?,
        id: ChangeId::new(id).map_err(|_| corrupt())?,
        begun_at: time(&fixed.as_bytes()[const { LOGGED.range("begun_at") }])?,
        record: record.to_owned(),
        outcome: Some(outcome).filter(|outcome| !outcome.is_empty()),
    })
}

/// Deletes changes that are as they were read.
pub(super) async fn forget(store: &Store, keys: &[LoggedKey]) -> Result<()> {
    validate_forget(keys)?;
    if keys.is_empty() {
        return Ok(());
    }
    let add = |command: &mut Cmd| {
        for LoggedKey { id, has_outcome } in keys {
            command.arg(id.as_str()).arg(u8::from(*has_outcome));
        }
    };
    store.run(&store.bulk, &script::FORGET_CHANGES, add).await.map(drop)
}
