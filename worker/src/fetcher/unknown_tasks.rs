//! Tasks this worker does not know.
//!
//! While another live worker of the queue knows a task's kind, the worker gives the task back at once and refuses the
//! kind from then on, so that it leases no further one. It reads the registered workers when a task of another kind
//! comes, and now and then while it refuses kinds. When the last worker that knows a kind is gone, it claims the kind
//! again.
//!
//! A task that no live worker knows is given back until its queue's patience ends, each time with a delay
//! ([`unknown_delay`]). Then its kind rests for a second: this worker's claims refuse it, so the other tasks of the kind stay in
//! their queue, and a worker that knows it finds them at once. Kinds for which a claim has no room don't rest; of a
//! flood of these, this worker gives back a bounded number a second.
//!
//! A claim refuses a bounded number of kinds. A task of a further kind that another worker knows is given back with a
//! delay as well. This worker knows exactly when it is due again, and would win it every time over one that can run it. So
//! it defers its claims then and lets the others claim first.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::Refusal,
    limits::MAX_REFUSALS_PER_CLAIM,
    name::{QueueName, WorkerId},
    task::ClaimedTask,
    worker::{
        RegisteredWorker,
        task_kind::{TaskKind, UNKNOWN_DELAYS, UNKNOWN_RESTS, is_known_elsewhere, unknown_delay},
    },
};

const LONGEST: Duration = UNKNOWN_DELAYS.1;
/// How much each task that is given back adds to the delays of those right after it, so that a flood costs at most 500
/// claims a second.
const PER_TASK: Duration = Duration::from_millis(2);
/// How long the other workers go first when a task is due again.
const HEAD_START: Duration = Duration::from_millis(200);
/// The shortest time between two head starts, so that a flood of unknown tasks can't keep this worker from known ones.
const SPACING: Duration = Duration::from_secs(1);
/// So that an endless number of names can't fill the memory; beyond it all are forgotten and logged again.
const MOST_NAMES: usize = 1_000;
/// How long a list of the registered workers stays valid for tasks of further kinds.
const FRESH: Duration = Duration::from_secs(1);
/// How often the registered workers are read while kinds are refused, and how much less often for each worker, because
/// all workers of a mixed fleet do so.
const READ_EVERY: Duration = Duration::from_secs(2);
const READ_LATER_PER_WORKER: Duration = Duration::from_millis(20);
const READ_AT_LEAST_EVERY: Duration = Duration::from_secs(30);

/// What to do with a task that this worker does not know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnknownTaskAction {
    /// Another worker knows it: give it back at once, at its place.
    HandOn,
    /// No live worker knows it, or its kind can't be refused besides all others: give it back with this delay.
    GiveBack(Duration),
}

/// The tasks this worker received and does not know.
#[derive(Debug, Default)]
pub(crate) struct UnknownTasks {
    logged: HashSet<(String, u32)>,
    /// Until when the tasks given back so far keep this worker busy, at [`PER_TASK`] each.
    busy_until: Option<Instant>,
    /// When the other workers go first in each queue.
    head_starts: HashMap<QueueName, BTreeSet<Instant>>,
    /// Leased tasks for which it is not known yet whether another worker knows them.
    undecided: Vec<ClaimedTask>,
    /// The kinds that other live workers know, per queue.
    refused: BTreeMap<QueueName, BTreeSet<TaskKind>>,
    /// Until when kinds rest that no live worker knows.
    resting: BTreeMap<(QueueName, TaskKind), Instant>,
    /// The latest list of registered workers, and when it was read.
    workers: Option<(Vec<RegisteredWorker>, Instant)>,
}

impl UnknownTasks {
    /// Keeps a task until it is known which other workers know its kind.
    pub(crate) fn keep(&mut self, task: ClaimedTask) {
        self.undecided.push(task);
    }

    /// Whether tasks wait for a decision.
    pub(crate) const fn has_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// Takes the tasks that wait for a decision.
    pub(crate) fn take_undecided(&mut self) -> Vec<ClaimedTask> {
        std::mem::take(&mut self.undecided)
    }

