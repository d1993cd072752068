//! The order of an operation: how its letters are sent. The archive keeps it for the manager that carries it out.

use std::time::Duration;

use jobbers_api::{
    dead_letter::ResubmitRequest,
    problem::{Code, Problem},
    wire::json::{is_deeper_than, is_object},
};
use jobbers_common::{
    engine::{DeadTask, Resubmit},
    limits::MAX_JSON_DEPTH,
    name::QueueName,
    payload::Payload,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::patch::merge;
use crate::{background::long::LongWork, snapshots::known_tasks::Known};

/// The least rate, in tasks a second: one in about a quarter of an hour.
pub(crate) const MIN_RATE: f64 = 0.001;
/// The highest.
pub(crate) const MAX_RATE: f64 = 10_000.0;

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
    /// At most this many per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
}

impl Order {
    /// How a request wants its letters to be sent.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a rate out of bounds and a patch that is no object; [`Code::JsonTooDeep`].
    pub(crate) fn of(request: ResubmitRequest) -> Result<Self, Problem> {
        if request.rate.is_some_and(|rate| !(MIN_RATE..=MAX_RATE).contains(&rate)) {
            let detail = format!("a rate is {MIN_RATE} to {MAX_RATE} tasks a second");
            return Err(Problem::new(Code::InvalidRequest, detail).at("/rate"));
        }
        // The RFC has anything else take the place of all parameters: hardly ever meant, and not to be undone.
        if request.parameters.as_ref().is_some_and(|patch| !is_object(patch)) {
            let detail =
                "a patch of parameters is a JSON object, of what is to change; anything else would replace them";
            return Err(Problem::new(Code::InvalidRequest, detail).at("/parameters"));
        }
        if request.parameters.as_ref().is_some_and(|patch| is_deeper_than(patch.get(), MAX_JSON_DEPTH)) {
            let detail = format!("the patch is nested at most {MAX_JSON_DEPTH} deep");
            return Err(Problem::new(Code::JsonTooDeep, detail).at("/parameters"));
        }
        let ResubmitRequest { to_queue, parameters, reset_retry_count, rate, .. } = request;
        Ok(Self { to_queue, parameters, reset_retry_count, rate })
    }

    /// The store's request for one letter. Its parameters are checked against the schema that live workers registered,
    /// like a submission's, because others would only fail again.
    ///
    /// # Errors
    /// Why its parameters are invalid.
    pub(crate) async fn wish(
        &self,
        dead: DeadTask,
        max_payload_bytes: usize,
        known: &Known,
        long_work: &LongWork,
    ) -> Result<Resubmit, String> {
        let parameters = match &self.parameters {
            None => None,
            Some(patch) => Some(patched(dead.task.parameters.as_ref(), patch, max_payload_bytes)?),
        };
        let described = known.find(&dead.task.name, dead.task.version).and_then(|task| task.described.as_ref());
        let becomes = parameters.as_ref().or(dead.task.parameters.as_ref());
        if let (Some(described), Some(becomes)) = (described, becomes.filter(|becomes| becomes.is_json())) {
            let is_sensitive = dead.task.metadata.is_sensitive();
            described.check(becomes, long_work).await.map_err(|mismatch| match is_sensitive {
                true => "the parameters don't fit the schema of the task".to_owned(),
                false => mismatch.detail_with_place(),
            })?;
        }
        Ok(Resubmit {
            queue: self.to_queue.clone(),
            parameters,
            reset_attempts: self.reset_retry_count,
            ..Resubmit::of_archive(dead)
        })
    }
}

/// How long to pause after this number of letters.
pub(crate) fn pause(rate: f64, sent: usize) -> Duration {
    // Clamped, because the stored value may be from a version that accepted any rate.
    Duration::try_from_secs_f64(sent as f64 / rate.clamp(MIN_RATE, MAX_RATE)).unwrap_or(Duration::from_secs(1))
}

/// The parameters with a merge patch. Both may come from another version, or bypass the API, so they are checked again:
/// merging goes as deep as the patch does.
fn patched(before: Option<&Payload>, patch: &RawValue, max_bytes: usize) -> Result<Payload, String> {
    let Some(before) = before.filter(|before| before.is_json()) else {
        let what = before.map_or("gone", Payload::content_type);
        return Err(format!("the parameters are {what}, which can't be patched"));
    };
    if !is_object(patch) {
        return Err("the patch is no object; it would replace the parameters".to_owned());
    }
    if is_deeper_than(patch.get(), MAX_JSON_DEPTH) {
        return Err(format!("the patch is nested over {MAX_JSON_DEPTH} deep"));
    }
    let after = merge(&before.bytes, patch).map_err(|error| format!("the parameters are no JSON: {error}"))?;
    if after.len() > max_bytes {
        return Err(format!("the parameters would be {} bytes; at most {max_bytes}", after.len()));
    }
    // What is merged is JSON, and JSON is UTF-8.
    if std::str::from_utf8(&after).is_ok_and(|after| is_deeper_than(after, MAX_JSON_DEPTH)) {
        return Err(format!("the parameters would be nested over {MAX_JSON_DEPTH} deep"));
    }
    Ok(Payload::json(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
    }

    fn patch(depth: usize) -> Box<RawValue> {
        serde_json::from_str(&nested(depth)).unwrap()
    }

    #[test]
    fn a_patch_is_merged_no_deeper_than_parameters_may_be() {
        let plain = Payload::json("{}");
        assert_eq!(patched(Some(&plain), &patch(64), 10_000).unwrap().bytes, nested(64).as_bytes());
        for deep in [65, 200, 100_000] {
            let refused = patched(Some(&plain), &patch(deep), usize::MAX).unwrap_err();
            assert!(refused.contains("nested over 64 deep"), "{refused}");
        }
        let deep = Payload::json(format!("{{\"b\":{}}}", nested(100_000)));
        let refused = patched(Some(&deep), &patch(1), usize::MAX).unwrap_err();
        assert!(refused.contains("would be nested"), "{refused}");
    }

    #[test]
    fn a_stored_patch_that_is_no_object_replaces_nothing() {
        for text in ["[]", "5", "null", " \"x\""] {
            let patch: Box<RawValue> = serde_json::from_str(text).unwrap();
            let refused = patched(Some(&Payload::json("{}")), &patch, 10_000).unwrap_err();
            assert!(refused.contains("no object"), "{text}: {refused}");
        }
    }

    #[test]
    fn no_rate_makes_a_pause_that_can_t_be_told() {
        assert_eq!(pause(50.0, 100), Duration::from_secs(2));
        for rate in [1e-300, 0.0, -1.0, f64::MIN_POSITIVE] {
            assert_eq!(pause(rate, 1), Duration::from_secs(1_000), "{rate}");
        }
        assert_eq!(pause(f64::INFINITY, 1), Duration::from_micros(100));
    }
}
