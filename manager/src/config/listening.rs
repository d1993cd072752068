//! Where a manager listens, what it speaks there, and who is served: whether a listener may have its address is decided here.
//!
//! Clients of other machines are served over TLS with an access key, over TLS with a certificate, or through proxies whose
//! networks are named. Anything else takes `--insecure`.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use axum::http::{HeaderName, Uri};
use jobbers_process::{
    listen::Endpoint,
    server::{networks::Network, tls::TlsFiles},
};
use serde::Serialize;

use super::Config;

/// Longest `advertise_url`, in bytes: other managers read it in a note of bounded length.
const MAX_URL_BYTES: usize = 512;
/// What an address may name behind its `?`: files of other managers, which they read when they ask there.
const FILES: [&str; 3] = ["ca", "cert", "key"];

/// Headers with a meaning of their own for a manager, which name no person.
const READ_HEADERS: [&str; 18] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "idempotency-key",
    "if-match",
    "origin",
    "sec-fetch-site",
    "te",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-request-id",
];
/// How those begin that are Jobbers' own.
const OWN_HEADERS: &str = "jobbers-";

/// Whether and how TLS is spoken, on the ports of HTTP.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct TlsArgs {
    /// Speak TLS with this certificate (and those between it and its authority), in PEM; read again when it changes
    #[arg(long, env = "MANAGER_TLS_CERT", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_cert: Option<String>,
    /// The private key of the certificate, in PEM
    #[arg(long, env = "MANAGER_TLS_KEY", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key: Option<String>,
    /// Serve only clients with a certificate of one of these authorities, in PEM
    #[arg(long, env = "MANAGER_TLS_CLIENT_CA", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_ca: Option<String>,
    /// Take the name of a client's certificate for that of its access key, if it sends none
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls_client_keys: bool,
}

/// Which clients are served, where they are on other machines.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct ClientArgs {
    /// Serve clients of other machines without TLS, keys or a proxy
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Serve only clients of these networks: proxies, and other managers
    #[arg(long, env = "MANAGER_BEHIND_PROXY", value_name = "CIDR", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind_proxy: Vec<Network>,
    /// Take the person from this header, in which a proxy names whom it signed in: the key of that name says what they may do
    #[arg(long, env = "MANAGER_TRUSTED_HEADER", value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_header: Option<String>,
    /// The networks of the proxies whose header counts; from elsewhere it is ignored
    #[arg(long, env = "MANAGER_TRUSTED_FROM", value_name = "CIDR", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_from: Vec<Network>,
    /// A file with the text of an access key of the role admin, which is created at the start unless the store has keys
    #[arg(long, env = "JOBBERS_BOOTSTRAP_KEY_FILE", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_key_file: Option<String>,
}

/// A listener, as far as it matters who reaches it.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) address: Endpoint,
    /// The flag that names the address.
    pub(crate) flag: &'static str,
    pub(crate) speaks_tls: bool,
    /// Whether its clients are asked for an access key, once the store has one.
    pub(crate) asks_for_keys: bool,
}

/// Why a listener may have its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Only those users of this machine reach it whom the permissions of its file let in.
    SocketFile,
    /// Only this machine reaches it.
    Loopback,
    /// It serves only clients with a certificate.
    Certificates,
    /// It serves only proxies.
    Proxies,
    /// It speaks TLS, and serves only clients with an access key.
    Keys,
    /// It was asked for.
    Insecure,
}

/// A listener may not have its address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Exposed {
    address: Endpoint,
    flag: &'static str,
    asks_for_keys: bool,
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, flag, asks_for_keys } = self;
        let keys = match asks_for_keys {
            true => "over TLS, where they need an access key (--tls-cert, --tls-key)",
            false => "with a certificate, as they can't send an access key (--tls-client-ca)",
        };
        write!(
            f,
            "{flag} {address} is not a loopback address: clients of other machines are served {keys}, or through proxies \
             whose networks you name (--behind-proxy CIDR). To serve any client that reaches the address, say --insecure"
        )
    }
}