    /// Whether the registered workers should be read now.
    pub(crate) fn needs_workers(&self, now: Instant) -> bool {
        let of_new_kinds = || self.undecided.iter().any(|task| !self.refuses(task));
        let is_fresh = self.workers.as_ref().is_some_and(|(_, read_at)| now < *read_at + FRESH);
        !is_fresh && of_new_kinds() || self.read_again_at().is_some_and(|at| now >= at)
    }

    /// When the registered workers should be read again, while kinds are refused.
    pub(crate) fn read_again_at(&self) -> Option<Instant> {
        let (workers, read_at) = self.workers.as_ref().filter(|_| !self.refused.is_empty())?;
        let count = u32::try_from(workers.len()).unwrap_or(u32::MAX);
        Some(*read_at + (READ_EVERY + READ_LATER_PER_WORKER.saturating_mul(count)).min(READ_AT_LEAST_EVERY))
    }

    /// Handles the list of registered workers; `None` if the store did not answer. Returns whether refused kinds are
    /// claimed again.
    pub(crate) fn follow_workers(
        &mut self,
        workers: Option<Vec<RegisteredWorker>>,
        worker: &WorkerId,
        now: Instant,
    ) -> bool {
        let Some(workers) = workers else {
            let known = self.workers.take().map(|(workers, _)| workers).unwrap_or_default();
            self.workers = Some((known, now));
            return false;
        };
        let mut is_any_gone = false;
        for (queue, kinds) in &mut self.refused {
            let before = kinds.len();
            kinds.retain(|kind| is_known_elsewhere(&workers, worker, queue, kind));
            is_any_gone |= kinds.len() < before;
        }
        self.refused.retain(|_, kinds| !kinds.is_empty());
        self.workers = Some((workers, now));
        is_any_gone
    }

    /// Decides on a task, by the workers that were registered when last read.
    pub(crate) fn judge(&mut self, task: &ClaimedTask, worker: &WorkerId, now: Instant) -> UnknownTaskAction {
        let is_known = self.refuses(task) || self.is_known_elsewhere(task, worker);
        if is_known && self.refuse(task) {
            return UnknownTaskAction::HandOn;
        }
        let delay = self.delay(task, now);
        if is_known {
            self.defer_claims(&task.queue, now + delay);
        } else {
            self.log_once(task);
            self.rest(task, now);
        }
        UnknownTaskAction::GiveBack(delay)
    }

    fn is_known_elsewhere(&self, task: &ClaimedTask, worker: &WorkerId) -> bool {
        let workers = self.workers.as_ref().map_or(&[][..], |(workers, _)| workers);
        is_known_elsewhere(workers, worker, &task.queue, &kind_of(task))
    }

    fn refuses(&self, task: &ClaimedTask) -> bool {
        self.refused.get(&task.queue).is_some_and(|kinds| kinds.contains(&kind_of(task)))
    }

    /// Refuses tasks of this kind from now on, if there is room for a further kind.
    fn refuse(&mut self, task: &ClaimedTask) -> bool {
        if self.refuses(task) {
            return true;
        }
        if self.refusals().len() >= MAX_REFUSALS_PER_CLAIM {
            return false;
        }
        let kind = kind_of(task);
        self.resting.remove(&(task.queue.clone(), kind.clone()));
        tracing::info!(%kind, queue = %task.queue, "left to the workers that know it");
        self.refused.entry(task.queue.clone()).or_default().insert(kind)
    }

    /// Refuses the kind of a task that no live worker knows for a moment, if there is room for a further kind.
    fn rest(&mut self, task: &ClaimedTask, now: Instant) {
        let key = (task.queue.clone(), kind_of(task));
        if self.resting.contains_key(&key) || self.refusals().len() < MAX_REFUSALS_PER_CLAIM {
            self.resting.insert(key, now + UNKNOWN_RESTS);
        }
    }

