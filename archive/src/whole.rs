//! Whole letters out of one archive and into another, for backups.

use std::path::Path;

use jobbers_common::{engine::DeadTask, task::AttemptError, time::Timestamp};
use rusqlite::Connection;

use crate::{
    Archive, LetterState, connection,
    error::Result,
    letters::{MAX_PAGE, failures, insert_failures, put_one, read_copy, searchable, word},
    sql,
};

/// The page ends after about this many bytes of copies.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A letter with all that an archive knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeLetter {
    /// The whole task.
    pub dead: DeadTask,
    /// Its state.
    pub state: LetterState,
    /// When it was sent again.
    pub resubmitted_at: Option<Timestamp>,
    /// The operation that is sending or has sent it again.
    pub operation: Option<String>,
    /// Failures of its task that the copy does not list. Only the latest letter of a task has them.
    pub history: Vec<AttemptError>,
}

impl WholeLetter {
    /// A letter that no archive has yet.
    #[must_use]
    pub const fn new(dead: DeadTask) -> Self {
        Self { dead, state: LetterState::Dead, resubmitted_at: None, operation: None, history: Vec::new() }
    }
}

/// An archive that is only read. It is opened without permission to write, so that it does not disturb the process that
/// keeps it.
#[derive(Debug)]
pub struct LetterReader {
    pub(crate) conn: Connection,
}

impl LetterReader {
    /// Opens the file; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open(path: &Path) -> Result<Option<Self>> {
        match path.try_exists() {
            Ok(false) => Ok(None),
            _ => Ok(Some(Self { conn: connection::open_only_to_read(path)? })),
        }
    }

    /// The letters after a key (`None`: from the start), in the order of arrival, each with its key. Returns up to
    /// `limit`, at most [`MAX_PAGE`], and fewer large ones; none at the end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn letters(&self, after: Option<i64>, limit: usize) -> Result<Vec<(i64, WholeLetter)>> {
        let transaction = self.conn.unchecked_transaction()?;
        let mut statement = transaction.prepare_cached(sql::WHOLE_LETTERS)?;
        let limit = sql::count(limit.clamp(1, MAX_PAGE));
        let mut rows = statement.query((after.unwrap_or(i64::MIN), limit))?;
        let (mut letters, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()?.filter(|_| bytes < PAGE_BYTES) {
            bytes += row.get_ref("copy")?.as_blob().map_or(0, <[u8]>::len);
            let dead = read_copy(row)?;
            let mut history = Vec::new();
            if row.get("is_latest")? {
                history = failures(&transaction, &dead.task.id)?;
                let of_copy = searchable(&dead.task, &dead.task.errors);
                history.retain(|failure| !of_copy.contains(failure));
            }
            let letter = WholeLetter {
                dead,
                state: word(&row.get::<_, String>("state")?)?,
                resubmitted_at: row.get::<_, Option<i64>>("resubmitted_at")?.map(Timestamp::from_micros),
                operation: row.get("operation")?,
                history,
            };
            letters.push((row.get("key")?, letter));
        }
        Ok(letters)
    }
}

impl Archive {
    /// Inserts letters that another archive held, or this one earlier. A letter that is here stays; if it is dead here and
    /// was sent again or superseded there, it is that here too. A letter that an operation was about to send becomes
    /// superseded, for whether it was sent is not known: no operation takes it unless its task is named. Returns for each
    /// whether something changed.
    ///
    /// # Errors
    /// [`Error::Full`](crate::Error::Full); those of the file. All are inserted or none. Safe to repeat.
    pub fn restore(&self, letters: &[WholeLetter]) -> Result<Vec<bool>> {
        self.write(|transaction| {
            let mut changed = Vec::with_capacity(letters.len());
            for letter in letters {
                let task = &letter.dead.task;
                let is_new = put_one(transaction, &letter.dead, self.quota)?;
                insert_failures(transaction, task, &letter.history)?;
                let state = match letter.state {
                    LetterState::Resubmitting => LetterState::Superseded,
                    state => state,
                };
                let mut advanced = 0;
                if state != LetterState::Dead {
                    advanced = transaction.prepare_cached(sql::ADVANCE_LETTER)?.execute((
                        task.id.as_str(),
                        task.revision.cast_signed(),
                        state.as_str(),
                        letter.resubmitted_at.map(Timestamp::as_micros),
                        &letter.operation,
                        is_new,
                    ))?;
                }
                changed.push(is_new || advanced > 0);
            }
            Ok(changed)
        })
    }
}
