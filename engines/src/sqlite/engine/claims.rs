//! [`Claims`] of the SQLite store: what workers do with the tasks that they lease.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Claims, Cycle, CycleReply, ExtendAnswer, Extension, Result, work::validate_extend},
    name::WorkerId,
};

use crate::sqlite::{
    SqliteEngine,
    verbs::{cycle, lease},
};

#[async_trait]
impl Claims for SqliteEngine {
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        cycle.validate()?;
        self.writer.run(cycle::weight(&cycle), move |step| cycle::run(step, &cycle)).await
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        validate_extend(lease, &extensions)?;
        let worker = worker.clone();
        self.writer.run(extensions.len(), move |step| lease::extend(step, &worker, lease, &extensions)).await
    }
}
