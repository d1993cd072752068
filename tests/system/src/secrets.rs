//! Keys, TLS and codecs: who may call, and what others see.

mod captures;
mod encrypted;
pub(crate) mod keys;
pub(crate) mod tls;
mod trusted;
