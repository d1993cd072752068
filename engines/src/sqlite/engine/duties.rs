//! [`Duties`] of the SQLite store: duties that one process at a time has.

use async_trait::async_trait;
use jobbers_common::{
    engine::{Duties, Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
};

use crate::sqlite::{SqliteEngine, verbs::duty};

#[async_trait]
impl Duties for SqliteEngine {
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        claim.validate()?;
        self.writer.run(1, move |step| duty::claim(step, &claim)).await
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        let duty = duty.clone();
        self.read(move |view| duty::read(view, &duty)).await
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        let (duty, holder) = (duty.clone(), holder.clone());
        self.writer.run(1, move |step| duty::release(step, &duty, &holder)).await
    }
}
