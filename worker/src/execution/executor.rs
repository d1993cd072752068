//! Runs one attempt and reports how it ended.
//!
//! A pipeline of steps: start -> supervise (limits, stops, panics) -> judge -> hand over. It does not call the store:
//! what an attempt reported right before it ended is carried by its settlement.
//!
//! Limits: a function that neither awaits nor returns can't be stopped from outside. An async one then holds a thread
//! of the runtime and its slot, and its lease is still renewed. A blocking one is settled when its grace is over, and
//! its thread is written off.

use std::{
    any::Any,
    future::{Future, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    time::Instant,
};

use futures_util::FutureExt;
use jobbers_common::{
    engine::Outcome,
    limits::DEFAULT_MAX_PAYLOAD_BYTES,
    outcome::settling::{Spent, Verdict, panic_failure, settle_failure},
    payload::Payload,
    policy::{OnStall, TaskPolicy, error_kind::ErrorKind},
    task::{AttemptFailure, FailureKind},
    values::duration,
};
use jobbers_process::{
    logging::{
        label::{self, Labelled, Labels},
        panics,
    },
    telemetry::traces::{self, Tracing},
};
use tokio::{
    sync::oneshot,
    time::{sleep, sleep_until},
};

use crate::{
    attempts::{
        attempt::{Attempt, Ended, Stop},
        undecodable,
    },
    execution::{hooks::AllHooks, layer::Layers},
    payload::codec::ContentKind,
    tasks::{
        context::Context,
        error::{Reason, TaskError},
        task_fn::{Answer, AnyTask, Start},
    },
    threads::pool::BlockingPool,
};

/// What an executor needs besides the attempt.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) pool: BlockingPool,
    /// `None` while this process traces nothing.
    pub(crate) tracing: Option<Arc<Tracing>>,
    /// What the program runs around every attempt.
    pub(crate) layers: Layers,
    /// What the program wants to know of them.
    pub(crate) hooks: AllHooks,
}

/// How the run of a task function ended.
enum RunEnd {
    /// It returned.
    Answered(Answer),
    /// It panicked, perhaps only while it was dropped.
    Panicked(AttemptFailure),
    /// It ran longer than its timeout.
    TimedOut,
    /// Its heartbeat was overdue.
    Silent,
    /// It got a stop request, did not end within the grace, and was dropped.
    Abandoned,
}

type Running = Pin<Box<dyn Future<Output = Result<Answer, AttemptFailure>> + Send>>;

/// Runs an attempt and hands over how it ended. The caller creates the [`Handover`] before this is spawned, so that an
/// attempt that is never polled is not lost.
pub(crate) async fn execute(handover: Handover, task: &'static dyn AnyTask, tools: Arc<Tools>) {
    let attempt = Arc::clone(&handover.0);
    // It may have waited for a lane and received a stop request meanwhile.
    if attempt.stopped().is_some_and(|why| why != Stop::Fail) {
        return handover.end(judge(&attempt, task, RunEnd::Abandoned));
    }
    let context = Context::new(Arc::clone(&attempt));
    if let Err(error) = attempt.decode() {
        let outcome = undecodable::settle(&attempt, &error);
        tools.hooks.end(&context, &outcome);
        return handover.end(Some(outcome));
    }
    let observed = (!tools.hooks.is_empty()).then(|| context.clone());
    if let Some(context) = &observed {
        tools.hooks.start(context);
    }
    let span = tools.tracing.as_ref().and_then(|tracing| attempt.trace(tracing));
    let labels = Arc::clone(&attempt) as Arc<dyn Labels>;
    let start = match catch_unwind(AssertUnwindSafe(|| tools.layers.start(task, context))) {
        Ok(start) => start,
        // A layer that panics must not keep the attempt from being settled.
        Err(panic) => Start::Async(Box::pin(async move { std::panic::resume_unwind(panic) })),
    };
    let end = match start {
        Start::Async(future) => {
            attempt.begin();
            let running = Labelled::new(labels, span.clone(), AssertUnwindSafe(future).catch_unwind().map(caught));
            supervise(&attempt, Box::pin(running), ready(()), Grace::OfCancel).await
        }
        Start::Blocking(job) => {
            let (begin, begun) = oneshot::channel();
            let (queued, span) = (Arc::clone(&attempt), span.clone());
            let run = move || {
                // It may have waited long for a thread and received a stop request meanwhile.
                if !queued.leave_line() || queued.token.is_cancelled() {
                    return Err(TaskError::Cancelled);
                }
                queued.begin();
                begin.send(()).ok();
                label::enter(labels, span, job)
            };
            let (seat, running) = tools.pool.run(move || caught(catch_unwind(AssertUnwindSafe(run))));
            let running = running.map(|caught_there| caught_there.unwrap_or_else(|panic| caught(Err(panic))));
            let end = supervise(&attempt, Box::pin(running), begun.map(|_| ()), Grace::OfEveryEnd).await;
            // A thread may just take what was withdrawn, and puts it down again at once.
            if !attempt.is_withdrawn() && tools.pool.write_off(&seat) {
                attempt.shared.hung.add(attempt.thread(), seat);
            }
            end
        }
    };
    let outcome = judge(&attempt, task, end);
    if let (Some(context), Some(outcome)) = (&observed, &outcome) {
        tools.hooks.end(context, outcome);
    }
    if let Some(span) = span {
        traces::end(&span, outcome.as_ref().and_then(Outcome::failure).map(|failure| failure.kind.as_str()));
    }
    handover.end(outcome.map(|outcome| undecodable::encode_failure(&attempt, outcome)));
}

