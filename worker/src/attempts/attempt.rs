//! One attempt at a task, from its claim to its settlement: the state that the executor, the renewal of leases and the
//! task function share.
//!
//! It does nothing by itself. Code that wants the attempt to end gives the reason ([`Attempt::stop`]), and the executor
//! ends it.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Heartbeat, Outcome, Settlement},
    name::WorkerId,
    payload::Payload,
    policy::TaskPolicy,
    task::ClaimedTask,
    time::Timestamp,
    worker::HeldThread,
};
use jobbers_process::{
    logging::label::{AttemptLabel, Labels},
    telemetry::traces::{self, Tracing},
};
use opentelemetry::trace::TraceContextExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    attempts::{finished::EndedAttempts, meters::pair::Pair, missing::Missing, state::States},
    client::{Client, ParentClient},
    payload::codec::{CodecError, Codecs, ContentKind},
    threads::hung::HungThreads,
};

/// How long a task waits that was given back for the lack of a state.
const WITHOUT_STATE: Duration = Duration::from_secs(10);

/// Why an attempt must end early. Later reasons are graver and replace earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// The worker shuts down, and the task's policy is `fail`.
    Fail,
    /// The worker shuts down and gives the task back.
    Requeue,
    /// Its lease can't be renewed in time, so it must end before another worker may start the task.
    LeaseEnding,
    /// The task was cancelled.
    Cancel,
    /// Another worker has the lease, so no result of this attempt counts.
    LeaseLost,
}

/// The progress of an attempt that needs a thread of the pool. Other attempts always stay at `FREE`.
mod standing {
    pub(super) const FREE: u8 = 0;
    /// It waits in the queue for a thread.
    pub(super) const WAITS: u8 = 1;
    /// A thread has taken it.
    pub(super) const BEGUN: u8 = 2;
    /// It is given back without having begun.
    pub(super) const WITHDRAWN: u8 = 3;
}

/// What all attempts of a worker share.
#[derive(Debug)]
pub(crate) struct SharedState {
    /// The id of the worker.
    pub(crate) worker: WorkerId,
    /// How long a lease lasts.
    pub(crate) lease: Duration,
    /// How long a task function may take to end after a stop request.
    pub(crate) grace: Duration,
    /// Values by type.
    pub(crate) states: States,
    /// The client that submits more tasks.
    pub(crate) client: Option<ParentClient>,
    /// Where attempts go when they have ended.
    pub(crate) finished: EndedAttempts<Ended>,
    /// Notified when an attempt has a heartbeat for the store.
    pub(crate) news: Notify,
    /// Threads that were written off.
    pub(crate) hung: HungThreads,
    /// What attempts need and the worker does not have.
    pub(crate) missing: Missing,
    /// Cancelled when the worker no longer waits for anything.
    pub(crate) halt: CancellationToken,
    epoch: Instant,
}

impl SharedState {
    pub(crate) fn new(
        worker: WorkerId,
        lease: Duration,
        grace: Duration,
        states: States,
        client: Option<ParentClient>,
    ) -> Arc<Self> {
        Arc::new(Self {
            worker,
            lease,
            grace,
            states,
            client,
            finished: EndedAttempts::default(),
            news: Notify::new(),
            hung: HungThreads::default(),
            missing: Missing::default(),
            halt: CancellationToken::new(),
            epoch: Instant::now(),
        })
    }

    /// The codecs of the worker.
    pub(crate) fn codecs(&self) -> Codecs {
        self.client.as_ref().map(|client| client.codecs().clone()).unwrap_or_default()
    }

    /// Microseconds of the monotonic clock since the worker began, so that a point in time fits an atomic.
    pub(crate) fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_micros()).unwrap_or(u64::MAX)
    }

    /// The point in time that is `micros` after the worker began.
    pub(crate) fn instant(&self, micros: u64) -> Instant {
        self.epoch + Duration::from_micros(micros)
    }
}

/// The heartbeat of an attempt that waits to be written; several are merged into one.
#[derive(Debug, Default)]
struct PendingHeartbeat {
    pending: Option<Heartbeat>,
    /// The heartbeat of a renewal that the store has not confirmed yet.
    sent: Option<Heartbeat>,
    /// Not to be written before this time: a few writes per lease are enough.
    not_before: Option<Instant>,
}

