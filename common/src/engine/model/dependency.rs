//! Dependencies: what the ends of tasks do to those that wait for them.

use super::state::{State, Stored};
use crate::{
    dependency::{Dependencies, Dependency, EndedPredecessor, consequence},
    engine::{Error, Result},
    lifecycle::{Move, Status},
    limits::MAX_DEPENDENCIES_SHOWN,
    name::TaskId,
    task::Task,
    time::Timestamp,
};

/// The end of a predecessor on its way to a successor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Signal {
    /// When the successor came, so that one of the same id that came later is another.
    position: u64,
    on: TaskId,
    successor: TaskId,
    end: Status,
}

/// A new task that moves on at once, and the predecessor that aborts it, if one does.
pub(super) type AtOnce = (TaskId, Option<EndedPredecessor>);

impl State {
    /// Notes that a task has ended, or is removed before its end: its successors must be signalled.
    pub(super) fn note_end(&mut self, on: &TaskId, end: Status) {
        let is_older = |stored: &&Stored| self.taken_from.is_none_or(|first| stored.position <= first);
        let waits = self.tasks.values().filter(|stored| stored.waits_for.contains_key(on)).filter(is_older);
        let signal = |stored: &Stored| Signal {
            position: stored.position,
            on: on.clone(),
            successor: stored.task.id.clone(),
            end,
        };
        self.signals.extend(waits.map(signal));
    }

    /// Gives the signals that were noted, and those that follow from them. Successors move in the order they came.
    pub(super) fn signal_all(&mut self, now: Timestamp) {
        while !self.signals.is_empty() {
            let mut round = std::mem::take(&mut self.signals);
            round.sort();
            for Signal { position, on, successor, end } in round {
                let Some(stored) = self.tasks.get_mut(&successor).filter(|stored| stored.position == position) else {
                    continue;
                };
                let Some(policy) = stored.waits_for.remove(&on) else { continue };
                if let Some(dependencies) = &mut stored.task.dependencies {
                    dependencies.signals += 1;
                }
                let left = u32::try_from(stored.waits_for.len()).unwrap_or(u32::MAX);
                if let Some(event) = consequence(policy, end, left) {
                    let cause = (event == Move::Abort).then_some(EndedPredecessor { id: on, status: end });
                    self.leave_waiting(&successor, cause, now);
                }
            }
        }
    }

    /// Moves a task on that waited for others: it is released, or aborted by a predecessor.
    fn leave_waiting(&mut self, id: &TaskId, aborted_by: Option<EndedPredecessor>, now: Timestamp) {
        let Some(task) = self.tasks.get_mut(id).map(|stored| &mut stored.task) else { return };
        if aborted_by.is_some() {
            if let Some(dependencies) = &mut task.dependencies {
                dependencies.aborted_by = aborted_by;
            }
            return self.go(id, Move::Abort, Status::Aborted, now);
        }
        let is_due = task.ready_at <= now;
        self.go(id, Move::Signal, if is_due { Status::Submitted } else { Status::Scheduled }, now);
        let Some(stored) = self.tasks.get_mut(id) else { return };
        stored.position = stored.task.revision;
        stored.task.ready_at = stored.task.ready_at.max(now);
    }

    /// Finds the predecessors of new tasks, which are all in. Returns the tasks that wait for none of them any more, and
    /// who aborts them.
    pub(super) fn link(&mut self, new: &[(TaskId, Vec<Dependency>)], now: Timestamp) -> Result<Vec<AtOnce>> {
        let mut at_once = Vec::new();
        for (id, depends_on) in new {
            let mut aborted_by = None;
            for Dependency { on, policy } in depends_on {
                let unknown = || Error::UnknownPredecessor { id: id.clone(), predecessor: on.clone() };
                let stored = self.tasks.get(on).map(|stored| stored.task.status);
                let end = match stored.or_else(|| self.tombstone(on, now).map(|it| it.status)).ok_or_else(unknown)? {
                    end if end.is_finished() => end,
                    _ => continue,
                };
                if policy.aborts(end) && aborted_by.is_none() {
                    aborted_by = Some(EndedPredecessor { id: on.clone(), status: end });
                }
                let Some(stored) = self.tasks.get_mut(id) else { continue };
                stored.waits_for.remove(on);
                if let Some(dependencies) = &mut stored.task.dependencies {
                    dependencies.signals += 1;
                }
            }
            let is_free = self.tasks.get(id).is_some_and(|stored| stored.waits_for.is_empty());
            if aborted_by.is_some() || is_free {
                at_once.push((id.clone(), aborted_by));
            }
        }
        Ok(at_once)
    }

    /// Moves new tasks on whose predecessors were over.
    pub(super) fn move_at_once(&mut self, moves: Vec<AtOnce>, now: Timestamp) {
        self.signal_all(now);
        for (id, aborted_by) in moves {
            if self.tasks.get(&id).is_some_and(|stored| stored.task.status == Status::Waiting) {
                self.leave_waiting(&id, aborted_by, now);
            }
        }
        self.signal_all(now);
    }

    /// A task with those it waits for.
    pub(super) fn with_predecessors(&self, id: &TaskId) -> Option<Task> {
        let stored = self.tasks.get(id)?;
        let mut task = stored.task.clone();
        if let Some(dependencies) = &mut task.dependencies {
            let edges = stored.waits_for.iter().take(MAX_DEPENDENCIES_SHOWN);
            dependencies.waits_for = edges.map(|(on, policy)| Dependency { on: on.clone(), policy: *policy }).collect();
        }
        Some(task)
    }
}

/// The dependencies of a new task.
pub(super) fn counted(depends_on: &[Dependency]) -> Option<Box<Dependencies>> {
    let total = u32::try_from(depends_on.len()).unwrap_or(u32::MAX);
    (total > 0).then(|| Box::new(Dependencies { total, ..Dependencies::default() }))
}
