//! The words of a queue's history: `q:<queue>:m` is a string of numbers of 4 bytes each, the highest byte first.
//!
//! Its header has the open hour, and how many tasks waited and ran how long in it. A ring of minutes follows: each slot
//! has its minute and its counts.

use jobbers_common::history::{Counts, Grain, Times};

/// How many bytes a word has.
pub(crate) const WORD_BYTES: usize = 4;
/// How many slots the ring has: a power of two, not less than the minutes that are kept.
pub(crate) const SLOTS: usize = Grain::Minute.kept().next_power_of_two();
/// How many words a slot has: the minute, then the counts in their stored order.
pub(crate) const SLOT_WORDS: usize = 1 + Counts::LEN;
/// The word of the first bucket of the tasks that waited.
pub(crate) const WAITED: usize = 1;
/// The word of the first bucket of the attempts that ran.
pub(crate) const RAN: usize = WAITED + Times::BUCKETS;
/// The first word of the first slot.
pub(crate) const FIRST_SLOT: usize = RAN + Times::BUCKETS;

/// The replacement for a name in a script.
pub(super) fn meaning_of(name: &str) -> Option<String> {
    let word = match name {
        "history.slots" => SLOTS,
        "history.slot_words" => SLOT_WORDS,
        "history.first_slot" => FIRST_SLOT,
        "history.hours" => Grain::Hour.kept(),
        "history.accepted" => 1,
        "history.started" => 2,
        "history.completed" => 3,
        "history.failed" => 4,
        "history.other" => 5,
        "history.retried" => 6,
        "history.waited" => return Some(bucket_of_time(WAITED)),
        "history.ran" => return Some(bucket_of_time(RAN)),
        _ => return None,
    };
    Some(word.to_string())
}

/// The bucket that counts `time`, in microseconds, as `BITFIELD` names it. Written out, because a script would make a table and
/// a text at each call.
fn bucket_of_time(first: usize) -> String {
    let bounds = Times::BOUNDS_MS.iter().enumerate();
    let cases: String =
        bounds.map(|(bucket, ms)| format!("time < {} and '#{}' or ", ms * 1_000, first + bucket)).collect();
    format!("{cases}'#{}'", first + Times::BUCKETS - 1)
}
