//! Reads the address of a store, and sets how its connections are kept alive.

mod hosts;

use std::time::Duration;

use jobbers_common::engine::{Error, Result};
use percent_encoding::percent_decode_str;
use redis::{
    Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};

use self::hosts::{Hosts, Kind};
use super::{
    durability::Durability,
    primary::{
        Directory,
        cluster::Cluster,
        node::{ANSWER_WITHIN, client_at, place_at},
        sentinels::Sentinels,
    },
    tls::TlsFiles,
};
use crate::redis::kernel::keys::{DEFAULT_PREFIX, schema, shard};

/// Parameters that the `redis` crate reads itself for sockets, whose path has no room for them.
const PASSED_ON: [&str; 3] = ["db", "user", "pass"];
const MAX_PREFIX_BYTES: usize = 64;
/// The interval of keep-alive probes on an idle connection, before the first and between further ones.
const PROBE_EVERY: Duration = Duration::from_secs(5);
const PROBE_AGAIN: Duration = Duration::from_secs(1);

/// Where a store is.
pub(crate) struct Address {
    /// Leads to the server, or to the first of several hosts.
    pub(crate) client: Client,
    pub(crate) directory: Directory,
    /// What it promises.
    pub(crate) durability: Durability,
    /// The prefix of its keys.
    pub(crate) prefix: String,
}

impl Address {
    /// Reads `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, the same with `rediss://` for TLS, or `redis+unix:///SOCKET`,
    /// each with `?prefix=NAME`. With TLS, `ca=FILE` names the authorities to trust instead of the system's, and
    /// `cert=FILE&key=FILE` the client's certificate. `durability=` promises what survives ([`Durability::parse`]).
    ///
    /// `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/NAME[/DB]` asks Sentinels where the primary NAME is, with
    /// `sentinel_user=USER&sentinel_password=PASSWORD` if they want a login. `redis+cluster://[USER:PASSWORD@]HOST[:PORT],…`
    /// asks the nodes of a Cluster. Both take the parameters above, and TLS with `rediss+sentinel` and `rediss+cluster`.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let several = Hosts::read(place)?;
        let is_tls = several.as_ref().map_or_else(|| url.starts_with("rediss:"), |hosts| hosts.scheme == "rediss");
        let mut sentinel_login = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3);
        let has_sentinels = several.as_ref().is_some_and(|hosts| hosts.kind != Kind::Cluster);
        let mut durability = Durability::default();
        let mut prefix = DEFAULT_PREFIX.to_owned();
        let mut passed_on = Vec::new();
        let mut files = TlsFiles::default();
        if parameters.contains('@') && (!is_tls || !names_host(place)) {
            return Err(unescaped_login());
        }
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("prefix", name)) => prefix = checked_prefix(name)?,
                Some(("durability", promise)) => durability = Durability::parse(promise)?,
                Some((name, _)) if !is_tls && several.is_none() && PASSED_ON.contains(&name) => {
                    passed_on.push(parameter);
                }
                Some((name @ ("sentinel_user" | "sentinel_password"), value)) if has_sentinels => {
                    sentinel_login = with_login(sentinel_login, name, value);
                }
                Some((name, path)) if is_tls && files.take(name, path)? => {}
                _ => return Err(unknown_parameter(parameter, is_tls, has_sentinels)),
            }
        }
        let place = match &several {
            Some(hosts) => format!("{}://{}{}/{}", hosts.scheme, hosts.login, hosts.hosts[0], hosts.database),
            None if passed_on.is_empty() => place.to_owned(),
            None => format!("{place}?{}", passed_on.join("&")),
        };
        let certificates = is_tls.then(|| files.certificates()).transpose()?;
        let client = connection_info(&place).and_then(|info| match certificates {
            Some(certificates) => Client::build_with_tls(info, certificates),
            None => Client::open(info),
        });
        let client = client.map_err(|error| senseless(&error))?;
        let directory =
            several.map_or(Ok(Directory::Server), |hosts| directory(hosts, &client, &sentinel_login, &prefix))?;
        Ok(Self { client, directory, durability, prefix })
    }

    /// The address without login: scheme, host and port or socket, database, and the prefix of the keys.
    pub(crate) fn shown(&self) -> String {
        let info = self.client.get_connection_info();
        let (place, database) = (info.addr(), info.redis_settings().db());
        let prefix = match self.prefix.as_str() {
            DEFAULT_PREFIX => String::new(),
            prefix => format!("?prefix={prefix}"),
        };
        let scheme = if matches!(place, ConnectionAddr::TcpTls { .. }) { "rediss" } else { "redis" };
        match &self.directory {
            Directory::Sentinels(sentinels) => {
                let (places, name) = (sentinels.places().join(","), sentinels.name());
                return format!("{scheme}+sentinel://{places}/{name}/{database}{prefix}");
            }
            Directory::Cluster(cluster) => return format!("{scheme}+cluster://{}{prefix}", cluster.places().join(",")),
            Directory::Server => {}
        }
        match place {
            ConnectionAddr::Unix(path) => {
                format!("redis+unix://{}?db={database}{}", path.display(), prefix.replace('?', "&"))
            }
            _ => format!("{scheme}://{place}/{database}{prefix}"),
        }
    }
}

