//! The times of a day at which a cron expression fires, to the second.

use jiff::civil::Time;

use super::field::{HOUR, MINUTE, SECOND};

/// The hours, minutes and seconds, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeBits {
    hours: u64,
    minutes: u64,
    seconds: u64,
}

impl TimeBits {
    pub(super) fn read(second: &str, minute: &str, hour: &str) -> Result<Self, String> {
        let (seconds, minutes) = (SECOND.read(second)?, MINUTE.read(minute)?);
        Ok(Self { hours: HOUR.read(hour)?, minutes, seconds })
    }

    /// Whether a time is one of them.
    pub(super) fn has(&self, time: Time) -> bool {
        has(self.hours, time.hour()) && has(self.minutes, time.minute()) && has(self.seconds, time.second())
    }

    /// The first of them that is not before `from`, which is a whole second.
    pub(super) fn next(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        let (first_minute, first_second) = (next(self.minutes, 0)?, next(self.seconds, 0)?);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = next(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = next(self.minutes, minute + 1) {
                return Time::new(hour, minute, first_second, 0).ok();
            }
        }
        Time::new(next(self.hours, hour + 1)?, first_minute, first_second, 0).ok()
    }

    /// How many of them are before `end`.
    fn count_below(&self, end: Time) -> u64 {
        let (minutes, seconds) = (u64::from(self.minutes.count_ones()), u64::from(self.seconds.count_ones()));
        let of_minute = if has(self.minutes, end.minute()) { below(self.seconds, end.second()) } else { 0 };
        let of_hour =
            if has(self.hours, end.hour()) { below(self.minutes, end.minute()) * seconds + of_minute } else { 0 };
        below(self.hours, end.hour()) * minutes * seconds + of_hour
    }

    const fn and(self, other: &Self) -> Self {
        Self {
            hours: self.hours & other.hours,
            minutes: self.minutes & other.minutes,
            seconds: self.seconds & other.seconds,
        }
    }
}

/// How many times before `end` are in at least one of `all`: those of each, less those that two share, and so on.
pub(super) fn count_union_below(all: &[&TimeBits], end: Time) -> u64 {
    fn count(all: &[&TimeBits], end: Time, shared: TimeBits) -> i64 {
        let Some((first, rest)) = all.split_first() else { return 0 };
        let both = shared.and(first);
        both.count_below(end).cast_signed() - count(rest, end, both) + count(rest, end, shared)
    }
    let every = TimeBits { hours: u64::MAX, minutes: u64::MAX, seconds: u64::MAX };
    count(all, end, every).cast_unsigned()
}

const fn has(bits: u64, value: i8) -> bool {
    bits >> value & 1 == 1
}

/// The first value that is not below `from`.
fn next(bits: u64, from: i8) -> Option<i8> {
    let found = i8::try_from((bits >> from).trailing_zeros()).ok()?.checked_add(from)?;
    (found < 64).then_some(found)
}

/// How many values are below `end`.
const fn below(bits: u64, end: i8) -> u64 {
    (bits & ((1 << end) - 1)).count_ones() as u64
}
