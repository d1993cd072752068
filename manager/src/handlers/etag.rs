//! Entity tags of configuration: an entry is changed on the condition that it has not changed since it was read (RFC 9110,
//! `If-Match`). A tag identifies an entry's settings, not its numbers, which change all the time.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::engine::PutMode;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The header with an entry's tag.
pub(crate) fn header_of(entry: &impl Serialize) -> [(HeaderName, HeaderValue); 1] {
    #[expect(clippy::expect_used, reason = "quotes and hexadecimal digits")]
    let value = HeaderValue::from_str(&tag_of(entry)).expect("a legal header");
    [(header::ETAG, value)]
}

/// An entry's tag, in its quotes: the same for the same settings, on every manager.
fn tag_of(entry: &impl Serialize) -> String {
    let settings = serde_json::to_vec(entry).unwrap_or_default();
    let digest: String = Sha256::digest(settings).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digest}\"")
}

/// What the `If-Match` header demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// Nothing.
    None,
    /// That the entry exists.
    Exists,
    /// That it has one of these tags.
    Tagged(Vec<String>),
}

impl IfMatch {
    fn read(headers: &HeaderMap) -> Result<Self> {
        let mut tags = Vec::new();
        for value in headers.get_all(header::IF_MATCH) {
            let text = value.to_str().map_err(|_| unreadable())?;
            if text.trim() == "*" {
                return Ok(Self::Exists);
            }
            for tag in text.split(',').map(str::trim) {
                if tag.len() < 2 || !tag.starts_with('"') || !tag.ends_with('"') {
                    return Err(unreadable());
                }
                tags.push(tag.to_owned());
            }
        }
        Ok(if tags.is_empty() { Self::None } else { Self::Tagged(tags) })
    }

    /// The mode of storing an entry under this condition, given the stored one.
    ///
    /// # Errors
    /// [`Code::Changed`] if the condition does not hold.
    pub(crate) fn mode<T: Serialize + Clone>(&self, stored: Option<&T>) -> Result<PutMode<T>> {
        match (self, stored) {
            (Self::None, _) => Ok(PutMode::Upsert),
            (Self::Exists, Some(stored)) => Ok(PutMode::Unchanged(stored.clone())),
            (Self::Tagged(tags), Some(stored)) if tags.contains(&tag_of(stored)) => {
                Ok(PutMode::Unchanged(stored.clone()))
            }
            (_, None) => Err(Problem::new(Code::Changed, "If-Match: the entry does not exist")),
            (Self::Tagged(_), Some(stored)) => {
                Err(Problem::new(Code::Changed, format!("If-Match: its tag is {} now", tag_of(stored))))
            }
        }
    }

    /// The entry that must still be stored when it is deleted under this condition, given the stored one; `None` for
    /// any.
    ///
    /// # Errors
    /// [`Code::Changed`] if the condition does not hold.
    pub(crate) fn expected<T: Serialize + Clone>(&self, stored: Option<&T>) -> Result<Option<T>> {
        match self.mode(stored)? {
            PutMode::Unchanged(stored) => Ok(Some(stored)),
            PutMode::Create | PutMode::Replace | PutMode::Upsert => Ok(None),
        }
    }
}

fn unreadable() -> Problem {
    Problem::new(Code::InvalidParameter, "If-Match holds * or entity tags in double quotes, as ETag gave them")
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Self::read(&parts.headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &'static str) -> Result<IfMatch> {
        IfMatch::read(&HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_static(text))]))
    }

    #[test]
    fn a_tag_stands_for_what_was_read() {
        let read = tag_of(&"read");
        let tagged = IfMatch::Tagged(vec!["\"other\"".to_owned(), read]);
        assert_eq!(tagged.mode(Some(&"read")).unwrap(), PutMode::Unchanged("read"));
        assert_eq!(tagged.mode(Some(&"changed")).unwrap_err().code(), Code::Changed);
        assert_eq!(tagged.mode::<&str>(None).unwrap_err().code(), Code::Changed);
        assert_eq!(IfMatch::Exists.mode(Some(&"any")).unwrap(), PutMode::Unchanged("any"));
        assert_eq!(IfMatch::None.mode::<&str>(None).unwrap(), PutMode::Upsert);
        assert_eq!(IfMatch::Exists.expected(Some(&"read")).unwrap(), Some("read"));
        assert_eq!(IfMatch::Exists.expected::<&str>(None).unwrap_err().code(), Code::Changed);
        assert_eq!(IfMatch::None.expected(Some(&"read")).unwrap(), None);
    }

    #[test]
    fn the_header_is_a_star_or_tags() {
        assert_eq!(condition("*").unwrap(), IfMatch::Exists);
        let tags = vec!["\"a\"".to_owned(), "\"b\"".to_owned()];
        assert_eq!(condition("\"a\", \"b\"").unwrap(), IfMatch::Tagged(tags));
        for bad in ["a", "\"", "W/\"a\"", "\"a\",,"] {
            assert_eq!(condition(bad).unwrap_err().code(), Code::InvalidParameter, "{bad}");
        }
        assert_eq!(IfMatch::read(&HeaderMap::new()).unwrap(), IfMatch::None);
    }
}
