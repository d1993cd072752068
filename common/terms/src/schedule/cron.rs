//! Cron expressions, by the rules of Vixie's cron.
//!
//! An expression matches the wall clock: days ([`Days`]) and times of the day ([`TimeBits`]). A wildcard expression, whose
//! second, minute or hour field begins with `*`, follows elapsed time; every other one is a *fixed time*, which comes once
//! although the clock skips or repeats it. What that means where clocks change is decided in [`super::slots`], which is also
//! where the zones are. Several expressions, separated by `|`, are one union.

use jiff::civil::{Date, DateTime, Time};

use crate::{
    limits::{MAX_CRON_BYTES, MAX_CRON_EXPRESSIONS},
    values::text::beginning,
};

mod days;
mod field;
mod times;

use self::{days::Days, times::TimeBits};

/// Names of expressions.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// No expression that fires at all lets so many years pass: 29 February is the same day of the week after at most 40 years.
pub(super) const YEARS_SEARCHED: i16 = 41;

/// One or more cron expressions, which match together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron(Vec<Expression>);

/// One cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    times: TimeBits,
    days: Days,
    is_fixed: bool,
}

/// Which expressions count where the clock shows a time for the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldPass {
    /// All of them.
    First,
    /// Only those that follow elapsed time.
    Second,
}

impl Cron {
    /// Reads expressions of five fields, or six with seconds in front, or a name such as `@daily`; several of them are
    /// separated by `|`.
    ///
    /// # Errors
    /// What is wrong, as a sentence about the expression: which field has which value, and what it takes.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_CRON_BYTES {
            return Err(format!("is at most {MAX_CRON_BYTES} bytes, not {}", text.len()));
        }
        let alternatives: Vec<&str> = text.split('|').collect();
        if alternatives.len() > MAX_CRON_EXPRESSIONS {
            return Err(format!("is at most {MAX_CRON_EXPRESSIONS} expressions, not {}", alternatives.len()));
        }
        alternatives.into_iter().map(|it| Expression::read(it.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// The first match from `from` on and before `until`.
    pub(super) fn next(&self, pass: FoldPass, from: DateTime, until: DateTime) -> Option<DateTime> {
        self.of_pass(pass).filter_map(|expression| expression.next(from, until)).min()
    }

    /// Whether a fixed time is between these.
    pub(super) fn has_fixed(&self, from: DateTime, until: DateTime) -> bool {
        self.0.iter().any(|expression| expression.is_fixed && expression.next(from, until).is_some())
    }

    /// How many seconds match from `from` on and before `until`. It takes one step for each day between them.
    pub(super) fn count(&self, pass: FoldPass, from: DateTime, until: DateTime) -> u64 {
        if until <= from {
            return 0;
        }
        let of_day = |date: Date| {
            let matching: Vec<&TimeBits> =
                self.of_pass(pass).filter(|it| it.days.match_date(date)).map(|it| &it.times).collect();
            let below = |time| times::count_union_below(&matching, time);
            let skipped = if date == from.date() { below(from.time()) } else { 0 };
            let reached = if date == until.date() { below(until.time()) } else { below_midnight(&matching) };
            reached - skipped
        };
        let days = std::iter::successors(Some(from.date()), |date| date.tomorrow().ok());
        days.take_while(|date| *date <= until.date()).map(of_day).sum()
    }

    fn of_pass(&self, pass: FoldPass) -> impl Iterator<Item = &Expression> {
        self.0.iter().filter(move |expression| pass == FoldPass::First || !expression.is_fixed)
    }
}

/// How many times of a whole day match.
fn below_midnight(matching: &[&TimeBits]) -> u64 {
    let last = Time::constant(23, 59, 59, 0);
    times::count_union_below(matching, last) + u64::from(matching.iter().any(|times| times.has(last)))
}

impl Expression {
    fn read(text: &str) -> Result<Self, String> {
        let text = if text.starts_with('@') { nickname(text)? } else { text };
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let (second, [minute, hour, day, month, weekday]) = match fields[..] {
            [minute, hour, day, month, weekday] => ("0", [minute, hour, day, month, weekday]),
            [second, minute, hour, day, month, weekday] => (second, [minute, hour, day, month, weekday]),
            _ => return Err(not_five(text, fields.len())),
        };
        if let Some((variable, zone)) = second.split_once('=').or_else(|| minute.split_once('=')) {
            return Err(format!("takes no {}=: write time_zone {:?}", beginning(variable), beginning(zone)));
        }
        let expression = Self {
            times: TimeBits::read(second, minute, hour)?,
            days: Days::read(day, month, weekday)?,
            is_fixed: ![second, minute, hour].iter().any(|field| field.starts_with('*')),
        };
        let (from, until) = (Date::constant(2024, 1, 1), Date::constant(2024 + YEARS_SEARCHED, 1, 1));
        match expression.next(from.into(), until.into()) {
            Some(_) => Ok(expression),
            None => Err(format!("{text:?} never fires")),
        }
    }

    /// The first match from `from` on and before `until`.
    fn next(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let last_year = from.year().saturating_add(YEARS_SEARCHED);
        let (mut date, mut time) = (from.date(), Some(from.time()));
        while date <= until.date() && date.year() <= last_year {
            if self.days.match_date(date)
                && let Some(found) = self.times.next(time.unwrap_or(Time::MIN))
            {
                return Some(date.to_datetime(found)).filter(|found| *found < until);
            }
            time = None;
            let done = if self.days.match_month(date.month()) { date } else { date.last_of_month() };
            date = done.tomorrow().ok()?;
        }
        None
    }
}

/// The expression that a name of cron means.
fn nickname(text: &str) -> Result<&'static str, String> {
    if let Some((_, expression)) = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Ok(expression);
    }
    let word = text.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    Err(match word.as_str() {
        "@every" => "can't be an interval: in place of cron write every, such as every 1h".to_owned(),
        "@reboot" => {
            "can't be @reboot, because managers start and stop at any time: let what starts the machine submit \
                      the task"
                .to_owned()
        }
        _ => {
            let names: Vec<&str> = NICKNAMES.iter().map(|(name, _)| *name).collect();
            format!("knows no {:?}: it may be {}, or five fields", beginning(text), names.join(" "))
        }
    })
}

fn not_five(text: &str, count: usize) -> String {
    let hint = match count {
        _ if text.contains('=') => ": a zone is written as time_zone",
        7 => ": a year can't be said",
        10.. => ": separate several expressions by |",
        _ => ": `0 2 * * *` fires at two at night",
    };
    format!(
        "has five fields (minute, hour, day of the month, month, day of the week), or six with seconds in front, not \
         {count}{hint}"
    )
}

#[cfg(test)]
mod tests;
