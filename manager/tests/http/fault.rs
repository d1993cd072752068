//! The reference engine, made to fail, to panic and to be watched.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    engine::{Cycle, CycleReply, Engine, Error, Result},
    name::TaskId,
    task::Task,
};
use jobbers_law::{double::Behaviour, model::ModelEngine};
use tokio::sync::watch;

/// The verbs of the manager's own upkeep, which never fail.
const ALWAYS_WELL: [&str; 8] = [
    "promote_due",
    "reclaim_expired",
    "prune",
    "config",
    "register_worker",
    "deregister_worker",
    "keep_catalogue",
    "catalogue",
];

/// What every other verb does first.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fault {
    #[default]
    None,
    Fails(Error),
    Panics,
}

#[derive(Debug)]
pub(crate) struct FaultyEngine {
    inner: Arc<dyn Engine>,
    fault: watch::Sender<Fault>,
    waiting: watch::Sender<usize>,
    /// Claims carried out, and whether their answers are held back.
    claims: watch::Sender<usize>,
    holds_claims: watch::Sender<bool>,
}

impl FaultyEngine {
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(ModelEngine::with_system_clock()),
            fault: watch::Sender::new(Fault::None),
            waiting: watch::Sender::new(0),
            claims: watch::Sender::new(0),
            holds_claims: watch::Sender::new(false),
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Returns when so many long polls are under way.
    pub(crate) async fn waits(&self, count: usize) {
        self.waiting.subscribe().wait_for(|waiting| *waiting == count).await.unwrap();
    }

    /// Holds answers to claims back, or lets them go.
    pub(crate) fn hold_claims(&self, hold: bool) {
        self.holds_claims.send_replace(hold);
    }

    /// Returns when so many claims have been carried out.
    pub(crate) async fn claims(&self, count: usize) {
        self.claims.subscribe().wait_for(|claims| *claims >= count).await.unwrap();
    }
}

/// Counts a long poll for as long as its future lives.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

#[async_trait]
impl Behaviour for FaultyEngine {
    fn store(&self) -> &Arc<dyn Engine> {
        &self.inner
    }

    fn reach(&self, verb: &'static str) -> Result<&Arc<dyn Engine>> {
        if ALWAYS_WELL.contains(&verb) {
            return Ok(&self.inner);
        }
        match &*self.fault.borrow() {
            Fault::None => Ok(&self.inner),
            Fault::Fails(error) => Err(error.clone()),
            Fault::Panics => panic!("a defect"),
        }
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        let claims = cycle.claim.is_some();
        let reply = self.reach("cycle")?.cycle(cycle).await;
        if claims {
            self.claims.send_modify(|claims| *claims += 1);
            self.holds_claims.subscribe().wait_for(|holds| !holds).await.unwrap();
        }
        reply
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let _counted = Waiting(&self.waiting);
        self.reach("await_finished")?.await_finished(id, timeout).await
    }
}
