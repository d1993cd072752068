//! Definitions of workflows that were read last.

use std::sync::Arc;

use jobbers_common::{
    name::WorkflowId,
    time::Timestamp,
    workflow::{Run, Workflow},
};
use parking_lot::Mutex;

/// Nodes of all definitions that are kept in memory at most, beside the latest one.
const NODES_KEPT: usize = 20_000;

/// The definitions in memory: a long run is looked at often, and its definition never changes.
#[derive(Debug, Default)]
pub(crate) struct Definitions(Mutex<Vec<KeptDefinition>>);

/// A definition, and of which run it is: an id may be used again once its run was deleted.
#[derive(Debug)]
struct KeptDefinition {
    id: WorkflowId,
    created_at: Timestamp,
    workflow: Arc<Workflow>,
}

impl Definitions {
    pub(crate) fn find(&self, run: &Run) -> Option<Arc<Workflow>> {
        let kept = self.0.lock();
        let found = kept.iter().find(|kept| kept.id == run.id && kept.created_at == run.created_at);
        found.map(|kept| Arc::clone(&kept.workflow))
    }

    pub(crate) fn keep(&self, run: &Run, workflow: &Arc<Workflow>) {
        let mut kept = self.0.lock();
        let mut room = NODES_KEPT.saturating_sub(workflow.len());
        kept.retain(|other| {
            let nodes = other.workflow.len();
            let fits = nodes <= room;
            room -= if fits { nodes } else { 0 };
            fits
        });
        let (id, created_at) = (run.id.clone(), run.created_at);
        kept.insert(0, KeptDefinition { id, created_at, workflow: Arc::clone(workflow) });
    }
}
