//! Which addresses may be listened on while there is no authentication.

use std::net::SocketAddr;

/// A listen address that would let strangers in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a loopback address, and there is no authentication: anyone who reaches it could run tasks. Listen on 127.0.0.1 behind a proxy that authenticates, or say --insecure"
)]
pub struct NotLoopback(pub SocketAddr);

/// Refuses an address that isn't loopback unless `insecure` says it is meant.
///
/// # Errors
/// [`NotLoopback`].
pub fn check(address: SocketAddr, insecure: bool) -> Result<(), NotLoopback> {
    if insecure || address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(NotLoopback(address)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_open_without_a_word() {
        for fine in ["127.0.0.1:8000", "127.1.2.3:1", "[::1]:8000", "[::ffff:127.0.0.1]:80"] {
            assert!(check(fine.parse().unwrap(), false).is_ok(), "{fine}");
        }
        for open in ["0.0.0.0:8000", "[::]:8000", "192.168.0.1:8000"] {
            assert!(check(open.parse().unwrap(), false).is_err(), "{open}");
            assert!(check(open.parse().unwrap(), true).is_ok(), "{open}");
        }
    }
}
