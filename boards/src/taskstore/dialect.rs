//! The dialects of TaskStore: the unit of time of a base URL, conversions from and to it, and the spelling of keys.

use std::{fmt, str::FromStr};

use jobbers_common::engine::boards::task::{BoardTime, When};
use serde::{Deserialize, Serialize};

/// Which dialect a base URL speaks: in which unit it counts time, and how it spells the keys of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Milliseconds and lower-case keys, as the original's document says.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Nanoseconds and capital keys, as the original's server does. Its Go client reads both spellings.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Unit {
    /// Nanoseconds in one.
    const fn nanoseconds(self) -> i64 {
        match self {
            Self::Milliseconds => 1_000_000,
            Self::Nanoseconds => 1,
        }
    }

    /// A task's time as a client writes it: above 0 a moment, else the present minus that. What lies beyond the last
    /// moment that can be said is that moment.
    pub(super) const fn when(self, time: i64) -> When {
        let nanoseconds = time.saturating_mul(self.nanoseconds());
        if time > 0 { When::At(BoardTime(nanoseconds)) } else { When::In(0_i64.saturating_sub(nanoseconds)) }
    }

    /// A span as a client writes it, in nanoseconds. A negative span is 0.
    pub(super) fn span(self, span: i64) -> u64 {
        u64::try_from(span.saturating_mul(self.nanoseconds())).unwrap_or(0)
    }

    /// A moment as a client reads it, rounded down.
    pub(super) const fn written(self, at: BoardTime) -> i64 {
        at.0.div_euclid(self.nanoseconds())
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::Nanoseconds => "ns",
        })
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ms" => Ok(Self::Milliseconds),
            "ns" => Ok(Self::Nanoseconds),
            other => Err(format!("{other:?} is not a unit of time; write ms or ns")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_up_to_zero_is_a_distance_from_the_present() {
        let (ms, ns) = (Unit::Milliseconds, Unit::Nanoseconds);
        assert_eq!(ms.when(0), When::NOW);
        assert_eq!(ms.when(-60_000), When::In(60_000_000_000));
        assert_eq!(ns.when(-60_000), When::In(60_000));
        assert_eq!(ms.when(60_000), When::At(BoardTime(60_000_000_000)));
        assert_eq!(ns.when(i64::MAX), When::At(BoardTime(i64::MAX)));
    }

    #[test]
    fn a_time_beyond_what_can_be_said_is_the_last_moment() {
        assert_eq!(Unit::Milliseconds.when(i64::MAX), When::At(BoardTime(i64::MAX)));
        assert_eq!(Unit::Milliseconds.when(i64::MIN), When::In(i64::MAX));
        assert_eq!(Unit::Nanoseconds.when(i64::MIN), When::In(i64::MAX));
        assert_eq!(Unit::Milliseconds.span(i64::MAX), i64::MAX as u64);
    }

    #[test]
    fn a_negative_span_is_zero_and_times_are_rounded_down() {
        assert_eq!(Unit::Milliseconds.span(-1), 0);
        assert_eq!(Unit::Milliseconds.span(2), 2_000_000);
        assert_eq!(Unit::Milliseconds.written(BoardTime(1_999_999)), 1);
        assert_eq!(Unit::Milliseconds.written(BoardTime(-1)), -1);
        assert_eq!(Unit::Nanoseconds.written(BoardTime(1_999_999)), 1_999_999);
    }

    #[test]
    fn a_unit_is_read_as_it_is_written() {
        for unit in [Unit::Milliseconds, Unit::Nanoseconds] {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert!("s".parse::<Unit>().unwrap_err().contains("ms or ns"));
    }
}