impl Config {
    /// Refuses an address where clients of other machines would be served without a ground.
    ///
    /// # Errors
    /// The first such address.
    pub fn check_addresses(&self) -> Result<(), Exposed> {
        let taskstore = self.taskstore_listen.clone().map(|address| self.taskstore_door(address));
        let masstasker = self.masstasker_endpoint().map(|address| self.masstasker_door(address));
        let doors = [Some(self.http_door(self.listen.into())), taskstore, masstasker];
        doors.into_iter().flatten().try_for_each(|door| match self.ground(&door) {
            Some(_) => Ok(()),
            None => Err(Exposed { address: door.address, flag: door.flag, asks_for_keys: door.asks_for_keys }),
        })
    }

    /// Why a listener may have its address; `None` if it may not.
    pub(crate) fn ground(&self, door: &Door) -> Option<Ground> {
        let file = door.address.socket_file();
        let grounds = [
            (Ground::SocketFile, file.is_some_and(|file| !file.is_open_to_all())),
            (Ground::Loopback, file.is_some() || door.address.is_loopback()),
            (Ground::Certificates, door.speaks_tls && self.knows_clients()),
            (Ground::Proxies, !self.behind_proxy.is_empty()),
            (Ground::Keys, door.speaks_tls && door.asks_for_keys && !self.insecure),
            (Ground::Insecure, self.insecure),
        ];
        grounds.into_iter().find_map(|(ground, holds)| holds.then_some(ground))
    }

    /// The listener of the native API.
    pub(crate) const fn http_door(&self, address: Endpoint) -> Door {
        Door { address, flag: "--listen", speaks_tls: self.speaks_tls(), asks_for_keys: true }
    }

    /// That of TaskStore's clients.
    pub(crate) fn taskstore_door(&self, address: Endpoint) -> Door {
        self.front_door(address, "--taskstore-listen", self.speaks_tls())
    }

    /// That of MassTasker's clients.
    pub(crate) fn masstasker_door(&self, address: Endpoint) -> Door {
        self.front_door(address, "--masstasker-listen", self.masstasker_tls)
    }

    /// The clients of a front can't send a key, and have one only by their certificate.
    fn front_door(&self, address: Endpoint, flag: &'static str, speaks_tls: bool) -> Door {
        let speaks_tls = speaks_tls && address.socket_file().is_none();
        Door { address, flag, speaks_tls, asks_for_keys: speaks_tls && self.tls_client_keys }
    }

    const fn speaks_tls(&self) -> bool {
        !self.tls_cert.is_empty()
    }

    /// Whether only clients with a certificate are served.
    #[must_use]
    pub const fn knows_clients(&self) -> bool {
        !self.tls_client_ca.is_empty()
    }

    /// The files of the identity of all listeners, if they speak TLS.
    #[must_use]
    pub fn tls_files(&self) -> Option<TlsFiles> {
        self.speaks_tls().then(|| TlsFiles {
            certificate: self.tls_cert.clone().into(),
            key: self.tls_key.clone().into(),
            client_authorities: self.knows_clients().then(|| self.tls_client_ca.clone().into()),
        })
    }

    /// The header in which a trusted proxy names a person, if one does.
    ///
    /// # Errors
    /// What is wrong with the name, or with the networks.
    pub(crate) fn trusted_header(&self) -> Result<Option<HeaderName>, String> {
        let Self { trusted_header: name, trusted_from: networks, .. } = self;
        match (name.is_empty(), networks.is_empty()) {
            (true, true) => return Ok(None),
            (true, false) => {
                return Err(
                    "trusted_from needs trusted_header: the header in which the proxies name a person, such as \
                            --trusted-header X-Forwarded-User"
                        .to_owned(),
                );
            }
            (false, true) => {
                return Err(format!(
                    "trusted_header needs trusted_from: the addresses of the proxies that set {name}, such as \
                     --trusted-from 10.0.0.5; any other client could name whom it likes"
                ));
            }
            (false, false) => {}
        }
        if let Some(network) = networks.everywhere() {
            return Err(format!(
                "trusted_from {network} is every address, so any client could name whom it likes; name the proxies alone, such \
                 as --trusted-from 10.0.0.5"
            ));
        }
        let header: HeaderName = name.parse().map_err(|_| format!("trusted_header {name:?} is no name of a header"))?;
        if READ_HEADERS.contains(&header.as_str()) || header.as_str().starts_with(OWN_HEADERS) {
            return Err(format!(
                "trusted_header {name:?} has another meaning; proxies set X-Forwarded-User or Remote-User"
            ));
        }
        Ok(Some(header))
    }