/// When a function that must end gets time for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grace {
    /// After a stop request. At its limits, it is dropped at once.
    OfCancel,
    /// At its limits too, because a function on a thread can only end by itself.
    OfEveryEnd,
}

/// Describes a panic. To be called on the thread that caught it, because only that knows where it began.
fn caught(result: Result<Answer, Box<dyn Any + Send>>) -> Result<Answer, AttemptFailure> {
    result.map_err(|panic| {
        let failure = panic_failure(panic.as_ref(), panics::take_place().as_deref());
        // The panic's value may itself panic when it is dropped.
        catch_unwind(AssertUnwindSafe(|| drop(panic))).ok();
        failure
    })
}

/// Polls the task function until it ends, reaches one of its limits, or has used up its grace after a stop request. Its
/// limits count from when it has `begun`.
async fn supervise(attempt: &Attempt, mut running: Running, begun: impl Future<Output = ()>, grace: Grace) -> RunEnd {
    let mut overdue = None;
    let end = tokio::select! {
        biased;
        answer = &mut running => Some(answer),
        () = attempt.token.cancelled() => None,
        limit = begun.then(|()| first_limit(attempt)) => {
            overdue = Some(limit);
            attempt.token.cancel();
            None
        }
    };
    let end = match (end, &overdue) {
        (Some(answer), _) => Some(answer),
        // Its time is up: waiting for an answer that would not count has no use.
        (None, Some(_)) if grace == Grace::OfCancel => None,
        (None, _) => wind_up(attempt, &mut running).await,
    };
    // A value the function held may panic when it is dropped.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(running)));
    match (end, dropped) {
        (_, Err(panic)) => caught(Err(panic)).map_or_else(RunEnd::Panicked, RunEnd::Answered),
        // Work that was completed after all counts: failing it would only repeat it.
        (Some(Ok(Ok(result))), _) => RunEnd::Answered(Ok(result)),
        (answer, Ok(())) => overdue.unwrap_or(match answer {
            Some(Ok(answer)) => RunEnd::Answered(answer),
            Some(Err(failure)) => RunEnd::Panicked(failure),
            None => RunEnd::Abandoned,
        }),
    }
}

/// Waits for a function after a stop request, no longer than its grace. Does not wait for one that still waits for a
/// thread and will not begin now.
async fn wind_up(attempt: &Attempt, running: &mut Running) -> Option<Result<Answer, AttemptFailure>> {
    if attempt.withdraw() {
        return None;
    }
    let grace_ends = Instant::now() + attempt.shared.grace;
    loop {
        // Not beyond the lease if it is not renewed, because another worker may start the task then.
        let until = grace_ends.min(attempt.lease_ends() - attempt.shared.lease / 16);
        if until <= Instant::now() {
            break;
        }
        tokio::select! {
            biased;
            answer = &mut *running => return Some(answer),
            () = attempt.shared.halt.cancelled() => break,
            () = sleep_until(until.into()) => {}
        }
    }
    tracing::warn!(id = %attempt.task.id, name = %attempt.task.name, "the task continues after its stop request");
    None
}

