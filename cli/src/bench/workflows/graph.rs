//! The graphs: which task waits for which, in the order of their submission.

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{OnConflict, Submit},
    limits::{MAX_BATCH, MAX_BATCH_DEPENDENCIES, MAX_DEPENDENCIES},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    task::NewTask,
};

use anyhow::Result;

use crate::bench::load::{NOOP, PAYLOAD};

/// Tasks by their places; each names the places of its predecessors, which come before it.
pub(super) struct BenchGraph {
    after: Vec<Vec<usize>>,
    /// From this place on, tasks go to a queue that no worker serves.
    idle_from: usize,
}

impl BenchGraph {
    fn of(after: Vec<Vec<usize>>) -> Self {
        Self { idle_from: after.len(), after }
    }

    /// Tasks without edges.
    pub(super) fn plain(tasks: usize) -> Self {
        Self::of(vec![Vec::new(); tasks])
    }

    /// As many tasks, each with one successor of its own, which no worker claims.
    pub(super) fn pairs(tasks: usize) -> Self {
        let tails = (0..tasks).map(|place| vec![place]);
        Self { idle_from: tasks, after: (0..tasks).map(|_| Vec::new()).chain(tails).collect() }
    }

    /// A task after the other.
    pub(super) fn chain(tasks: usize) -> Self {
        Self::of((0..tasks).map(|place| place.checked_sub(1).into_iter().collect()).collect())
    }

    /// Members and their collector. Where they are more than a task may wait for, the collector waits for joints, and each
    /// of these for its share of the members.
    pub(super) fn chord(members: usize) -> Self {
        let mut after = vec![Vec::new(); members];
        let mut awaited: Vec<usize> = (0..members).collect();
        while awaited.len() > MAX_DEPENDENCIES {
            let first_joint = after.len();
            after.extend(awaited.chunks(MAX_DEPENDENCIES).map(<[usize]>::to_vec));
            awaited = (first_joint..after.len()).collect();
        }
        after.push(awaited);
        Self::of(after)
    }

    /// One task, and successors that wait for it alone and that no worker claims.
    pub(super) fn fan_out(successors: usize) -> Self {
        Self { idle_from: 1, after: std::iter::once(Vec::new()).chain(vec![vec![0]; successors]).collect() }
    }

    /// A task for each divisor of 3 * 5 * 7 * 11 * 13 * 17 but 1, after those of its own divisors: 63 tasks.
    pub(super) fn divisors() -> Self {
        const N: u64 = 3 * 5 * 7 * 11 * 13 * 17;
        let divisors: Vec<u64> = (2..=N).filter(|n| N.is_multiple_of(*n)).collect();
        let of = |place: usize| (0..place).filter(|at| divisors[place].is_multiple_of(divisors[*at])).collect();
        Self::of((0..divisors.len()).map(of).collect())
    }