    /// The kinds that the next claim leaves to other workers, or that rest.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        let each = |(queue, kinds): (&QueueName, &BTreeSet<TaskKind>)| {
            let refusal = |kind: &TaskKind| Refusal { queue: queue.clone(), kind: kind.clone() };
            kinds.iter().map(refusal).collect::<Vec<_>>()
        };
        let resting = self.resting.keys().map(|(queue, kind)| Refusal { queue: queue.clone(), kind: kind.clone() });
        self.refused.iter().flat_map(each).chain(resting).collect()
    }

    /// How long no worker tries this task again.
    fn delay(&mut self, task: &ClaimedTask, now: Instant) -> Duration {
        let busy_until = self.busy_until.map_or(now, |until| until.max(now)) + PER_TASK;
        self.busy_until = Some(busy_until.min(now + LONGEST));
        unknown_delay(task).max(busy_until - now).min(LONGEST)
    }

    /// The queues in which the other workers go first now.
    pub(crate) fn left_to_others(&self, now: Instant) -> Vec<QueueName> {
        let is_on =
            |starts: &BTreeSet<Instant>| starts.range(..=now).next_back().is_some_and(|at| *at + HEAD_START > now);
        self.head_starts.iter().filter(|(_, starts)| is_on(starts)).map(|(queue, _)| queue.clone()).collect()
    }

    /// When the next head start is over, or the next rest.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        let head_start = self.head_starts.values().filter_map(BTreeSet::first).min().map(|at| *at + HEAD_START);
        head_start.into_iter().chain(self.resting.values().copied()).min()
    }

    /// Removes the head starts and rests that are over. Returns whether there were any.
    pub(crate) fn follow_on(&mut self, now: Instant) -> bool {
        let resting = self.resting.len();
        self.resting.retain(|_, until| *until > now);
        let mut is_any_over = self.resting.len() < resting;
        self.head_starts.retain(|_, starts| {
            let before = starts.len();
            starts.retain(|at| *at + HEAD_START > now);
            is_any_over |= starts.len() < before;
            !starts.is_empty()
        });
        is_any_over
    }

    fn log_once(&mut self, task: &ClaimedTask) {
        if self.logged.len() >= MOST_NAMES {
            self.logged.clear();
        }
        if self.logged.insert((task.name.as_str().to_owned(), task.version)) {
            tracing::warn!(
                name = %task.name, version = task.version, id = %task.id,
                "no live worker of its queue knows this task; it is given back until one does, or its queue's patience ends"
            );
        }
    }

    fn defer_claims(&mut self, queue: &QueueName, at: Instant) {
        let starts = self.head_starts.entry(queue.clone()).or_default();
        if starts.range(at.checked_sub(SPACING).unwrap_or(at)..at + SPACING).next().is_none() {
            starts.insert(at);
        }
    }
}

