//! What the text of an access key is like, when each key was last used, and how often signing in failed.
//!
//! It knows no request and no operation: `doors` lets requests in.

pub(crate) mod failures;
pub(crate) mod key_text;
pub(crate) mod last_use;
