//! What sort of error an attempt met, as its author or language names it: `rate_limited`, `core::num::ParseIntError`,
//! `App\\Exceptions\\NotFound`, `com.acme.Job$Inner`.
//!
//! A policy lists kinds to retry or to give up on; dead letters are grouped by them. This says nothing about how an
//! attempt ended: that is `FailureKind` of `jobbers-common`, whose names may stand in the same lists.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{limits::MAX_ERROR_KIND_BYTES, values::text::beginning};

/// A kind of error: 1 to 256 bytes without control characters, and no blank at either end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorKind(Cow<'static, str>);

/// Why a text is no kind of error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a kind of error: it is 1 to {MAX_ERROR_KIND_BYTES} bytes without control characters, and no blank is at \
     either end"
)]
pub struct ErrorKindError(String);

/// What separates the parts of a type's name in one language or another: `a::B`, `a.B`, `a\\B`, `A$B`, `a/B`.
const SEPARATORS: [&str; 5] = ["::", ".", "\\", "$", "/"];

impl ErrorKind {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`ErrorKindError`] unless it is 1 to 256 bytes without control characters, and no blank is at either end.
    pub fn new(text: impl Into<String>) -> Result<Self, ErrorKindError> {
        let text = text.into();
        let is_legal = text.trim() == text && !text.contains(char::is_control);
        if (1..=MAX_ERROR_KIND_BYTES).contains(&text.len()) && is_legal {
            return Ok(Self(Cow::Owned(text)));
        }
        Err(ErrorKindError(beginning(&text)))
    }

    /// A constant that has been checked: `#[task]` writes these.
    #[doc(hidden)]
    #[must_use]
    pub const fn checked(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Makes a kind of any text: each run of control characters becomes one `_`, and what is too long is cut. `None` when
    /// nothing else is in it.
    #[must_use]
    pub fn lossy(text: &str) -> Option<Self> {
        let mut kind = String::with_capacity(text.len().min(MAX_ERROR_KIND_BYTES));
        for char in text.trim().chars() {
            if kind.len() + char.len_utf8() > MAX_ERROR_KIND_BYTES {
                break;
            }
            match char.is_control() {
                false => kind.push(char),
                true if kind.ends_with('_') => {}
                true => kind.push('_'),
            }
        }
        kind.truncate(kind.trim_end().len());
        kind.bytes().any(|byte| byte != b'_').then_some(Self(Cow::Owned(kind)))
    }

    /// The kind of an error of type `T`: its path, such as `core::num::ParseIntError`, without type parameters.
    #[must_use]
    pub fn of_type<T: ?Sized>() -> Option<Self> {
        let path = std::any::type_name::<T>();
        Self::lossy(path.split('<').next().unwrap_or(path))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `listed`, an entry of a policy's list, means this kind: it is the same, or its last part, as
    /// `ParseIntError` is of `core::num::ParseIntError` and `NotFound` of `App\\Exceptions\\NotFound`.
    #[must_use]
    pub fn is_meant_by(&self, listed: &Self) -> bool {
        let (own, listed) = (self.as_str(), listed.as_str());
        let is_last_part = |before: &str| SEPARATORS.iter().any(|separator| before.ends_with(separator));
        own.strip_suffix(listed).is_some_and(|before| before.is_empty() || is_last_part(before))
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::str::FromStr for ErrorKind {
    type Err = ErrorKindError;

    fn from_str(text: &str) -> Result<Self, ErrorKindError> {
        Self::new(text)
    }
}

impl Serialize for ErrorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ErrorKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_languages_call_their_exceptions_is_a_kind() {
        for text in [
            "rate_limited",
            "App\\Exceptions\\NotFound",
            "com.acme.Job$Inner",
            "TimeoutError: 30s",
            "[Ljava.lang.String;",
            "Ошибка времени",
            "List<Foo>",
        ] {
            assert_eq!(ErrorKind::new(text).unwrap().as_str(), text);
            assert_eq!(ErrorKind::lossy(text), ErrorKind::new(text).ok());
        }
        let longest = "x".repeat(MAX_ERROR_KIND_BYTES);
        assert!(ErrorKind::new(longest.as_str()).is_ok());
        for text in ["", " ", " a", "a ", "a\nb", "a\u{1b}[2J", "\u{9b}2J", "a\u{7f}", &(longest + "x")] {
            let error = ErrorKind::new(text).unwrap_err().to_string();
            assert!(error.contains("256 bytes without control characters") && error.len() < 250, "{error}");
        }
    }

    #[test]
    fn any_text_becomes_a_kind_that_can_be_stored() {
        for (text, kind) in [
            ("rate_limited", Some("rate_limited")),
            (" too  many\n\trequests! ", Some("too  many_requests!")),
            ("\u{1b}[31mred", Some("_[31mred")),
            ("", None),
            ("\n\0", None),
        ] {
            assert_eq!(ErrorKind::lossy(text).as_ref().map(ErrorKind::as_str), kind, "{text:?}");
        }
        for text in ["é1", "a b", "  ", "\0x"] {
            let long = ErrorKind::lossy(&format!("k{}", text.repeat(500))).unwrap();
            assert_eq!(ErrorKind::new(long.as_str()), Ok(long));
        }
    }

    #[test]
    fn a_list_means_a_kind_by_its_last_part_in_any_language() {
        let kind = |text: &str| ErrorKind::new(text).unwrap();
        for (own, listed) in [
            ("App\\Exceptions\\NotFound", "NotFound"),
            ("com.acme.Job$Inner", "Inner"),
            ("com.acme.Job$Inner", "Job$Inner"),
            ("requests.exceptions.Timeout", "Timeout"),
            ("Net::ReadTimeout", "ReadTimeout"),
        ] {
            assert!(kind(own).is_meant_by(&kind(listed)), "{own} {listed}");
        }
        assert!(!kind("com.acme.MyTimeout").is_meant_by(&kind("Timeout")));
    }

    #[test]
    fn an_error_type_is_known_by_its_path_and_meant_by_its_name() {
        let kind = ErrorKind::of_type::<std::num::ParseIntError>().unwrap();
        assert!(kind.as_str().starts_with("core::num::") && !kind.as_str().contains('<'), "{kind}");
        let listed = |text| ErrorKind::new(text).unwrap();
        assert!(kind.is_meant_by(&listed("ParseIntError")) && kind.is_meant_by(&kind));
        assert!(!kind.is_meant_by(&listed("IntError")) && !kind.is_meant_by(&listed("x::ParseIntError")));
        assert_eq!(ErrorKind::of_type::<Vec<u8>>(), ErrorKind::new("alloc::vec::Vec").ok());
    }
}
