//! Boards on the wire: their tasks as an operator looks at them.
//!
//! Data is shown as text when it is UTF-8, else as base64, and only its beginning when it is long.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_common::{
    engine::boards::{
        BoardCount, GroupCount,
        task::{BoardTask, BoardTime},
    },
    name::BoardName,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::value::{BASE64, DataEncodingDoc, NameDoc, Rfc3339, TEXT, Word};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
};

/// How much of a task's data or error a list shows, in bytes.
pub const LISTED_BYTES: usize = 1_024;
/// How much of them the answer for one task shows.
pub const SHOWN_BYTES: usize = 256 * 1_024;

/// A moment in nanoseconds, RFC 3339.
#[derive(Debug, Clone, Copy)]
pub struct Nanoseconds(pub BoardTime);

impl Serialize for Nanoseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0.0)) {
            Ok(at) => serializer.collect_str(&at),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl<'de> Deserialize<'de> for Nanoseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let at = jiff::Timestamp::deserialize(deserializer)?.as_nanosecond();
        i64::try_from(at).map(|at| Self(BoardTime(at))).map_err(de::Error::custom)
    }
}

/// A board.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Board)]
pub struct BoardView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: BoardName,
    /// Its counter: the latest revision given.
    pub revision: u64,
    /// How many tasks it holds.
    pub tasks: u64,
}

impl From<&BoardCount> for BoardView {
    fn from(BoardCount { board, revision, tasks }: &BoardCount) -> Self {
        Self { name: board.clone(), revision: *revision, tasks: *tasks }
    }
}

