//! Dead letters: copies of tasks that failed for good, on the outbox until an archive has them.

use jobbers_common::{
    engine::{DeadKey, Error, Outbox, Result, Unreadable, letters::validate_forget, reads::validate_limit},
    limits::DEAD_LETTERS_BYTES,
    name::TaskId,
    time::Timestamp,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::REVISION_DIGITS,
        reply::{array, bytes, number, text},
        script::{self, Script},
        state::read_copy,
        values::time,
    },
    server::{failure::malformed, store::Store},
};

/// The store's time, the number of copies, and the oldest of them after a revision.
async fn read(store: &Store, after: u64, limit: usize) -> Result<(Timestamp, u64, Outbox)> {
    let add = |command: &mut Cmd| {
        command.arg(limit).arg(DEAD_LETTERS_BYTES).arg(revision_digits(after.saturating_add(1)));
    };
    let mut answer = array(store.run(&store.bulk, &script::DEAD_LETTERS, add).await?)?.into_iter();
    let now = time(&bytes(answer.next().unwrap_or(Value::Nil))?)?;
    let size = number(answer.next().unwrap_or(Value::Nil))?;
    let mut outbox = Outbox::default();
    while let (Some(key), Some(copy)) = (answer.next(), answer.next()) {
        let key = text(key)?;
        let (revision, id) = key.split_at_checked(REVISION_DIGITS).ok_or_else(|| malformed("expected a copy's key"))?;
        let revision = revision.parse().map_err(|_| malformed("expected a copy's key"))?;
        let copy = bytes(copy)?;
        match TaskId::new(id).map_err(|error| Error::Corrupt(error.to_string())).and_then(|id| read_copy(&id, &copy)) {
            Ok(copy) => outbox.copies.push(copy),
            Err(error) => {
                let (id, why) = (id.to_owned(), error.to_string());
                outbox.unreadable.push(Unreadable { id, revision, why });
            }
        }
        outbox.last = Some(revision);
    }
    Ok((now, size, outbox))
}

/// A revision as it is written in keys.
pub(crate) fn revision_digits(revision: u64) -> String {
    format!("{revision:0REVISION_DIGITS$}")
}

/// The store's time, and the number of copies on the outbox.
pub(crate) async fn outbox(store: &Store) -> Result<(Timestamp, u64)> {
    let (now, size, _) = read(store, 0, 0).await?;
    Ok((now, size))
}

/// The oldest copies after a revision.
pub(crate) async fn letters(store: &Store, after: u64, limit: usize) -> Result<Outbox> {
    validate_limit(limit)?;
    let (_, _, outbox) = read(store, after, limit).await?;
    Ok(outbox)
}

/// Deletes copies or receipts with the given script.
pub(crate) async fn forget(store: &Store, keys: &[DeadKey], script: &'static Script) -> Result<()> {
    validate_forget(keys)?;
    if keys.is_empty() {
        return Ok(());
    }
    let add = |command: &mut Cmd| {
        keys.iter().for_each(|key| {
            command.arg(format!("{}{}", revision_digits(key.revision), key.id));
        });
    };
    store.run(&store.bulk, script, add).await.map(drop)
}
