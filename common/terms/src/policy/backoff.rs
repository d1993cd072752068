//! How long a failed task waits before its next attempt.
//!
//! With `n` = 1 for the first retry and base delay `d`:
//!
//! | strategy | delay |
//! |---|---|
//! | `constant` | `d` |
//! | `linear` | `d * n` |
//! | `exponential` | `d * 2^(n-1)` |
//! | `exponential_jitter` | uniform in `[0, d * 2^(n-1)]` (full jitter) |
//!
//! each at most `max_retry_delay`. The Python original's table reads `retry_delay * attempt` and `retry_delay *
//! 2^attempt`, with an `attempt` that is 0 at the first retry; so its exponential delays are the same as ours, while its
//! linear ones start at 0 s and ours at `d`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// How the delay grows from retry to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// The same delay each time.
    Constant,
    /// Grows by the base delay each time.
    Linear,
    /// Doubles each time.
    Exponential,
    /// Anything up to what doubling would give, so that many failures do not come back at once.
    #[default]
    ExponentialJitter,
}

impl Backoff {
    /// The delay before retry `n` (1 for the first), for base delay `base`, capped at `cap`.
    ///
    /// `draw` is a random number, uniform in `[0, 1)`; only `exponential_jitter` uses it. Never overflows: what can't
    /// be held is `cap`.
    #[must_use]
    pub fn delay(self, n: u32, base: Duration, cap: Duration, draw: f64) -> Duration {
        let doubled = || {
            let factor = 2_u32.checked_pow(n.saturating_sub(1)).unwrap_or(u32::MAX);
            base.saturating_mul(factor).min(cap)
        };
        match self {
            Self::Constant => base.min(cap),
            Self::Linear => base.saturating_mul(n.max(1)).min(cap),
            Self::Exponential => doubled(),
            Self::ExponentialJitter => doubled().mul_f64(draw.clamp(0.0, 1.0)),
        }
    }

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Exponential => "exponential",
            Self::ExponentialJitter => "exponential_jitter",
        }
    }
}

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Backoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Constant, Self::Linear, Self::Exponential, Self::ExponentialJitter]
            .into_iter()
            .find(|strategy| strategy.as_str() == text)
            .ok_or_else(|| format!("{text:?} is not a backoff: constant, linear, exponential or exponential_jitter"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn delays(strategy: Backoff, draw: f64) -> Vec<u64> {
        (1..=5).map(|n| strategy.delay(n, Duration::from_secs(10), Duration::from_secs(60), draw).as_secs()).collect()
    }

    #[test]
    fn the_table_of_the_docs() {
        assert_eq!(delays(Backoff::Constant, 0.5), [10, 10, 10, 10, 10]);
        assert_eq!(delays(Backoff::Linear, 0.5), [10, 20, 30, 40, 50]);
        assert_eq!(delays(Backoff::Exponential, 0.5), [10, 20, 40, 60, 60]);
        assert_eq!(delays(Backoff::ExponentialJitter, 0.5), [5, 10, 20, 30, 30]);
        assert_eq!(delays(Backoff::ExponentialJitter, 0.0), [0; 5]);
    }

    proptest! {
        #[test]
        fn a_delay_never_passes_its_cap_and_never_panics(
            n in any::<u32>(), base in any::<u64>(), draw in 0.0..1.0_f64, which in 0..4_usize,
        ) {
            let all = [Backoff::Constant, Backoff::Linear, Backoff::Exponential, Backoff::ExponentialJitter];
            prop_assert!(all[which].delay(n, Duration::from_micros(base), HOUR, draw) <= HOUR);
        }

        #[test]
        fn without_jitter_a_delay_never_shrinks(n in 1..1_000_u32, base in 0..1_000_000_u64) {
            for strategy in [Backoff::Constant, Backoff::Linear, Backoff::Exponential] {
                let at = |n| strategy.delay(n, Duration::from_micros(base), HOUR, 0.0);
                prop_assert!(at(n) <= at(n + 1));
            }
        }
    }
}