    /// Whether MassTasker's clients may be served on every interface, if they only name a port.
    pub(crate) fn serves_masstasker_anywhere(&self) -> bool {
        self.ground(&self.masstasker_door(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into())).is_some()
    }

    /// Where to listen for MassTasker's clients.
    #[must_use]
    pub fn masstasker_endpoint(&self) -> Option<Endpoint> {
        self.masstasker_listen.as_ref().and_then(|address| address.endpoint(self.serves_masstasker_anywhere()))
    }

    /// Checks the settings of TLS and of addresses for themselves.
    pub(super) fn check_listening(&self) -> Result<(), String> {
        match [&self.tls_cert, &self.tls_key, &self.tls_client_ca].map(|file| file.is_empty()) {
            [true, true, true] | [false, false, _] => {}
            _ => return Err("tls_cert and tls_key belong together, and tls_client_ca needs both".to_owned()),
        }
        if self.tls_client_keys && !self.knows_clients() {
            return Err("tls_client_keys needs tls_client_ca: the authorities whose certificates name keys".to_owned());
        }
        if self.masstasker_tls && !self.speaks_tls() {
            return Err("masstasker_tls needs tls_cert and tls_key".to_owned());
        }
        self.trusted_header()?;
        if self.advertise_url.is_empty() {
            return Ok(());
        }
        check_url(&self.advertise_url).map_err(|rule| format!("advertise_url {:?} {rule}", self.advertise_url))
    }
}

