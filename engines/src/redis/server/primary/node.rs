//! One server that can be asked: a Sentinel, a node of a Cluster, or a primary that is tried out.

use std::time::Duration;

use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue, RedisResult, aio::MultiplexedConnection,
};

use crate::redis::server::failure::translate;

/// How long an answer may take. Far above what a bounded script takes, below a worker's lease.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a server may take to accept a connection.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_millis(2_500);
/// The same where others can be asked, and for their answers. A primary that takes longer is tried again.
pub(crate) const ASK_WITHIN: Duration = Duration::from_secs(1);

/// A server, and the connection to it that is kept between questions.
pub(crate) struct ServerNode {
    pub(crate) client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl std::fmt::Debug for ServerNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("place", &self.name()).finish_non_exhaustive()
    }
}

impl ServerNode {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, connection: Mutex::default() }
    }

    /// `HOST:PORT`.
    pub(crate) fn name(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// Sends a question.
    pub(crate) async fn ask<T: FromRedisValue>(&self, question: &Cmd) -> RedisResult<T> {
        let mut connection = self.connect().await?;
        let answer = question.query_async(&mut connection).await;
        if answer.as_ref().is_err_and(|error| error.is_unrecoverable_error() || error.is_timeout()) {
            *self.connection.lock() = None;
        }
        answer
    }

    /// The kept connection, or a new one.
    pub(crate) async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let kept = self.connection.lock().clone();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let new = connect(&self.client, ASK_WITHIN, ASK_WITHIN).await?;
        *self.connection.lock() = Some(new.clone());
        Ok(new)
    }
}

/// Connects once.
pub(crate) async fn connect(
    client: &Client,
    connect_within: Duration,
    answer_within: Duration,
) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(connect_within))
        .set_response_timeout(Some(answer_within));
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Connects once, to learn why connecting fails: a lane retries without giving a reason.
pub(crate) async fn try_out(client: &Client) -> Result<()> {
    connect(client, CONNECT_WITHIN, ANSWER_WITHIN).await.map(drop).map_err(|error| {
        if error.is_timeout() && matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. }) {
            return Error::unavailable(format!(
                "no TLS with the Redis server within {CONNECT_WITHIN:?}: is this its port for TLS?"
            ));
        }
        translate(&error)
    })
}

/// Host and port of a server; a path and 0 for a socket.
pub(crate) fn place_of(client: &Client) -> (String, u16) {
    place_at(client.get_connection_info().addr())
}

/// Host and port of an address; a path and 0 for a socket.
pub(crate) fn place_at(address: &ConnectionAddr) -> (String, u16) {
    match address {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port),
        other => (other.to_string(), 0),
    }
}

/// A client for another server, with the same login, database and certificates.
///
/// # Errors
/// If the host can't be one.
pub(crate) fn client_at(like: &Client, host: &str, port: u16) -> Result<Client> {
    let info = like.get_connection_info();
    let place = match info.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host.to_owned(), port),
    };
    Client::open(info.clone().set_addr(place)).map_err(|error| translate(&error))
}
