//! How the letters of an operation are to be sent: what the archive keeps for whoever carries it out.

use jobbers_common::{
    engine::{DeadTask, Resubmit},
    name::QueueName,
    payload::Payload,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::patch::merge;

/// Stored as JSON, so fields are only ever added, with a default.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Into this queue; absent: the one they were in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to_queue: Option<QueueName>,
    /// A merge patch (RFC 7396) of their parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Box<RawValue>>,
    /// Whether attempts and crashes are counted from the start.
    pub(crate) reset_retry_count: bool,
    /// At most so many a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
}

impl Order {
    /// What to ask of the store for one letter.
    ///
    /// # Errors
    /// Why its parameters can't be what they are to be.
    pub(crate) fn wish(&self, dead: DeadTask, max_payload_bytes: usize) -> Result<Resubmit, String> {
        let parameters = match (&self.parameters, &dead.task.parameters) {
            (None, _) => None,
            (Some(patch), Some(before)) if before.is_json() => {
                let after =
                    merge(&before.bytes, patch).map_err(|error| format!("the parameters are no JSON: {error}"))?;
                if after.len() > max_payload_bytes {
                    return Err(format!("the parameters would be {} bytes; at most {max_payload_bytes}", after.len()));
                }
                Some(Payload::json(after))
            }
            (Some(_), before) => {
                let what = before.as_ref().map_or("gone", Payload::content_type);
                return Err(format!("the parameters are {what}, which can't be patched"));
            }
        };
        Ok(Resubmit {
            queue: self.to_queue.clone(),
            parameters,
            reset_attempts: self.reset_retry_count,
            ..Resubmit::of_archive(dead)
        })
    }
}
