//! Keys, TLS, codecs and sensitive tasks: who may call, and what others see.

mod captures;
mod certificates;
mod encrypted;
pub(crate) mod keys;
mod redis_user;
mod sensitive;
mod socket_files;
pub(crate) mod tls;
mod trusted;
