//! The kind of a server in its own words: whether it is a single one, a node of a Cluster or a Sentinel, and whether it is a primary.
//!
//! `HELLO` needs no permission, so every login can ask.

use std::collections::HashMap;

use jobbers_common::engine::{Error, Result};
use redis::{Client, RedisConnectionInfo, RedisResult, Value, aio::MultiplexedConnection};

use super::node::{ASK_WITHIN, connect, try_out};

/// The answer to `HELLO`. A proxy may leave both out.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    mode: String,
    role: String,
}

/// What an address expects of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `redis://` leads to it.
    Single,
    /// A node of a Cluster.
    Cluster,
    /// A Sentinel.
    Sentinel,
}

impl Greeting {
    /// Whether it is a replica.
    pub(crate) fn is_replica(&self) -> bool {
        self.role == "replica"
    }

    fn mode(&self) -> Option<Mode> {
        match self.mode.as_str() {
            "standalone" => Some(Mode::Single),
            "cluster" => Some(Mode::Cluster),
            "sentinel" => Some(Mode::Sentinel),
            _ => None,
        }
    }

    /// Refuses a server of another kind than the address says, with the address to write.
    ///
    /// # Errors
    /// [`Error::Config`] if it is of another kind.
    pub(crate) fn expect(&self, expected: Mode, client: &Client) -> Result<()> {
        match self.mode() {
            Some(mode) if mode != expected => Err(Error::Config(address_to_write(mode, client, "NAME"))),
            _ => Ok(()),
        }
    }
}

/// Asks a server what it is.
///
/// # Errors
/// If it does not answer.
pub(crate) async fn greet(connection: &mut MultiplexedConnection) -> RedisResult<Greeting> {
    let answer: RedisResult<HashMap<String, Value>> = redis::cmd("HELLO").query_async(connection).await;
    match answer {
        Ok(fields) => {
            let text = |name: &str| fields.get(name).and_then(|value| redis::from_redis_value_ref(value).ok());
            Ok(Greeting { mode: text("mode").unwrap_or_default(), role: text("role").unwrap_or_default() })
        }
        Err(error) if error.is_io_error() => Err(error),
        Err(_) => Ok(Greeting::default()),
    }
}

/// Connects to the server that an address names, and refuses a Sentinel and a node of a Cluster.
///
/// # Errors
/// If it can't be reached, or is one of these.
pub(crate) async fn expect_single_server(client: &Client) -> Result<()> {
    let reached = try_out(client).await;
    if let Err(error @ Error::Unavailable { .. }) = reached {
        return Err(error);
    }
    // A Sentinel has no login of the store's and no databases, and a Cluster one database: they may refuse the connection.
    let settings = client.get_connection_info().redis_settings().clone().set_db(0);
    let anonymous = RedisConnectionInfo::default().set_protocol(settings.protocol());
    for settings in [settings, anonymous] {
        let info = client.get_connection_info().clone().set_redis_settings(settings);
        let Ok(stripped) = Client::open(info) else { break };
        let Ok(mut connection) = connect(&stripped, ASK_WITHIN, ASK_WITHIN).await else { continue };
        let greeting = greet(&mut connection).await.unwrap_or_default();
        match greeting.mode() {
            Some(Mode::Sentinel) => {
                return Err(Error::Config(address_to_write(Mode::Sentinel, client, &name_of(&mut connection).await)));
            }
            Some(_) => {
                greeting.expect(Mode::Single, client)?;
                break;
            }
            None => {}
        }
    }
    reached
}

/// The name of the primary that a Sentinel watches, if it watches one.
async fn name_of(connection: &mut MultiplexedConnection) -> String {
    let answer: RedisResult<Vec<HashMap<String, String>>> =
        redis::cmd("SENTINEL").arg("MASTERS").query_async(connection).await;
    let mut names = answer.unwrap_or_default().into_iter().filter_map(|mut it| it.remove("name"));
    match (names.next(), names.next()) {
        (Some(name), None) => name,
        _ => "NAME".to_owned(),
    }
}

/// The error for an address that names a server of this kind as another.
fn address_to_write(mode: Mode, client: &Client, name: &str) -> String {
    let place = client.get_connection_info().addr();
    let scheme = if matches!(place, redis::ConnectionAddr::TcpTls { .. }) { "rediss" } else { "redis" };
    match mode {
        Mode::Single => format!("{place} is a single Redis server: write {scheme}://{place}"),
        Mode::Cluster => {
            format!(
                "{place} is a node of a Redis Cluster: write {scheme}+cluster://{place}, with more nodes after a comma"
            )
        }
        Mode::Sentinel => format!(
            "{place} is a Sentinel: write {scheme}+sentinel://{place}/{name}, with the other Sentinels after a comma, \
             and NAME as they call the primary"
        ),
    }
}
