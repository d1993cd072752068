//! What sort of error an attempt met, as its author names it: `rate_limited`, or the path of an error type.
//!
//! A policy lists kinds to retry or to give up on; dead letters are grouped by them. This says nothing about how an
//! attempt ended: that is [`crate::task::FailureKind`], whose names may stand in the same lists.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::MAX_NAME_BYTES;

/// A kind of error: 1 to 128 bytes of `[A-Za-z0-9._:/-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorKind(Cow<'static, str>);

/// Why a text is no kind of error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of error: 1 to 128 characters of A-Z a-z 0-9 . _ : / -")]
pub struct ErrorKindError(String);

const fn is_legal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'/' | b'-')
}

impl ErrorKind {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`ErrorKindError`] unless it is 1 to 128 bytes of `[A-Za-z0-9._:/-]`.
    pub fn new(text: impl Into<String>) -> Result<Self, ErrorKindError> {
        let text = text.into();
        if (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_legal) {
            return Ok(Self(Cow::Owned(text)));
        }
        Err(ErrorKindError(text.chars().take(160).collect()))
    }

    /// A constant that has been checked: `#[task]` writes these.
    #[doc(hidden)]
    #[must_use]
    pub const fn checked(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Makes a kind of any text: each run of characters it can't hold becomes one `_`, and what is too long is cut.
    /// `None` when nothing legal is in it.
    #[must_use]
    pub fn lossy(text: &str) -> Option<Self> {
        let mut kind = String::with_capacity(text.len().min(MAX_NAME_BYTES));
        for char in text.trim().chars() {
            if kind.len() == MAX_NAME_BYTES {
                break;
            }
            match u8::try_from(char) {
                Ok(byte) if is_legal(byte) => kind.push(char),
                _ if kind.ends_with('_') => {}
                _ => kind.push('_'),
            }
        }
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
    /// `ParseIntError` is of `core::num::ParseIntError`.
    #[must_use]
    pub fn is_meant_by(&self, listed: &Self) -> bool {
        let (own, listed) = (self.as_str(), listed.as_str());
        own.strip_suffix(listed).is_some_and(|before| before.is_empty() || before.ends_with("::"))
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
    fn any_text_becomes_a_kind_that_can_be_stored() {
        for (text, kind) in [
            ("rate_limited", Some("rate_limited")),
            (" too  many\nrequests! ", Some("too_many_requests_")),
            ("ünknown", Some("_nknown")),
            ("", None),
            ("§§", None),
        ] {
            assert_eq!(ErrorKind::lossy(text).as_ref().map(ErrorKind::as_str), kind, "{text:?}");
        }
        let long = ErrorKind::lossy(&"é1".repeat(500)).unwrap();
        assert_eq!(ErrorKind::new(long.as_str()), Ok(long));
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
