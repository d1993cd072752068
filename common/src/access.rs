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
