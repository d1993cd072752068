//! Which gates a task has.

use jobbers_common::{
    name::TaskName,
    queue::{
        QueueConfig,
        gate::{ConcurrencyKey, Gate, GateLimits},
    },
    worker::task_kind::TaskKind,
};
use jobbers_sqlite_file::columns;
use rusqlite::Row;

/// The fields that decide which gates a task has.
pub(crate) struct GateFields {
    name: Option<TaskName>,
    key: Option<ConcurrencyKey>,
    version: u32,
}

impl GateFields {
    /// Where a statement returns them.
    pub(crate) const fn columns_of(statement: &str) -> [usize; 3] {
        columns(statement, ["name", "concurrency_key", "version"])
    }

    /// Reads them from [`Self::columns_of`]. A value that can't be read holds nothing back.
    pub(crate) fn read(row: &Row<'_>, [name, key, version]: [usize; 3]) -> rusqlite::Result<Self> {
        let (name, key): (String, Option<String>) = (row.get(name)?, row.get(key)?);
        let key = key.and_then(|key| ConcurrencyKey::new(key).ok());
        Ok(Self { name: TaskName::new(name).ok(), key, version: row.get(version)? })
    }

    /// Whether the task is of this kind.
    pub(crate) fn is_of(&self, kind: &TaskKind) -> bool {
        self.version == kind.version && self.name.as_ref() == Some(&kind.name)
    }

    pub(crate) fn gates(&self, config: &QueueConfig) -> Vec<(Gate, GateLimits)> {
        self.name.as_ref().map_or_else(Vec::new, |name| config.gates_of(name, self.key.as_ref()).collect())
    }
}