/// Whether other managers can ask there.
fn check_url(text: &str) -> Result<(), &'static str> {
    let url: Uri = text.parse().map_err(|_| "is no URL; write http://HOST:PORT")?;
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err("must begin with http:// or https://");
    }
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    if host.is_empty() || host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified()) {
        return Err("names no host that can be reached");
    }
    if text.contains('#') {
        return Err("has a fragment, behind which no path can stand");
    }
    let mut named = url.query().into_iter().flat_map(|query| query.split('&')).map(|pair| pair.split_once('='));
    if !named.all(|pair| pair.is_some_and(|(name, file)| FILES.contains(&name) && !file.is_empty())) {
        return Err("may have ?ca=FILE, ?cert=FILE and ?key=FILE behind it, and nothing else");
    }
    if url.query().is_some() && url.scheme_str() != Some("https") {
        return Err("must begin with https:// to name files of TLS");
    }
    if text.len() > MAX_URL_BYTES { Err("is over 512 bytes") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config { masstasker_listen: "127.0.0.1:1".parse().ok(), ..Config::default() };
        change(&mut config);
        config
    }

    fn tls(config: &mut Config) {
        (config.tls_cert, config.tls_key) = ("a.pem".to_owned(), "a.key".to_owned());
    }

    #[test]
    fn other_machines_are_served_for_a_reason_or_because_it_was_asked_for() {
        let address: Endpoint = "0.0.0.0:8000".parse().unwrap();
        let at = |config: &Config, address: &Endpoint| {
            let address = || address.clone();
            [config.http_door(address()), config.taskstore_door(address()), config.masstasker_door(address())]
                .map(|door| config.ground(&door))
        };
        let grounds = |config: &Config| at(config, &address);
        let plain = with(|_| {});
        assert_eq!(grounds(&plain), [None, None, None]);
        assert_eq!(plain.ground(&plain.http_door("[::1]:1".parse().unwrap())), Some(Ground::Loopback));
        for (file, ground) in
            [("", Ground::SocketFile), ("?mode=0770", Ground::SocketFile), ("?mode=0666", Ground::Loopback)]
        {
            assert_eq!(at(&plain, &format!("unix:/x{file}").parse().unwrap()), [Some(ground); 3], "{file}");
        }
        assert_eq!(grounds(&with(tls)), [Some(Ground::Keys), None, None], "fronts ask for no key");
        let insecure = with(|config| config.insecure = true);
        assert_eq!(grounds(&insecure), [Some(Ground::Insecure); 3]);
        let known = with(|config| {
            tls(config);
            config.tls_client_ca = "ca.pem".to_owned();
        });
        assert_eq!(grounds(&known), [Some(Ground::Certificates), Some(Ground::Certificates), None]);
        let named = Config { tls_client_keys: true, masstasker_tls: true, ..known };
        let asked = |address: &str| {
            let address: Endpoint = address.parse().unwrap();
            [named.taskstore_door(address.clone()), named.masstasker_door(address)].map(|door| door.asks_for_keys)
        };
        assert_eq!((asked("0.0.0.0:1"), asked("127.0.0.1:1"), asked("unix:/x")), ([true; 2], [true; 2], [false; 2]));
        assert!(!Config { masstasker_tls: false, ..named.clone() }.masstasker_door(address.clone()).asks_for_keys);
        let behind = with(|config| config.behind_proxy = ["10.0.0.0/8".parse().unwrap()].into_iter().collect());
        assert_eq!(grounds(&behind), [Some(Ground::Proxies); 3]);
        for (config, flag) in [
            (with(|config| config.listen = "0.0.0.0:8000".parse().unwrap()), "--listen 0.0.0.0:8000"),
            (with(|config| config.taskstore_listen = Some(address.clone())), "--taskstore-listen 0.0.0.0:8000"),
            (with(|config| config.masstasker_listen = "0.0.0.0:8000".parse().ok()), "--masstasker-listen 0.0.0.0:8000"),
        ] {
            let refused = config.check_addresses().unwrap_err().to_string();
            assert!(refused.starts_with(flag) && refused.contains("--behind-proxy"), "{refused}");
            assert!(Config { insecure: true, ..config }.check_addresses().is_ok());
        }
    }

    #[test]
    fn a_header_is_trusted_only_from_proxies_that_are_named() {
        let of = |name: &str, networks: &[&str]| {
            let trusted_from = networks.iter().map(|text| text.parse().unwrap()).collect();
            with(|config| (config.trusted_header, config.trusted_from) = (name.to_owned(), trusted_from))
        };
        assert_eq!(of("", &[]).trusted_header(), Ok(None));
        let remote_user = HeaderName::from_static("remote-user");
        assert_eq!(of("Remote-User", &["10.0.0.5", "::1"]).trusted_header(), Ok(Some(remote_user)));
        for (name, networks, words) in [
            ("X-User", &[][..], "--trusted-from 10.0.0.5"),
            ("", &["10.0.0.5"], "--trusted-header X-Forwarded-User"),
            ("X-User", &["10.0.0.5", "0.0.0.0/0"], "trusted_from 0.0.0.0/0 is every address"),
            ("X-User", &["::/0"], "trusted_from ::/0 is every address"),
            ("X User", &["10.0.0.5"], "is no name of a header"),
            ("Authorization", &["10.0.0.5"], "has another meaning"),
            ("X-Forwarded-For", &["10.0.0.5"], "has another meaning"),
            ("Jobbers-Passed-On", &["10.0.0.5"], "has another meaning"),
        ] {
            let refused = of(name, networks).check_listening().unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn certificates_name_keys_only_where_they_are_asked_for() {
        let refused = with(|config| config.tls_client_keys = true).check_listening().unwrap_err();
        assert!(refused.contains("tls_client_keys needs tls_client_ca"), "{refused}");
        let known = with(|config| {
            tls(config);
            (config.tls_client_ca, config.tls_client_keys) = ("ca.pem".to_owned(), true);
        });
        assert_eq!(known.check_listening(), Ok(()));
    }

    #[test]
    fn an_address_that_leads_nowhere_is_not_advertised() {
        let long = format!("http://{}", "x".repeat(600));
        for fine in [
            "http://10.0.0.1:8000",
            "https://jobs.example.org/manager/",
            "http://[::1]:8000",
            "https://jobs.example.org:8000?ca=/etc/ca.pem&cert=/etc/m.pem&key=/etc/m.key",
        ] {
            assert_eq!(check_url(fine), Ok(()), "{fine}");
        }
        for bad in [
            "jobs:8000",
            "ftp://jobs",
            "http://",
            "http://0.0.0.0:8000",
            "http://a#b",
            "http://a?ca=b",
            "https://a?b",
            "https://a?ca",
            "https://a?ca=",
            "https://a?x=y",
            &long,
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
            let refused = with(|config| config.advertise_url = bad.to_owned()).check_listening().unwrap_err();
            assert!(refused.contains("advertise_url"), "{refused}");
        }
    }
}