/// Values of `later`, and those of `earlier` where it says nothing.
fn merge(later: Option<Heartbeat>, earlier: Option<Heartbeat>) -> Option<Heartbeat> {
    match (later, earlier) {
        (Some(later), Some(earlier)) => Some(Heartbeat {
            progress: later.progress.or(earlier.progress),
            checkpoint: later.checkpoint.or(earlier.checkpoint),
        }),
        (later, earlier) => later.or(earlier),
    }
}

/// What the store has encoded of a task.
#[derive(Debug)]
struct Decoded {
    parameters: Payload,
    checkpoint: Option<Payload>,
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) task: ClaimedTask,
    /// The task's policy with the overrides of its submission.
    pub(crate) policy: TaskPolicy,
    pub(crate) shared: Arc<SharedState>,
    /// Cancelled when it is to end.
    pub(crate) token: CancellationToken,
    /// Its index among the leases.
    pub(crate) place: usize,
    /// The instruments that count it.
    pub(crate) pair: Option<Arc<Pair>>,
    /// The parameters and the checkpoint, where a codec encoded them.
    decoded: OnceLock<Decoded>,
    claimed: Instant,
    stop: Mutex<Option<Stop>>,
    /// When the attempt was notified that its task is cancelled.
    cancelled_at: OnceLock<Instant>,
    news: Mutex<PendingHeartbeat>,
    lease_ends: AtomicU64,
    beat_at: AtomicU64,
    standing: AtomicU8,
    /// When the worker received it, when its function began (0: not yet) and when it ended.
    taken_at: u64,
    began_at: AtomicU64,
    ended_at: AtomicU64,
    /// Its span, if its trace is kept, as a `traceparent`.
    span: OnceLock<String>,
    ended: AtomicBool,
    /// What it submits by, where that differs from task to task.
    client: OnceLock<Client>,
}

impl Labels for Attempt {
    fn label(&self) -> AttemptLabel<'_> {
        let traceparent = self.span.get().map(String::as_str).or(self.task.trace.as_deref());
        AttemptLabel {
            id: self.task.id.as_str(),
            name: self.task.name.as_str(),
            attempt: self.task.attempt,
            // `00-<32 digits of the trace>-…`.
            trace_id: traceparent.and_then(|it| it.get(3..35)),
            is_sensitive: self.is_sensitive(),
        }
    }
}

/// When the worker received an attempt, by its own clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenAt {
    /// When its lease was requested.
    pub(crate) asked: Instant,
    /// When the answer arrived.
    pub(crate) answered: Instant,
}

impl Attempt {
    /// An attempt that is about to begin.
    pub(crate) fn new(
        task: ClaimedTask,
        policy: TaskPolicy,
        pair: Option<Arc<Pair>>,
        shared: Arc<SharedState>,
        place: usize,
        taken: TakenAt,
    ) -> Arc<Self> {
        let (ends, taken_at) = (shared.micros(taken.asked + shared.lease), shared.micros(taken.answered));
        Arc::new(Self {
            task,
            policy,
            shared,
            token: CancellationToken::new(),
            place,
            pair,
            decoded: OnceLock::new(),
            claimed: taken.asked,
            stop: Mutex::default(),
            cancelled_at: OnceLock::new(),
            news: Mutex::default(),
            lease_ends: AtomicU64::new(ends),
            beat_at: AtomicU64::new(taken_at),
            standing: AtomicU8::new(standing::FREE),
            taken_at,
            began_at: AtomicU64::new(0),
            ended_at: AtomicU64::new(0),
            span: OnceLock::new(),
            ended: AtomicBool::new(false),
            client: OnceLock::new(),
        })
    }

    /// Decodes what a codec encoded. It takes time, so the threads of the runtime do it and not that of the leases.
    pub(crate) fn decode(&self) -> Result<(), CodecError> {
        let ClaimedTask { parameters, checkpoint, .. } = &self.task;
        if !parameters.is_encoded() && !checkpoint.as_ref().is_some_and(Payload::is_encoded) {
            return Ok(());
        }
        let codecs = self.shared.codecs();
        let parameters = codecs.decode(parameters.clone(), ContentKind::Parameters)?;
        let checkpoint = checkpoint.clone().map(|it| codecs.decode(it, ContentKind::Checkpoint)).transpose()?;
        self.decoded.get_or_init(|| Decoded { parameters, checkpoint });
        Ok(())
    }

