//! Ids for tasks whose submitter chose none.

use jobbers_common::name::TaskId;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use ulid::{Generator, Ulid};

/// Gives ids out: monotonic ULIDs, so that those of one manager sort by their time and are close together in indexes.
#[derive(Debug, Default)]
pub(crate) struct IdGenerator(Mutex<Generator>);

impl IdGenerator {
    pub(crate) fn next(&self) -> TaskId {
        let mut generator = self.0.lock();
        let ulid = generator.generate().unwrap_or_else(|overflow| overflow.commit_overflow_increment());
        drop(generator);
        let mut text = [0; ulid::ULID_LEN];
        legal(Ulid::array_to_str(&ulid, &mut text))
    }
}

/// The id of the task at `index` of the request with this `Idempotency-Key`: the same each time, on every manager.
pub(crate) fn derived(key: &str, index: usize) -> TaskId {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update([0]);
    hash.update(u64::try_from(index).unwrap_or(u64::MAX).to_le_bytes());
    // 128 bits: two keys never meet by chance.
    let text: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    legal(&format!("key:{text}"))
}

/// A digest of a whole request, so that a key used again for another request is detected.
pub(crate) fn request_digest(body: &[u8]) -> u64 {
    Sha256::digest(body).iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

fn legal(text: &str) -> TaskId {
    #[expect(clippy::expect_used, reason = "letters, digits and a colon, far below the bound")]
    TaskId::new(text).expect("a legal task id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow() {
        let ids = IdGenerator::default();
        let given: Vec<TaskId> = (0..1_000).map(|_| ids.next()).collect();
        assert!(given.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_key_and_an_index_give_one_id() {
        assert_eq!(derived("k", 0), derived("k", 0));
        let others = [derived("k", 1), derived("l", 0), derived("k\0", 0)];
        assert!(!others.contains(&derived("k", 0)));
    }
}
