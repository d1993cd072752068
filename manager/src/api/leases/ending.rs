//! The outcomes of returned tasks, decided from their policies as every runtime decides them.

use std::{collections::HashSet, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_api::{
    lease::{
        Entry, RefusedEntry, check_named_once,
        returned::{ErrorRequest, ReturnOutcome, ReturnedRequest},
    },
    problem::Result,
};
use jobbers_common::{
    engine::{Extension, Heartbeat, Outcome, Settlement},
    name::TaskId,
    outcome::settling::{Spent, Verdict, settle_failure},
    policy::TaskPolicy,
    task::{AttemptFailure, FailureKind, Fence},
};

use crate::app::App;

/// How many tasks are read concurrently, of those whose policy is needed.
const AT_ONCE: usize = 32;

/// The result of an attempt, before its task's policy is read.
pub(super) enum AttemptResult {
    Known(Outcome),
    Failed(Verdict, AttemptFailure),
}

/// An attempt that ended: its task, the fence of its lease, its result.
pub(super) type Ended = (TaskId, Fence, AttemptResult);

/// What a request returns.
pub(super) struct Returned {
    /// The task of each entry, or why it is refused.
    pub(super) entries: Vec<std::result::Result<TaskId, RefusedEntry>>,
    /// How the attempts of those that are not refused ended.
    pub(super) endings: Vec<Ended>,
    /// The checkpoints that some of them leave.
    pub(super) checkpoints: Vec<Extension>,
}

/// Reads all entries.
pub(super) fn read(leases: Vec<Entry<ReturnedRequest<'_>>>, max_bytes: usize) -> Returned {
    let (mut named, mut endings) = (HashSet::with_capacity(leases.len()), Vec::with_capacity(leases.len()));
    let mut checkpoints = Vec::new();
    let entries = leases.into_iter().map(|entry| {
        let mut lease = entry.read()?;
        let checked = check_named_once(named.insert(lease.id.clone())).and_then(|()| {
            let ending = ending(&mut lease, max_bytes)?;
            Ok((ending, lease.checkpoint(max_bytes)?))
        });
        let (ending, checkpoint) = checked.map_err(|problem| RefusedEntry::new(&lease.id, problem))?;
        let (id, fence) = (lease.id, lease.token.fence());
        if checkpoint.is_some() {
            let heartbeat = Some(Heartbeat { progress: None, checkpoint });
            checkpoints.push(Extension { id: id.clone(), fence, heartbeat });
        }
        endings.push((id.clone(), fence, ending));
        Ok(id)
    });
    let entries = entries.collect();
    Returned { entries, endings, checkpoints }
}

/// The settlements for the store, in the order sent.
pub(super) async fn settlements(app: &App, endings: Vec<Ended>) -> Result<Vec<Settlement>> {
    let settle = |(id, fence, ending)| async move {
        let outcome = match ending {
            AttemptResult::Known(outcome) => outcome,
            AttemptResult::Failed(verdict, failure) => {
                let (policy, spent) = policy_of(app, &id).await?;
                settle_failure(&policy, spent, &verdict, failure, rand::random())
            }
        };
        Ok(Settlement::new(id, fence, outcome))
    };
    stream::iter(endings).map(settle).buffered(AT_ONCE).try_collect().await
}

fn ending(lease: &mut ReturnedRequest<'_>, max_bytes: usize) -> Result<AttemptResult> {
    lease.check()?;
    let delay = lease.delay()?;
    Ok(match lease.outcome {
        ReturnOutcome::Completed => AttemptResult::Known(Outcome::Completed { result: lease.result(max_bytes)? }),
        ReturnOutcome::Released => AttemptResult::Known(Outcome::Released { delay }),
        ReturnOutcome::Cancelled => AttemptResult::Known(Outcome::Cancelled),
        ReturnOutcome::Failed => failed(Verdict::Retry, lease.error.take()),
        ReturnOutcome::Aborted => aborted(lease.error.take()),
        ReturnOutcome::Retry => failed(Verdict::RetryAfter(delay), lease.error.take()),
    })
}

fn failed(verdict: Verdict, error: Option<ErrorRequest>) -> AttemptResult {
    let ErrorRequest { message, kind, fatal } = error.unwrap_or_default();
    let (verdict, how) = if fatal { (Verdict::Fatal, FailureKind::Fatal) } else { (verdict, FailureKind::Error) };
    AttemptResult::Failed(verdict, AttemptFailure::new(how, message).of(kind))
}

fn aborted(error: Option<ErrorRequest>) -> AttemptResult {
    let ErrorRequest { message, kind, .. } = error.unwrap_or_default();
    AttemptResult::Known(Outcome::Aborted { failure: AttemptFailure::new(FailureKind::Fatal, message).of(kind) })
}

/// Its submission's policy, and what it has used up. The fence decides whether this still matters: a task that has
/// moved meanwhile is not settled.
async fn policy_of(app: &App, id: &TaskId) -> Result<(TaskPolicy, Spent)> {
    let Some(task) = app.engine.get(id).await? else {
        return Ok((TaskPolicy::DEFAULT, Spent { attempt: 0, age: Duration::ZERO }));
    };
    let policy = TaskPolicy::DEFAULT.with(&task.overrides);
    let age = match policy.retry_for {
        Some(_) => app.now().await?.since(task.submitted_at),
        None => Duration::ZERO,
    };
    Ok((policy, Spent { attempt: task.attempt, age }))
}
