//! Points in time and spans of it, as people read them.
//!
//! A list shows a distance in its largest unit ([`age`], [`short_ago`], [`short_ahead`]), a sheet the point and its distance
//! ([`full`]), and a line that scripts read the point as RFC 3339 writes it.

use std::time::Duration;

use jiff::Timestamp;

/// A span in its two largest units: `3s`, `2m 5s`, `4h 10m`, `3d 2h`; below a second in milliseconds or microseconds.
#[must_use]
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() == 0 => format!("{}us", duration.as_micros()),
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3_600 => pair(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => pair(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => pair(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// A span in its largest unit, for narrow columns: `3s`, `2m`, `4h`, `3d`.
#[must_use]
pub(crate) fn short(duration: Duration) -> String {
    let text = span(duration);
    text.split_once(' ').map_or_else(|| text.clone(), |(largest, _)| largest.to_owned())
}

/// How long ago a point in time was, as [`short`] writes it, to the second.
#[must_use]
pub(crate) fn age(at: impl Into<Timestamp>) -> String {
    let at = at.into();
    let seconds = between(at, Timestamp::now()).as_secs();
    if seconds == 0 { "0s".to_owned() } else { short(Duration::from_secs(seconds)) }
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit} {small}{small_unit}") }
}

/// How long after `earlier` this is; zero if it is not (the clocks of two machines differ a little).
#[must_use]
pub(crate) fn between(earlier: impl Into<Timestamp>, later: impl Into<Timestamp>) -> Duration {
    Duration::try_from(later.into().duration_since(earlier.into())).unwrap_or_default()
}

/// `12s ago`, `4h ago`: in its largest unit, for lists.
#[must_use]
pub(crate) fn short_ago(at: impl Into<Timestamp>) -> String {
    format!("{} ago", age(at))
}

/// `in 12s`, `in 4h`, or `now`: in its largest unit, for lists.
#[must_use]
pub(crate) fn short_ahead(at: impl Into<Timestamp>) -> String {
    let left = between(Timestamp::now(), at);
    if left.is_zero() { "now".to_owned() } else { format!("in {}", short(left)) }
}

/// `12s ago`.
#[must_use]
pub(crate) fn ago(at: impl Into<Timestamp>) -> String {
    let at = at.into();
    format!("{} ago", span(between(at, Timestamp::now())))
}

/// `in 12s`, or `now`.
#[must_use]
pub(crate) fn ahead(at: impl Into<Timestamp>) -> String {
    let at = at.into();
    let left = between(Timestamp::now(), at);
    if left.is_zero() { "now".to_owned() } else { format!("in {}", span(left)) }
}

/// The point, and how long ago it was or how far ahead it lies.
#[must_use]
pub(crate) fn full(at: impl Into<Timestamp>) -> String {
    let at = at.into();
    let distance = if at > Timestamp::now() { ahead(at) } else { ago(at) };
    format!("{at:.3}  ({distance})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_shows_its_two_largest_units() {
        for (millis, text) in [
            (0, "0us"),
            (1, "1ms"),
            (999, "999ms"),
            (1_500, "1s"),
            (60_000, "1m"),
            (125_000, "2m 5s"),
            (3_600_000, "1h"),
            (15_000_000, "4h 10m"),
            (266_400_000, "3d 2h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
            assert_eq!(short(Duration::from_millis(millis)), text.split(' ').next().unwrap());
        }
    }

    #[test]
    fn a_later_point_is_never_a_negative_time_ago() {
        let now = Timestamp::now();
        assert_eq!(between(now, now - Duration::from_secs(5)), Duration::ZERO);
    }
}
