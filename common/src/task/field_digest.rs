//! A digest over fields, each with its length, so that no two lists of fields are hashed as the same bytes.

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Longer fields are hashed where they are, the others together: the hash spends more on a call than on a short text.
const SHORT: usize = 256;

/// The fields so far.
pub(super) struct FieldDigest {
    /// What comes before `gathered`; `None` while no field was long.
    hashed: Option<Box<Xxh3>>,
    gathered: Vec<u8>,
}

impl FieldDigest {
    /// One with room for some fields.
    pub(super) fn new() -> Self {
        Self { hashed: None, gathered: Vec::with_capacity(2 * SHORT) }
    }

    /// Adds a field.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.gathered.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        if bytes.len() <= SHORT {
            self.gathered.extend_from_slice(bytes);
            return;
        }
        let hashed = self.hashed.get_or_insert_default();
        hashed.update(&self.gathered);
        hashed.update(bytes);
        self.gathered.clear();
    }

    /// 128 bits over all fields, by XXH3.
    pub(super) fn end(self) -> u128 {
        match self.hashed {
            None => xxh3_128(&self.gathered),
            Some(mut hashed) => {
                hashed.update(&self.gathered);
                hashed.digest128()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Fingerprints are stored, so they are those of a hash that is given field after field.
        #[test]
        fn it_is_the_same_as_one_that_gathers_nothing(lengths in prop::collection::vec(0..600_usize, 0..20)) {
            let (mut digest, mut plain) = (FieldDigest::new(), Xxh3::new());
            for (place, length) in lengths.into_iter().enumerate() {
                let field: Vec<u8> = (0..length).map(|byte| (byte + place) as u8).collect();
                digest.field(&field);
                plain.update(&(field.len() as u64).to_le_bytes());
                plain.update(&field);
            }
            prop_assert_eq!(digest.end(), plain.digest128());
        }
    }
}