    /// Whether nothing of what it holds is logged.
    pub(crate) const fn is_sensitive(&self) -> bool {
        self.task.metadata.is_sensitive()
    }

    /// The parameters as they were submitted.
    pub(crate) fn parameters(&self) -> &Payload {
        self.decoded.get().map_or(&self.task.parameters, |decoded| &decoded.parameters)
    }

    /// What an earlier attempt left for this one.
    pub(crate) fn checkpoint(&self) -> Option<&Payload> {
        self.decoded.get().map_or(self.task.checkpoint.as_ref(), |decoded| decoded.checkpoint.as_ref())
    }

    /// What it submits further tasks by; `None` without a worker.
    pub(crate) fn client(&self) -> Option<&Client> {
        let client = self.shared.client.as_ref()?;
        let of_task = || self.client.get_or_init(|| client.of(&self.task.metadata.labels));
        Some(client.plain().unwrap_or_else(of_task))
    }

    /// Those of its labels that the tasks it submits get too.
    pub(crate) fn carried(&self) -> impl Iterator<Item = (&str, &str)> {
        self.shared.client.iter().flat_map(|client| client.handed_on(&self.task.metadata.labels))
    }

    /// How long ago the task was submitted: by the store's clock up to the claim, from then on by this process's.
    pub(crate) fn age(&self) -> Duration {
        self.task.started_at.since(self.task.submitted_at) + self.claimed.elapsed()
    }

    /// When this worker received it.
    pub(crate) fn taken(&self) -> Instant {
        self.shared.instant(self.taken_at)
    }

    /// The latest time at which it ends, if its task has a timeout.
    pub(crate) fn ends_by(&self) -> Option<Instant> {
        self.claimed.checked_add(self.policy.timeout? + self.shared.grace)
    }

    /// Asks it to end. The gravest reason counts.
    pub(crate) fn stop(&self, why: Stop) {
        let mut stop = self.stop.lock();
        *stop = (*stop).max(Some(why));
        drop(stop);
        if why == Stop::Cancel {
            self.cancelled_at.get_or_init(Instant::now);
        }
        self.token.cancel();
    }

