//! A SQLite file of ours, whatever is in it: opened patiently, known by its mark, migrated, kept within a quota, and missed
//! when it is taken away.
//!
//! The store of tasks and the archive of dead letters are such files. What differs between them they say in [`Settings`],
//! in [`Schema`] and by their calls; what an [`Error`] means to their callers they say in words of their own.
//!
//! It knows no table and keeps no connection. Start reading at [`Settings`].

mod connection;
mod error;
mod in_place;
mod log;
mod quota;
mod schema;

pub use self::{
    connection::Settings,
    error::{Error, ErrorKind, Result},
    in_place::{Adrift, OpenFiles},
    log::{LOG_BYTES, close_quietly, cut_log, index_of, log_of},
    quota::Quota,
    schema::{Schema, is_empty},
};

fn pragma(conn: &rusqlite::Connection, name: &str) -> Result<i64> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}
