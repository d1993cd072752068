//! The model's memory, and the moves all verbs share.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use jobbers_common::{
    access::Session,
    dependency::{End, signal::SignalState},
    engine::{ClaimRequest, DeadKey, DeadTask, Duty, LoggedChange, StoredRun, StoredSchedule},
    lifecycle::{Move, Status, is_legal},
    limits::MAX_ERRORS_KEPT,
    name::{BoardName, DutyName, QueueName, ScheduleName, SignalName, TaskId, TaskName, WorkerId, WorkflowId},
    payload::Payload,
    queue::{Config, gate::Gate},
    task::{
        AttemptError, AttemptFailure, Fence, Task,
        suspicion::{Suspicion, WorkerLoss},
        tombstone::Tombstone,
        unique::UniqueKey,
    },
    time::Timestamp,
    worker::{
        RegisteredWorker,
        registry::{Catalogue, CatalogueId},
        task_kind::TaskKind,
    },
};

use super::{
    board::Board,
    records::{Held, KeyHolder, OpenEdge, Signal, Slots},
};

/// A task and what only the store knows of it.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) task: Task,
    pub(super) fingerprint: u128,
    /// Its place among the ready tasks of its priority.
    pub(super) position: u64,
    /// The fence whose settlement ended it, and whether a cancel was requested before.
    pub(super) settled_by: Option<(Fence, bool)>,
    /// The first time that a worker gave it back for not knowing it, since it last ran.
    pub(super) unknown: Option<FirstGiveBack>,
    /// Its edges without a signal, by their predecessors.
    pub(super) waits_for: BTreeMap<TaskId, OpenEdge>,
}

/// A task was given back by a worker that does not know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstGiveBack {
    pub(super) at: Timestamp,
    /// Since when the task was ready by then.
    pub(super) ready_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) tasks: BTreeMap<TaskId, Stored>,
    pub(super) revision: u64,
    pub(super) config: Arc<Config>,
    /// All queues, those without settings of their own too.
    pub(super) queues: BTreeSet<QueueName>,
    /// Per queue: ever accepted, and deleted since.
    pub(super) counters: BTreeMap<QueueName, (u64, u64)>,
    pub(super) history: Slots,
    /// Where the rates of queues that have one stand.
    pub(super) rate_marks: HashMap<QueueName, Timestamp>,
    /// The same of the rates of gates.
    pub(super) gate_marks: HashMap<(QueueName, Gate), Timestamp>,
    /// The same of rates at which tasks are accepted.
    pub(super) intake_marks: HashMap<QueueName, Timestamp>,
    pub(super) workers: BTreeMap<WorkerId, RegisteredWorker>,
    /// By revision.
    pub(super) outbox: BTreeMap<u64, DeadTask>,
    /// Changes for the audit log, in the order in which they were logged.
    pub(super) logged_changes: Vec<LoggedChange>,
    /// Copies that were sent again.
    pub(super) receipts: BTreeSet<DeadKey>,
    /// Who took a unique key last, by the task's name and the key.
    pub(super) keys: BTreeMap<(TaskName, UniqueKey), KeyHolder>,
    pub(super) duties: BTreeMap<DutyName, Duty>,
    /// By the digest in text, and until when each lasts.
    pub(super) sessions: BTreeMap<String, (Session, Timestamp)>,
    /// And until when each is kept.
    pub(super) catalogues: BTreeMap<CatalogueId, (Catalogue, Timestamp)>,
    /// Workers whose last claim left nothing, and that claim.
    pub(super) waiting: HashMap<WorkerId, ClaimRequest>,
    /// The revision before the submission under way: what it takes in does not wait for what it replaces.
    pub(super) taken_from: Option<u64>,
    /// Ends that must still be signalled to successors.
    pub(super) signals: Vec<Signal>,
    /// Signals that are kept for tasks which do not exist yet, and until when.
    pub(super) kept_signals: BTreeMap<(TaskId, SignalName), Timestamp>,
    /// The predecessors of tasks.
    pub(super) parents: BTreeMap<TaskId, Held>,
    /// How tasks ended that were deleted while another held their results.
    pub(super) kept: BTreeMap<TaskId, (Status, Option<Payload>)>,
    /// Whom to wake when this verb is done.
    pub(super) wakes: Vec<WorkerId>,
    pub(super) something_finished: bool,
    /// Pruned tasks of chosen ids.
    pub(super) tombstones: BTreeMap<TaskId, Tombstone>,
    /// The latest loss of each worker.
    pub(super) losses: HashMap<WorkerId, WorkerLoss>,
    pub(super) schedules: BTreeMap<ScheduleName, StoredSchedule>,
    pub(super) boards: BTreeMap<BoardName, Board>,
    /// Runs of workflows, with their definitions.
    pub(super) workflows: BTreeMap<WorkflowId, (StoredRun, String)>,
    /// Runs of which a task was sent again or replaced, and when.
    pub(super) touched_runs: BTreeMap<WorkflowId, Timestamp>,
}

