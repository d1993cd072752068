//! Selects letters: a filter, and the SQL conditions it becomes.

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskName},
    time::Timestamp,
};
use rusqlite::{CachedStatement, Statement, ToSql, Transaction};

use crate::{
    LetterState,
    error::{Result, corrupt},
    sql,
};

/// Which letters to select; a field that is `None` does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of tasks in this queue.
    pub queue: Option<QueueName>,
    /// Of tasks of this name.
    pub name: Option<TaskName>,
    /// Of this version.
    pub version: Option<u32>,
    /// That ended with this status.
    pub status: Option<Status>,
    /// Whose last error contains this text; `A` to `Z` match in upper or lower case.
    pub error: Option<String>,
    /// Whose last error has this [fingerprint](crate::fingerprint::of).
    pub fingerprint: Option<String>,
    /// That failed at this time or later.
    pub failed_after: Option<Timestamp>,
    /// That failed before this time.
    pub failed_before: Option<Timestamp>,
    /// That are in this state.
    pub state: Option<LetterState>,
}

impl Filter {
    /// Prepares a statement with the conditions of `matching.sql` that it needs, and returns it with their parameters.
    pub(crate) fn prepare<'a>(&self, transaction: &'a Transaction<'_>, statement: &str) -> Result<CachedStatement<'a>> {
        let parameters = self.parameters();
        let given: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
        let mut prepared = transaction.prepare_cached(&sql::matching(statement, sql::OF_LETTERS, &given))?;
        for (name, value) in parameters {
            bind(&mut prepared, name, value)?;
        }
        Ok(prepared)
    }

    fn parameters(&self) -> Vec<(&'static str, Box<dyn ToSql>)> {
        fn given<T: ToSql + 'static>(name: &'static str, value: Option<T>) -> Option<(&'static str, Box<dyn ToSql>)> {
            value.map(|value| (name, Box::new(value) as Box<dyn ToSql>))
        }
        let parameters = [
            given(":queue", self.queue.as_ref().map(ToString::to_string)),
            given(":name", self.name.as_ref().map(ToString::to_string)),
            given(":version", self.version),
            given(":status", self.status.map(Status::as_str)),
            given(":state", self.state.map(LetterState::as_str)),
            given(":error", self.error.as_ref().map(|text| text.to_ascii_lowercase())),
            given(":fingerprint", self.fingerprint.clone()),
            given(":failed_after", self.failed_after.map(Timestamp::as_micros)),
            given(":failed_before", self.failed_before.map(Timestamp::as_micros)),
        ];
        parameters.into_iter().flatten().collect()
    }
}

/// Binds one parameter by name.
pub(crate) fn bind(statement: &mut Statement<'_>, name: &str, value: impl ToSql) -> Result<()> {
    let place = statement.parameter_index(name)?.ok_or_else(|| corrupt("a statement lacks", name))?;
    Ok(statement.raw_bind_parameter(place, value)?)
}
