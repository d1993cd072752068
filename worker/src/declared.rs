//! The part of a task's declaration that its submissions take over.

use std::time::Duration;

use jobbers_common::policy::TaskPolicy;

use crate::uniqueness::Uniqueness;

/// What `#[task]` says about a task with parameters `P`, and every submission of it needs.
pub(crate) struct Declared<P> {
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) policy: TaskPolicy,
    pub(crate) unique: Option<Uniqueness<P>>,
    /// How late a first attempt may begin.
    pub(crate) expires_in: Option<Duration>,
}
