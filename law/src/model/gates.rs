//! Limits by key and by task: which gates are shut.

use std::time::Duration;

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId},
    queue::gate::{Gate, GateLimits, MAX_HOLDERS_NAMED, ShutGate},
    time::Timestamp,
};

use super::state::{State, Stored};

impl State {
    fn gates(&self, stored: &Stored) -> Vec<(Gate, GateLimits)> {
        let task = &stored.task;
        let config = self.config.queues.get(&task.queue);
        config.map_or_else(Vec::new, |it| it.gates_of(&task.name, task.concurrency_key.as_ref()).collect())
    }

    /// The tasks of a gate that run.
    fn holders(&self, queue: &QueueName, gate: &Gate) -> Vec<TaskId> {
        let passes = |stored: &&Stored| self.gates(stored).iter().any(|(known, _)| known == gate);
        let runs = |stored: &&Stored| stored.task.queue == *queue && stored.task.status == Status::Started;
        self.tasks.values().filter(runs).filter(passes).map(|stored| stored.task.id.clone()).collect()
    }

    fn look_at(&self, queue: &QueueName, gate: Gate, limits: GateLimits, now: Timestamp) -> Option<ShutGate> {
        let mut holders = self.holders(queue, &gate);
        let running = limits.max_concurrent.map_or(0, |_| holders.len() as u64);
        if limits.max_concurrent.is_none_or(|most| running < u64::from(most)) {
            holders.clear();
        }
        holders.truncate(MAX_HOLDERS_NAMED);
        let mark = self.gate_marks.get(&(queue.clone(), gate.clone())).copied().unwrap_or_default();
        let rate = limits.rate_limit.filter(|rate| rate.allowed(mark, now) == 0);
        let rate_wait = rate.map(|rate| rate.next_wait(mark, now));
        (!holders.is_empty() || rate_wait.is_some()).then_some(ShutGate { gate, running, holders, rate_wait })
    }

    /// All that hold a task back.
    pub(super) fn shut_gates(&self, id: &TaskId, now: Timestamp) -> Vec<ShutGate> {
        let Some(stored) = self.tasks.get(id) else { return Vec::new() };
        let gates = self.gates(stored).into_iter();
        gates.filter_map(|(gate, limits)| self.look_at(&stored.task.queue, gate, limits, now)).collect()
    }

    /// The first that does.
    pub(super) fn shut_gate(&self, id: &TaskId, now: Timestamp) -> Option<ShutGate> {
        self.shut_gates(id, now).into_iter().next()
    }

    /// Counts a task that starts now.
    pub(super) fn note_passed(&mut self, id: &TaskId, now: Timestamp) {
        let Some(stored) = self.tasks.get(id) else { return };
        let queue = stored.task.queue.clone();
        for (gate, limits) in self.gates(stored) {
            if let Some(rate) = limits.rate_limit {
                let mark = self.gate_marks.entry((queue.clone(), gate)).or_default();
                *mark = rate.mark_after(*mark, now, 1);
            }
        }
    }

    /// When the rate of a gate of a queue lets one of the tasks start that wait for it.
    pub(super) fn gates_allow_in(&self, queue: &QueueName, now: Timestamp) -> Option<Duration> {
        let config = self.config.queues.get(queue).filter(|config| !config.paused && config.is_gated())?;
        let is_ready = |stored: &&Stored| stored.task.status == Status::Submitted && stored.task.queue == config.name;
        let shut = self.tasks.values().filter(is_ready).filter_map(|stored| self.shut_gate(&stored.task.id, now));
        shut.filter(|shut| shut.holders.is_empty()).filter_map(|shut| shut.rate_wait).min()
    }
}