impl Default for State {
    fn default() -> Self {
        let config = Config::initial();
        Self {
            tasks: BTreeMap::new(),
            revision: 0,
            queues: config.queues.keys().cloned().collect(),
            config: Arc::new(config),
            counters: BTreeMap::new(),
            history: Slots::new(),
            rate_marks: HashMap::new(),
            gate_marks: HashMap::new(),
            intake_marks: HashMap::new(),
            workers: BTreeMap::new(),
            outbox: BTreeMap::new(),
            logged_changes: Vec::new(),
            receipts: BTreeSet::new(),
            keys: BTreeMap::new(),
            duties: BTreeMap::new(),
            sessions: BTreeMap::new(),
            catalogues: BTreeMap::new(),
            waiting: HashMap::new(),
            taken_from: None,
            signals: Vec::new(),
            kept_signals: BTreeMap::new(),
            parents: BTreeMap::new(),
            kept: BTreeMap::new(),
            wakes: Vec::new(),
            something_finished: false,
            tombstones: BTreeMap::new(),
            losses: HashMap::new(),
            schedules: BTreeMap::new(),
            boards: BTreeMap::new(),
            workflows: BTreeMap::new(),
            touched_runs: BTreeMap::new(),
        }
    }
}

impl State {
    pub(super) fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    pub(super) fn task(&self, id: &TaskId) -> Option<Task> {
        self.with_predecessors(id)
    }

    /// The only place where a status changes: checks the lifecycle table and gives a new revision.
    pub(super) fn go(&mut self, id: &TaskId, event: Move, to: Status, now: Timestamp) {
        let revision = self.next_revision();
        let Some(stored) = self.tasks.get_mut(id) else { return };
        let task = &mut stored.task;
        assert!(is_legal(task.status, event, to), "illegal move of {id}: {} {event:?} {to}", task.status);
        let (was_running, queue) = (task.status == Status::Started, task.queue.clone());
        task.status = to;
        task.revision = revision;
        if let Some(dependencies) = task.dependencies.as_mut().filter(|_| to != Status::Aborted) {
            dependencies.aborted_by = None;
        }
        if to != Status::Started {
            task.lease = None;
        }
        if to.is_finished() {
            task.completed_at = Some(now);
            task.cancel_requested = false;
            task.suspicion = Suspicion::NONE;
            self.something_finished = true;
            stored.waits_for.clear();
            let external = task.dependencies.iter_mut().flat_map(|it| &mut it.external);
            for signal in external.filter(|signal| signal.state == SignalState::Waiting) {
                (signal.state, signal.at) = (SignalState::Unneeded, Some(now));
            }
            if task.dead_letter {
                let copy = Task { dependencies: None, ..task.clone() };
                let copy = DeadTask { task: copy, fingerprint: stored.fingerprint };
                self.outbox.insert(revision, copy);
            }
        } else if to != Status::Started {
            task.heartbeat_at = None;
            task.progress = None;
        }
        if to == Status::Completed {
            let settings = self.config.settings_of(&queue);
            task.parameters = task.parameters.take().filter(|it| settings.keeps_parameters(it.len()));
        }
        if to == Status::Submitted || was_running {
            self.wake_queue(&queue);
        }
        self.note_move(&queue, event, to, now);
        if to.is_finished() {
            self.note_end(id, to);
            self.release_parents(id);
        }
    }

    pub(super) fn note_error(&mut self, id: &TaskId, failure: AttemptFailure, now: Timestamp) {
        let Some(stored) = self.tasks.get_mut(id) else { return };
        let Some(worker) = stored.task.worker.clone() else { return };
        let errors = &mut stored.task.errors;
        let attempt = stored.task.attempt;
        errors.push(AttemptError {
            at: now,
            attempt,
            worker,
            kind: failure.kind,
            error_kind: failure.error_kind,
            message: failure.message,
        });
        if errors.len() > MAX_ERRORS_KEPT {
            errors.remove(0);
        }
    }

    /// Deletes a task, if it is there, and counts it.
    pub(super) fn remove(&mut self, id: &TaskId) {
        if let Some(stored) = self.tasks.remove(id) {
            self.release_parents(id);
            self.parents.remove(id);
            self.keep_result(&stored.task);
            self.release_key(&stored.task);
            self.counters.entry(stored.task.queue).or_default().1 += 1;
        }
    }

    /// Deletes a task that another takes the place of, or that is purged. To those that wait for it that is its end.
    pub(super) fn withdraw(&mut self, id: &TaskId, end: impl Into<End>) {
        if self.tasks.get(id).is_some_and(|stored| !stored.task.status.is_finished()) {
            self.note_end(id, end);
            self.something_finished = true;
        }
        self.remove(id);
    }

    pub(super) fn wake_queue(&mut self, queue: &QueueName) {
        self.wake(queue, |_| true);
    }

    /// Wakes the workers that wait for a queue and do not refuse tasks of a kind.
    pub(super) fn wake_for(&mut self, queue: &QueueName, kind: &TaskKind) {
        self.wake(queue, |claim| claim.refused_in(queue).all(|refused| refused != kind));
    }

    /// Wakes the workers that wait for a queue and take what it has; none while it is paused.
    fn wake(&mut self, queue: &QueueName, takes: impl Fn(&ClaimRequest) -> bool) {
        if self.config.queues.get(queue).is_some_and(|config| config.paused) {
            return;
        }
        let waits = |claim: &ClaimRequest| claim.queues.iter().any(|it| it.queue == *queue) && takes(claim);
        let waiting = self.waiting.iter().filter(|(_, claim)| waits(claim));
        self.wakes.extend(waiting.map(|(worker, _)| worker.clone()));
    }
}
