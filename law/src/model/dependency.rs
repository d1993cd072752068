//! Dependencies: what the ends of tasks do to those that wait for them.

use std::{collections::BTreeSet, time::Duration};

use jobbers_common::{
    dependency::{
        Dependencies, Dependency, End, EndedPredecessor, consequence,
        signal::{ExternalSignal, SignalState, Signalled},
    },
    engine::{
        Error, Result,
        dependencies::{AddRefusal, CircleSearch, NewDependency, find_circle},
    },
    lifecycle::{Move, Status},
    limits::{MAX_DEPENDENCIES, MAX_DEPENDENCIES_SHOWN, MAX_EDGES_CHECKED, MAX_SIGNALS_KEPT, TIMEOUTS_A_TICK},
    name::{SignalName, TaskId},
    task::{NewTask, Task},
    time::Timestamp,
};

use super::{
    records::{Held, OpenEdge, Signal},
    state::{State, Stored},
};

/// A new task that moves on at once, and the predecessor that aborts it, if one does.
pub(super) type AtOnce = (TaskId, Option<EndedPredecessor>);

impl State {
    /// Notes that a task has ended, or is removed before its end: its successors must be signalled.
    pub(super) fn note_end(&mut self, on: &TaskId, end: impl Into<End>) {
        let end = end.into();
        let is_older = |edge: &&OpenEdge| self.taken_from.is_none_or(|first| edge.since <= first);
        let signal = |stored: &Stored| {
            let since = stored.waits_for.get(on).filter(is_older)?.since;
            Some(Signal { since, on: on.clone(), successor: stored.task.id.clone(), end })
        };
        self.signals.extend(self.tasks.values().filter_map(signal));
    }

