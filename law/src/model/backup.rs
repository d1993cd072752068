//! Whole tasks out of the model, and those of another store.

use std::collections::BTreeMap;

use async_trait::async_trait;

use jobbers_common::{
    dependency::{Dependency, EndedPredecessor},
    engine::{
        Result,
        backup::{
            Backup, BoardPiece, Edges, Restored, StoredTask, SubmissionRecord, TakenKey, validate_dump, validate_link,
            validate_restore,
        },
    },
    lifecycle::Status,
    name::{BoardName, TaskId},
    task::Task,
    time::Timestamp,
};

use super::{
    ModelEngine,
    board::Board,
    dependency::AtOnce,
    records::{Held, KeyHolder, OpenEdge},
    state::{State, Stored},
};

#[async_trait]
impl Backup for ModelEngine {
    async fn settle_edges(&self) -> Result<()> {
        // It leaves nothing to later steps.
        Ok(())
    }

    async fn dump(&self, ids: &[TaskId]) -> Result<Vec<Option<StoredTask>>> {
        validate_dump(ids)?;
        Ok(self.step(|state, _| ids.iter().map(|id| state.dump(id)).collect()))
    }

    async fn restore(&self, tasks: Vec<StoredTask>) -> Result<Vec<Restored>> {
        validate_restore(&tasks)?;
        Ok(self.step(|state, now| tasks.into_iter().map(|stored| state.restore(stored.at_rest(), now)).collect()))
    }

    async fn link(&self, tasks: Vec<Edges>) -> Result<u64> {
        validate_link(&tasks)?;
        Ok(self.step(|state, now| state.link_restored(&tasks, now)))
    }

    async fn board_marks(&self, board: &BoardName) -> Result<Vec<String>> {
        Ok(self.step(|state, _| state.boards.get(board).map(Board::marks).unwrap_or_default()))
    }

    async fn restore_board(&self, piece: BoardPiece) -> Result<Vec<Restored>> {
        piece.validate()?;
        let restored = self.step(|state, _| state.board(&piece.board).restore(&piece));
        self.committed.notify_waiters();
        Ok(restored)
    }
}

impl State {
    fn dump(&self, id: &TaskId) -> Option<StoredTask> {
        let stored = self.tasks.get(id)?;
        let mut task = stored.task.clone();
        if let Some(dependencies) = &mut task.dependencies {
            let edges = stored.waits_for.iter().map(|(on, edge)| Dependency { on: on.clone(), policy: edge.policy });
            dependencies.waits_for = edges.collect();
        }
        let has_place = matches!(task.status, Status::Waiting | Status::Submitted | Status::Started);
        Some(StoredTask {
            key: self.taken_key(&task),
            fingerprint: stored.fingerprint,
            position: if has_place { stored.position } else { 0 },
            parents: self.held_by(id),
            task,
        })
    }

    fn taken_key(&self, task: &Task) -> Option<TakenKey> {
        let held = self.keys.get(&(task.name.clone(), task.unique.as_ref()?.key.clone()))?;
        let became = held.last_word.clone().map(|(id, fingerprint)| SubmissionRecord { id, fingerprint });
        (held.task == task.id).then_some(TakenKey { until: held.until, became })
    }

    fn restore(&mut self, stored: StoredTask, now: Timestamp) -> Restored {
        let id = stored.task.id.clone();
        let known = self.tasks.get(&id).map(|it| it.fingerprint);
        if let Some(known) = known.or_else(|| self.tombstone(&id, now).map(|it| it.fingerprint)) {
            return if known == stored.fingerprint { Restored::Already } else { Restored::Conflict };
        }
        if !self.queues.contains(&stored.task.queue) {
            return Restored::UnknownQueue(stored.task.queue);
        }
        let holder = self.held_by_another(&stored.task, now).filter(|_| stored.key.is_some());
        if let Some(holder) = &holder
            && stored.holds_key(now)
        {
            return Restored::Held(holder.clone());
        }
        let (place, StoredTask { mut task, fingerprint, key, parents, .. }) = (stored.place(), stored);
        self.revision = self.revision.max(task.revision).max(place);
        self.accept(&task.queue, now);
        self.tombstones.remove(&id);
        if let Some((TakenKey { until, became }, unique)) = key.filter(|_| holder.is_none()).zip(task.unique.as_ref()) {
            let last_word = became.map(|it| (it.id, it.fingerprint));
            let taken = KeyHolder { task: id.clone(), until, last_word };
            self.keys.insert((task.name.clone(), unique.key.clone()), taken);
        }
        if let Some(dependencies) = &mut task.dependencies {
            dependencies.waits_for.clear();
        }
        if task.status == Status::Submitted {
            self.wake_queue(&task.queue);
        }
        self.something_finished |= task.status.is_finished();
        if !parents.is_empty() && !task.status.is_finished() {
            self.parents.insert(id.clone(), Held::new(parents));
        }
        let waits_for = BTreeMap::new();
        let stored = Stored { task, fingerprint, position: place, settled_by: None, unknown: None, waits_for };
        self.tasks.insert(id, stored);
        Restored::Done
    }

    fn link_restored(&mut self, tasks: &[Edges], now: Timestamp) -> u64 {
        let moves: Vec<Option<AtOnce>> = tasks.iter().filter_map(|task| self.link_one(task, now)).collect();
        let count = moves.len() as u64;
        self.move_at_once(moves.into_iter().flatten().collect(), now);
        count
    }

    /// Gives a task its edges; `None` if it has some, or does not wait. Returns how it moves, if it need not wait.
    fn link_one(&mut self, task: &Edges, now: Timestamp) -> Option<Option<AtOnce>> {
        let stored = self.tasks.get(&task.id).filter(|it| it.task.status == Status::Waiting)?;
        let dependencies = stored.task.dependencies.as_ref()?;
        let (open, external) = ((dependencies.total - dependencies.signals) as usize, dependencies.open_signals());
        if !stored.waits_for.is_empty() || open != task.waits_for.len() + external {
            return None;
        }
        let (mut edges, mut signals, mut aborted_by) = (BTreeMap::new(), 0, None);
        for Dependency { on, policy } in &task.waits_for {
            let found = self.tasks.get(on).map(|stored| stored.task.status);
            match found.or_else(|| self.tombstone(on, now).map(|it| it.status)).unwrap_or(Status::Cancelled) {
                end if end.is_finished() => {
                    signals += 1;
                    if policy.aborts(end) && aborted_by.is_none() {
                        aborted_by = Some(EndedPredecessor { id: on.clone(), status: end });
                    }
                }
                _ => drop(edges.insert(on.clone(), OpenEdge { policy: *policy, since: stored.position })),
            }
        }
        let moves = (aborted_by.is_some() || edges.is_empty() && external == 0).then(|| (task.id.clone(), aborted_by));
        let stored = self.tasks.get_mut(&task.id)?;
        stored.waits_for = edges;
        if let Some(dependencies) = &mut stored.task.dependencies {
            dependencies.signals += signals;
        }
        stored.begin_timeouts(now);
        Some(moves)
    }
}
