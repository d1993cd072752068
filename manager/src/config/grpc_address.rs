//! Where MassTasker's clients are answered, in the forms of the original's variable too.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

use jobbers_process::listen::Endpoint;
use serde::{Deserialize, Serialize};

/// An address for MassTasker's clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum GrpcAddress {
    /// This one.
    At(Endpoint),
    /// `:PORT`, the form that the original's variable has by default: this port, on every interface if the manager may listen
    /// there, else on loopback. So a variable that was left in the environment stops no manager.
    Port(u16),
    /// `none`: they are not answered, whatever other layers of the configuration say.
    Nowhere,
}

impl GrpcAddress {
    /// Where to listen.
    #[must_use]
    pub fn endpoint(&self, insecure: bool) -> Option<Endpoint> {
        let interface = if insecure { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        match self {
            Self::At(endpoint) => Some(endpoint.clone()),
            Self::Port(port) => Some(SocketAddr::new(IpAddr::V4(interface), *port).into()),
            Self::Nowhere => None,
        }
    }

    /// What the operator should know about it, if it is not what the address says.
    #[must_use]
    pub fn warning(&self, insecure: bool) -> Option<String> {
        match self {
            Self::Port(port) if !insecure => Some(format!(
                "MassTasker's clients are answered on 127.0.0.1:{port} only: :{port} means every interface with --insecure"
            )),
            _ => None,
        }
    }
}

impl fmt::Display for GrpcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(endpoint) => endpoint.fmt(f),
            Self::Port(port) => write!(f, ":{port}"),
            Self::Nowhere => f.write_str("none"),
        }
    }
}

impl FromStr for GrpcAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" | "" => Ok(Self::Nowhere),
            _ => match text.strip_prefix(':').map(str::parse) {
                Some(Ok(port)) => Ok(Self::Port(port)),
                _ => text.parse().map(Self::At).map_err(|error: String| format!("{error}, :50053 or none")),
            },
        }
    }
}

impl From<GrpcAddress> for String {
    fn from(address: GrpcAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for GrpcAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_every_interface_only_where_that_is_allowed() {
        for (text, insecure, socket) in [
            (":50053", false, Some("127.0.0.1:50053")),
            (":50053", true, Some("0.0.0.0:50053")),
            ("[::1]:9", false, Some("[::1]:9")),
            ("0.0.0.0:9", false, Some("0.0.0.0:9")),
            ("unix:/run/front.sock?mode=0660", false, Some("unix:/run/front.sock?mode=0660")),
            ("none", true, None),
            ("", false, None),
        ] {
            let address: GrpcAddress = text.parse().unwrap();
            assert_eq!(address.endpoint(insecure), socket.map(|socket| socket.parse().unwrap()), "{text}");
            assert_eq!(address.to_string().parse().as_ref(), Ok(&address), "{text}");
            assert_eq!(address.warning(insecure).is_some(), text == ":50053" && !insecure, "{text}");
        }
        for bad in [":", ":x", ":70000", "50053", "host:1"] {
            assert!(bad.parse::<GrpcAddress>().unwrap_err().ends_with("or none"), "{bad}");
        }
    }
}
