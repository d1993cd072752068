//! The tasks of a workflow that are stored in one step.

use std::collections::HashSet;

use crate::{limits::MAX_QUEUES_PER_BATCH, name::QueueName, task::NewTask};

/// Most tasks of a piece.
const MAX_TASKS: usize = 250;
/// Most dependencies of a piece, unless a single task has more.
const MAX_DEPENDENCIES: usize = 500;
/// Most bytes of parameters of a piece, unless a single task has more.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Tasks of a workflow, few enough that storing them holds a store only briefly. A single submission may be larger,
/// because all of it goes in or none.
#[derive(Debug, Default)]
pub struct Piece {
    tasks: Vec<NewTask>,
    dependencies: usize,
    bytes: usize,
    queues: HashSet<QueueName>,
}

impl Piece {
    /// Adds the workflow's next task. Gives it back if the piece is full; an empty piece takes any task.
    ///
    /// # Errors
    /// The task, which begins the next piece.
    #[expect(clippy::result_large_err, reason = "the task is given back to be used, not reported")]
    pub fn add(&mut self, task: NewTask) -> Result<(), NewTask> {
        let (dependencies, bytes) = (self.dependencies + task.depends_on.len(), self.bytes + task.parameters.len());
        let has_queue = self.queues.contains(&task.queue) || self.queues.len() < MAX_QUEUES_PER_BATCH;
        let fits = self.tasks.len() < MAX_TASKS && dependencies <= MAX_DEPENDENCIES && bytes <= MAX_BYTES && has_queue;
        if !fits && !self.tasks.is_empty() {
            return Err(task);
        }
        (self.dependencies, self.bytes) = (dependencies, bytes);
        self.queues.insert(task.queue.clone());
        self.tasks.push(task);
        Ok(())
    }

    /// Pieces of these tasks, in their order.
    #[must_use]
    pub fn split(tasks: Vec<NewTask>) -> Vec<Vec<NewTask>> {
        let (mut pieces, mut piece) = (Vec::new(), Self::default());
        for task in tasks {
            if let Err(task) = piece.add(task) {
                pieces.push(std::mem::take(&mut piece).tasks);
                piece.add(task).ok();
            }
        }
        pieces.push(piece.tasks);
        pieces
    }

    /// Its tasks, in the order of the workflow.
    #[must_use]
    pub fn into_tasks(self) -> Vec<NewTask> {
        self.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dependency::{Dependency, DependencyPolicy},
        name::{TaskId, TaskName},
        payload::Payload,
    };

    fn task(queue: &str, bytes: usize, dependencies: usize) -> NewTask {
        let edge = |on: usize| Dependency {
            on: TaskId::new(format!("on/{on}")).unwrap(),
            policy: DependencyPolicy::default(),
        };
        let (name, queue) = (TaskName::new("work").unwrap(), QueueName::new(queue).unwrap());
        let mut task = NewTask::new(TaskId::new("a").unwrap(), name, queue, Payload::json(vec![b' '; bytes]));
        task.depends_on = (0..dependencies).map(edge).collect();
        task
    }

    /// How many tasks of this kind a piece takes.
    fn taken(make: impl Fn(usize) -> NewTask) -> usize {
        let mut piece = Piece::default();
        (0..).take_while(|place| piece.add(make(*place)).is_ok()).count()
    }

    #[test]
    fn a_piece_is_bounded_by_tasks_dependencies_bytes_and_queues() {
        assert_eq!(taken(|_| task("default", 2, 0)), MAX_TASKS);
        assert_eq!(taken(|_| task("default", 2, 3)), MAX_DEPENDENCIES / 3);
        assert_eq!(taken(|_| task("default", MAX_BYTES / 4, 0)), 4);
        assert_eq!(taken(|place| task(&format!("queue-{place}"), 2, 0)), MAX_QUEUES_PER_BATCH);
    }

    #[test]
    fn a_split_keeps_every_task_in_its_order() {
        let queues: Vec<String> = (0..230).map(|place| format!("queue-{place}")).collect();
        let pieces = Piece::split(queues.iter().map(|queue| task(queue, 2, 0)).collect());
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 30]);
        assert!(pieces.concat().iter().map(|task| task.queue.as_str()).eq(queues.iter().map(String::as_str)));
    }

    #[test]
    fn an_empty_piece_takes_any_task() {
        assert_eq!(taken(|_| task("default", 2, MAX_DEPENDENCIES + 1)), 1);
        assert_eq!(taken(|_| task("default", MAX_BYTES + 1, 0)), 1);
    }
}
