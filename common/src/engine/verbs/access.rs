//! Who may call: keys, and the sessions of people at the pages.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    access::{AccessKey, Digest, Session},
    engine::{PutMode, Result},
    name::KeyId,
    queue::Config,
};

/// Keys and sessions.
#[async_trait]
pub trait Access: Send + Sync {
    /// Creates or replaces an access key.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::engine::Error::Exists), [`Error::UnknownKey`](crate::engine::Error::UnknownKey) or [`Error::Changed`](crate::engine::Error::Changed) by [`PutMode`]; [`Error::Invalid`](crate::engine::Error::Invalid) by
    /// [`AccessKey::validate`], and beyond the number of keys that a store holds.
    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>>;

    /// Deletes an access key. A store without any is open: managers ask no client for a key.
    ///
    /// # Errors
    /// [`Error::UnknownKey`](crate::engine::Error::UnknownKey).
    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>>;

    /// Stores the session of a person who has signed in at the pages, for this long, under the digest of the text that the
    /// person's browser has. Of more than [`MAX_SESSIONS`](crate::limits::MAX_SESSIONS), those that end first are forgotten.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()>;

    /// A session; `None` if it has ended or never began.
    ///
    /// # Errors
    /// Only those of the store.
    async fn session(&self, id: &Digest) -> Result<Option<Session>>;

    /// Ends a session. Not an error if it has ended.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn end_session(&self, id: &Digest) -> Result<()>;
}
