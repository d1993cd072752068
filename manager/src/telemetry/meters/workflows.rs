//! Counts runs of workflows by name: those that started, and those that ended.
//!
//! The step that starts or ends a run changes its record by compare-and-set, so of several managers one counts it.

use std::collections::HashSet;

use jobbers_common::{
    metrics::{
        attribute::{MOST_WORKFLOWS, OTHER},
        catalogue::{WORKFLOW_DURATION, WORKFLOWS_ENDED, WORKFLOWS_STARTED},
    },
    name::WorkflowName,
    workflow::{Run, RunState},
};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};
use parking_lot::Mutex;

/// The label of runs without a name.
const UNNAMED: &str = "_unnamed";

/// The instruments, and the labels that have series.
#[derive(Debug)]
pub(crate) struct WorkflowMeters {
    started: Counter<u64>,
    ended: Counter<u64>,
    duration: Histogram<f64>,
    labels: Mutex<HashSet<String>>,
}

impl WorkflowMeters {
    pub(super) fn new(meter: &Meter) -> Self {
        Self {
            started: WORKFLOWS_STARTED.counter(meter),
            ended: WORKFLOWS_ENDED.counter(meter),
            duration: WORKFLOW_DURATION.histogram(meter),
            labels: Mutex::default(),
        }
    }

    /// All nodes of a run were submitted.
    pub(crate) fn started(&self, run: &Run) {
        self.started.add(1, &[self.label(run)]);
    }

    /// A run ended.
    pub(crate) fn ended(&self, run: &Run) {
        let labels = [self.label(run), state_of(run.state)];
        self.ended.add(1, &labels);
        if let Some(finished_at) = run.finished_at {
            self.duration.record(finished_at.since(run.started_at).as_secs_f64(), &labels);
        }
    }

    /// A run was read: the series of its name begin at 0, so that its end is seen as a step.
    pub(crate) fn seen(&self, run: &Run) {
        self.label(run);
    }

    /// The label of a run's name. Clients make up names; past the bound they are all one.
    fn label(&self, run: &Run) -> KeyValue {
        let name = run.name.as_ref().map_or(UNNAMED, WorkflowName::as_str);
        let mut labels = self.labels.lock();
        let name = if labels.contains(name) || labels.len() + 1 < MOST_WORKFLOWS { name } else { OTHER };
        let label = KeyValue::new("workflow", name.to_owned());
        if labels.insert(name.to_owned()) {
            self.started.add(0, std::slice::from_ref(&label));
            for state in RunState::ALL.into_iter().filter(|state| state.is_over()) {
                self.ended.add(0, &[label.clone(), state_of(state)]);
            }
        }
        label
    }
}

fn state_of(state: RunState) -> KeyValue {
    KeyValue::new("state", state.as_str())
}
