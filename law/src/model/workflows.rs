//! Runs of workflows: compare-and-set on a revision.

use jobbers_common::{
    engine::{DueRuns, Error, PutRun, Result, RunCounts, RunQuery, StoredRun, TaskTimes},
    lifecycle::Status,
    limits::MAX_RUNS,
    name::{TaskId, WorkflowId},
    time::Timestamp,
    workflow::{Run, RunState, run_of},
};

use super::state::{State, Stored};

impl State {
    pub(super) fn put_workflow(&mut self, run: Run, put: PutRun) -> Result<u64> {
        let id = run.id.clone();
        let definition = match (put, self.workflows.get(&id)) {
            (PutRun::Create(_), Some(_)) => return Err(Error::Exists(format!("workflow {id}"))),
            (PutRun::Create(_), None) if self.workflows.len() >= MAX_RUNS => {
                return Err(Error::Invalid(format!("a store holds at most {MAX_RUNS} workflows")));
            }
            (PutRun::Create(definition), None) => definition,
            (PutRun::Replace(_), None) => return Err(Error::UnknownWorkflow(id)),
            (PutRun::Replace(revision), Some((stored, _))) if stored.revision != revision => {
                return Err(Error::Changed(format!("workflow {id}")));
            }
            (PutRun::Replace(_), Some((_, definition))) => definition.clone(),
        };
        let revision = self.next_revision();
        self.touched_runs.remove(&id);
        self.workflows.insert(id, (StoredRun { run, revision }, definition));
        Ok(revision)
    }

    /// A task was sent again, or has replaced one of its id: if it is one of a run, the run is due under another revision.
    pub(super) fn touch_run(&mut self, task: &TaskId, now: Timestamp) {
        let Some((id, _)) = run_of(task) else { return };
        let revision = self.next_revision();
        if let Some((stored, _)) = self.workflows.get_mut(&id)
            && stored.run.state != RunState::Submitting
        {
            stored.revision = revision;
            self.touched_runs.insert(id, now);
        }
    }

    pub(super) fn list_workflows(&self, query: &RunQuery) -> Vec<StoredRun> {
        let place = |run: &Run| (run.created_at, run.id.clone());
        let mut found: Vec<&StoredRun> = self.workflows.values().map(|(stored, _)| stored).collect();
        found.retain(|stored| query.state.is_none_or(|state| stored.run.state == state));
        found.sort_by_key(|stored| place(&stored.run));
        if !query.oldest_first {
            found.reverse();
        }
        let is_after = |stored: &&&StoredRun| match &query.after {
            None => true,
            Some(after) if query.oldest_first => place(&stored.run) > *after,
            Some(after) => place(&stored.run) < *after,
        };
        found.iter().filter(is_after).take(query.limit).map(|stored| (**stored).clone()).collect()
    }

    pub(super) fn delete_workflow(&mut self, id: &WorkflowId, revision: u64) -> Result<()> {
        let (stored, _) = self.workflows.get(id).ok_or_else(|| Error::UnknownWorkflow(id.clone()))?;
        if stored.revision != revision {
            return Err(Error::Changed(format!("workflow {id}")));
        }
        self.workflows.remove(id);
        self.touched_runs.remove(id);
        Ok(())
    }

    pub(super) fn due_workflows(&self, limit: usize, now: Timestamp) -> DueRuns {
        let runs = self.workflows.values().map(|(stored, _)| stored);
        let mut by_time: Vec<(Timestamp, &StoredRun)> =
            runs.filter_map(|stored| Some((self.next_at(&stored.run)?, stored))).collect();
        by_time.sort_by_key(|(at, stored)| (*at, stored.run.id.clone()));
        let due = by_time.iter().take_while(|(at, _)| *at <= now).take(limit).count();
        DueRuns {
            now,
            due: by_time[..due].iter().map(|(_, stored)| (*stored).clone()).collect(),
            next_at: by_time.get(due).map(|(at, _)| *at),
        }
    }

    fn next_at(&self, run: &Run) -> Option<Timestamp> {
        self.touched_runs.get(&run.id).copied().or(run.next_at)
    }

    pub(super) fn count_workflows(&self) -> RunCounts {
        let mut counts = RunCounts::default();
        self.workflows.values().for_each(|(stored, _)| counts[usize::from(stored.run.state.code())] += 1);
        counts
    }

    pub(super) fn statuses(&self, ids: &[TaskId], now: Timestamp) -> Vec<Option<Status>> {
        let status = |id: &TaskId| match self.tasks.get(id) {
            Some(stored) => Some(stored.task.status),
            None => self.tombstone(id, now).map(|tombstone| tombstone.status),
        };
        ids.iter().map(status).collect()
    }

    pub(super) fn times(&self, ids: &[TaskId], now: Timestamp) -> Vec<TaskTimes> {
        let times = |id: &TaskId| match self.tasks.get(id) {
            Some(Stored { task, .. }) => TaskTimes { started_at: task.started_at, finished_at: task.completed_at },
            None => TaskTimes { started_at: None, finished_at: self.tombstone(id, now).map(|left| left.finished_at) },
        };
        ids.iter().map(times).collect()
    }
}
