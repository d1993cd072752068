//! What a submission may set for its task: priority, labels and unique key.

pub mod label;
pub mod unique;

use serde::{Deserialize, Serialize};

/// 0 to 9; higher is claimed first, equals in the order they became ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// The middle, and the default.
    pub const DEFAULT: Self = Self(5);

    /// Checks the range.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 9 { Some(Self(value)) } else { None }
    }

    /// 0 to 9.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = &'static str;

    fn try_from(value: u8) -> Result<Self, &'static str> {
        Self::new(value).ok_or("a priority is 0 to 9")
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.get()
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::DEFAULT
    }
}
