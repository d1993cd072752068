//! The bare store of the same run, against which every rate is set.

pub(super) mod redis;
pub(super) mod sqlite;

/// What the store does without any of our features, per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct BareRates {
    pub(super) submit_one: f64,
    pub(super) submit_batch: f64,
    pub(super) drain: f64,
    pub(super) both: f64,
    /// One bare exchange, one right after the other, in milliseconds.
    pub(super) round_trip: f64,
}
