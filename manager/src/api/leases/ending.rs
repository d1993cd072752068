//! The outcomes of returned tasks, decided from their policies as every runtime decides them.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_api::{
    lease::returned::{ErrorRequest, ReturnOutcome, ReturnedRequest},
    problem::Result,
};
use jobbers_common::{
    engine::{Outcome, Settlement},
    name::TaskId,
    policy::TaskPolicy,
    settling::{Spent, Verdict, settle_failure},
    task::{AttemptFailure, FailureKind},
};

use super::within;
use crate::app::App;

/// How many tasks are read concurrently, of those whose policy is needed.
const AT_ONCE: usize = 32;

/// The result of an attempt, before its task's policy is read.
enum Ending {
    Known(Outcome),
    Failed(Verdict, AttemptFailure),
}

/// The settlements for the store, in the order sent. All of them are checked before any task is read.
pub(super) async fn settlements(app: &App, leases: Vec<ReturnedRequest<'_>>) -> Result<Vec<Settlement>> {
    let mut endings = Vec::with_capacity(leases.len());
    for (index, mut lease) in leases.into_iter().enumerate() {
        let ending = ending(&mut lease, app.max_payload_bytes).map_err(|problem| within(problem, index))?;
        endings.push((lease.id, lease.token.fence(), ending));
    }
    let settle = |(id, fence, ending)| async move {
        let outcome = match ending {
            Ending::Known(outcome) => outcome,
            Ending::Failed(verdict, failure) => {
                let (policy, spent) = policy_of(app, &id).await?;
                settle_failure(&policy, spent, &verdict, failure, rand::random())
            }
        };
        Ok(Settlement::new(id, fence, outcome))
    };
    stream::iter(endings).map(settle).buffered(AT_ONCE).try_collect().await
}

fn ending(lease: &mut ReturnedRequest<'_>, max_bytes: usize) -> Result<Ending> {
    lease.check()?;
    let delay = lease.delay()?;
    Ok(match lease.outcome {
        ReturnOutcome::Completed => Ending::Known(Outcome::Completed { result: lease.result(max_bytes)? }),
        ReturnOutcome::Released => Ending::Known(Outcome::Released { delay }),
        ReturnOutcome::Cancelled => Ending::Known(Outcome::Cancelled),
        ReturnOutcome::Failed => failed(Verdict::Retry, lease.error.take()),
        ReturnOutcome::Aborted => aborted(lease.error.take()),
        ReturnOutcome::Retry => failed(Verdict::RetryAfter(delay), lease.error.take()),
    })
}

fn failed(verdict: Verdict, error: Option<ErrorRequest>) -> Ending {
    let ErrorRequest { message, kind, fatal } = error.unwrap_or_default();
    let (verdict, how) = if fatal { (Verdict::Fatal, FailureKind::Fatal) } else { (verdict, FailureKind::Error) };
    Ending::Failed(verdict, AttemptFailure::new(how, message).of(kind))
}

fn aborted(error: Option<ErrorRequest>) -> Ending {
    let ErrorRequest { message, kind, .. } = error.unwrap_or_default();
    Ending::Known(Outcome::Aborted { failure: AttemptFailure::new(FailureKind::Fatal, message).of(kind) })
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
