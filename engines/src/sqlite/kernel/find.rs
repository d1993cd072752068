//! What a verb needs to know about a task before it moves it.

use jobbers_common::{
    engine::Result,
    lifecycle::Status,
    name::{TaskId, WorkerId},
    policy::{PolicyOverrides, Tries},
    time::Timestamp,
};

use super::{row, step::Step};
use crate::sqlite::{sql, store::error::OrStore};

/// A task as found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) key: i64,
    pub(crate) queue: i64,
    pub(crate) status: Status,
    pub(crate) fence: Option<i64>,
    pub(crate) attempt: u32,
    pub(crate) worker: Option<WorkerId>,
    /// Whether its cancel was requested; of a task that is over, before its lease was settled.
    pub(crate) cancel_requested: bool,
    pub(crate) has_large_parameters: bool,
    /// Whether it has dependencies, or others depend on it.
    pub(crate) is_linked: bool,
    /// The policy given for it, as stored.
    overrides: Option<String>,
    /// When its latest attempt began.
    pub(crate) started_at: Option<Timestamp>,
}

impl Found {
    /// What the end of its lease means for its tries.
    pub(crate) fn tries(&self) -> Result<Tries> {
        match &self.overrides {
            None => Ok(Tries::Unlimited),
            said => Ok(row::overrides(said.as_deref())?.tries(self.attempt)),
        }
    }

    /// The policy given for it.
    pub(crate) fn overrides(&self) -> Result<PolicyOverrides> {
        row::overrides(self.overrides.as_deref())
    }

    /// A task that waits for others.
    pub(crate) const fn waiting(key: i64, queue: i64, has_large_parameters: bool) -> Self {
        Self {
            key,
            queue,
            status: Status::Waiting,
            fence: None,
            attempt: 0,
            worker: None,
            cancel_requested: false,
            has_large_parameters,
            is_linked: true,
            overrides: None,
            started_at: None,
        }
    }
}

/// Looks a task up.
pub(crate) fn find(step: &Step<'_>, id: &TaskId) -> Result<Option<Found>> {
    let mut statement = step.prepare(sql::FIND_TASK)?;
    let mut rows = statement.query([id.as_str()]).or_store()?;
    let Some(row) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = row::Columns::of(row);
    Ok(Some(Found {
        key: columns.take("key")?,
        queue: columns.take("queue")?,
        status: row::status(columns.take("status")?)?,
        fence: columns.take("fence")?,
        attempt: columns.take("attempt")?,
        worker: columns.take::<Option<String>>("worker")?.map(row::worker).transpose()?,
        cancel_requested: columns.take("cancel_requested")?,
        has_large_parameters: columns.take("has_large_parameters")?,
        is_linked: columns.take("linked")?,
        overrides: columns.take("overrides")?,
        started_at: columns.take::<Option<i64>>("started_at")?.map(Timestamp::from_micros),
    }))
}
