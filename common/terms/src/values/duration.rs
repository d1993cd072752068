//! Durations as people write them: `500ms`, `10s`, `5m`, `2h`, `1d`; a bare number is seconds.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: write 500ms, 10s, 5m, 2h or 1d; a bare number is seconds")]
pub struct DurationError(pub String);

const UNITS: [(&str, f64); 6] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

/// Reads a duration: a decimal number, then one of `us ms s m h d` or nothing (seconds).
///
/// # Errors
/// [`DurationError`] for anything else: no number, an unknown unit, a negative or a number too large to hold.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let bad = || DurationError(text.chars().take(80).collect());
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.parse().map_err(|_| bad())?;
    let unit = unit.trim();
    let scale = if unit.is_empty() {
        1.0
    } else {
        UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(bad)?
    };
    from_secs(number * scale).ok_or_else(bad)
}

/// Seconds as a duration, to the microsecond; `None` when negative, not finite, or too large to hold.
#[must_use]
pub fn from_secs(seconds: f64) -> Option<Duration> {
    let micros = (seconds * 1e6).round();
    // 2^53 microseconds are 285 years: every whole number up to there is exact.
    (micros.is_finite() && (0.0..=9_007_199_254_740_992.0).contains(&micros)).then(|| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in 0..=2^53")]
        let whole = micros as u64;
        Duration::from_micros(whole)
    })
}

/// Writes a duration so that [`parse`] reads it back: the largest unit that divides it.
#[must_use]
pub fn format(duration: Duration) -> String {
    let micros = duration.as_micros();
    for (unit, size) in
        [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)]
    {
        if micros >= size && micros.is_multiple_of(size) {
            return format!("{}{unit}", micros / size);
        }
    }
    if micros == 0 { "0s".to_owned() } else { format!("{micros}us") }
}

/// Rounded up to a unit that suits the length: milliseconds below a second, seconds below two minutes, minutes below two
/// hours, hours beyond. For sentences; a caller that waits uses the exact duration.
#[must_use]
pub fn rounded_up(duration: Duration) -> Duration {
    let unit: u128 = match duration.as_secs() {
        0 => 1_000,
        1..120 => 1_000_000,
        120..7_200 => 60_000_000,
        _ => 3_600_000_000,
    };
    let micros = duration.as_micros().div_ceil(unit).saturating_mul(unit);
    u64::try_from(micros).map_or(duration, Duration::from_micros)
}

/// `#[serde(with = "duration::text")]`: written as text, read from text or from a number of seconds.
pub mod text {
    use std::{fmt, time::Duration};

    use serde::{Deserializer, Serializer, de};

    /// Writes `10s`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format(*duration))
    }

    /// Reads `"10s"` or `10`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(Visitor)
    }

    pub(super) struct Visitor;

    impl de::Visitor<'_> for Visitor {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"500ms\", \"10s\", \"5m\", or a number of seconds")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
            super::parse(text).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Duration, E> {
            Ok(Duration::from_secs(seconds))
        }

        fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Duration, E> {
            u64::try_from(seconds).map(Duration::from_secs).map_err(|_| E::custom("a duration can't be negative"))
        }

        fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Duration, E> {
            super::from_secs(seconds)
                .ok_or_else(|| E::custom("a duration must be a finite number of seconds, 0 or more"))
        }
    }

    /// The same for `Option<Duration>`; absent and `null` are `None`.
    pub mod option {
        use std::time::Duration;

        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        struct DurationText(#[serde(with = "super")] Duration);

        /// Writes `10s` or `null`.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
            duration.map(DurationText).serialize(serializer)
        }

        /// Reads `"10s"`, `10` or `null`.
        ///
        /// # Errors
        /// When it is none of these.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<DurationText>::deserialize(deserializer)?.map(|text| text.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_written() {
        for (text, micros) in [
            ("500ms", 500_000),
            ("10s", 10_000_000),
            ("5m", 300_000_000),
            ("2", 2_000_000),
            ("1.5", 1_500_000),
            ("1d", 86_400_000_000),
            ("7us", 7),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for bad in ["", "s", "-1", "10 weeks", "1e9", "NaN", "99999999999999999999d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_sentence_tells_a_duration_in_few_digits() {
        for (micros, text) in [
            (0, "0s"),
            (150_001, "151ms"),
            (1_500_000, "2s"),
            (119_000_001, "2m"),
            (7_199_000_000, "2h"),
            (86_399_989_207, "1d"),
            (90_000_000_000, "25h"),
        ] {
            assert_eq!(format(rounded_up(Duration::from_micros(micros))), text, "{micros}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for micros in [0, 1, 999, 1_000, 1_500, 90_000_000, 3_600_000_000, 172_800_000_000] {
            let duration = Duration::from_micros(micros);
            assert_eq!(parse(&format(duration)), Ok(duration));
        }
    }
}
