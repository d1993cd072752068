//! Boards, as far as they are shown.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Page;

/// A board.
#[derive(Debug, Deserialize)]
pub struct Board {
    /// Its name.
    pub name: String,
    /// The latest revision given.
    pub revision: u64,
    /// How many tasks it holds.
    pub tasks: u64,
}

/// A page of boards.
#[derive(Debug, Deserialize)]
pub struct Boards {
    /// The boards.
    pub boards: Vec<Board>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for Boards {
    type Item = Board;

    fn turned(self) -> (Vec<Board>, Option<String>) {
        (self.boards, self.next_cursor)
    }
}

/// A group of a board.
#[derive(Debug, Deserialize)]
pub struct BoardGroup {
    /// Its name.
    pub group: String,
    /// How many tasks it holds.
    pub tasks: u64,
}

/// A page of groups.
#[derive(Debug, Deserialize)]
pub struct BoardGroups {
    /// The groups.
    pub groups: Vec<BoardGroup>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for BoardGroups {
    type Item = BoardGroup;

    fn turned(self) -> (Vec<BoardGroup>, Option<String>) {
        (self.groups, self.next_cursor)
    }
}

/// A task of a board.
#[derive(Debug, Deserialize)]
pub struct BoardTask {
    /// Its address.
    pub revision: u64,
    /// The group it is in.
    pub group: String,
    /// When it becomes visible.
    pub at: String,
    /// Whether it is.
    pub visible: bool,
    /// Who changed it last.
    pub owner: i64,
    /// What the data is.
    #[serde(default)]
    pub data_type: String,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The error of an earlier attempt.
    #[serde(default)]
    pub error: String,
    /// Its data, or the beginning of it.
    pub data: String,
    /// How the data is written.
    pub data_encoding: String,
    /// How many bytes the data has.
    pub data_bytes: u64,
    /// Whether only the beginning is shown.
    pub truncated: bool,
}

/// A page of a group.
#[derive(Debug, Deserialize)]
pub struct BoardTasks {
    /// The tasks.
    pub tasks: Vec<BoardTask>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for BoardTasks {
    type Item = BoardTask;

    fn turned(self) -> (Vec<BoardTask>, Option<String>) {
        (self.tasks, self.next_cursor)
    }
}
