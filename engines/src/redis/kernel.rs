//! Scripts, keys, and the strings that scripts keep, as Rust writes and reads them.

pub(super) mod config_fields;
pub(super) mod ending;
pub(super) mod errors;
pub(super) mod keys;
pub(super) mod layout;
pub(super) mod record;
pub(super) mod reply;
pub(super) mod script;
pub(super) mod state;
pub(super) mod values;
