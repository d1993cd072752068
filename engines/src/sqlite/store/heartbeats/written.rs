//! A system without such locks: every renewal is written.

use std::path::Path;

use jobbers_common::time::Timestamp;

use super::Record;

#[derive(Debug, Default)]
pub(crate) struct Heartbeats;

impl Heartbeats {
    pub(crate) fn of(_: Option<&Path>) -> Self {
        Self
    }

    pub(crate) fn renew(&self, _: Record, _: Timestamp, _: Timestamp) -> bool {
        false
    }

    pub(crate) fn end(&self, _: Record) {}

    pub(crate) fn until(&self, _: Record, _: Timestamp) -> Option<Timestamp> {
        None
    }
}
