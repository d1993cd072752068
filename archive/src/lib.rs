//! The archive: the SQLite file that keeps dead letters and the audit log.
//!
//! It holds whole failed tasks, every failure of theirs in order, and the operations that send them again, so that
//! these continue after a crash. Beside them it holds the changes of the audit log ([`changes`]). It is a separate file from the store of tasks: what the store prunes stays here, and
//! deletions here do not affect the store.
//!
//! It calls no store and knows no HTTP. Its user inserts letters and sends them again. Several processes may open one
//! file: every change is one transaction, and none relies on being the only one. Calls block, so run them on a thread
//! that may block.
//!
//! Start reading at `sql/migrations`, then [`letters`], then [`operations`].

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jobbers_sqlite_file::{OpenFiles, Quota, cut_log, is_log_at_rest};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub mod changes;
mod connection;
mod delete;
mod error;
mod examine;
mod filter;
pub mod fingerprint;
pub mod letters;
pub mod operations;
mod sql;
pub mod whole;

pub use jobbers_common::task::dead_letter::{LetterState, OperationState};

pub use self::{
    changes::{ChangeFilter, ChangePage, ChangePlace},
    error::{Error, Result},
    examine::{Examined, examine},
    filter::Filter,
    letters::{Group, Letter, LetterPage, Summary, WaitingLetters},
    operations::{Item, ItemOutcome, NewOperation, Operation, OperationPage, RunningOperation, Selection},
    whole::{LetterReader, WholeLetter},
};

/// How to open an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How large the file may grow, in bytes; `None` does not limit it.
    pub max_bytes: Option<u64>,
}

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    id: String,
    quota: Quota,
    files: OpenFiles,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Archive {
    /// Opens the file; creates or migrates it where needed.
    ///
    /// # Errors
    /// [`Error::NotOurs`], [`Error::Newer`], [`Error::Corrupt`], [`Error::Locked`], [`Error::Full`], [`Error::Open`].
    pub fn open(path: &Path, options: Options) -> Result<Self> {
        let writer = connection::open_writer(path)?;
        let quota = Quota { name: "dlq_max_bytes", max_bytes: options.max_bytes };
        quota.set(&writer)?;
        let id = writer.query_row(sql::ARCHIVE_ID, [], |row| row.get(0))?;
        let reader = connection::open_reader(path)?;
        let files = OpenFiles::of(path, connection::SETTINGS.busy_timeout)?;
        let (writer, reader) = (Mutex::new(writer), Mutex::new(reader));
        Ok(Self { path: path.to_owned(), id, quota, files, writer, reader })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id of this archive, which stays the same wherever the file is moved.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A warning for the operator while there is still room.
    ///
    /// # Errors
    /// Those of the file.
    pub fn warning(&self) -> Result<Option<String>> {
        self.files.check()?;
        Ok(self.quota.warning(&self.reader.lock())?)
    }

    /// Copies the log into the file and cuts it, if nothing was written for `at_least`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write_back_at_rest(&self, at_least: Duration) -> Result<()> {
        // The log is next to the file itself, not next to a link to it.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        if is_log_at_rest(&path, at_least) && self.files.check().is_ok() {
            cut_log(&self.writer.lock(), Duration::ZERO)?;
        }
        Ok(())
    }

    /// Runs `change` in one transaction that writes.
    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut writer = self.writer.lock();
        self.files.check_writer(&writer).map_err(|adrift| adrift.error)?;
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answer = change(&transaction)?;
        transaction.commit()?;
        // If the file was taken away meanwhile, other processes do not see what was written, so it must not be reported
        // as done.
        self.files.check()?;
        Ok(answer)
    }

    /// Runs `look` on one consistent snapshot.
    fn read<T>(&self, look: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut reader = self.reader.lock();
        self.files.check()?;
        let transaction = reader.transaction()?;
        look(&transaction)
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.files.before_closing_writer(&self.writer.lock());
        self.files.before_closing(&self.reader.lock());
    }
}
