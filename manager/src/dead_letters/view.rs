//! The archive's words as the API's, either way.

use std::time::Duration;

use jobbers_api::{
    dead_letter::{
        GroupView, LetterFilter, LetterSelection, LetterView, StatsView, WholeLetterView,
        operation::{ItemView, OperationView, WholeOperationView},
    },
    problem::{Code, Problem},
    task::view::TaskView,
    value::Rfc3339,
};
use jobbers_archive::{Error, Filter, Group, Item, ItemOutcome, Letter, Operation, Selection, Summary};
use jobbers_common::task::FailureKind;

/// The archive's filter for that of a request.
pub(crate) fn filter_of(filter: LetterFilter) -> Filter {
    let LetterFilter { queue, name, version, status, error, fingerprint, failed_after, failed_before, state } = filter;
    Filter { queue, name, version, status, error, fingerprint, failed_after, failed_before, state }
}

/// The archive's selection for that of a request.
pub(crate) fn selection_of(selection: LetterSelection) -> Selection {
    match selection {
        LetterSelection::Tasks(ids) => Selection::Tasks(ids),
        LetterSelection::Matching(filter, limit) => Selection::Matching(Box::new(filter_of(*filter)), limit),
    }
}

/// The problem that an error of the archive is to a client.
pub(crate) fn problem_of(error: &Error) -> Problem {
    let code = match error {
        Error::Locked(_) => Code::ArchiveLocked,
        Error::Full(_) => Code::ArchiveFull,
        Error::Corrupt(_) => Code::ArchiveCorrupt,
        Error::Newer { .. } => Code::ArchiveSchema,
        Error::KeyReused => Code::IdempotencyKeyReused,
        Error::ForeignCursor => Code::InvalidParameter,
        _ => Code::ArchiveUnavailable,
    };
    let problem = Problem::new(code, error.to_string());
    if error.is_transient() { problem.after(Duration::from_secs(2)) } else { problem }
}

/// The problem of a request for the archive that can't be answered now.
pub(crate) fn unavailable(detail: &str) -> Problem {
    Problem::new(Code::ArchiveUnavailable, detail).after(Duration::from_secs(1))
}

/// A dead letter, as lists show it.
pub(crate) fn letter(letter: Summary) -> LetterView {
    LetterView {
        id: letter.id,
        queue: letter.queue,
        name: letter.name,
        version: letter.version,
        status: letter.status,
        failed_at: letter.failed_at.into(),
        attempt: letter.attempt,
        worker: letter.worker,
        kind: letter.kind.map(|kind: FailureKind| kind.as_str().into()),
        error: letter.error,
        fingerprint: letter.fingerprint,
        state: letter.state,
        resubmitted_at: letter.resubmitted_at.map(Rfc3339),
        operation: letter.operation,
        sensitive: letter.is_sensitive,
    }
}

/// A dead letter with its task, as any reader sees it.
pub(crate) fn whole_letter(Letter { summary, dead, .. }: Letter) -> WholeLetterView {
    WholeLetterView { entry: letter(summary), task: (&dead.task).into() }
}

/// A dead letter with all that its task holds.
pub(crate) fn revealed_letter(Letter { summary, dead, .. }: Letter) -> WholeLetterView {
    let error = dead.task.errors.last().map_or_else(String::new, |error| error.message.clone());
    WholeLetterView { entry: LetterView { error, ..letter(summary) }, task: TaskView::revealed(&dead.task) }
}

/// Dead letters by cause.
pub(crate) fn stats(groups: Vec<Group>) -> StatsView {
    let view = |group: Group| GroupView {
        queue: group.queue,
        name: group.name,
        version: group.version,
        fingerprint: group.fingerprint,
        count: group.count,
        first_seen: group.first_seen.into(),
        last_seen: group.last_seen.into(),
        example: group.example,
    };
    StatsView { total: groups.iter().map(|group| group.count).sum(), groups: groups.into_iter().map(view).collect() }
}

/// An operation, as lists show it.
pub(crate) fn operation(operation: &Operation) -> OperationView {
    OperationView {
        id: operation.id.clone(),
        state: operation.state(),
        created_at: operation.created_at.into(),
        finished_at: operation.finished_at.map(Rfc3339),
        total: operation.total(),
        pending: operation.pending,
        resubmitted: operation.outcomes.get(&ItemOutcome::Resubmitted).copied().unwrap_or(0),
        outcomes: operation.outcomes.iter().map(|(outcome, count)| (outcome.as_str().into(), *count)).collect(),
    }
}

/// An operation with its tasks.
pub(crate) fn whole_operation(of: &Operation, items: Vec<Item>) -> WholeOperationView {
    let view = |item: Item| ItemView {
        id: item.task,
        outcome: item.outcome.map_or("pending", ItemOutcome::as_str).into(),
        detail: item.detail,
    };
    WholeOperationView { entry: operation(of), tasks: items.into_iter().map(view).collect() }
}
