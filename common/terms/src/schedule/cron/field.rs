//! A field of a cron expression: a list of values, ranges and steps.

use crate::values::text::beginning;

/// What a field takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Its name, as errors say it.
    name: &'static str,
    low: u32,
    high: u32,
    /// The names of its values, from the lowest on; their first three letters will do.
    names: &'static [&'static str],
}

pub(super) const SECOND: Field = Field { name: "second", low: 0, high: 59, names: &[] };
pub(super) const MINUTE: Field = Field { name: "minute", low: 0, high: 59, names: &[] };
pub(super) const HOUR: Field = Field { name: "hour", low: 0, high: 23, names: &[] };
pub(super) const DAY: Field = Field { name: "day of the month", low: 1, high: 31, names: &[] };
pub(super) const MONTH: Field = Field { name: "month", low: 1, high: 12, names: &MONTHS };
/// Sunday is 0 and 7.
pub(super) const WEEKDAY: Field = Field { name: "day of the week", low: 0, high: 7, names: &WEEKDAYS };

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Field {
    /// The values of a list, a bit for each.
    pub(super) fn read(&self, text: &str) -> Result<u64, String> {
        self.items(text)?.try_fold(0, |bits, item| Ok(bits | self.item(item)?))
    }

    /// The items of a list.
    pub(super) fn items<'a>(&self, text: &'a str) -> Result<impl Iterator<Item = &'a str>, String> {
        if text.split(',').any(str::is_empty) {
            return Err(format!("has an empty item in its {}, {:?}", self.name, beginning(text)));
        }
        Ok(text.split(','))
    }

    /// The values of an item: `*`, `5`, `1-5`, each also with a step, such as `*/5`.
    pub(super) fn item(&self, text: &str) -> Result<u64, String> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (text, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.low, self.high),
            Some((first, last)) => self.range(first, last)?,
            None => {
                let value = self.value(range)?;
                (value, if step.is_some() { self.high } else { value })
            }
        };
        Ok((first..=last).step_by(step.unwrap_or(1)).fold(0, |bits, value| bits | 1 << value))
    }

    fn range(&self, first: &str, last: &str) -> Result<(u32, u32), String> {
        let (low, high) = (self.value(first)?, self.value(last)?);
        // A week may end on a Sunday.
        let high = if self.high == 7 && high == 0 && low > 0 { 7 } else { high };
        if low > high {
            return Err(format!(
                "has the range {first}-{last} in its {}, which runs backwards: write {first}-{},{}-{last}",
                self.name, self.high, self.low
            ));
        }
        Ok((low, high))
    }

    fn step(&self, text: &str) -> Result<usize, String> {
        let span = self.high - self.low + 1;
        match number(text) {
            Some(step) if (1..=span).contains(&step) => Ok(step as usize),
            _ => Err(format!("has the step {:?} in its {}, which is 1 to {span}", beginning(text), self.name)),
        }
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let named = |name: &&str| name.eq_ignore_ascii_case(text) || name[..3].eq_ignore_ascii_case(text);
        let by_name = || Some(self.low + u32::try_from(self.names.iter().position(named)?).ok()?);
        let value = number(text).or_else(by_name).filter(|value| (self.low..=self.high).contains(value));
        value.ok_or_else(|| self.unfit(text))
    }

    /// The error for a value that a field does not take.
    pub(super) fn unfit(&self, text: &str) -> String {
        let names = match self.names {
            [first, .., last] => format!(", or {} to {}", &first[..3], &last[..3]),
            _ => String::new(),
        };
        format!("has {:?} in its {}, which is {} to {}{names}", beginning(text), self.name, self.low, self.high)
    }
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
