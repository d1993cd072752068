//! The traits of a store for this engine, one file a noun.

use std::sync::Arc;

use jobbers_common::engine::{Engine, backup::Backup, boards::Boards, sealed::Sealed};

use crate::model::ModelEngine;

mod access;
mod audit_log;
mod claims;
mod duties;
mod letters;
mod queues;
mod schedules;
mod settings;
mod tasks;
mod upkeep;
mod waiting;
mod workers;
mod workflows;

impl Sealed for ModelEngine {}

impl Engine for ModelEngine {
    fn boards(self: Arc<Self>) -> Arc<dyn Boards> {
        self
    }

    fn backup(self: Arc<Self>) -> Arc<dyn Backup> {
        self
    }
}
