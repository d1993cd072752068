//! [`Access`] of the model: keys and sessions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    engine::{Access, PutMode, Result},
    name::KeyId,
    queue::Config,
};

use crate::model::ModelEngine;

#[async_trait]
impl Access for ModelEngine {
    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_key(key, &mode))
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        self.step(|state, _| state.delete_key(key))
    }

    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
        self.step(|state, now| state.put_session(id, session, now.after(ttl), now));
        Ok(())
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        Ok(self.step(|state, now| state.session(id, now)))
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        self.step(|state, _| state.sessions.remove(&id.to_string()));
        Ok(())
    }
}
