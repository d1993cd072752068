//! Points in time as flags write them.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// Bytes of a date without a time.
const DATE_BYTES: usize = "2026-01-01".len();

/// Reads an RFC 3339 time, or a date, which means its midnight in UTC.
///
/// # Errors
/// A sentence if it is neither.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let date = || text.parse::<Date>().ok().filter(|_| text.len() == DATE_BYTES)?.to_zoned(TimeZone::UTC).ok();
    let found = text.parse().ok().or_else(|| Some(date()?.timestamp()));
    found.ok_or_else(|| {
        format!("{text:?} is not a time: write 2026-01-01T00:00:00Z, or 2026-01-01 for that day's midnight in UTC")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_its_midnight_in_utc() {
        assert_eq!(parse("2026-11-22").unwrap(), "2026-11-22T00:00:00Z".parse().unwrap());
        assert_eq!(parse("2026-11-22T01:00:00+02:00").unwrap(), "2026-11-21T23:00:00Z".parse().unwrap());
        for bad in ["", "today", "2026-11-31", "2026-11-22T10:00:00", "20261122T1"] {
            assert!(parse(bad).unwrap_err().contains("2026-01-01T00:00:00Z"), "{bad}");
        }
    }
}
