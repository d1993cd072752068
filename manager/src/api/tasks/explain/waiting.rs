//! What a waiting task waits for, and what aborted one that waited.

use jobbers_common::{
    dependency::{
        Dependencies, EndedPredecessor,
        signal::{ExternalSignal, OnTimeout, SignalState},
    },
    lifecycle::Status,
    task::Task,
};

use jobbers_api::task::explain::{Reason, ReasonCode as C};

use super::holders::NAMED;

/// Which tasks and signals it waits for, and since when; `workflow` ends the sentence.
pub(super) fn waits(task: &Task, workflow: &str) -> Reason {
    let dependencies = task.dependencies.as_deref().cloned().unwrap_or_default();
    let (all, left) = count_tasks(&dependencies);
    let open = dependencies.external.iter().filter(|signal| signal.state == SignalState::Waiting);
    let names: Vec<&str> = open.clone().map(|signal| signal.name.as_str()).collect();
    let signals = format!("signals from outside: {}", names.join(", "));
    let (code, what) = match (left, names.is_empty()) {
        (0, false) => (C::WaitsForSignals, signals),
        (_, false) => (C::WaitsForTasks, format!("{left} of {all} tasks to end, and for {signals}")),
        (_, true) => (C::WaitsForTasks, format!("{left} of {all} tasks to end")),
    };
    let until = open.filter_map(|signal| signal.due).min();
    let first = dependencies.waits_for.into_iter().take(NAMED).map(|edge| edge.on).collect();
    let reason = Reason::new(code, format!("it waits for {what}{workflow}")).since(task.submitted_at).held_by(first);
    match until {
        Some(until) => reason.until(until),
        None => reason,
    }
}

/// How many other tasks it depends on, and how many of these it waits for.
fn count_tasks(dependencies: &Dependencies) -> (usize, usize) {
    let Dependencies { total, signals, external, .. } = dependencies;
    let all = (*total as usize).saturating_sub(external.len());
    let left = (total.saturating_sub(*signals) as usize).saturating_sub(dependencies.open_signals());
    (all, left)
}

/// How it ended, and what aborted it while it waited.
pub(super) fn over(task: &Task, status: Status) -> Reason {
    let dependencies = task.dependencies.as_deref();
    if let Some(EndedPredecessor { id, status: end }) = dependencies.and_then(|it| it.aborted_by.clone()) {
        let message = format!("it is over: {status}, because task {id}, which it depends on, ended as {end}");
        return Reason::new(C::Over, message).held_by(vec![id]);
    }
    let aborts = |signal: &&ExternalSignal| {
        status == Status::Aborted && signal.state == SignalState::TimedOut && signal.on_timeout == OnTimeout::Abort
    };
    let late = dependencies.and_then(|it| it.external.iter().find(aborts));
    let because = late.map(|signal| format!(", because signal {} did not come in time", signal.name));
    Reason::new(C::Over, format!("it is over: {status}{}", because.unwrap_or_default()))
}
