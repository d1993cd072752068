//! How far a running task says it is.

use serde::{Deserialize, Serialize};

use crate::{limits::MAX_PROGRESS_BYTES, values::text::cut};

/// How far a running task says it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 1.
    pub fraction: f64,
    /// A message for the reader, at most 1 KiB; may be empty.
    pub message: String,
}

impl Progress {
    /// Progress within its bounds: a fraction outside of 0 to 1 becomes the nearest of them, or 0 when it is no number; a
    /// message over 1 KiB is cut at a character and ends in `…`.
    #[must_use]
    pub fn new(fraction: f64, message: impl Into<String>) -> Self {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        Self { fraction, message: cut(message.into(), MAX_PROGRESS_BYTES) }
    }

    /// Whether it is within its bounds.
    #[must_use]
    pub fn is_within_bounds(&self) -> bool {
        (0.0..=1.0).contains(&self.fraction) && self.message.len() <= MAX_PROGRESS_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_brought_within_them() {
        let long = Progress::new(0.5, "ä".repeat(1_000));
        assert!(long.is_within_bounds() && long.message.ends_with("ä…") && long.message.len() > 1_020, "{long:?}");
        for (said, kept) in [(f64::NAN, 0.0), (f64::INFINITY, 1.0), (-3.0, 0.0), (0.25, 0.25)] {
            let progress = Progress::new(said, "");
            assert!(progress.is_within_bounds() && (progress.fraction - kept).abs() < f64::EPSILON, "{said}");
        }
        assert_eq!(Progress::new(1.0, "x".repeat(1_024)).message.len(), 1_024);
    }
}
