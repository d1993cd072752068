//! Journals: a store and its dead letters as newline JSON, for backups and for moving between engines.
//!
//! The first line is a [`Header`], each further one a [`JournalEntry`], and the last one counts them and has the digest of all
//! before it. A journal is read twice, for the check comes before the first write, and tasks that wait get their edges
//! once all tasks are stored. What one line holds is bounded, and so is the memory of both directions.
//!
//! Start reading at [`entry`]; then [`export`] and [`import`].

pub mod entry;
pub mod export;
pub mod import;
mod import_boards;
mod letters;
mod payload;
mod reader;
mod report;
mod task_line;
mod writer;

use std::{collections::BTreeMap, io};

use jobbers_common::engine;
use serde::{Deserialize, Serialize};

pub use self::{entry::JournalEntry, reader::Journal};

/// The version of the format that this program writes, and the only one that it reads.
const VERSION: u32 = 1;
/// The longest line, in bytes. A task with the largest payloads is shorter.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The first line: what wrote the journal, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub journal: u32,
    /// When it was begun, by the store's clock.
    pub exported_at: String,
    /// The version of the program.
    pub program: String,
    /// The engine of the store.
    pub engine: String,
}

/// How many entries there are, by kind.
pub type Counts = BTreeMap<String, u64>;

/// What the last line says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Trailer {
    kind: String,
    counts: Counts,
    /// SHA-256 of all bytes before this line, in hexadecimal digits.
    digest: String,
}

/// The kind of the last line.
const END: &str = "end";

/// Why a journal can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no journal, or is damaged, or was cut short.
    #[error("line {line}: {why}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file can't be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The store refused or failed.
    #[error("the store: {0}")]
    Store(#[from] engine::Error),
    /// The archive of dead letters refused or failed.
    #[error("{0}")]
    Archive(#[from] jobbers_archive::Error),
    /// A part of the program failed.
    #[error("{0}")]
    Defect(String),
}

/// The result of reading or writing a journal.
pub type Result<T, E = Error> = std::result::Result<T, E>;
