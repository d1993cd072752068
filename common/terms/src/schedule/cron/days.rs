//! The days on which a cron expression fires.

use jiff::civil::Date;

use super::field::{DAY, MONTH, WEEKDAY};

/// The months, days of the month and days of the week, a bit for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Days {
    months: u64,
    days: u64,
    /// `15W`: the working day nearest to it, within the month.
    nearest: u64,
    /// `L`: the last day of the month.
    last: bool,
    /// `LW`: the last working day of the month.
    last_working: bool,
    /// Sunday is 0.
    weekdays: u64,
    /// `5#2`: by its number, the first at place 0.
    nth: [u64; 5],
    /// `5L`: the last in the month.
    last_of_month: u64,
    /// Whether both fields must match, and not only one of them.
    needs_both: bool,
}

impl Days {
    pub(super) fn read(day: &str, month: &str, weekday: &str) -> Result<Self, String> {
        // As in Vixie's cron, a field that begins with a star is one, whatever follows.
        let is_star = |field: &str| field.starts_with(['*', '?']);
        let (has_plus, weekday) = weekday.strip_prefix('+').map_or((false, weekday), |rest| (true, rest));
        let needs_both = has_plus || is_star(day) || is_star(weekday);
        let mut days = Self { months: MONTH.read(month)?, needs_both, ..Self::default() };
        DAY.items(day)?.try_for_each(|item| days.read_day(item))?;
        WEEKDAY.items(weekday)?.try_for_each(|item| days.read_weekday(item))?;
        Ok(days)
    }

    fn read_day(&mut self, item: &str) -> Result<(), String> {
        match item.strip_suffix(['W', 'w']) {
            _ if item == "?" => self.days |= DAY.item("*")?,
            _ if item.eq_ignore_ascii_case("L") => self.last = true,
            Some(day) if day.eq_ignore_ascii_case("L") => self.last_working = true,
            Some(day) if day.bytes().all(|byte| byte.is_ascii_digit()) => self.nearest |= DAY.item(day)?,
            _ => self.days |= DAY.item(item)?,
        }
        Ok(())
    }

    fn read_weekday(&mut self, item: &str) -> Result<(), String> {
        if item == "?" {
            self.weekdays |= weekdays("*")?;
        } else if let Some((day, nth)) = item.split_once('#') {
            let nth = nth.parse::<usize>().ok().and_then(|nth| self.nth.get_mut(nth.wrapping_sub(1)));
            let place = nth.ok_or_else(|| {
                format!("has {item:?} in its day of the week: the number after # is 1 to 5, and 5L is the last Friday")
            })?;
            *place |= weekdays(day)?;
        } else if let Some(day) = item.strip_suffix(['L', 'l']) {
            self.last_of_month |= weekdays(day)?;
        } else {
            self.weekdays |= weekdays(item)?;
        }
        Ok(())
    }

    pub(super) const fn match_month(&self, month: i8) -> bool {
        self.months >> month & 1 == 1
    }

    pub(super) fn match_date(&self, date: Date) -> bool {
        if !self.match_month(date.month()) {
            return false;
        }
        let (of_month, of_week) = (self.match_day(date), self.match_weekday(date));
        if self.needs_both { of_month && of_week } else { of_month || of_week }
    }

    fn match_day(&self, date: Date) -> bool {
        let (day, length) = (date.day(), date.days_in_month());
        let has = |bits: u64, day: i8| bits >> day & 1 == 1;
        has(self.days, day)
            || (self.last && day == length)
            || (self.last_working && working_day(date, length) == day)
            || (self.nearest != 0
                && (day - 2..=day + 2).any(|near| {
                    (1..=length).contains(&near) && has(self.nearest, near) && working_day(date, near) == day
                }))
    }

    fn match_weekday(&self, date: Date) -> bool {
        let (weekday, day) = (date.weekday().to_sunday_zero_offset(), date.day());
        let nth = self.nth.get(((day - 1) / 7).unsigned_abs() as usize).copied().unwrap_or_default();
        let last = if day + 7 > date.days_in_month() { self.last_of_month } else { 0 };
        (self.weekdays | nth | last) >> weekday & 1 == 1
    }
}

/// The day from Monday to Friday that is nearest to `day`, within the month of `date`.
fn working_day(date: Date, day: i8) -> i8 {
    let weekday = (date.weekday().to_sunday_zero_offset() + 35 + day - date.day()) % 7;
    match weekday {
        6 if day > 1 => day - 1,
        6 => day + 2,
        0 if day < date.days_in_month() => day + 1,
        0 => day - 2,
        _ => day,
    }
}

fn weekdays(item: &str) -> Result<u64, String> {
    if item.is_empty() {
        return Err("needs a day before L or # in its day of the week: 5L is the last Friday".to_owned());
    }
    let bits = WEEKDAY.item(item)?;
    Ok(bits | bits >> 7)
}
