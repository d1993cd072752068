//! Numbers of 128 bits as two of 64 in stored records, because not every format has them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    let low = u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default();
    (u64::try_from(number >> 64).unwrap_or_default(), low).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let (high, low) = <(u64, u64)>::deserialize(deserializer)?;
    Ok(u128::from(high) << 64 | u128::from(low))
}
