//! Predecessors of tasks, and what is kept of them.

use jobbers_common::{
    engine::{Parent, Parents, ParentsRequest, parents::result_bytes},
    lifecycle::Status,
    name::TaskId,
    task::Task,
    time::Timestamp,
};

use super::{records::Held, state::State};

impl State {
    fn is_held(&self, id: &TaskId) -> bool {
        self.parents.values().any(|held| held.is_holding && held.ids.contains(id))
    }

    /// The tasks whose results a task holds.
    pub(super) fn held_by(&self, id: &TaskId) -> Vec<TaskId> {
        let held = self.parents.get(id).filter(|held| held.is_holding);
        held.map(|held| held.ids.clone()).unwrap_or_default()
    }

    /// Adds a predecessor to those of a task that has not started. Those of an earlier life of the task are forgotten.
    pub(super) fn add_parent(&mut self, id: &TaskId, parent: &TaskId) {
        let held = self.parents.entry(id.clone()).or_insert_with(|| Held::new(Vec::new()));
        if !held.is_holding {
            *held = Held::new(Vec::new());
        }
        held.ids.push(parent.clone());
    }

    /// A task is over, or is removed: it holds the results of its predecessors no longer.
    pub(super) fn release_parents(&mut self, id: &TaskId) {
        if let Some(held) = self.parents.get_mut(id) {
            held.is_holding = false;
            let mut kept = std::mem::take(&mut self.kept);
            kept.retain(|parent, _| self.is_held(parent));
            self.kept = kept;
        }
    }

    /// Keeps how a task ended that is being deleted, if another holds it.
    pub(super) fn keep_result(&mut self, task: &Task) {
        if task.status.is_finished() && self.is_held(&task.id) {
            self.kept.insert(task.id.clone(), (task.status, task.result.clone()));
        }
    }

    pub(super) fn parents(&self, request: &ParentsRequest, now: Timestamp) -> Parents {
        let Some(Held { ids, .. }) = self.parents.get(&request.of) else { return Parents::default() };
        let (mut parents, mut bytes) = (Vec::new(), 0);
        for id in &ids[request.places(ids)] {
            let parent = self.parent(id, now);
            let more = result_bytes(parent.result.as_ref());
            if !request.has_room(parents.len(), bytes, more) {
                break;
            }
            bytes += more;
            parents.push(parent);
        }
        Parents { total: ids.len(), parents }
    }

    fn parent(&self, id: &TaskId, now: Timestamp) -> Parent {
        let stored = self.tasks.get(id).map(|stored| (stored.task.status, stored.task.result.clone()));
        let known = stored.or_else(|| self.kept.get(id).cloned());
        let remembered = || self.tombstone(id, now).map(|it| (it.status, None));
        let (status, result): (Option<Status>, _) = known.or_else(remembered).unzip();
        Parent { id: id.clone(), status, result: result.flatten() }
    }
}