/// A page of boards.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BoardList)]
pub struct BoardListView {
    /// In the order of their names.
    pub boards: Vec<BoardView>,
    /// Where the next page begins; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A group of a board.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BoardGroup)]
pub struct GroupView {
    /// Its name: any text, also an empty one.
    pub group: String,
    /// How many tasks it holds, visible or not.
    pub tasks: u64,
}

impl From<&GroupCount> for GroupView {
    fn from(GroupCount { group, tasks }: &GroupCount) -> Self {
        Self { group: group.clone(), tasks: *tasks }
    }
}

/// A page of groups.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BoardGroupList)]
pub struct GroupListView {
    /// In the order of their names.
    pub groups: Vec<GroupView>,
    /// Where the next page begins; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A task of a board.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BoardTask)]
pub struct BoardTaskView {
    /// Its address until its next change.
    pub revision: u64,
    /// The group it is taken from.
    pub group: String,
    /// When it becomes visible. A lease is a time in the future.
    #[schema(value_type = Rfc3339)]
    pub at: Nanoseconds,
    /// Whether a caller that asks for a task of its group may get it now.
    pub visible: bool,
    /// Who changed it last: the client id of its front.
    pub owner: i64,
    /// What the data is: a content type, or the `type_url` of a protobuf `Any`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub data_type: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    pub labels: BTreeMap<String, String>,
    /// The error of an earlier attempt, or the beginning of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub error: String,
    /// Its data, or the beginning of it.
    pub data: String,
    /// How the data is written.
    #[schema(value_type = DataEncodingDoc)]
    pub data_encoding: Word,
    /// How many bytes the data has.
    pub data_bytes: usize,
    /// Whether only the beginning of the data is shown.
    pub truncated: bool,
}

impl BoardTaskView {
    /// A task with the first `most` bytes of its data and error.
    pub fn new(task: &BoardTask, now: BoardTime, most: usize) -> Self {
        let BoardTask { revision, group, at, owner, content } = task;
        let (data, data_encoding) = match std::str::from_utf8(&content.data) {
            Ok(text) => (beginning(text, most).to_owned(), TEXT),
            Err(_) => {
                let shown = &content.data[..content.data.len().min(most)];
                (BASE64_STANDARD.encode(shown), BASE64)
            }
        };
        Self {
            revision: *revision,
            group: group.clone(),
            at: Nanoseconds(*at),
            visible: *at <= now,
            owner: *owner,
            data_type: content.data_type.clone(),
            labels: content.labels.clone(),
            error: beginning(&content.error, most).to_owned(),
            data,
            data_encoding: data_encoding.into(),
            data_bytes: content.data.len(),
            truncated: content.data.len() > most,
        }
    }
}

/// The whole characters among the first bytes of a text.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// A page of a group.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BoardTaskList)]
pub struct BoardTaskListView {
    /// In the order in which they are taken. Of data and errors only the first 1,024 bytes.
    pub tasks: Vec<BoardTaskView>,
    /// How many tasks the group holds, visible or not.
    pub total: u64,
    /// Where the next page begins; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page of the boards.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoardListParams {
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    pub cursor: Option<BoardName>,
}

/// Which page of the groups.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GroupListParams {
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Which tasks of a board.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoardTaskListParams {
    /// Of this group: any text, also an empty one.
    pub group: String,
    /// Only those that are visible now.
    #[serde(default)]
    #[param(default = false)]
    pub visible: bool,
    /// At most this many. A page of large tasks may be short and still have a successor.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Which tasks of a board are deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteGroupParams {
    /// All of this group: any text, also an empty one.
    pub group: String,
}

const fn default_page() -> usize {
    100
}

fn no_cursor() -> Problem {
    Problem::new(Code::InvalidParameter, "this cursor is not from this manager")
}

/// The place after a group, as a cursor. A letter is in front, because an empty name is one too.
pub fn cursor_of_group(group: &str) -> String {
    format!("~{group}")
}

/// The group that a cursor names.
///
/// # Errors
/// [`Code::InvalidParameter`] for what is no cursor.
pub fn group_of(cursor: &str) -> Result<&str> {
    cursor.strip_prefix('~').ok_or_else(no_cursor)
}

/// The place after a task, as a cursor.
pub fn cursor_of_task((at, revision): (BoardTime, u64)) -> String {
    format!("{}~{revision}", at.0)
}

/// The place that a cursor names.
///
/// # Errors
/// [`Code::InvalidParameter`] for what is no cursor.
pub fn place_of(cursor: &str) -> Result<(BoardTime, u64)> {
    let place =
        cursor.split_once('~').and_then(|(at, revision)| Some((BoardTime(at.parse().ok()?), revision.parse().ok()?)));
    place.ok_or_else(no_cursor)
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::boards::task::Content;
    use serde_json::{Value, json};

    use super::*;

    fn shown(data: &'static [u8], most: usize) -> Value {
        let content = Content { data: data.into(), error: "\u{e9}\u{e9}".to_owned(), ..Content::default() };
        let task = BoardTask { revision: 3, group: String::new(), at: BoardTime(1), owner: -1, content };
        serde_json::to_value(BoardTaskView::new(&task, BoardTime(0), most)).unwrap()
    }

    #[test]
    fn data_is_text_or_base64_and_ends_at_its_bound() {
        let whole = shown(b"hello", 5);
        assert_eq!(
            (&whole["data"], &whole["truncated"], &whole["visible"]),
            (&json!("hello"), &json!(false), &json!(false))
        );
        assert_eq!((&whole["at"], &whole["data_bytes"]), (&json!("1970-01-01T00:00:00.000000001Z"), &json!(5)));
        let cut = shown("\u{e9}\u{e9}".as_bytes(), 3);
        assert_eq!(
            (&cut["data"], &cut["truncated"], &cut["error"]),
            (&json!("\u{e9}"), &json!(true), &json!("\u{e9}"))
        );
        let bytes = shown(b"\xff\x00\x01\x02", 3);
        assert_eq!((&bytes["data"], &bytes["data_encoding"]), (&json!("/wAB"), &json!("base64")));
        assert_eq!(shown(b"", 3)["data"], "");
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for group in ["", "~", "a b"] {
            assert_eq!(group_of(&cursor_of_group(group)), Ok(group));
        }
        for place in [(BoardTime(i64::MIN), 1), (BoardTime(7), u64::MAX)] {
            assert_eq!(place_of(&cursor_of_task(place)), Ok(place));
        }
        for cursor in ["", "1", "1~", "~1", "x~1", "1~-1"] {
            assert_eq!(place_of(cursor).unwrap_err().code(), Code::InvalidParameter, "{cursor}");
        }
        assert_eq!(group_of("g").unwrap_err().code(), Code::InvalidParameter);
    }
}
