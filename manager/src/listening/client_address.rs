//! The address of a request's client: that of its connection, or the one that a trusted proxy names.
//!
//! Logs show it and failed sign-ins are counted by it. A proxy appends the address that it was asked from to
//! `X-Forwarded-For`, behind what its client sent there, so the list is read from its end for as long as its addresses are
//! those of trusted proxies.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use jobbers_process::server::networks::Networks;

/// The header in which a proxy names its clients.
pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a request's client, in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl ClientAddress {
    /// That of a request over a connection from `peer`, where `proxies` are trusted.
    pub(crate) fn of(headers: &HeaderMap, peer: IpAddr, proxies: &Networks) -> Self {
        let mut client = peer.to_canonical();
        if !proxies.contain(client) {
            return Self(client);
        }
        let lists = headers.get_all(FORWARDED_FOR).iter().rev().filter_map(|list| list.to_str().ok());
        for text in lists.flat_map(|list| list.rsplit(',')) {
            if !proxies.contain(client) {
                break;
            }
            let Some(address) = read(text.trim()) else { break };
            client = address;
        }
        Self(client)
    }
}

/// An address, which some proxies write with a port.
fn read(text: &str) -> Option<IpAddr> {
    let address = text.parse::<SocketAddr>().map(|address| address.ip());
    let address = address.or_else(|_| text.trim_matches(['[', ']']).parse());
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_names_the_client() {
        let proxies: Networks = ["10.0.0.0/8", "::1"].iter().map(|text| text.parse().unwrap()).collect();
        for (peer, lists, client) in [
            ("192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            // What the client sent itself is not believed.
            ("10.0.0.1", &["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", &["203.0.113.9", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("::1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("::1", &["2001:db8::7"], "2001:db8::7"),
            ("10.0.0.1", &["unknown"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.7, "], "10.0.0.1"),
        ] {
            let headers = lists.iter().map(|list| (FORWARDED_FOR, list.parse().unwrap())).collect();
            let found = ClientAddress::of(&headers, peer.parse().unwrap(), &proxies);
            assert_eq!(found.0, client.parse::<IpAddr>().unwrap(), "{peer} {lists:?}");
        }
    }
}
