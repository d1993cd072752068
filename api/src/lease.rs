//! Leases of workers that speak HTTP: what they ask, and what they are answered.

use std::time::Duration;

use jobbers_common::{duration, name::TaskId, task::Fence};
use serde::{Deserialize, Serialize};

use super::task_request::invalid;
use crate::openapi::ToSchema;
use crate::problem::Result;

pub mod claim;
pub mod extend;
pub mod returned;

/// How long a lease lasts by default.
const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// The shortest and the longest lease that is given over HTTP.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 3_600));

fn lease_or_default(lease: Option<Duration>) -> Result<Duration> {
    let lease = lease.unwrap_or(DEFAULT_LEASE);
    if (LEASES.0..=LEASES.1).contains(&lease) {
        return Ok(lease);
    }
    let [from, to] = [LEASES.0, LEASES.1].map(duration::format);
    Err(invalid("lease", format!("is {from} to {to}, not {}", duration::format(lease))))
}

/// Names one lease: what proves that the worker has it. Opaque to workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Token(pub String);

impl Token {
    /// The fence in it; for a token that no manager wrote, a number that is never given out.
    pub fn fence(&self) -> Fence {
        let canonical = self.0.parse::<u64>().ok().filter(|fence| fence.to_string() == self.0);
        Fence(canonical.unwrap_or(0))
    }
}

fn lost(id: &TaskId) -> String {
    format!("this token holds no lease on task {id}: the lease ended and was taken back, or the task is over or gone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_was_never_given_is_no_lease_s() {
        let fence = |text: &str| Token(text.to_owned()).fence();
        assert_eq!(fence("1795406275123456"), Fence(1_795_406_275_123_456));
        for text in ["", "x", "-1", "+7", "007", " 7", "7.0", "99999999999999999999999"] {
            assert_eq!(fence(text), Fence(0), "{text:?}");
        }
    }
}
