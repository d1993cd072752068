//! Keys, TLS and codecs: who may call, and what others see.

mod captures;
mod encrypted;
pub(crate) mod keys;
mod socket_files;
pub(crate) mod tls;
mod trusted;
