//! A store as a journal, and the store that an import makes of it: held against the same ledger as the original.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jobbers_test_support::program::Program;
use tokio::sync::watch;

use super::{audit::Complaint, books, fleet::Fleet, world::World};
use crate::{engines::Kind, stack::Stack};

/// How long an hour's tasks may take, some 150,000 on a busy machine. A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(600);

/// Writes the journal of the fleet's store, which must be at rest.
pub(crate) async fn export(fleet: &Fleet) -> PathBuf {
    let journal = fleet.stack.folder().join("soak.journal");
    let arguments = ["export", "--engine-url", fleet.stack.url(), "-o", journal.to_str().unwrap()];
    let mut export = Program::start("jobbers", fleet.stack.folder(), &arguments, &[]);
    assert!(export.exit_within(PATIENCE).await.success(), "{}", export.said());
    journal
}

/// What is wrong with a new store on SQLite that is made of this journal.
///
/// # Errors
/// If the import refuses it: what it says.
pub(crate) async fn complaints_of_its_import(
    journal: &Path,
    world: &World,
    fleet: &Fleet,
) -> Result<Vec<Complaint>, String> {
    let copy = Stack::on(Kind::Sqlite).await;
    let arguments = ["import", journal.to_str().unwrap(), "--engine-url", copy.url()];
    let mut import = Program::start("jobbers", copy.folder(), &arguments, &[]);
    if !import.exit_within(PATIENCE).await.success() {
        return Err(import.said());
    }
    let manager = copy.manager().await;
    let (_end, over) = watch::channel(false);
    let world = World::new(world.ledger.clone(), &[manager.address], over);
    Ok(books::read(&world, fleet).await.complaints())
}
