//! Numbers of JSON as they were written: compared by their exact value, of any size and precision.
//!
//! A double rounds: beyond 2^53 two integers can be one double, and `1e400` is none. So a number that limits, routes or
//! finds tasks is its decimal digits. `1.10`, `1.1` and `11e-1` are one number, as are `42` and `42.0`.

use std::fmt;

/// Up to so many digits a number is shown without an exponent.
const PLAIN_DIGITS: i64 = 40;

/// A number, in the one form that all spellings of its value have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The power of ten by which the digits, as an integer, are multiplied.
    exponent: i64,
}

impl Number {
    /// Reads a number of JSON. `None` for what is none, and for an exponent beyond 18 digits.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (decimal, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits: String::new(), exponent: 0 });
        }
        let trailing_zeros = i64::try_from(all.len() - all.trim_end_matches('0').len()).ok()?;
        let exponent = read_exponent(exponent)? - i64::try_from(fraction.len()).ok()? + trailing_zeros;
        Some(Self { is_negative, digits: digits.to_owned(), exponent })
    }
}

/// Within bounds that leave room for the length of any text.
fn read_exponent(text: &str) -> Option<i64> {
    let exponent: i64 = text.parse().ok()?;
    (-1_000_000_000_000_000_000..1_000_000_000_000_000_000).contains(&exponent).then_some(exponent)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_negative, digits, exponent } = self;
        if *is_negative {
            f.write_str("-")?;
        }
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        // Where the decimal point is, from the first digit on.
        let point = length.saturating_add(*exponent);
        match point {
            _ if digits.is_empty() => f.write_str("0"),
            1.. if *exponent == 0 || (*exponent > 0 && point <= PLAIN_DIGITS) => {
                write!(f, "{digits}{}", "0".repeat(usize::try_from(*exponent).unwrap_or_default()))
            }
            1.. if *exponent < 0 => {
                let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(digits.len()));
                write!(f, "{whole}.{fraction}")
            }
            -5..=0 => write!(f, "0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or_default())),
            _ => {
                let (first, rest) = digits.split_at(1);
                let separator = if rest.is_empty() { "" } else { "." };
                write!(f, "{first}{separator}{rest}e{}", point - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        Number::read(text).unwrap().to_string()
    }

    #[test]
    fn all_spellings_of_a_value_are_one_number() {
        for (spellings, form) in [
            (&["42", "42.0", "4.2e1", "420E-1", "42.000e+0"][..], "42"),
            (&["1.10", "1.1", "11e-1", "0.11e1"], "1.1"),
            (&["0", "-0", "0.0", "0e9", "-0.00e-3"], "0"),
            (&["-0.5", "-5e-1"], "-0.5"),
            (&["1e400", "10e399", "0.1e401"], "1e400"),
            (&["1.5e-9", "0.0000000015"], "1.5e-9"),
            (&["100000000000000000000", "1e20"], "100000000000000000000"),
            (&["0.00012"], "0.00012"),
            (&["12345678901234567890123456789012345678901"], "12345678901234567890123456789012345678901"),
        ] {
            for spelling in spellings {
                assert_eq!(shown(spelling), form, "{spelling}");
            }
        }
        assert_ne!(shown("12345678901234567890123456789"), shown("12345678901234567890123456780"));
        assert_ne!(shown("0.1000000000000000055511151231257827"), shown("0.1"));
        for text in ["", "-", ".5", "1,5", "0x1", "NaN", "1e", "1e99999999999999999999", "1 2"] {
            assert_eq!(Number::read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_the_same_number(text in "-?(0|[1-9][0-9]{0,50})(\\.[0-9]{1,50})?([eE][+-]?[0-9]{1,4})?") {
            let number = Number::read(&text).unwrap();
            prop_assert_eq!(Number::read(&number.to_string()), Some(number));
        }

        #[test]
        fn integers_are_equal_as_integers_are(a in any::<i128>(), b in any::<i128>(), zeros in 0_usize..9) {
            let spelled = format!("{b}.{}", "0".repeat(zeros + 1));
            prop_assert_eq!(Number::read(&a.to_string()) == Number::read(&spelled), a == b);
            prop_assert_eq!(Number::read(&b.to_string()), Number::read(&spelled));
        }
    }
}
