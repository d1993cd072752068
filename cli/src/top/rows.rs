//! The rows that are shown: those that the filter lets through, and the selected one.

use jobbers_api::{queue::QueueView, task::view::TaskView, worker::WorkerView};

use super::{navigation::ListTab, snapshot::Inside, state::TopState};

impl TopState {
    /// The queues that the filter lets through.
    pub(crate) fn queues(&self) -> Vec<&QueueView> {
        let queues = self.now.iter().flat_map(|now| &now.queues);
        queues.filter(|queue| self.steer.shows(&[queue.name.as_str()])).collect()
    }

    /// The workers that the filter lets through.
    pub(crate) fn workers(&self) -> Vec<&WorkerView> {
        let workers = self.now.iter().flat_map(|now| &now.workers);
        workers.filter(|worker| self.steer.shows(&[worker.id.as_str(), &worker.host, worker.role.as_str()])).collect()
    }

    /// The failures that the filter lets through.
    pub(crate) fn failures(&self) -> Vec<&TaskView> {
        self.let_through(self.now.as_ref().map_or(&[], |now| &now.failures))
    }

    /// The tasks of the present queue or worker that the filter lets through.
    pub(crate) fn tasks(&self) -> Vec<&TaskView> {
        match self.now.as_ref().and_then(|now| now.inside.as_ref()) {
            Some(Inside::Tasks(tasks, _)) => self.let_through(tasks),
            _ => Vec::new(),
        }
    }

    fn let_through<'a>(&self, tasks: &'a [TaskView]) -> Vec<&'a TaskView> {
        let words =
            |task: &'a TaskView| [task.id.as_str(), task.name.as_str(), task.queue.as_str(), task.status.as_str()];
        tasks.iter().filter(|task| self.steer.shows(&words(task))).collect()
    }

    /// Which row of a list is selected, if the keys move through this list.
    pub(crate) fn selection(&self, list: ListTab) -> Option<usize> {
        self.steer.list().filter(|present| *present == list)?;
        self.steer.selection(list, &self.rows(list))
    }

    /// The rows of a list that are shown, by their names or ids.
    pub(super) fn rows(&self, list: ListTab) -> Vec<&str> {
        match list {
            ListTab::Queues => self.queues().into_iter().map(|queue| queue.name.as_str()).collect(),
            ListTab::Workers => self.workers().into_iter().map(|worker| worker.id.as_str()).collect(),
            ListTab::Failures => self.failures().into_iter().map(|task| task.id.as_str()).collect(),
            ListTab::Tasks => self.tasks().into_iter().map(|task| task.id.as_str()).collect(),
        }
    }

    /// The selected row of the list that the keys move through.
    pub(super) fn selected(&self) -> Option<(ListTab, String)> {
        let list = self.steer.list()?;
        let rows = self.rows(list);
        let row = self.steer.selection(list, &rows)?;
        Some((list, rows[row].to_owned()))
    }
}
