//! Sessions of people who have signed in at the pages.

use std::time::Duration;

use jobbers_common::{
    access::{Digest, Session},
    engine::{Error, Result},
    limits::MAX_SESSIONS,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{reply::text, script, values::micros},
    server::store::Store,
};

/// Stores a session.
pub(crate) async fn put(store: &Store, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
    let text = serde_json::to_string(session).map_err(|error| Error::Corrupt(error.to_string()))?;
    let add = |command: &mut Cmd| {
        command.arg(id.to_string()).arg(micros(ttl)).arg(&text).arg(MAX_SESSIONS);
    };
    store.run(&store.leases, &script::PUT_SESSION, add).await.map(drop)
}

/// A session that has not ended.
pub(crate) async fn read(store: &Store, id: &Digest) -> Result<Option<Session>> {
    let add = |command: &mut Cmd| {
        command.arg(id.to_string());
    };
    match store.run(&store.leases, &script::SESSION, add).await? {
        Value::Nil => Ok(None),
        found => serde_json::from_str(&text(found)?).map(Some).map_err(|error| Error::Corrupt(error.to_string())),
    }
}

/// Ends a session.
pub(crate) async fn end(store: &Store, id: &Digest) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(id.to_string());
    };
    store.run(&store.leases, &script::END_SESSION, add).await.map(drop)
}
