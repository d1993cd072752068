//! [`Duties`] of the model: duties that one process at a time has.

use async_trait::async_trait;
use jobbers_common::{
    engine::{Duties, Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
};

use crate::model::ModelEngine;

#[async_trait]
impl Duties for ModelEngine {
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        claim.validate()?;
        Ok(self.step(|state, now| state.claim_duty(claim, now)))
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        Ok(self.step(|state, now| state.duty(duty, now)))
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        self.step(|state, now| state.release_duty(duty, holder, now));
        Ok(())
    }
}