/// The clients for all hosts of an address. `client` leads to the first of them.
fn directory(hosts: Hosts, client: &Client, sentinel_login: &RedisConnectionInfo, prefix: &str) -> Result<Directory> {
    let at = |host: &String| {
        let info = format!("{}://{host}", hosts.scheme).into_connection_info().map_err(|error| senseless(&error))?;
        let (host, port) = place_at(info.addr());
        client_at(client, &host, port)
    };
    let clients: Vec<Client> = hosts.hosts.iter().map(at).collect::<Result<_>>()?;
    let Kind::Sentinels(name) = hosts.kind else {
        return Ok(Directory::Cluster(Cluster::new(clients, schema(&shard(prefix)))));
    };
    let with_own_login = |client: Client| {
        let info = client.get_connection_info().clone().set_redis_settings(sentinel_login.clone());
        Client::open(info).map_err(|error| senseless(&error))
    };
    let sentinels = clients.into_iter().map(with_own_login).collect::<Result<_>>()?;
    Ok(Directory::Sentinels(Box::new(Sentinels::new(sentinels, name, client.clone()))))
}

/// A login of the Sentinels' own, with one of its two parameters.
fn with_login(login: RedisConnectionInfo, name: &str, value: &str) -> RedisConnectionInfo {
    let value = percent_decode_str(value).decode_utf8_lossy();
    if name == "sentinel_user" { login.set_username(value) } else { login.set_password(value) }
}

/// The error for an address that can't be read. It does not contain the address, which may contain a password.
fn senseless(error: &redis::RedisError) -> Error {
    Error::Config(format!("the address of the Redis server makes no sense: {error}"))
}

fn connection_info(place: &str) -> redis::RedisResult<ConnectionInfo> {
    if place.contains('#') {
        let why = "it ends in a fragment (#…), which means nothing here; certificates are always checked";
        return Err((ErrorKind::InvalidClientConfig, why).into());
    }
    let info = place.into_connection_info()?;
    // Push messages arrive between answers only in RESP3.
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings).set_tcp_settings(tcp_settings()))
}

/// Small writes do not wait for each other's acknowledgement. A connection whose other end vanished breaks within
/// [`ANSWER_WITHIN`] of a write, or of a probe while nothing is written. By default a system keeps it for a quarter of
/// an hour, and for ever if it only listens.
fn tcp_settings() -> TcpSettings {
    let probes = TcpKeepalive::new().with_time(PROBE_EVERY).with_interval(PROBE_AGAIN);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(probes);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let settings = settings.set_user_timeout(ANSWER_WITHIN);
    settings
}

/// Only its name, because what follows a `?` may be the rest of a password.
fn unknown_parameter(parameter: &str, is_tls: bool, has_sentinels: bool) -> Error {
    if parameter.contains('@') {
        return unescaped_login();
    }
    let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
    let is_name =
        name.len() <= MAX_PREFIX_BYTES && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let shown = if is_name && parameter.contains('=') { format!("{name}=") } else { "what follows the ?".to_owned() };
    let files = if is_tls { ", ca=FILE, cert=FILE, key=FILE" } else { "" };
    let login = if has_sentinels { ", sentinel_user=USER, sentinel_password=PASSWORD" } else { "" };
    Error::Config(format!(
        "{shown} is no parameter of this Redis URL: it takes prefix=NAME, durability=…{files}{login}"
    ))
}