    /// Layers of so many tasks, each after one to three random tasks of the layer before; the same graph each time.
    pub(super) fn layered(tasks: usize, width: usize) -> Self {
        let mut seed = 0x0d1e_5eed_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap_or(0) % below
        };
        let mut after = Vec::with_capacity(tasks);
        for place in 0..tasks {
            let first = (place / width).saturating_sub(1) * width;
            let count = if place < width { 0 } else { 1 + random(3) };
            let mut predecessors: Vec<usize> = (0..count).map(|_| first + random(width)).collect();
            predecessors.sort_unstable();
            predecessors.dedup();
            after.push(predecessors);
        }
        Self::of(after)
    }

    /// How many tasks a worker runs.
    pub(super) const fn len(&self) -> usize {
        self.idle_from
    }

    /// How many tasks go to the queue without a worker.
    pub(super) fn idle(&self) -> usize {
        self.after.len() - self.idle_from
    }

    /// How many tasks the longest path has.
    pub(super) fn depth(&self) -> usize {
        let mut depths = Vec::with_capacity(self.after.len());
        for predecessors in &self.after {
            let before = predecessors.iter().map(|place| depths[*place]).max().unwrap_or(0);
            depths.push(before + 1);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// The predecessors of a task.
    pub(super) fn after(&self, place: usize) -> &[usize] {
        &self.after[place]
    }

    /// The submissions, in their order. Ids begin with `tag`.
    pub(super) fn batches(&self, tag: &str, queue: &QueueName, idle: &QueueName) -> Result<Vec<Submit>> {
        let (name, parameters) = (TaskName::new(NOOP)?, Payload::json(PAYLOAD));
        let (mut batches, mut tasks, mut edges) = (Vec::new(), Vec::new(), 0);
        for (place, predecessors) in self.after.iter().enumerate() {
            if tasks.len() == MAX_BATCH || edges + predecessors.len() > MAX_BATCH_DEPENDENCIES {
                batches.push(std::mem::take(&mut tasks));
                edges = 0;
            }
            edges += predecessors.len();
            let queue = if place < self.idle_from { queue } else { idle };
            let edge = |on: &usize| Ok(Dependency { on: id(tag, *on)?, policy: DependencyPolicy::default() });
            let depends_on = predecessors.iter().map(edge).collect::<Result<_>>()?;
            let task = NewTask::new(id(tag, place)?, name.clone(), queue.clone(), parameters.clone());
            tasks.push(NewTask { depends_on, ..task });
        }
        batches.push(tasks);
        Ok(batches.into_iter().map(|tasks| Submit { tasks, on_conflict: OnConflict::Fail }).collect())
    }
}

/// The id of a task.
pub(super) fn id(tag: &str, place: usize) -> Result<TaskId> {
    Ok(TaskId::new(format!("{tag}.{place}"))?)
}

/// The place of a task of this tag.
pub(super) fn place(tag: &str, id: &TaskId) -> Option<usize> {
    id.as_str().strip_prefix(tag)?.strip_prefix('.')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_graph_names_predecessors_before_their_successors() {
        let graphs = [
            BenchGraph::plain(10),
            BenchGraph::pairs(10),
            BenchGraph::chain(10),
            BenchGraph::chord(2_500),
            BenchGraph::chord(MAX_DEPENDENCIES + 1),
            BenchGraph::fan_out(10),
            BenchGraph::divisors(),
            BenchGraph::layered(500, 100),
        ];
        let (lengths, idle): (Vec<_>, Vec<_>) = graphs.iter().map(|graph| (graph.len(), graph.idle())).unzip();
        assert_eq!(lengths, [10, 10, 10, 2_501, MAX_DEPENDENCIES + 4, 1, 63, 500]);
        assert_eq!(idle, [0, 10, 0, 0, 0, 10, 0, 0]);
        let depths: Vec<_> = graphs.iter().map(BenchGraph::depth).collect();
        assert_eq!(depths, [1, 2, 10, 2, 3, 2, 6, 5]);
        for graph in &graphs {
            let is_before = |(place, after): (usize, &Vec<usize>)| after.iter().all(|on| *on < place);
            assert!(graph.after.iter().enumerate().all(is_before));
        }
    }

    #[test]
    fn batches_keep_to_the_bounds_and_bring_every_task_once() {
        let (queue, idle) = (QueueName::new("a").unwrap(), QueueName::new("b").unwrap());
        let graph = BenchGraph::chord(12_000);
        let batches = graph.batches("t", &queue, &idle).unwrap();
        let mut next = 0;
        for batch in &batches {
            let edges: usize = batch.tasks.iter().map(|task| task.depends_on.len()).sum();
            assert!(batch.tasks.len() <= MAX_BATCH && edges <= MAX_BATCH_DEPENDENCIES);
            for task in &batch.tasks {
                assert_eq!(place("t", &task.id), Some(next));
                next += 1;
            }
        }
        assert_eq!(next, graph.len());
    }
}
