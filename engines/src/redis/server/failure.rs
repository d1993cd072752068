//! Translates errors of the server and of the connection for the caller.

use std::{error::Error as _, io, sync::Arc, time::Duration};

use jobbers_common::engine::Error;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The caller's error for an error of the server or of the connection.
pub(crate) fn translate(error: &RedisError) -> Error {
    let detail = error.detail().unwrap_or_default();
    match error.code().unwrap_or_default() {
        "OOM" => Error::Full("Redis has reached its maxmemory: settle or prune tasks, or give it more".to_owned()),
        "READONLY" => Error::ReadOnly("the Redis server is a read-only replica: name the primary".to_owned()),
        "MISCONF" if detail.contains("No space left") => {
            Error::Full(format!("Redis can't write to its disk and takes nothing in: {detail}"))
        }
        "MISCONF" => Error::unavailable(format!("Redis can't write to its disk and takes nothing in: {detail}")),
        "LOADING" => Error::unavailable("Redis is loading its data"),
        "BUSY" => Error::unavailable("Redis is busy with a script"),
        code @ ("CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" | "NOREPLICAS") => {
            Error::unavailable(format!("Redis says {code}: {detail}"))
        }
        code @ ("NOAUTH" | "WRONGPASS" | "NOPERM") => {
            Error::Config(format!("Redis refuses the login: {code} {detail}"))
        }
        "MOVED" | "ASK" | "CROSSSLOT" => Error::Config(
            "this is a node of a Redis Cluster: write redis+cluster://HOST:PORT, with more nodes after a comma"
                .to_owned(),
        ),
        "ERR" if detail.starts_with("DB index") || detail.starts_with("SELECT is not allowed") => {
            Error::Config(format!("the database does not exist on the Redis server: {detail}"))
        }
        "ERR" if detail.starts_with("unknown command") => {
            Error::Config(format!("Redis 7.0 or newer is needed, with all of its commands: {detail}"))
        }
        "WRONGTYPE" => Error::Corrupt(format!("a key is of another type: {detail}")),
        _ => match error.kind() {
            ErrorKind::AuthenticationFailed => Error::Config(format!("Redis refuses the login: {error}")),
            ErrorKind::Client => Error::unavailable(error.detail().map_or_else(|| error.to_string(), str::to_owned)),
            ErrorKind::InvalidClientConfig => Error::Config(error.to_string()),
            ErrorKind::RESP3NotSupported => Error::Config("Redis 7.0 or newer is needed".to_owned()),
            // A script met a key of another type or a string of another shape.
            ErrorKind::Server(ServerErrorKind::ResponseError) => Error::Corrupt(error.to_string()),
            _ => match mistrust(error) {
                Some(mistrust) => Error::Config(format!("no TLS with the Redis server: {mistrust}")),
                None => Error::unavailable(error.to_string()),
            },
        },
    }
}

/// Why one side of a TLS connection does not accept the other's certificate.
fn mistrust(error: &RedisError) -> Option<&rustls::Error> {
    type Shared = Arc<dyn std::error::Error + Send + Sync>;
    let cause: &io::Error = error.source()?.downcast_ref::<Shared>()?.downcast_ref()?;
    let cause = cause.get_ref()?.downcast_ref()?;
    matches!(cause, rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_)).then_some(cause)
}

/// Whether the connection or the server is only away for a moment, so that the same call is worth repeating.
pub(crate) fn is_passing(error: &RedisError) -> bool {
    let server = matches!(
        error.code().unwrap_or_default(),
        "LOADING" | "BUSY" | "CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" | "NOREPLICAS"
    );
    server || is_demoted(error) || error.is_io_error() || error.is_connection_dropped() || error.is_connection_refusal()
}

/// Whether the server has become a replica. A connection to it stays so; a new one may lead to the new primary.
pub(crate) fn is_demoted(error: &RedisError) -> bool {
    error.code() == Some("READONLY")
}

/// Whether a node of a Cluster answered that another node has the slot, or is about to have it.
pub(crate) fn is_redirection(error: &RedisError) -> bool {
    matches!(error.code(), Some("MOVED" | "ASK"))
}

/// Host and port of the node that has the slot now. The host is empty where the node does not know its name.
pub(crate) fn moved_to(error: &RedisError) -> Option<(&str, u16)> {
    let (place, _slot) = error.redirect_node().filter(|_| error.code() == Some("MOVED"))?;
    let (host, port) = place.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// Whether the server only has to finish something: another server would not answer the call sooner.
pub(crate) fn is_busy(error: &RedisError) -> bool {
    matches!(error.code(), Some("BUSY" | "ASK" | "TRYAGAIN" | "NOREPLICAS"))
}

/// The error of a call while the slot of the store moves to another node.
pub(crate) fn moving(error: &RedisError) -> Error {
    Error::unavailable(format!("the Redis Cluster is moving this store to another node: {error}"))
}

/// The error of a call without an answer.
pub(crate) fn silent(waited: Duration) -> Error {
    Error::unavailable(format!("Redis did not answer within {waited:?}"))
}

/// The error of an answer whose shape is not the script's.
pub(crate) fn malformed(what: &str) -> Error {
    Error::Corrupt(format!("an answer of Redis has an unexpected shape: {what}"))
}
