//! Which gates a task has.

use jobbers_common::{
    gate::{ConcurrencyKey, Gate, GateLimits},
    name::TaskName,
    queue::QueueConfig,
    task_kind::TaskKind,
};
use rusqlite::Row;

/// The fields that decide which gates a task has.
pub(crate) struct GateFields {
    name: Option<TaskName>,
    key: Option<ConcurrencyKey>,
    version: u32,
}

impl GateFields {
    /// Reads a name, a key and a version from three columns. A value that can't be read holds nothing back.
    pub(crate) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        let (name, key): (String, Option<String>) = (row.get(at)?, row.get(at + 1)?);
        let key = key.and_then(|key| ConcurrencyKey::new(key).ok());
        Ok(Self { name: TaskName::new(name).ok(), key, version: row.get(at + 2)? })
    }

    /// Whether the task is of this kind.
    pub(crate) fn is_of(&self, kind: &TaskKind) -> bool {
        self.version == kind.version && self.name.as_ref() == Some(&kind.name)
    }

    pub(crate) fn gates(&self, config: &QueueConfig) -> Vec<(Gate, GateLimits)> {
        self.name.as_ref().map_or_else(Vec::new, |name| config.gates_of(name, self.key.as_ref()).collect())
    }
}
