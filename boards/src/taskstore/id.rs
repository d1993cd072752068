//! Ids of tasks on the wire: signed numbers, of which the revisions of the board are a part.

/// A revision that no task ever has.
pub(super) const NO_REVISION: u64 = 0;
/// The highest revision: beyond it, doubles skip numbers, and so do stores and clients that count in them.
const LAST_REVISION: u64 = 1 << 53;

/// The revision of an id; `None` for an id that no task can have.
pub(super) fn revision(id: i64) -> Option<u64> {
    u64::try_from(id).ok().filter(|id| (1..=LAST_REVISION).contains(id))
}
