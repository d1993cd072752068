//! Networks whose clients a listener serves, in the notation of CIDR: `10.0.0.0/8`, `2001:db8::/32`, or one address.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// One network, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Network(IpNet);

/// Some networks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Networks(Vec<Network>);

/// A text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network: write 10.0.0.0/8, 2001:db8::/32 or one address")]
pub struct NetworkError(String);

impl Networks {
    /// No network.
    pub const NONE: Self = Self(Vec::new());

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of them that every address of its family is in.
    #[must_use]
    pub fn everywhere(&self) -> Option<&Network> {
        self.0.iter().find(|network| network.0.prefix_len() == 0)
    }

    /// Whether an address is in one of them. An IPv4 address that is written as one of IPv6 is the same address.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.0.contains(&address))
    }
}

impl FromIterator<Network> for Networks {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        Self(networks.into_iter().collect())
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let address = || text.parse().map(|address: IpAddr| IpNet::from(address.to_canonical()));
        text.parse::<IpNet>().or_else(|_| address()).map(Self).map_err(|_| NetworkError(text.to_owned()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_a_network_whichever_way_it_is_written() {
        let networks: Networks =
            ["10.1.0.0/16", "2001:db8::/32", "192.0.2.7"].iter().map(|text| text.parse().unwrap()).collect();
        for (address, is_in) in [
            ("10.1.255.1", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.1", false),
            ("2001:db8::9", true),
            ("2001:db9::9", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
        ] {
            assert_eq!(networks.contain(address.parse().unwrap()), is_in, "{address}");
        }
        assert!(!Networks::default().contain("10.1.0.1".parse().unwrap()));
        assert_eq!(networks.everywhere(), None);
        for everywhere in ["0.0.0.0/0", "::/0", "10.0.0.0/0"] {
            let network: Network = everywhere.parse().unwrap();
            assert_eq!(Networks(vec!["10.0.0.1".parse().unwrap(), network]).everywhere(), Some(&network));
        }
        assert_eq!(networks.to_string(), "10.1.0.0/16, 2001:db8::/32, 192.0.2.7/32");
    }

    #[test]
    fn what_is_no_network_is_refused_with_a_word_on_how_to_write_one() {
        for bad in ["", "10.0.0.0/33", "10.0.0", "proxy.example", "10.0.0.0/8,11.0.0.0/8", "10.0.0.0/-1"] {
            assert!(bad.parse::<Network>().unwrap_err().to_string().contains("10.0.0.0/8"), "{bad}");
        }
    }
}
