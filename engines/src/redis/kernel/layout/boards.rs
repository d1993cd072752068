//! Strings of boards: their tasks, places and labels, and the arguments of commits and takes.

use super::field::{BOARD_REVISION_DIGITS, BOARD_TIME_DIGITS, Layout, bytes, digits, letter};

/// A task of a board.
pub(crate) const BOARD_TASK: Layout = Layout {
    name: "board_task",
    what: "`board:t:<board>`: a task of a board",
    fields: &[
        digits("at", BOARD_TIME_DIGITS, "nanoseconds, plus 2^63"),
        digits("owner", BOARD_TIME_DIGITS, "a number, plus 2^63"),
        digits("group_length", 5, ""),
    ],
    has_core: false,
    rest: "group, content",
};

/// What a task of a board says.
pub(crate) const CONTENT: Layout = Layout {
    name: "content",
    what: "what the record of a board's task ends with, and an argument of commits",
    fields: &[
        digits("type_length", 5, ""),
        digits("labels_length", 7, "of all labels together"),
        digits("error_length", 8, ""),
    ],
    has_core: false,
    rest: "type of the data, labels, error, data",
};

/// A label of a board's task.
pub(crate) const LABEL: Layout = Layout {
    name: "label",
    what: "a label in a content; `board:l:<board>`, with the task's revision behind it",
    fields: &[digits("key_length", 4, ""), digits("value_length", 4, "")],
    has_core: false,
    rest: "key, value",
};

/// The place of a task in its group.
pub(crate) const BOARD_PLACE: Layout = Layout {
    name: "board_place",
    what: "`board:g:<board>|<group>`: a task's place",
    fields: &[digits("at", BOARD_TIME_DIGITS, "nanoseconds, plus 2^63"), digits("revision", BOARD_REVISION_DIGITS, "")],
    has_core: false,
    rest: "nothing",
};

pub(crate) const BOARD_TIME: Layout = Layout {
    name: "board_time",
    what: "a time of a board, for exact sums",
    fields: &[digits("high", BOARD_TIME_DIGITS / 2, ""), digits("low", BOARD_TIME_DIGITS / 2, "")],
    has_core: false,
    rest: "nothing",
};

pub(crate) const WHEN: Layout = Layout {
    name: "when",
    what: "an argument of commits: a time",
    fields: &[letter("kind", "of `when_kind`")],
    has_core: false,
    rest: "20 digits: nanoseconds, plus 2^63",
};

pub(crate) const PICK: Layout = Layout {
    name: "pick",
    what: "an argument of commits: a selection",
    fields: &[letter("kind", "of `pick_kind`")],
    has_core: false,
    rest: "a revision, a group, or labels",
};

pub(crate) const GIVEN: Layout = Layout {
    name: "given",
    what: "an argument of commits: a group or a mark, if there is one",
    fields: &[letter("mark", "`=`")],
    has_core: false,
    rest: "the group or the mark",
};

pub(crate) const ANSWERED: Layout = Layout {
    name: "answered",
    what: "`answered:<instance>:<slot>`: what a recent call to boards did",
    fields: &[bytes("id", 26, "of the call")],
    has_core: false,
    rest: "its answers (MessagePack)",
};
