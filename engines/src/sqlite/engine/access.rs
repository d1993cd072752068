//! [`Access`] of the SQLite store: keys and sessions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    engine::{Access, PutMode, Result},
    name::KeyId,
    queue::Config,
};

use crate::sqlite::{
    SqliteEngine,
    verbs::{session, settings},
};

#[async_trait]
impl Access for SqliteEngine {
    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| settings::put_key(step, &key, &mode)).await
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        let key = key.clone();
        self.writer.run(1, move |step| settings::delete_key(step, &key)).await
    }

    async fn put_session(&self, id: &Digest, kept: &Session, ttl: Duration) -> Result<()> {
        let (id, kept) = (*id, kept.clone());
        self.writer.run(1, move |step| session::put(step, &id, &kept, ttl)).await
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        let id = *id;
        self.read(move |view| session::read(view, &id)).await
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        let id = *id;
        self.writer.run(1, move |step| session::end(step, &id)).await
    }
}
