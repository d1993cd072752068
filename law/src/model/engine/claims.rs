//! [`Claims`] of the model: what workers do with the tasks that they lease.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Claims, Cycle, CycleReply, ExtendAnswer, Extension, Result, work::validate_extend},
    name::WorkerId,
};

use crate::model::ModelEngine;

#[async_trait]
impl Claims for ModelEngine {
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        cycle.validate()?;
        Ok(self.step(|state, now| state.cycle(cycle, now)))
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        validate_extend(lease, &extensions)?;
        Ok(self.step(|state, now| {
            extensions.into_iter().map(|extension| state.extend(worker, extension, lease, now)).collect()
        }))
    }
}