/// Whether an address without its parameters has a login, or a port and not the beginning of a password.
fn names_host(place: &str) -> bool {
    let authority = place.split_once("://").map_or(place, |(_, rest)| rest);
    let is_port = |(_, port): (&str, &str)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    authority.contains('@') || authority.rsplit_once(':').is_none_or(is_port)
}

fn unescaped_login() -> Error {
    let why = "the Redis URL has a ? before its last @. In a user name or a password, percent-encode it: %3F for ?, %40 for @, \
               %2F for /, %23 for #, %25 for %";
    Error::Config(why.to_owned())
}

/// Checks that a prefix does not contain a hash tag.
fn checked_prefix(name: &str) -> Result<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':');
    if name.is_empty() || name.len() > MAX_PREFIX_BYTES || !name.bytes().all(legal) {
        return Err(Error::Config(format!("the prefix {name:?} must be 1 to 64 characters of A-Z a-z 0-9 . _ : -")));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_address_is_shown_without_login() {
        for (url, shown) in [
            ("redis://user:secret@host.example/3?prefix=team-a", "redis://host.example:6379/3?prefix=team-a"),
            ("redis://localhost:7000", "redis://localhost:7000/0"),
            ("rediss://user:secret@redis.example:6380/1", "rediss://redis.example:6380/1"),
            ("redis+unix:///run/redis.sock?db=2&pass=secret&prefix=x", "redis+unix:///run/redis.sock?db=2&prefix=x"),
            (
                "redis+sentinel://user:secret@one,two:7000/main/2?sentinel_password=s%40cret&prefix=x",
                "redis+sentinel://one:26379,two:7000/main/2?prefix=x",
            ),
            ("rediss+cluster://user:secret@one,two:7000", "rediss+cluster://one:6379,two:7000"),
        ] {
            assert_eq!(Address::parse(url).map(|address| address.shown()), Ok(shown.to_owned()));
        }
    }

    use super::*;

    #[test]
    fn addresses_are_read() {
        for (url, prefix) in [
            ("redis://localhost", "jobbers"),
            ("redis://user:secret@[::1]:7000/3?prefix=team-a", "team-a"),
            ("rediss://user:secret@redis.example:6380/3?prefix=team-a", "team-a"),
            ("redis+unix:///run/redis.sock?db=2&prefix=x", "x"),
        ] {
            assert_eq!(Address::parse(url).map(|address| address.prefix), Ok(prefix.to_owned()), "{url}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_telling_the_password() {
        for url in [
            "redis://user:secret@localhost/first",
            "redis://user:secret@localhost?prefix=",
            "redis://user:secret@localhost?prefix={a}",
            "redis://user:secret@localhost?prefx=a",
            "redis://",
            "rediss://user:secret@localhost#insecure",
            "rediss://user:secret@localhost?ca=/nowhere/ca.pem",
            "rediss://user:secret@localhost?db=2",
            "redis://user:secret@localhost?ca=/dev/null",
            "redis://user:secret@localhost?sentinel_password=secret",
            "redis+cluster://user:secret@localhost?sentinel_password=secret",
            "redis+cluster://user:secret@localhost/1",
            "redis+cluster://user:secret@localhost?db=1",
            "redis+sentinel://user:secret@localhost/name/first",
            "redis+sentinel://user:secret@localhost",
            "redis+sentinel://user:secret@local host/name",
        ] {
            let Err(Error::Config(message)) = Address::parse(url).map(|address| address.prefix) else {
                panic!("{url} should be refused");
            };
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn no_part_of_a_password_is_printed_wherever_it_has_a_question_mark() {
        for password in
            ["?secret", "se?cret", "top?secret=1", "a?prefix=secret", "a?pass=secret", "a?b&secret", "a?ca=secret"]
        {
            for scheme in ["redis", "rediss"] {
                let url = format!("{scheme}://user:{password}@localhost:6379/0");
                let Err(Error::Config(message)) = Address::parse(&url).map(|address| address.prefix) else {
                    panic!("{url} should be refused");
                };
                assert!(!message.contains("secret") && !message.contains("cret"), "{url}: {message}");
            }
        }
        let Err(Error::Config(message)) = Address::parse("redis://:se?cret@localhost").map(|address| address.prefix)
        else {
            panic!("it should be refused");
        };
        assert!(message.contains("%3F"), "{message}");
        assert!(Address::parse("redis://:se%3Fcret@localhost").is_ok());
    }
}
