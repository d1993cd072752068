//! Takes an address with several hosts apart: of Sentinels, or of nodes of a Cluster.

use jobbers_common::engine::{Error, Result};

/// The port of a Sentinel where the address has none.
const SENTINEL_PORT: u16 = 26_379;
/// The port of a node of a Cluster where the address has none.
const CLUSTER_PORT: u16 = 6_379;

/// Who knows where the primary is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sentinels, which call the primary by this name.
    Sentinels(String),
    /// Nodes of a Cluster.
    Cluster,
}

/// An address with several hosts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hosts {
    pub(super) kind: Kind,
    /// `redis`, or `rediss` for TLS.
    pub(super) scheme: &'static str,
    /// `USER:PASSWORD@`, or nothing.
    pub(super) login: String,
    /// Each as `HOST:PORT`; at least one.
    pub(super) hosts: Vec<String>,
    pub(super) database: String,
}

impl Hosts {
    /// Reads `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/NAME[/DB]` or `redis+cluster://[USER:PASSWORD@]HOST[:PORT],…`,
    /// both without parameters, and both also with `rediss`; `None` for an address of one server.
    ///
    /// # Errors
    /// If a host or the name of the primary is missing, or a Cluster is to have more than one database.
    pub(super) fn read(place: &str) -> Result<Option<Self>> {
        let Some((scheme, rest)) = place.split_once("://") else { return Ok(None) };
        let (scheme, is_cluster) = match scheme {
            "redis+sentinel" => ("redis", false),
            "rediss+sentinel" => ("rediss", false),
            "redis+cluster" => ("redis", true),
            "rediss+cluster" => ("rediss", true),
            _ => return Ok(None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (format!("{login}@"), hosts),
            None => (String::new(), authority),
        };
        let port = if is_cluster { CLUSTER_PORT } else { SENTINEL_PORT };
        let hosts: Vec<String> =
            hosts.split(',').map(|host| with_port(host, port)).collect::<Option<_>>().ok_or_else(|| {
                Error::Config(
                    "the address of the store lacks a host before or after a comma: write HOST:PORT,HOST:PORT"
                        .to_owned(),
                )
            })?;
        let (kind, database) = if is_cluster { (Kind::Cluster, only_database(path)?) } else { primary_of(path)? };
        Ok(Some(Self { kind, scheme, login, hosts, database }))
    }
}

fn with_port(host: &str, port: u16) -> Option<String> {
    let after_brackets = host.rsplit(']').next().unwrap_or(host);
    match (host.is_empty() || host.starts_with(':'), after_brackets.contains(':')) {
        (true, _) => None,
        (false, true) => Some(host.to_owned()),
        (false, false) => Some(format!("{host}:{port}")),
    }
}

/// The database of a Cluster.
fn only_database(path: &str) -> Result<String> {
    if matches!(path, "" | "0") {
        return Ok("0".to_owned());
    }
    let why = "a Redis Cluster has one database: leave out what follows the hosts, and keep several stores apart with \
               ?prefix=NAME";
    Err(Error::Config(why.to_owned()))
}

/// The name of the primary among its Sentinels, and its database.
fn primary_of(path: &str) -> Result<(Kind, String)> {
    let (name, database) = path.split_once('/').unwrap_or((path, "0"));
    // What Sentinels accept as a name.
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if !is_name {
        let why = "the address needs the name that the Sentinels give the primary: write redis+sentinel://HOST,HOST/NAME, \
                   with /DB after it for a database other than 0";
        return Err(Error::Config(why.to_owned()));
    }
    let database = if database.is_empty() { "0" } else { database };
    Ok((Kind::Sentinels(name.to_owned()), database.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        let read = |place: &str| Hosts::read(place).unwrap().unwrap();
        let found = read("rediss+sentinel://me:a,b@c@one,two:7000,[::1],[::1]:7/my-name/3");
        assert_eq!(found.kind, Kind::Sentinels("my-name".to_owned()));
        assert_eq!((found.scheme, found.login.as_str(), found.database.as_str()), ("rediss", "me:a,b@c@", "3"));
        assert_eq!(found.hosts, ["one:26379", "two:7000", "[::1]:26379", "[::1]:7"]);
        for place in ["redis+cluster://one,two:7000", "redis+cluster://one,two:7000/", "redis+cluster://one,two:7000/0"]
        {
            let found = read(place);
            assert_eq!((found.kind, found.database.as_str()), (Kind::Cluster, "0"));
            assert_eq!(found.hosts, ["one:6379", "two:7000"]);
        }
        assert_eq!(Hosts::read("redis://one,two/0"), Ok(None));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (place, word) in [
            ("redis+sentinel://", "host"),
            ("redis+sentinel://one,,two/name", "host"),
            ("redis+sentinel://one,:26379/name", "host"),
            ("redis+sentinel://one", "name"),
            ("redis+sentinel://one/", "name"),
            ("redis+sentinel://one/my name", "name"),
            ("redis+cluster://one/1", "database"),
        ] {
            let Err(Error::Config(message)) = Hosts::read(place) else { panic!("{place} should be refused") };
            assert!(message.contains(word), "{place}: {message}");
        }
    }
}
