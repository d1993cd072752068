//! Leases of workers that speak HTTP: what they ask, and what they are answered.

use std::time::Duration;

use jobbers_common::{name::TaskId, task::Fence, values::duration};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::value::RawValue;

use crate::{
    openapi::ToSchema,
    problem::{Code, Problem, Result, invalid},
    value::{Asked, Word},
    wire::json,
};

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

/// An entry of a request that names many leases: read by itself, so that one that makes no sense does not keep the others
/// from being carried out.
#[derive(Debug)]
pub enum Entry<T> {
    /// One that was read.
    Read(T),
    /// One that was not.
    Refused(RefusedEntry),
}

/// Why an entry is not carried out, although others of its request are.
#[derive(Debug)]
pub struct RefusedEntry {
    /// The task it names, as far as it names one.
    pub id: Asked<TaskId>,
    /// What is wrong with it.
    pub problem: Problem,
}

impl RefusedEntry {
    /// One that was read, and is refused for this. `problem` points into the entry.
    pub fn new(id: &TaskId, problem: Problem) -> Self {
        Self { id: id.clone().into(), problem }
    }

    /// Code, sentence and pointer for the entry at this place of the request.
    fn answer(self, place: usize) -> (Asked<TaskId>, Word, String, String) {
        let pointer = format!("/leases/{place}{}", self.problem.pointer().unwrap_or_default());
        (self.id, self.problem.code().as_str().into(), self.problem.detail().to_owned(), pointer)
    }
}

impl<T> Entry<T> {
    /// What was read.
    ///
    /// # Errors
    /// Why nothing was.
    pub fn read(self) -> std::result::Result<T, RefusedEntry> {
        match self {
            Self::Read(entry) => Ok(entry),
            Self::Refused(refused) => Err(refused),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct IdOnly {
            id: Asked<TaskId>,
        }
        let text = <&RawValue>::deserialize(deserializer)?.get().as_bytes();
        Ok(json::decode(text).map_or_else(
            |problem| {
                let named = json::decode_if_valid::<IdOnly>(text);
                let id = named.map_or_else(|| Asked::Illegal(String::new()), |named| named.id);
                Self::Refused(RefusedEntry { id, problem })
            },
            Self::Read,
        ))
    }
}

impl<T: Serialize> Serialize for Entry<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Read(entry) => entry.serialize(serializer),
            Self::Refused(_) => Err(ser::Error::custom("an entry that was refused is not sent")),
        }
    }
}

/// Refuses a second entry for one task: the first counts.
///
/// # Errors
/// [`Code::InvalidRequest`].
pub fn check_named_once(is_first: bool) -> Result<()> {
    if is_first {
        return Ok(());
    }
    Err(Problem::new(Code::InvalidRequest, "the task is named twice in one request: the first entry counts").at("/id"))
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
