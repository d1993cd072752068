//! The access key that a client signs in with.

use std::fmt;

use http::HeaderValue;
use jobbers_common::access::parts_of_key;

/// The text of an access key, `jb_<id>_<secret>`, ready to be sent. `Debug` does not show it.
#[derive(Clone)]
pub struct ClientKey(HeaderValue);

/// Why a text is not that of a key. The message does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not an access key, which has the form jb_<id>_<secret>; `jobbers keys create` makes one")]
pub struct ClientKeyError;

impl ClientKey {
    /// Takes the text of a key. Only the manager can say whether it is valid.
    ///
    /// # Errors
    /// [`ClientKeyError`] for a text of another form.
    pub fn new(text: &str) -> Result<Self, ClientKeyError> {
        parts_of_key(text).ok_or(ClientKeyError)?;
        let mut value = HeaderValue::try_from(format!("Bearer {text}")).map_err(|_| ClientKeyError)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// The value of the header `Authorization`.
    #[must_use]
    pub const fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_and_never_shown_and_another_text_is_refused() {
        let secret = "0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk1234";
        let text = format!("jb_0123456789_{secret}");
        let key = ClientKey::new(&text).unwrap();
        assert_eq!(key.header(), &format!("Bearer {text}"));
        assert!(!format!("{key:?} {:?}", key.header()).contains(secret));
        for wrong in ["", "hunter2", &text[1..], &format!("{text}\n"), &format!("{text} "), &text.to_uppercase()] {
            let refused = ClientKey::new(wrong).unwrap_err();
            assert!(wrong.is_empty() || !refused.to_string().contains(wrong));
        }
    }
}
