//! Between the messages of the API and what boards know.

use std::time::Duration;

use jobbers_common::{
    engine::{
        Error,
        boards::{
            Conflicts, Create, Selection,
            task::{BoardTask, BoardTime, Content, When},
        },
    },
    values::text::excerpt,
};
use prost_types::{Any, Timestamp};
use tonic::Status;

use super::proto::{Task, TaskRef, task_ref::Sel};

/// The type that is stored for data that were given and are empty: what has neither type nor data has no data.
const EMPTY_DATA: &str = "jobbers.empty";
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// A moment. What lies before 1677 or after 2262 becomes the first or the last moment of boards.
pub(super) fn time(timestamp: &Timestamp) -> BoardTime {
    BoardTime(nanoseconds(timestamp.seconds, timestamp.nanos))
}

/// A moment as the API writes it.
pub(super) fn timestamp(time: BoardTime) -> Timestamp {
    let nanos = i32::try_from(time.0.rem_euclid(NANOS_PER_SECOND)).unwrap_or_default();
    Timestamp { seconds: time.0.div_euclid(NANOS_PER_SECOND), nanos }
}

/// For how long a task is leased; `None` for a look, which is what zero and negative spans mean.
pub(super) fn lease(own_for: Option<&prost_types::Duration>) -> Option<u64> {
    let span = own_for.map(|span| nanoseconds(span.seconds, span.nanos))?;
    u64::try_from(span).ok().filter(|span| *span > 0)
}

fn nanoseconds(seconds: i64, nanos: i32) -> i64 {
    let exact = i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanos);
    i64::try_from(exact).unwrap_or(if exact < 0 { i64::MIN } else { i64::MAX })
}

/// From one moment to a later one; zero if it is not later.
pub(super) fn span(from: BoardTime, to: BoardTime) -> Duration {
    let span = i128::from(to.0) - i128::from(from.0);
    Duration::from_nanos(u64::try_from(span.max(0)).unwrap_or(u64::MAX))
}

/// A task to be created. Its id is ignored: ids are the board's.
pub(super) fn create(task: Task) -> Create {
    let Task { id: _, group, data, labels, not_before, error } = task;
    let has_data = data.is_some();
    let Any { mut type_url, value } = data.unwrap_or_default();
    if has_data && type_url.is_empty() && value.is_empty() {
        EMPTY_DATA.clone_into(&mut type_url);
    }
    Create {
        group,
        at: not_before.as_ref().map_or(When::NOW, |at| When::At(time(at))),
        content: Content { data: value.into(), data_type: type_url, labels, error },
    }
}

/// A stored task.
pub(super) fn task(task: BoardTask) -> Task {
    let BoardTask { revision, group, at, owner: _, content } = task;
    let Content { data, data_type, labels, error } = content;
    let data = match data_type.as_str() {
        EMPTY_DATA => Some(Any::default()),
        "" if data.is_empty() => None,
        _ => Some(Any { type_url: data_type, value: data.into() }),
    };
    Task { id: revision, group, data, labels, not_before: Some(timestamp(at)), error }
}

/// Which tasks are meant.
///
/// # Errors
/// `INVALID_ARGUMENT` for a reference that says nothing.
pub(super) fn selection(task: TaskRef) -> Result<Selection, Status> {
    match task.sel {
        Some(Sel::Id(id)) => Ok(Selection::Revision(id)),
        Some(Sel::Group(group)) => Ok(Selection::Group(group)),
        Some(Sel::Selector(selector)) => Ok(Selection::AnyLabel(selector.labels)),
        None => Err(Status::invalid_argument("a reference to tasks must set one of id, selector and group")),
    }
}

/// The status of a step that changed nothing: of several reasons the one that MassTasker checks first.
pub(super) fn refusal(conflicts: &Conflicts) -> Status {
    let missing = conflicts.deleted.first().or(conflicts.updated.first());
    match (conflicts.required.first(), missing) {
        (Some(id), _) => Status::failed_precondition(format!("predicate id {id} doesn't exist")),
        (None, Some(id)) => Status::not_found(format!("task {id} doesn't exist")),
        (None, None) => Status::aborted("the step conflicts with another"),
    }
}

/// The status of a failure.
pub(super) fn failure(error: &Error) -> Status {
    let said = excerpt(error.to_string());
    match error {
        Error::Invalid(_) => Status::invalid_argument(said),
        Error::Full(_) => Status::resource_exhausted(said),
        Error::Unavailable { .. } | Error::ReadOnly(_) => Status::unavailable(said),
        _ => {
            tracing::error!(%error, "a call of a MassTasker client failed");
            Status::internal(said)
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn a_moment_comes_back_to_the_nanosecond() {
        for (seconds, nanos) in [(0, 0), (1_700_000_000, 123_456_789), (-1, 999_999_999), (-9_223_372_036, 145_224_192)]
        {
            let there = Timestamp { seconds, nanos };
            assert_eq!(timestamp(time(&there)), there);
        }
    }

    #[test]
    fn data_that_are_empty_are_no_missing_data() {
        let typed = Any { type_url: "type.googleapis.com/masstasker.Test".to_owned(), value: Vec::new() };
        for data in [None, Some(Any::default()), Some(typed), Some(Any { type_url: String::new(), value: vec![1] })] {
            let created = create(Task { data: data.clone(), ..Task::default() });
            let stored =
                BoardTask { revision: 1, group: String::new(), at: BoardTime(0), owner: 0, content: created.content };
            assert_eq!(task(stored).data, data);
        }
    }

    #[test]
    fn moments_that_cannot_be_said_are_clamped() {
        let far = |seconds| time(&Timestamp { seconds, nanos: 0 });
        assert_eq!(far(253_402_300_799), BoardTime(i64::MAX));
        assert_eq!(far(i64::MAX), BoardTime(i64::MAX));
        assert_eq!(far(-62_135_596_800), BoardTime(i64::MIN));
        assert_eq!(time(&Timestamp { seconds: i64::MIN, nanos: i32::MIN }), BoardTime(i64::MIN));
    }

    #[test]
    fn only_a_positive_span_is_a_lease() {
        let of = |seconds, nanos| lease(Some(&prost_types::Duration { seconds, nanos }));
        assert_eq!((lease(None), of(0, 0), of(-1, 0), of(0, -1)), (None, None, None, None));
        assert_eq!((of(0, 1), of(3_600, 5)), (Some(1), Some(3_600_000_000_005)));
        assert_eq!(of(i64::MAX, 0), Some(u64::try_from(i64::MAX).unwrap()));
    }

    #[test]
    fn a_missing_predicate_is_reported_before_a_missing_task() {
        let conflicts = Conflicts { required: vec![7], deleted: vec![8], ..Conflicts::default() };
        assert_eq!(refusal(&conflicts).code(), Code::FailedPrecondition);
        let conflicts = Conflicts { deleted: vec![8], ..Conflicts::default() };
        assert_eq!(
            (refusal(&conflicts).code(), refusal(&conflicts).message()),
            (Code::NotFound, "task 8 doesn't exist")
        );
    }

    #[test]
    fn a_failure_has_the_code_that_clients_act_on() {
        let cases = [
            (Error::Invalid("too many".to_owned()), Code::InvalidArgument),
            (Error::unavailable("away"), Code::Unavailable),
            (Error::Full("disk".to_owned()), Code::ResourceExhausted),
            (Error::Corrupt("page".to_owned()), Code::Internal),
        ];
        for (error, code) in cases {
            assert_eq!(failure(&error).code(), code, "{error}");
        }
    }
}