    /// Gives the signals that were noted, and those that follow from them. Successors move in the order they came.
    pub(super) fn signal_all(&mut self, now: Timestamp) {
        while !self.signals.is_empty() {
            let mut round = std::mem::take(&mut self.signals);
            round.sort();
            for Signal { since, on, successor, end } in round {
                let Some(stored) = self.tasks.get_mut(&successor) else { continue };
                let Some(edge) = stored.waits_for.get(&on).copied().filter(|edge| edge.since == since) else {
                    continue;
                };
                stored.waits_for.remove(&on);
                let Some(dependencies) = &mut stored.task.dependencies else { continue };
                match end {
                    End::Over(status) => {
                        dependencies.signals += 1;
                        match consequence(edge.policy, status, stored.left()) {
                            Some(Move::Abort) => {
                                self.leave_waiting(&successor, Some(EndedPredecessor { id: on, status }), now);
                            }
                            Some(_) => self.leave_waiting(&successor, None, now),
                            None => stored.begin_timeouts(now),
                        }
                    }
                    End::Deleted { cascade } => {
                        dependencies.total -= 1;
                        match (stored.left(), cascade) {
                            (0, true) => self.withdraw(&successor, end),
                            (0, false) => self.leave_waiting(&successor, None, now),
                            _ => stored.begin_timeouts(now),
                        }
                    }
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
        if task.dependencies.as_ref().is_some_and(|it| it.is_spontaneous) {
            return self.go(id, Move::Signal, Status::Completed, now);
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
            let parents = depends_on.iter().map(|edge| edge.on.clone()).collect();
            self.parents.insert(id.clone(), Held::new(parents));
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
            self.receive_kept(id, now);
            let Some(stored) = self.tasks.get_mut(id) else { continue };
            stored.begin_timeouts(now);
            let is_free = stored.left() == 0;
            if aborted_by.is_some() || is_free {
                at_once.push((id.clone(), aborted_by));
            }
        }
        Ok(at_once)
    }

    /// Sends a signal from outside to a task.
    pub(super) fn signal(
        &mut self,
        id: &TaskId,
        name: &SignalName,
        keep: Option<Duration>,
        now: Timestamp,
    ) -> Signalled {
        let Some(stored) = self.tasks.get(id) else { return self.keep_signal(id, name, keep, now) };
        let found = stored.task.dependencies.iter().flat_map(|it| &it.external).find(|signal| signal.name == *name);
        match found.map(|signal| signal.state) {
            None => Signalled::UnknownSignal,
            Some(SignalState::Received) => Signalled::Already,
            Some(SignalState::Waiting) => {
                self.end_signal(id, name, SignalState::Received, now);
                Signalled::Done(self.tasks.get(id).map_or(Status::Waiting, |stored| stored.task.status))
            }
            Some(state) => Signalled::Late(state),
        }
    }

    /// Keeps a signal for a task that does not exist yet, on request.
    fn keep_signal(&mut self, id: &TaskId, name: &SignalName, keep: Option<Duration>, now: Timestamp) -> Signalled {
        let Some(keep) = keep.filter(|_| self.tombstone(id, now).is_none()) else { return Signalled::UnknownTask };
        let (key, is_full) = ((id.clone(), name.clone()), self.kept_signals.len() >= MAX_SIGNALS_KEPT);
        let before = self.kept_signals.get(&key).copied();
        if is_full && before.is_none() {
            return Signalled::TooManyKept;
        }
        let until = before.map_or(now.after(keep), |before| before.max(now.after(keep)));
        self.kept_signals.insert(key, until);
        Signalled::Kept(until)
    }

    /// A new task receives the signals that are kept for it.
    fn receive_kept(&mut self, id: &TaskId, now: Timestamp) {
        let Some(dependencies) = self.tasks.get_mut(id).and_then(|stored| stored.task.dependencies.as_mut()) else {
            return;
        };
        for signal in &mut dependencies.external {
            let kept = self.kept_signals.remove(&(id.clone(), signal.name.clone()));
            if kept.is_some_and(|until| until > now) {
                (signal.state, signal.at) = (SignalState::Received, Some(now));
                dependencies.signals += 1;
            }
        }
    }

    /// Times out signals from outside that have not come in time, and forgets those that were kept in vain.
    pub(super) fn time_out(&mut self, now: Timestamp) {
        self.kept_signals.retain(|_, until| *until > now);
        let mut late = BTreeSet::new();
        for stored in self.tasks.values() {
            let open = stored.task.dependencies.iter().flat_map(|it| &it.external);
            let open = open.filter(|signal| signal.state == SignalState::Waiting);
            let due = open.filter_map(|signal| Some((signal.due.filter(|due| *due <= now)?, signal.name.clone())));
            late.extend(due.map(|(due, name)| (due, stored.task.id.clone(), name)));
        }
        for (_, id, name) in late.into_iter().take(TIMEOUTS_A_TICK) {
            self.end_signal(&id, &name, SignalState::TimedOut, now);
        }
    }

    /// Ends an open signal of a task, which may move then.
    fn end_signal(&mut self, id: &TaskId, name: &SignalName, state: SignalState, now: Timestamp) {
        let Some(stored) = self.tasks.get_mut(id) else { return };
        let Some(dependencies) = &mut stored.task.dependencies else { return };
        let open = |signal: &&mut ExternalSignal| signal.name == *name && signal.state == SignalState::Waiting;
        let Some(signal) = dependencies.external.iter_mut().find(open) else { return };
        (signal.state, signal.at) = (state, Some(now));
        dependencies.signals += 1;
        let policy = signal.on_timeout.policy();
        match consequence(policy, state.end(), stored.left()) {
            Some(Move::Abort) => self.go(id, Move::Abort, Status::Aborted, now),
            Some(_) => self.leave_waiting(id, None, now),
            None => {}
        }
    }

    /// Adds edges between stored tasks.
    pub(super) fn add_dependencies(&mut self, edges: &[NewDependency], now: Timestamp) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(edges.len());
        for edge in edges {
            let run = self.tasks.get(&edge.run);
            let after = self.tasks.get(&edge.after).map(|stored| stored.task.status);
            let remembered = || self.tombstone(&edge.after, now).map(|it| it.status);
            let state = run.map(|stored| (stored.task.status, stored.task.unique.is_some()));
            edge.check_states(state, after.or_else(remembered))?;
            let known = run.and_then(|stored| stored.waits_for.get(&edge.after));
            known.map_or(Ok(()), |known| edge.check_stored(known.policy))?;
            answers.push(known.is_none());
        }
        let new: Vec<&NewDependency> =
            edges.iter().zip(&answers).filter(|(_, new)| **new).map(|(edge, _)| edge).collect();
        let totals = new.iter().map(|edge| self.count_with(edge, &new)).collect::<Result<Vec<u32>>>()?;
        self.check_circle(&new)?;
        let since = self.next_revision();
        for (edge, total) in new.into_iter().zip(totals) {
            self.add_edge(edge, total, since, now);
        }
        Ok(answers)
    }

    /// How many dependencies a task has with the new ones.
    fn count_with(&self, edge: &NewDependency, new: &[&NewDependency]) -> Result<u32> {
        let stored = self.tasks.get(&edge.run);
        let waits = stored.is_some_and(|stored| stored.task.status == Status::Waiting);
        let before = stored.and_then(|stored| stored.task.dependencies.as_ref());
        let before = before.map_or(0, |it| if waits { it.total } else { it.signals });
        let added = new.iter().filter(|other| other.run == edge.run).count();
        let total = before as usize + added;
        if total > MAX_DEPENDENCIES {
            return Err(edge.refused(AddRefusal::TooMany));
        }
        Ok(u32::try_from(total).unwrap_or(u32::MAX))
    }

    fn check_circle(&self, new: &[&NewDependency]) -> Result<()> {
        let waits_for = |id: &TaskId, _| {
            let stored = self.tasks.get(id).into_iter().flat_map(|stored| stored.waits_for.keys().cloned());
            Ok(stored.chain(new.iter().filter(|edge| edge.run == *id).map(|edge| edge.after.clone())).collect())
        };
        let leads_to = |id: &TaskId, _| {
            let waits = self.tasks.values().filter(|stored| stored.waits_for.contains_key(id));
            let stored = waits.map(|stored| stored.task.id.clone());
            Ok(stored.chain(new.iter().filter(|edge| edge.after == *id).map(|edge| edge.run.clone())).collect())
        };
        let Some(first) = new.first() else { return Ok(()) };
        match find_circle(new.iter().map(|edge| edge.run.clone()), MAX_EDGES_CHECKED, leads_to)? {
            CircleSearch::Clear => return Ok(()),
            CircleSearch::Circle(way) => return Err(first.refused(AddRefusal::Circle(way))),
            CircleSearch::TooMany => {}
        }
        match find_circle(new.iter().map(|edge| edge.after.clone()), MAX_EDGES_CHECKED, waits_for)? {
            CircleSearch::Clear => Ok(()),
            CircleSearch::Circle(way) => Err(first.refused(AddRefusal::Circle(way.into_iter().rev().collect()))),
            CircleSearch::TooMany => Err(first.refused(AddRefusal::TooManyToCheck)),
        }
    }

    fn add_edge(&mut self, edge: &NewDependency, total: u32, since: u64, now: Timestamp) {
        if self.tasks.get(&edge.run).is_some_and(|stored| stored.task.status != Status::Waiting) {
            self.go(&edge.run, Move::Depend, Status::Waiting, now);
            if let Some(stored) = self.tasks.get_mut(&edge.run) {
                stored.position = stored.task.revision;
            }
        }
        let Some(stored) = self.tasks.get_mut(&edge.run) else { return };
        stored.task.dependencies.get_or_insert_default().total = total;
        stored.waits_for.insert(edge.after.clone(), OpenEdge { policy: edge.policy, since });
        self.add_parent(&edge.run, &edge.after);
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
            dependencies.waits_for =
                edges.map(|(on, edge)| Dependency { on: on.clone(), policy: edge.policy }).collect();
        }
        Some(task)
    }
}

impl Stored {
    /// For how many tasks and signals it waits.
    pub(super) fn left(&self) -> u32 {
        let signals = self.task.dependencies.as_ref().map_or(0, |it| it.open_signals());
        u32::try_from(self.waits_for.len() + signals).unwrap_or(u32::MAX)
    }

    /// Begins the timeouts of its signals if it waits for no other task.
    pub(super) fn begin_timeouts(&mut self, now: Timestamp) {
        if self.waits_for.is_empty() {
            let external = self.task.dependencies.iter_mut().flat_map(|it| &mut it.external);
            external.for_each(|signal| signal.begin_timeout(now));
        }
    }
}

/// The dependencies of a new task.
pub(super) fn counted(new: &NewTask) -> Option<Box<Dependencies>> {
    let total = u32::try_from(new.depends_on.len() + new.signals.len()).unwrap_or(u32::MAX);
    let mut external: Vec<ExternalSignal> = new.signals.iter().map(ExternalSignal::of).collect();
    external.sort_by(|a, b| a.name.cmp(&b.name));
    let is_spontaneous = new.is_spontaneous;
    new.is_linked().then(|| Box::new(Dependencies { total, is_spontaneous, external, ..Dependencies::default() }))
}
