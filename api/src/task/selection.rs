//! Which tasks a request acts on: by their ids, or by a filter.

use jobbers_common::{
    engine::{TaskFilter, reads::validate_limit},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
};

use crate::{
    problem::{Code, Problem, Result},
    value::Asked,
};

/// What is done to the tasks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAct {
    /// They are cancelled.
    Cancel,
    /// They get another time to start at.
    Reschedule,
    /// They are sent again.
    Resubmit,
    /// They are deleted.
    Delete,
}

impl TaskAct {
    /// Whether it can be done to tasks at this status.
    #[must_use]
    pub fn takes(self, status: Status) -> bool {
        match self {
            Self::Cancel => !status.is_finished(),
            Self::Reschedule => status == Status::Scheduled,
            Self::Resubmit => status.is_finished() && status != Status::Completed,
            Self::Delete => status != Status::Started,
        }
    }

    /// Leaves of all tasks those to which it can be done, where a filter names no status.
    ///
    /// # Errors
    /// A sentence, when the filter asks for others by a status or by the time of their end.
    pub fn restrict(self, statuses: &mut Vec<Status>, has_end: bool) -> std::result::Result<(), String> {
        let refusal = match self {
            Self::Cancel => "can't be cancelled: they are over",
            Self::Reschedule => "wait for no time: only scheduled ones do",
            Self::Resubmit => "can't be sent again",
            Self::Delete => "can't be deleted: cancel them first",
        };
        if let Some(other) = statuses.iter().find(|status| !self.takes(**status)) {
            return Err(format!("tasks that are {other} {refusal}"));
        }
        if has_end && matches!(self, Self::Cancel | Self::Reschedule) {
            return Err(format!("tasks that are finished {refusal}"));
        }
        if statuses.is_empty() {
            *statuses = Status::ALL.into_iter().filter(|status| self.takes(*status)).collect();
        }
        Ok(())
    }
}

/// Which tasks a request acts on.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskSelection {
    /// These.
    Ids(Vec<Asked<TaskId>>),
    /// Those that match.
    Matching {
        /// Which tasks.
        filter: Box<TaskFilter>,
        /// At most this many.
        limit: usize,
        /// Where the call before ended.
        cursor: Option<String>,
    },
}

impl TaskSelection {
    /// Those that the fields of a body name.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] unless it has either ids or a filter, and for a limit out of bounds or without a filter;
    /// [`Code::BatchTooLarge`].
    pub(super) fn of(
        ids: Option<Vec<Asked<TaskId>>>,
        filter: Option<TaskFilter>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<Self> {
        let refused = |detail: &str| Err(Problem::new(Code::InvalidRequest, detail));
        match (ids, filter) {
            (Some(ids), None) => {
                if limit.is_some() || cursor.is_some() {
                    return refused("limit and cursor go with a filter; of ids, all are meant");
                }
                if ids.len() > MAX_BATCH {
                    let detail = format!("a call names at most {MAX_BATCH} tasks, not {}", ids.len());
                    return Err(Problem::new(Code::BatchTooLarge, detail).at("/ids"));
                }
                Ok(Self::Ids(ids))
            }
            (None, Some(filter)) => {
                let limit = limit.unwrap_or(MAX_BATCH);
                validate_limit(limit).map_err(|error| Problem::from(error).at("/limit"))?;
                Ok(Self::Matching { filter: Box::new(filter), limit, cursor })
            }
            (Some(_), Some(_)) | (None, None) => refused("say either ids or filter"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_t_be_done_to_a_task_is_refused_and_else_left_out() {
        let restricted =
            |act: TaskAct, mut statuses: Vec<Status>, has_end| act.restrict(&mut statuses, has_end).map(|()| statuses);
        restricted(TaskAct::Cancel, vec![Status::Submitted, Status::Completed], false).unwrap_err();
        restricted(TaskAct::Cancel, Vec::new(), true).unwrap_err();
        restricted(TaskAct::Reschedule, vec![Status::Submitted], false).unwrap_err();
        restricted(TaskAct::Reschedule, Vec::new(), true).unwrap_err();
        assert_eq!(restricted(TaskAct::Reschedule, Vec::new(), false).unwrap(), [Status::Scheduled]);
        restricted(TaskAct::Resubmit, vec![Status::Completed], false).unwrap_err();
        restricted(TaskAct::Resubmit, vec![Status::Scheduled], false).unwrap_err();
        restricted(TaskAct::Delete, vec![Status::Started], true).unwrap_err();
        let live = [Status::Waiting, Status::Scheduled, Status::Submitted, Status::Started];
        assert_eq!(restricted(TaskAct::Cancel, Vec::new(), false).unwrap(), live);
        let failed = [Status::Failed, Status::Stalled, Status::Dropped, Status::Aborted, Status::Cancelled];
        let mut again = restricted(TaskAct::Resubmit, Vec::new(), true).unwrap();
        again.sort_unstable_by_key(|status| failed.iter().position(|other| other == status));
        assert_eq!(again, failed);
        assert_eq!(restricted(TaskAct::Delete, Vec::new(), true).unwrap().len(), Status::ALL.len() - 1);
    }
}