/// Waits for the first of the attempt's limits: its timeout, or silence for too long.
async fn first_limit(attempt: &Attempt) -> RunEnd {
    let timeout = async {
        match attempt.policy.timeout {
            Some(timeout) => sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let silence = async {
        let Some(interval) = attempt.policy.max_heartbeat_interval else { return std::future::pending().await };
        loop {
            let due = attempt.last_beat() + interval;
            if due <= Instant::now() {
                return;
            }
            sleep_until(due.into()).await;
        }
    };
    tokio::select! {
        () = timeout => RunEnd::TimedOut,
        () = silence => RunEnd::Silent,
    }
}

/// The outcome to settle, from how the attempt ended and why it got a stop request. `None` if its lease is lost.
fn judge(attempt: &Attempt, task: &dyn AnyTask, end: RunEnd) -> Option<Outcome> {
    match (attempt.stopped(), end) {
        (Some(Stop::LeaseLost), _) => None,
        (Some(Stop::Cancel), _) => Some(Outcome::Cancelled),
        (_, RunEnd::Answered(Ok(result))) => Some(completed(attempt, task, result)),
        (Some(Stop::Requeue | Stop::LeaseEnding), _) => Some(attempt.given_back()),
        (Some(Stop::Fail), _) => {
            let failure = AttemptFailure::new(FailureKind::Shutdown, "its worker shut down");
            Some(settle(attempt, &Verdict::Fatal, failure))
        }
        (None, end) => Some(failed(attempt, task, end)),
    }
}

fn completed(attempt: &Attempt, task: &dyn AnyTask, result: Option<Payload>) -> Outcome {
    let encode = |result| attempt.shared.codecs().encode(result, ContentKind::Result, attempt.task.id.as_str());
    let result = match result.map(encode).transpose() {
        Ok(result) => result,
        Err(error) => {
            let error = TaskError::retry(format!("the result: {error}")).kind("unencodable_result");
            return failed(attempt, task, RunEnd::Answered(Err(error)));
        }
    };
    let bytes = result.as_ref().map_or(0, Payload::len);
    if bytes <= DEFAULT_MAX_PAYLOAD_BYTES {
        return Outcome::Completed { result };
    }
    let message = format!("result is {bytes} bytes; at most {DEFAULT_MAX_PAYLOAD_BYTES}");
    let failure = AttemptFailure::new(FailureKind::Fatal, message).of(ErrorKind::lossy("result_too_large"));
    settle(attempt, &Verdict::Fatal, failure)
}

fn failed(attempt: &Attempt, function: &dyn AnyTask, end: RunEnd) -> Outcome {
    let (policy, task) = (&attempt.policy, &attempt.task);
    let failure_of = |kind, Reason { kind: error_kind, message, .. }| AttemptFailure::new(kind, message).of(error_kind);
    let missing_state = match &end {
        RunEnd::Answered(Err(error)) => error.reason().and_then(Reason::missing_state),
        _ => None,
    };
    if let (Some(type_name), RunEnd::Answered(Err(TaskError::Retry(_)))) = (missing_state, &end) {
        return attempt.given_back_without_state(type_name);
    }
    let (verdict, failure) = match end {
        RunEnd::Answered(Err(TaskError::Cancelled)) => return Outcome::Cancelled,
        RunEnd::Answered(Err(TaskError::Retry(reason))) => (Verdict::Retry, failure_of(FailureKind::Error, reason)),
        RunEnd::Answered(Err(TaskError::RetryAfter(delay, reason))) => {
            (Verdict::RetryAfter(delay), failure_of(FailureKind::Error, reason))
        }
        RunEnd::Answered(Err(TaskError::Fatal(reason))) => (Verdict::Fatal, failure_of(FailureKind::Fatal, reason)),
        RunEnd::Answered(Err(TaskError::Aborted(reason))) => (Verdict::Aborted, failure_of(FailureKind::Fatal, reason)),
        RunEnd::Panicked(failure) => (Verdict::Retry, failure),
        RunEnd::TimedOut => {
            let message = format!("ran longer than {}", duration::format(policy.timeout.unwrap_or_default()));
            (Verdict::Retry, AttemptFailure::new(FailureKind::Timeout, message))
        }
        RunEnd::Silent => {
            let limit = duration::format(policy.max_heartbeat_interval.unwrap_or_default());
            let verdict = match policy.on_stall {
                OnStall::Stall => Verdict::Stalled,
                OnStall::Retry => Verdict::Retry,
                OnStall::Fail => Verdict::Fatal,
            };
            (verdict, AttemptFailure::new(FailureKind::Stall, format!("no heartbeat for {limit}")))
        }
        RunEnd::Answered(Ok(_)) | RunEnd::Abandoned => return attempt.given_back(),
    };
    let outcome = settle_by(attempt, function, &verdict, failure);
    if let Some(AttemptFailure { kind, error_kind, message }) = outcome.failure() {
        let error_kind = error_kind.as_ref().map(ErrorKind::as_str);
        let most = policy.max_retries.saturating_add(1);
        let is_hidden = attempt.is_sensitive() && kind.has_message_of_task();
        let message = if is_hidden { "hidden: the task is sensitive" } else { message };
        tracing::info!(
            id = %task.id, name = %task.name, attempt = task.attempt, of = most, next = next_step(&outcome),
            kind = kind.as_str(), error_kind, reason = %message, "attempt failed"
        );
    }
    outcome
}

/// What follows an attempt that did not complete, in words.
fn next_step(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Retry { delay, .. } => format!("retry in {}", duration::format(*delay)),
        Outcome::Failed { dead_letter: true, .. } => "none: the task failed and is a dead letter".to_owned(),
        Outcome::Failed { .. } => "none: the task failed".to_owned(),
        Outcome::Stalled { .. } => "none: the task is stalled".to_owned(),
        Outcome::Aborted { .. } => "none: the task is aborted".to_owned(),
        _ => "none".to_owned(),
    }
}

/// [`settle`], with the backoff function of the task's author, unless the submission says how to back off.
fn settle_by(attempt: &Attempt, function: &dyn AnyTask, verdict: &Verdict, failure: AttemptFailure) -> Outcome {
    let overrides = &attempt.task.overrides;
    let is_said = overrides.backoff.is_some() || overrides.retry_delay.is_some() || overrides.max_retry_delay.is_some();
    if is_said || *verdict != Verdict::Retry {
        return settle(attempt, verdict, failure);
    }
    let delay = catch_unwind(AssertUnwindSafe(|| function.backoff(attempt.task.attempt, &failure)));
    let delay = delay.unwrap_or_else(|_| {
        tracing::error!(name = %attempt.task.name, "the backoff function of this task panicked; the policy decides in its place");
        None
    });
    let Some(delay) = delay else { return settle(attempt, verdict, failure) };
    // Whether there is a next attempt is judged as for any retry; only its delay is another.
    let without_time = TaskPolicy { retry_for: None, ..attempt.policy.clone() };
    match settle_failure(&without_time, spent(attempt), verdict, failure, 0.0) {
        Outcome::Retry { failure, .. } => settle(attempt, &Verdict::RetryAfter(delay), failure),
        outcome => outcome,
    }
}

fn spent(attempt: &Attempt) -> Spent {
    Spent { attempt: attempt.task.attempt, age: attempt.age() }
}

fn settle(attempt: &Attempt, verdict: &Verdict, failure: AttemptFailure) -> Outcome {
    settle_failure(&attempt.policy, spent(attempt), verdict, failure, rand::random())
}

/// The obligation to report how an attempt ended. Dropping it gives the task back: the runtime ended, or the executor
/// itself failed.
#[derive(Debug)]
pub(crate) struct Handover(Arc<Attempt>);

impl Handover {
    pub(crate) const fn new(attempt: Arc<Attempt>) -> Self {
        Self(attempt)
    }

    pub(crate) const fn attempt(&self) -> &Arc<Attempt> {
        &self.0
    }

    fn end(self, outcome: Option<Outcome>) {
        self.hand_over(outcome);
    }

    fn hand_over(&self, outcome: Option<Outcome>) {
        if self.0.take_end() {
            self.0.shared.finished.push(Ended { attempt: Arc::clone(&self.0), outcome });
        }
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        if !self.0.has_ended() {
            let outcome = (self.0.stopped() != Some(Stop::LeaseLost)).then(|| self.0.given_back());
            self.hand_over(outcome);
        }
    }
}
