//! [`Access`] of the Redis store: keys and sessions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    engine::{Access, PutMode, Result},
    name::KeyId,
    queue::Config,
};

use crate::redis::{RedisEngine, verbs};

#[async_trait]
impl Access for RedisEngine {
    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        verbs::settings::put_key(&self.store, &key, &mode).await
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        verbs::settings::delete_key(&self.store, key).await
    }

    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
        verbs::session::put(&self.store, id, session, ttl).await
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        verbs::session::read(&self.store, id).await
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        verbs::session::end(&self.store, id).await
    }
}
