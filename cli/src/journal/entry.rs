//! The lines of a journal between its first and its last: one thing of a store or its archive each.

use std::collections::BTreeMap;

use jobbers_archive::WholeLetter;
use jobbers_common::{
    audit_log::AuditEntry,
    engine::{
        backup::{BoardPiece, StoredTask},
        boards::task::{BoardTask, BoardTime, Content},
    },
    name::{BoardName, QueueName},
    queue::{
        QueueConfig, RoleConfig,
        routing::{RouteKey, RouteRule},
    },
    schedule::entry::ScheduleEntry,
    workflow::Run,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{letters::LetterLine, payload::Bytes, task_line::TaskLine};

/// One thing of a store.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalEntry {
    /// A queue.
    Queue(Queue),
    /// A role.
    Role(RoleConfig),
    /// A routing rule.
    Route(RouteLine),
    /// A task.
    Task(Box<StoredTask>),
    /// A schedule, with the outcomes of its slots.
    Schedule(Box<ScheduleEntry>),
    /// A run of a workflow.
    Workflow(Box<WorkflowEntry>),
    /// A dead letter.
    DeadLetter(Box<WholeLetter>),
    /// A change of the audit log.
    Change(Box<AuditEntry>),
    /// A task of a board.
    BoardTask(Box<TaskOfBoard>),
    /// A board. Its tasks come before it.
    Board(BoardEntry),
}

/// A queue, and its settings if some were put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// Its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<QueueConfig>,
}

/// A routing rule, and which tasks go by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteLine {
    /// Which tasks.
    pub tasks: RouteKey,
    /// The rule.
    pub rule: RouteRule,
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowEntry {
    /// How far it is.
    pub run: Run,
    /// Its definition, as the store has it.
    pub definition: String,
}

/// A task of a board, and which board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOfBoard {
    /// The board.
    pub board: BoardName,
    /// The task.
    pub task: BoardTask,
}

/// What is known of a board besides its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardEntry {
    /// Its name.
    pub name: BoardName,
    /// Its counter.
    pub revision: u64,
    /// The marks of its commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
}

/// A task of a board as a line has it.
#[derive(Serialize, Deserialize)]
struct BoardTaskLine {
    board: BoardName,
    revision: u64,
    group: String,
    at: BoardTime,
    owner: i64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    data_type: String,
    data: Bytes,
}

impl BoardTaskLine {
    fn of(of: &TaskOfBoard) -> Self {
        let TaskOfBoard { board, task } = of.clone();
        let BoardTask { revision, group, at, owner, content: Content { data, data_type, labels, error } } = task;
        Self { board, revision, group, at, owner, labels, error, data_type, data: Bytes::of(&data) }
    }

    fn read(self) -> Result<TaskOfBoard, String> {
        let Self { board, revision, group, at, owner, labels, error, data_type, data } = self;
        let content = Content { data: data.read()?, data_type, labels, error };
        Ok(TaskOfBoard { board, task: BoardTask { revision, group, at, owner, content } })
    }
}

/// A line: what it is, and what it says.
#[derive(Serialize, Deserialize)]
struct JournalLine<'a> {
    #[serde(borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

impl JournalEntry {
    /// Its kind, as lines name it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Queue(_) => "queue",
            Self::Role(_) => "role",
            Self::Route(_) => "route",
            Self::Task(_) => "task",
            Self::Schedule(_) => "schedule",
            Self::Workflow(_) => "workflow",
            Self::DeadLetter(_) => "dead_letter",
            Self::Change(_) => "change",
            Self::BoardTask(_) => "board_task",
            Self::Board(_) => "board",
        }
    }

    /// Its line, without the line's end.
    ///
    /// # Errors
    /// Never, as all of it can be written as JSON.
    pub fn write(&self) -> serde_json::Result<String> {
        let value = match self {
            Self::Queue(queue) => serde_json::to_string(queue),
            Self::Role(role) => serde_json::to_string(role),
            Self::Route(route) => serde_json::to_string(route),
            Self::Task(task) => serde_json::to_string(&TaskLine::of(task)),
            Self::Schedule(schedule) => serde_json::to_string(schedule),
            Self::Workflow(workflow) => serde_json::to_string(workflow),
            Self::DeadLetter(letter) => serde_json::to_string(&LetterLine::of(letter)),
            Self::Change(change) => serde_json::to_string(change),
            Self::BoardTask(task) => serde_json::to_string(&BoardTaskLine::of(task)),
            Self::Board(board) => serde_json::to_string(board),
        }?;
        Ok(format!("{{\"kind\":\"{}\",\"value\":{value}}}", self.kind()))
    }

    /// Reads a line; `None` if it is the last of a journal.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &str) -> Result<Option<Self>, String> {
        /// The kind alone: the last line has no value.
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        let damaged = |error: serde_json::Error| format!("it is damaged: {error}");
        let Kind { kind } = serde_json::from_str(line).map_err(damaged)?;
        if kind == super::END {
            return Ok(None);
        }
        let JournalLine { kind, value } = serde_json::from_str(line).map_err(damaged)?;
        let text = value.get();
        Ok(Some(match &*kind {
            "queue" => Self::Queue(read(text)?),
            "role" => Self::Role(read(text)?),
            "route" => Self::Route(read(text)?),
            "task" => Self::Task(Box::new(read::<TaskLine>(text)?.read()?)),
            "schedule" => {
                let entry: ScheduleEntry = read(text)?;
                entry.encode().map_err(|error| error.to_string())?;
                Self::Schedule(Box::new(entry))
            }
            "workflow" => Self::Workflow(Box::new(read(text)?)),
            "dead_letter" => Self::DeadLetter(Box::new(read::<LetterLine>(text)?.read()?)),
            "change" => Self::Change(Box::new(read(text)?)),
            "board_task" => {
                let of = read::<BoardTaskLine>(text)?.read()?;
                check(of.board.clone(), 0, Vec::new(), vec![of.task.clone()])?;
                Self::BoardTask(Box::new(of))
            }
            "board" => {
                let board: BoardEntry = read(text)?;
                check(board.name.clone(), board.revision, board.marks.clone(), Vec::new())?;
                Self::Board(board)
            }
            other => {
                let other: String = other.chars().take(40).collect();
                return Err(format!("{other:?} is a kind that this program does not know; import it with a newer one"));
            }
        }))
    }
}

fn check(board: BoardName, revision: u64, marks: Vec<String>, tasks: Vec<BoardTask>) -> Result<(), String> {
    BoardPiece { board, revision, marks, tasks }.validate().map_err(|error| error.to_string())
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("it is damaged: {error}"))
}
