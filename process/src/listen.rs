//! Which addresses may be listened on where any client is served, and how they are written.

use std::net::{SocketAddr, ToSocketAddrs};

use serde::{Deserialize, Deserializer, de};

mod endpoint;

pub use self::endpoint::{Endpoint, SocketFile};

/// A listen address that other machines can reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} is not a loopback address, and its clients are asked for no key. Listen on 127.0.0.1, or say {flag}"
)]
pub struct NotLoopback {
    /// The address.
    pub address: SocketAddr,
    /// The flag that allows it.
    pub flag: &'static str,
}

/// Refuses an address that isn't loopback unless `insecure`, which `flag` sets, allows it.
///
/// # Errors
/// [`NotLoopback`].
pub fn check(address: SocketAddr, insecure: bool, flag: &'static str) -> Result<(), NotLoopback> {
    if insecure || address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(NotLoopback { address, flag }) }
}

/// Reads `ADDRESS:PORT`. `localhost` is resolved once, now; of several addresses the first IPv4 one is used.
///
/// # Errors
/// A sentence if `text` is neither, or if `localhost` can't be resolved.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    let none =
        || format!("{text:?} is not an address to listen on: write 127.0.0.1:8000, [::1]:8000 or localhost:8000");
    let Some(port) = text.strip_prefix("localhost:") else { return text.parse().map_err(|_| none()) };
    let port: u16 = port.parse().map_err(|_| none())?;
    let found = ("localhost", port).to_socket_addrs().map_err(|error| format!("{text}: {error}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| format!("{text}: the system knows no address of localhost"))
}

/// The same for configuration files.
///
/// # Errors
/// Like [`parse`].
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// The same for an address that may be absent.
///
/// # Errors
/// Like [`parse`].
pub fn read_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse(&text)).transpose().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_open_without_a_word() {
        for fine in ["127.0.0.1:8000", "127.1.2.3:1", "[::1]:8000", "[::ffff:127.0.0.1]:80"] {
            assert!(check(fine.parse().unwrap(), false, "--insecure").is_ok(), "{fine}");
        }
        for open in ["0.0.0.0:8000", "[::]:8000", "192.168.0.1:8000"] {
            assert!(check(open.parse().unwrap(), false, "--insecure").is_err(), "{open}");
            assert!(check(open.parse().unwrap(), true, "--insecure").is_ok(), "{open}");
        }
    }

    #[test]
    fn a_refusal_names_the_flag_of_that_address() {
        let refused = check("0.0.0.0:9".parse().unwrap(), false, "--metrics-insecure").unwrap_err();
        assert!(refused.to_string().ends_with("or say --metrics-insecure"), "{refused}");
    }

    #[test]
    fn localhost_is_an_address_like_any_other() {
        let found = parse("localhost:8000").unwrap();
        assert!(found.ip().is_loopback() && found.port() == 8000, "{found}");
        assert_eq!(parse("[::1]:8000"), Ok("[::1]:8000".parse().unwrap()));
        for bad in ["localhost", "localhost:", "localhost:x", "localhost:65536", "8000", "example.org:8000", ""] {
            assert!(parse(bad).unwrap_err().contains("localhost:8000"), "{bad}");
        }
    }
}