fn kind_of(task: &ClaimedTask) -> TaskKind {
    TaskKind { name: task.name.clone(), version: task.version }
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        name::{RoleName, TaskId},
        payload::Payload,
        time::Timestamp,
        worker::{WorkerReport, WorkerState},
    };

    use super::*;

    fn task(id: &str) -> ClaimedTask {
        let context = crate::Context::detached(Payload::json(&b"{}"[..]));
        ClaimedTask { id: TaskId::new(id).unwrap(), ..context.claimed().clone() }
    }

    fn me() -> WorkerId {
        WorkerId::new("me").unwrap()
    }

    /// Another worker that knows the task of these tests.
    fn able() -> Vec<RegisteredWorker> {
        let task = task("a");
        let report = WorkerReport {
            id: WorkerId::new("able").unwrap(),
            host: "here".to_owned(),
            pid: 1,
            version: "1".to_owned(),
            role: RoleName::new("default").unwrap(),
            queues: vec![task.queue.clone()],
            slots: 1,
            running: 0,
            state: WorkerState::Running,
            tasks: vec![kind_of(&task).to_string()],
            settled: 0,
            catalogue: None,
            left: Vec::new(),
            draining_for: None,
            done_within: None,
            hung_threads: Vec::new(),
            blocking: None,
        };
        let now = Timestamp::from_micros(1);
        vec![RegisteredWorker { report, started_at: now, seen_at: now, expires_at: now }]
    }

    #[test]
    fn a_task_that_another_worker_knows_is_handed_on_and_its_kind_refused() {
        let (mut unknown, now) = (UnknownTasks::default(), Instant::now());
        unknown.keep(task("a"));
        assert!(unknown.needs_workers(now));
        unknown.follow_workers(Some(able()), &me(), now);
        assert_eq!(unknown.judge(&task("a"), &me(), now), UnknownTaskAction::HandOn);
        let refusals = unknown.refusals();
        assert_eq!(refusals, [Refusal { queue: task("a").queue, kind: kind_of(&task("a")) }]);
        assert!(unknown.left_to_others(now + UNKNOWN_DELAYS.0).is_empty(), "nothing falls due again");
        unknown.take_undecided();
        unknown.keep(task("b"));
        assert!(!unknown.needs_workers(now + FRESH), "its kind is known to be known");
    }

    #[test]
    fn a_kind_is_refused_no_longer_than_another_worker_knows_it() {
        let (mut unknown, now) = (UnknownTasks::default(), Instant::now());
        unknown.follow_workers(Some(able()), &me(), now);
        assert_eq!(unknown.judge(&task("a"), &me(), now), UnknownTaskAction::HandOn);
        let again = unknown.read_again_at().unwrap();
        assert!(!unknown.needs_workers(now) && unknown.needs_workers(again));
        assert!(!unknown.follow_workers(None, &me(), again), "the store did not answer");
        assert_eq!(unknown.refusals().len(), 1);
        assert!(!unknown.follow_workers(Some(able()), &me(), again));
        assert!(unknown.follow_workers(Some(Vec::new()), &me(), again));
        assert_eq!((unknown.refusals(), unknown.read_again_at()), (vec![], None));
        assert_eq!(unknown.judge(&task("a"), &me(), again), UnknownTaskAction::GiveBack(UNKNOWN_DELAYS.0));
    }

    #[test]
    fn a_flood_of_kinds_that_no_worker_knows_reads_the_workers_once_a_second() {
        let (mut unknown, now) = (UnknownTasks::default(), Instant::now());
        unknown.keep(task("a"));
        unknown.follow_workers(Some(Vec::new()), &me(), now);
        assert!(!unknown.needs_workers(now) && unknown.needs_workers(now + FRESH));
    }

    /// The same task, offered again after it has waited so long.
    fn waited(id: &str, wait: Duration) -> ClaimedTask {
        let task = task(id);
        ClaimedTask { started_at: task.ready_at.after(wait), ..task }
    }

    /// The delay of a task that no other worker knows.
    fn delay(unknown: &mut UnknownTasks, task: &ClaimedTask, now: Instant) -> Duration {
        match unknown.judge(task, &me(), now) {
            UnknownTaskAction::GiveBack(delay) => delay,
            UnknownTaskAction::HandOn => panic!("no other worker knows it"),
        }
    }

    #[test]
    fn a_task_comes_back_after_a_hundredth_of_the_time_it_has_waited_within_bounds() {
        let (mut unknown, now) = (UnknownTasks::default(), Instant::now());
        let mut after = |seconds| delay(&mut unknown, &waited("a", Duration::from_secs(seconds)), now).as_millis();
        assert_eq!([0, 60, 100].map(&mut after), [1_000; 3], "a worker that starts soon after gets it within a second");
        assert_eq!([150, 600, 3_000].map(&mut after), [1_500, 6_000, 30_000]);
        assert_eq!(after(1_000_000), 30_000);
        assert_eq!(after(0), 1_000, "one that waits long delays no other");
    }

    #[test]
    fn a_flood_comes_back_at_a_bounded_rate_and_one_task_alone_soon_after_it() {
        let (mut unknown, start) = (UnknownTasks::default(), Instant::now());
        let delays: Vec<Duration> =
            (0..20_000).map(|n: u32| delay(&mut unknown, &task(&n.to_string()), start)).collect();
        assert_eq!(
            (delays[0], delays[499], delays[4_999]),
            (UNKNOWN_DELAYS.0, UNKNOWN_DELAYS.0, Duration::from_secs(10))
        );
        assert_eq!(delays[19_999], LONGEST);
        assert!(delays.is_sorted(), "none overtakes another");
        assert_eq!(delay(&mut unknown, &task("later"), start + LONGEST), UNKNOWN_DELAYS.0);
    }

    #[test]
    fn a_flood_that_comes_back_stays_within_the_rate() {
        let (mut unknown, start) = (UnknownTasks::default(), Instant::now());
        let mut due = BTreeSet::from_iter((0..5_000_u32).map(|n| (start, n)));
        let mut times = 0;
        while let Some((at, n)) = due.pop_first().filter(|(at, _)| *at < start + Duration::from_secs(60)) {
            due.insert((at + delay(&mut unknown, &task(&n.to_string()), at), n));
            times += 1;
        }
        let rate = (times - 5_000) / 60;
        assert!((400..=500).contains(&rate), "{rate} claims a second");
    }

    /// One that refuses as many kinds as a claim may name, and the task of a further kind that another worker knows.
    fn full(start: Instant) -> UnknownTasks {
        let mut unknown = UnknownTasks::default();
        unknown.follow_workers(Some(able()), &me(), start);
        let kinds = (0..MAX_REFUSALS_PER_CLAIM)
            .map(|n| TaskKind { version: u32::try_from(n).unwrap() + 100, ..kind_of(&task("a")) });
        unknown.refused.insert(QueueName::new("elsewhere").unwrap(), kinds.collect());
        unknown
    }

    #[test]
    fn a_task_whose_kind_cannot_be_refused_besides_all_others_is_left_to_the_others_first() {
        let start = Instant::now();
        let mut unknown = full(start);
        let due = start + delay(&mut unknown, &task("a"), start);
        let queue = task("a").queue;
        let mut asked = |at: Instant| (unknown.left_to_others(at), unknown.follow_on(at));
        assert_eq!(asked(due - Duration::from_millis(1)), (vec![], false));
        assert_eq!(asked(due), (vec![queue], false));
        assert_eq!(asked(due + HEAD_START), (vec![], true));
        assert_eq!(unknown.next_end(), None);
    }

    #[test]
    fn a_task_that_no_worker_knows_defers_no_claim_and_its_kind_rests() {
        let (mut unknown, start) = (UnknownTasks::default(), Instant::now());
        let due = start + delay(&mut unknown, &task("a"), start);
        assert!(unknown.left_to_others(due).is_empty());
        assert_eq!((unknown.refusals().len(), unknown.next_end()), (1, Some(start + UNKNOWN_RESTS)));
        assert!(unknown.follow_on(start + UNKNOWN_RESTS), "a claim that does not refuse it follows at once");
        assert_eq!((unknown.refusals(), unknown.next_end()), (vec![], None));
    }

    #[test]
    fn a_kind_that_rests_is_left_to_a_worker_that_comes_to_know_it() {
        let (mut unknown, now) = (UnknownTasks::default(), Instant::now());
        delay(&mut unknown, &task("a"), now);
        unknown.follow_workers(Some(able()), &me(), now);
        assert_eq!(unknown.judge(&task("b"), &me(), now), UnknownTaskAction::HandOn);
        assert_eq!((unknown.follow_on(now + UNKNOWN_RESTS), unknown.refusals().len()), (false, 1));
    }

    #[test]
    fn a_flood_leaves_most_of_the_time_to_what_is_known() {
        let start = Instant::now();
        let mut unknown = full(start);
        for n in 0..2_000 {
            delay(&mut unknown, &task(&n.to_string()), start + Duration::from_millis(3 * n));
        }
        let at = |n: u64| start + Duration::from_secs(1) + Duration::from_millis(n);
        let back = (0..5_000).filter(|n| !unknown.left_to_others(at(*n)).is_empty()).count();
        assert_eq!(back, 1_000, "a fifth of five seconds");
    }
}
