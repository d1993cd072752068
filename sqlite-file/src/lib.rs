//! What the SQLite files of Jobbers have in common, whatever they contain: opening with patience, an application mark,
//! migrations, a quota, and a check that the file was not taken away.
//!
//! The store of tasks and the archive of dead letters are such files. They configure the differences in [`Settings`],
//! in [`Schema`] and by their calls, and translate an [`Error`] into words for their callers.
//!
//! This crate knows no table and keeps no connection. Start reading at [`Settings`].

mod connection;
mod error;
mod examine;
mod held;
mod in_place;
mod log;
mod quota;
mod schema;
mod statements;

pub use self::{
    connection::Settings,
    error::{Error, FileErrorKind, Result},
    examine::{Identity, identity, length},
    held::{close, exposure, is_held, without_links},
    in_place::{Adrift, OpenFiles},
    log::{LOG_BYTES, check_not_emptied, close_quietly, copy_log, cut_log, index_of, is_log_at_rest, log_of},
    quota::{Quota, free_bytes},
    schema::{Schema, is_empty},
    statements::{column, columns, count_statements, find_statement},
};

fn pragma(conn: &rusqlite::Connection, name: &str) -> Result<i64> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}
