//! Who may call from where: keys, sessions, other machines, web pages.

mod foreign;
mod key_operations;
pub(crate) mod keys;
mod listening;
mod sessions;
mod trusted;