    /// Why it was asked to end, if it was.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        *self.stop.lock()
    }

    /// Whether its task was cancelled, and it has continued for longer than its grace since it was notified.
    pub(crate) fn ignores_cancel(&self, now: Instant) -> bool {
        let is_over_grace = |told: &Instant| *told + self.shared.grace < now;
        !self.has_ended() && self.cancelled_at.get().is_some_and(is_over_grace)
    }

    /// Takes the right to report how it ended. Only the first caller gets it.
    pub(crate) fn take_end(&self) -> bool {
        let first = !self.ended.swap(true, Ordering::AcqRel);
        if first {
            self.ended_at.store(self.shared.micros(Instant::now()), Ordering::Release);
        }
        first
    }

    /// Whether it has ended; its settlement may still be on its way.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// When its lease ends at the earliest: counted from before it was requested.
    pub(crate) fn lease_ends(&self) -> Instant {
        self.shared.instant(self.lease_ends.load(Ordering::Acquire))
    }

    /// Notes that a renewal requested at `sent` was granted.
    pub(crate) fn renewed(&self, sent: Instant) {
        self.lease_ends.fetch_max(self.shared.micros(sent + self.shared.lease), Ordering::AcqRel);
    }

    /// Notes that it waits for a thread.
    pub(crate) fn enter_blocking_queue(&self) {
        self.standing.store(standing::WAITS, Ordering::Release);
    }

    /// Whether it had to wait for a thread.
    pub(crate) fn is_blocking(&self) -> bool {
        self.standing.load(Ordering::Acquire) != standing::FREE
    }

    /// Whether it waits for a thread.
    pub(crate) fn waits_for_thread(&self) -> bool {
        self.standing.load(Ordering::Acquire) == standing::WAITS && !self.has_ended()
    }

    /// Whether its function runs on a thread that was not written off.
    pub(crate) fn holds_thread(&self) -> bool {
        self.standing.load(Ordering::Acquire) == standing::BEGUN && self.has_begun() && !self.has_ended()
    }

    /// The thread that its function holds.
    pub(crate) fn thread(&self) -> HeldThread {
        let ClaimedTask { id, queue, name, attempt, .. } = &self.task;
        let (id, queue, name) = (id.clone(), queue.clone(), name.clone());
        HeldThread { id, queue, name, attempt: *attempt, held_for: self.runs_for() }
    }

    /// Marks it as taken by a thread. Returns false if it was withdrawn.
    pub(crate) fn leave_line(&self) -> bool {
        let left = self.move_from_line(standing::BEGUN);
        left.map_or_else(|at| at != standing::WITHDRAWN, |_| true)
    }

    /// Ensures that it never begins; returns false if it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        let left = self.move_from_line(standing::WITHDRAWN);
        left.map_or_else(|at| at == standing::WITHDRAWN, |_| true)
    }

    /// Whether it was withdrawn before it began.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.standing.load(Ordering::Acquire) == standing::WITHDRAWN
    }

    fn move_from_line(&self, to: u8) -> Result<u8, u8> {
        self.standing.compare_exchange(standing::WAITS, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Notes and counts that the task function starts now, which may be long after the claim. A task that is given back
    /// before it starts is not counted.
    pub(crate) fn begin(&self) {
        let now = self.shared.micros(Instant::now());
        self.beat_at.store(now, Ordering::Release);
        // 0 means "not yet".
        self.began_at.store(now.max(1), Ordering::Release);
        if let Some(pair) = &self.pair {
            pair.selected(self.waited(), self.task.crashes);
        }
    }

    /// Begins its span, if its trace is kept.
    pub(crate) fn trace(&self, tracing: &Tracing) -> Option<opentelemetry::Context> {
        let task = &self.task;
        let span = tracing.process(traces::AttemptFacts {
            queue: task.queue.as_str(),
            id: task.id.as_str(),
            task: task.name.as_str(),
            version: task.version,
            attempt: task.attempt,
            crashes: task.crashes,
            waited: since(task.submitted_at, task.started_at),
            traceparent: task.trace.as_deref(),
            last_span: task.last_span.as_deref(),
        })?;
        self.span.set(traces::write(span.span().span_context())).ok();
        Some(span)
    }

    /// Its span, if its trace is kept, as a `traceparent`.
    pub(crate) fn span(&self) -> Option<&str> {
        self.span.get().map(String::as_str)
    }

    /// How long the task function ran; zero if it never began.
    pub(crate) fn ran(&self) -> Duration {
        let (began, ended) = (self.began_at.load(Ordering::Acquire), self.ended_at.load(Ordering::Acquire));
        if began == 0 { Duration::ZERO } else { Duration::from_micros(ended.saturating_sub(began)) }
    }

    /// How long the task function has run so far; zero if it never began.
    pub(crate) fn runs_for(&self) -> Duration {
        match self.began_at.load(Ordering::Acquire) {
            0 => Duration::ZERO,
            began => self.shared.instant(began).elapsed(),
        }
    }

    /// The outcome of an attempt that is given back.
    pub(crate) fn given_back(&self) -> Outcome {
        let delay = Duration::ZERO;
        if self.has_begun() { Outcome::Released { delay } } else { Outcome::Unstarted { delay } }
    }

    /// The outcome of an attempt that asked for a state which its worker does not have.
    pub(crate) fn given_back_without_state(&self, type_name: &'static str) -> Outcome {
        if self.shared.missing.note_state(type_name) {
            tracing::error!(
                name = %self.task.name, version = self.task.version, state = type_name,
                "the worker has no state of this type: give it to Worker::state. Until then it gives the task back"
            );
        }
        Outcome::Released { delay: WITHOUT_STATE }
    }

    /// Whether the task function began.
    pub(crate) fn has_begun(&self) -> bool {
        self.began_at.load(Ordering::Acquire) != 0
    }

    /// When its timeout ends, which counts from when its function began.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let began_at = self.began_at.load(Ordering::Acquire);
        self.policy.timeout.filter(|_| began_at != 0).map(|timeout| self.shared.instant(began_at) + timeout)
    }

    /// From the task's submission to the end of this attempt: up to the claim by the store's clock, from there on by this
    /// worker's. No two clocks are ever compared.
    pub(crate) fn lived(&self) -> Duration {
        let here = Duration::from_micros(self.ended_at.load(Ordering::Acquire).saturating_sub(self.taken_at));
        since(self.task.submitted_at, self.task.started_at) + here
    }

    /// From when the task was due to when its function began: up to the claim by the store's clock, from there on by this
    /// worker's.
    pub(crate) fn waited(&self) -> Duration {
        let here = self.began_at.load(Ordering::Acquire).saturating_sub(self.taken_at);
        since(self.task.ready_at.max(self.task.submitted_at), self.task.started_at) + Duration::from_micros(here)
    }

    /// When the task function last reported progress.
    pub(crate) fn last_beat(&self) -> Instant {
        self.shared.instant(self.beat_at.load(Ordering::Acquire))
    }

    /// Adds a heartbeat of the task function; it is written soon, together with others.
    pub(crate) fn beat(&self, heartbeat: Heartbeat) {
        self.beat_at.store(self.shared.micros(Instant::now()), Ordering::Release);
        let mut news = self.news.lock();
        let first = news.pending.is_none();
        news.pending = merge(Some(heartbeat), news.pending.take());
        drop(news);
        if first {
            self.shared.news.notify_one();
        }
    }

    /// When its pending heartbeat may be written; `None` if none is pending.
    pub(crate) fn news_due(&self, now: Instant) -> Option<Instant> {
        let news = self.news.lock();
        news.pending.as_ref().map(|_| news.not_before.unwrap_or(now))
    }

    /// Takes the pending heartbeat if it may be written by now. [`Attempt::confirm_news`] or [`Attempt::return_news`]
    /// follows.
    pub(crate) fn take_news(&self, now: Instant) -> Option<Heartbeat> {
        let mut news = self.news.lock();
        if news.not_before.is_some_and(|at| at > now) {
            return None;
        }
        let taken = news.pending.take()?;
        // A long interval is a wide limit for silence. It does not make old reports good enough.
        let lease = self.shared.lease;
        let interval = self.policy.max_heartbeat_interval.map_or(lease, |interval| interval.min(lease));
        news.not_before = Some(now + interval / 4);
        news.sent = Some(taken.clone());
        Some(taken)
    }

    /// Notes that the store has the heartbeat that was taken last.
    pub(crate) fn confirm_news(&self) {
        self.news.lock().sent = None;
    }

    /// Puts back the heartbeat that was taken last and could not be written, to retry at `later`. Values reported since
    /// then win.
    pub(crate) fn return_news(&self, later: Instant) {
        let mut news = self.news.lock();
        let Some(unsent) = news.sent.take() else { return };
        news.not_before = Some(later);
        news.pending = merge(news.pending.take(), Some(unsent));
    }

    /// What it reported and the store has not confirmed, for its settlement. A completed task has no next attempt, so its
    /// checkpoint is left out.
    pub(crate) fn last_heartbeat(&self, outcome: &Outcome) -> Option<Heartbeat> {
        let news = self.news.lock();
        let mut last = merge(news.pending.clone(), news.sent.clone())?;
        drop(news);
        if matches!(outcome, Outcome::Completed { .. }) {
            last.checkpoint = None;
        }
        (last != Heartbeat::default()).then_some(last)
    }
}

fn since(from: Timestamp, until: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(until.as_micros().saturating_sub(from.as_micros())).unwrap_or(0))
}

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: Arc<Attempt>,
    /// Its outcome; `None` if its lease is lost, so that nothing is to be settled.
    pub(crate) outcome: Option<Outcome>,
}

impl Ended {
    /// What to settle, if anything.
    pub(crate) fn settlement(self) -> Option<Settlement> {
        let outcome = self.outcome?;
        let heartbeat = self.attempt.last_heartbeat(&outcome);
        let ClaimedTask { id, fence, .. } = &self.attempt.task;
        Some(Settlement { heartbeat, ..Settlement::new(id.clone(), *fence, outcome) })
    }
}

#[cfg(test)]
mod tests;
