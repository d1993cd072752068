//! The text of a key, which its owner keeps and no store has: `jb_<id>_<secret>`.
//!
//! The last characters are a checksum, so that a copy with a typing error is refused for what it is.

use std::{fmt, str::FromStr};

use jobbers_common::{
    access::{Digest, ID_LENGTH, KEY_ALPHABET, KEY_PREFIX, SECRET_LENGTH, StoredSecret, parts_of_key},
    name::KeyId,
};
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// How many characters of the secret are its checksum.
const CHECKSUM_LENGTH: usize = 4;

/// The text of a key. `Debug` shows its id alone.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText {
    id: KeyId,
    text: String,
}

/// Why a text is not that of a key. No message repeats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyTextError {
    /// It has another form.
    #[error("a key has the form jb_<id>_<secret>, with {} characters in all", KEY_PREFIX.len() + ID_LENGTH + 1 + SECRET_LENGTH)]
    Form,
    /// Its checksum does not fit.
    #[error("a character of the key is wrong: copy it again")]
    Checksum,
}

impl KeyText {
    /// The text of a new key.
    #[must_use]
    pub fn generate() -> Self {
        #[expect(clippy::expect_used, reason = "the alphabet has only legal characters")]
        let id = KeyId::new(random_text(ID_LENGTH)).expect("a legal name");
        Self::for_id(&id)
    }

    /// Another text of the key `id`, with a new secret.
    #[must_use]
    pub fn for_id(id: &KeyId) -> Self {
        let unchecked = format!("{KEY_PREFIX}{id}_{}", random_text(SECRET_LENGTH - CHECKSUM_LENGTH));
        let text = unchecked.clone() + &checksum(&unchecked);
        Self { id: id.clone(), text }
    }

    /// The id in it.
    #[must_use]
    pub const fn id(&self) -> &KeyId {
        &self.id
    }

    /// The whole text. Show it to its owner only.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the store keeps of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(&self.text).into())
    }
}

impl KeyText {
    /// Takes a text of the form of a key, whose checksum was not looked at: [`Self::check`] does.
    ///
    /// # Errors
    /// [`KeyTextError::Form`].
    pub(crate) fn unchecked(text: &str) -> Result<Self, KeyTextError> {
        let (id, _) = parts_of_key(text).ok_or(KeyTextError::Form)?;
        let id = KeyId::new(id).map_err(|_| KeyTextError::Form)?;
        Ok(Self { id, text: text.to_owned() })
    }

    /// Whether its checksum fits. Asked of a text that is no valid key, to say why: one that is valid has the right one.
    ///
    /// # Errors
    /// [`KeyTextError::Checksum`].
    pub(crate) fn check(&self) -> Result<(), KeyTextError> {
        let (unchecked, found) = self.text.split_at(self.text.len() - CHECKSUM_LENGTH);
        if checksum(unchecked) == found { Ok(()) } else { Err(KeyTextError::Checksum) }
    }
}

impl FromStr for KeyText {
    type Err = KeyTextError;

    fn from_str(text: &str) -> Result<Self, KeyTextError> {
        let text = Self::unchecked(text)?;
        text.check()?;
        Ok(text)
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({})", self.id)
    }
}

/// Whether a stored secret has this digest. The time that this takes shows nothing of either.
pub(crate) fn is_same(secret: &StoredSecret, digest: &Digest) -> bool {
    secret.digest.0.ct_eq(&digest.0).into()
}

/// Random characters of the alphabet, five random bits each.
pub(crate) fn random_text(length: usize) -> String {
    let mut random = vec![0; length];
    rand::rng().fill_bytes(&mut random);
    encode(&random)
}

/// The first characters of the digest of what precedes the checksum.
fn checksum(unchecked: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(unchecked).into();
    encode(&digest[..CHECKSUM_LENGTH])
}

/// A character for the low five bits of each byte.
fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(KEY_ALPHABET[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use jobbers_common::access::redact;

    use super::*;

    #[test]
    fn a_generated_key_is_read_back_and_its_secret_is_never_shown() {
        let key = KeyText::generate();
        assert_eq!(key.as_str().parse(), Ok(key.clone()));
        assert_ne!(KeyText::generate().digest(), key.digest());
        let other = KeyText::for_id(key.id());
        assert!(other.id() == key.id() && other != key);
        let secret = key.as_str().rsplit_once('_').unwrap().1;
        assert!(!format!("{key:?}").contains(secret) && !redact(key.as_str()).contains(secret));
    }

    #[test]
    fn a_typing_error_is_noticed() {
        let key = KeyText::generate();
        let text = key.as_str();
        for place in KEY_PREFIX.len()..text.len() {
            let mut typed = text.as_bytes().to_vec();
            typed[place] = if typed[place] == b'2' { b'3' } else { b'2' };
            let typed = String::from_utf8(typed).unwrap();
            assert!(typed.parse::<KeyText>().is_err(), "{typed}");
        }
        for wrong in
            ["", "jb_", "jb__", "x", &text[1..], &text.to_uppercase(), &format!("{text}0"), &text.replace('_', "-")]
        {
            assert_eq!(wrong.parse::<KeyText>(), Err(KeyTextError::Form), "{wrong}");
        }
    }
}
