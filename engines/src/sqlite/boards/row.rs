//! Rows of boards as values.

use std::collections::BTreeMap;

use bytes::Bytes;
use jobbers_common::{
    engine::{
        Result,
        boards::task::{BoardTask, BoardTime, Content},
    },
    name::BoardName,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::{
    sql,
    store::error::{OrStore, corrupt},
};

/// A board that exists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Board {
    pub(super) key: i64,
    /// The latest revision given.
    pub(super) revision: i64,
}

/// A board, if something was committed to it.
pub(super) fn find_board(conn: &Connection, name: &BoardName) -> Result<Option<Board>> {
    let mut statement = conn.prepare_cached(sql::FIND_BOARD).or_store()?;
    let read = |row: &Row<'_>| Ok(Board { key: row.get("key")?, revision: row.get("revision")? });
    statement.query_row([name.as_str()], read).optional().or_store()
}

/// A revision as a row has it; `None` for one that no task can have.
pub(super) fn stored_revision(revision: u64) -> Option<i64> {
    i64::try_from(revision).ok()
}

/// The task at a revision of a board, and its key.
pub(super) fn get(conn: &Connection, board: i64, revision: u64) -> Result<Option<(i64, BoardTask)>> {
    let Some(revision) = stored_revision(revision) else { return Ok(None) };
    let mut statement = conn.prepare_cached(sql::GET_BOARD_TASK).or_store()?;
    let mut rows = statement.query((board, revision)).or_store()?;
    rows.next().or_store()?.map(|row| Ok((row.get("key").or_store()?, task(row)?))).transpose()
}

/// A task, from the columns of `get_board_task`.
pub(super) fn task(row: &Row<'_>) -> Result<BoardTask> {
    let labels: Option<String> = row.get("labels").or_store()?;
    Ok(BoardTask {
        revision: row.get::<_, i64>("revision").or_store()?.unsigned_abs(),
        group: row.get("group_name").or_store()?,
        at: BoardTime(row.get("at").or_store()?),
        owner: row.get("owner").or_store()?,
        content: Content {
            data: Bytes::from(row.get::<_, Vec<u8>>("data").or_store()?),
            data_type: row.get("data_type").or_store()?,
            labels: labels.as_deref().map_or_else(|| Ok(BTreeMap::new()), read_labels)?,
            error: row.get("error").or_store()?,
        },
    })
}

/// Labels as a row has them.
pub(super) fn write_labels(content: &Content) -> Result<Option<String>> {
    if content.labels.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&content.labels).map(Some).map_err(|error| corrupt("labels", error))
}

/// Reads what [`write_labels`] wrote.
pub(super) fn read_labels(text: &str) -> Result<BTreeMap<String, String>> {
    serde_json::from_str(text).map_err(|error| corrupt("labels of a board's task", error))
}
