//! Who may do what at a manager: access keys, the scopes that operations need, and the roles that bundle them.
//!
//! A client signs in with the text of a key, `jb_<id>_<secret>`. The store keeps an [`AccessKey`] without that text: only
//! digests of its secrets. The keys are a part of the live configuration ([`crate::queue::Config::keys`]), so a change
//! reaches every manager as any other change of it does. While a store has no key, its managers ask for none.
//!
//! Workers and cleaners that use the store's address are not asked for a key: who can write the store owns it.
//!
//! Start reading at [`AccessKey`], then [`Scope`].

mod key;
mod pattern;
mod redact;
mod scope;
mod session;

pub use self::{
    key::{AccessKey, Digest, MAX_SECRETS, StoredSecret},
    pattern::{Pattern, PatternError},
    redact::redact,
    scope::{AccessRole, Scope},
    session::Session,
};

/// How the text of each key begins. Tools that search for leaked secrets find keys by it.
pub const KEY_PREFIX: &str = "jb_";
/// How many characters the id of a key has.
pub const ID_LENGTH: usize = 10;
/// How many characters follow the id and its `_`: 52 of the secret, 4 of a checksum.
pub const SECRET_LENGTH: usize = 56;
/// The characters of ids and secrets.
pub const KEY_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Which bytes are characters of [`KEY_ALPHABET`]: each request with a key asks this of all its characters.
const IS_OF_KEY: [bool; 256] = {
    let (mut is_of_key, mut place) = ([false; 256], 0);
    while place < KEY_ALPHABET.len() {
        is_of_key[KEY_ALPHABET[place] as usize] = true;
        place += 1;
    }
    is_of_key
};

/// The id and the secret in the text of a key, `jb_<id>_<secret>`; `None` for a text of another form. Whether there is such a
/// key is not asked.
#[must_use]
pub fn parts_of_key(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    (is_of_key(id, ID_LENGTH) && is_of_key(secret, SECRET_LENGTH)).then_some((id, secret))
}

/// Whether a part of a key has this many characters, all of [`KEY_ALPHABET`].
fn is_of_key(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|byte| IS_OF_KEY[usize::from(byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_of_a_key_are_those_of_its_alphabet() {
        let is_of_key = |byte: u8| IS_OF_KEY[usize::from(byte)];
        assert!((0..=u8::MAX).all(|byte| is_of_key(byte) == KEY_ALPHABET.contains(&byte)));
    }
}
